//! The CuTe layout algebra.

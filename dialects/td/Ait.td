// Every definition of the ait dialect; what mlir-tblgen and the generated Rust accessors read.

include "AitOps.td"

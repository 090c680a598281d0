//! Arrays in `.npy` and `.npz` files.

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::Path;

use aitmlir_runtime::info::DType;
use npyz::{Endianness, NpyHeader, Order, TypeChar, TypeStr, WriterBuilder};

use super::error::{Error, Result};
use super::tensor::Tensor;

/// Reads a `.npy` file.
pub fn read(path: &Path) -> Result<Tensor> {
    let file = File::open(path).map_err(Error::file(path))?;
    read_array(BufReader::new(file)).map_err(|cause| Error::format(path, cause))
}

/// Reads all arrays of a `.npz` file, in the order of the file.
pub fn read_archive(path: &Path) -> Result<Vec<(String, Tensor)>> {
    let file = File::open(path).map_err(Error::file(path))?;
    let bad = |cause: &dyn std::fmt::Display| Error::format(path, format!("not a .npz file: {cause}"));
    let mut archive = zip::ZipArchive::new(BufReader::new(file)).map_err(|cause| bad(&cause))?;
    let mut arrays = Vec::with_capacity(archive.len());
    for i in 0..archive.len() {
        let entry = archive.by_index(i).map_err(|cause| bad(&cause))?;
        let file_name = entry.name().map_err(|cause| bad(&cause))?.into_owned();
        let Some(name) = file_name.strip_suffix(".npy") else {
            return Err(bad(&format!("it holds '{file_name}'")));
        };
        let tensor = read_array(entry).map_err(|cause| Error::format(path, format!("array '{name}': {cause}")))?;
        arrays.push((name.to_string(), tensor));
    }
    Ok(arrays)
}

/// Writes a `.npy` file: complete, or not at all.
pub fn write(path: &Path, tensor: &Tensor) -> Result<()> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(dir).map_err(Error::file(path))?;
    let shape: Vec<u64> = tensor.dims().iter().map(|&dim| dim.unsigned_abs()).collect();
    let header = npyz::WriteOptions::new_header_only()
        .dtype(npyz::DType::Plain(type_string(tensor.dtype())?))
        .shape(&shape)
        .writer(&mut file)
        .write_header_only();
    header.and_then(|file| file.write_all(tensor.bytes())).and_then(|()| file.flush()).map_err(Error::file(path))?;
    file.persist(path).map_err(|failed| Error::file(path)(failed.error))?;
    Ok(())
}

fn read_array(mut from: impl Read) -> std::result::Result<Tensor, String> {
    let header = NpyHeader::from_reader(&mut from).map_err(|cause| format!("not a .npy array: {cause}"))?;
    let (dtype, swapped) = element_type(&header.dtype())?;
    let dims = header.shape().iter().map(|&dim| i64::try_from(dim)).collect::<std::result::Result<Vec<i64>, _>>();
    let dims = dims.map_err(|_| format!("its shape {:?} is too large", header.shape()))?;
    let size = dtype.tensor_bytes(&dims).ok_or_else(|| format!("its shape {dims:?} is too large"))?;
    // Read before the tensor is made: a damaged header may claim any size.
    let mut bytes = Vec::new();
    from.take(size as u64 + 1).read_to_end(&mut bytes).map_err(|cause| cause.to_string())?;
    if bytes.len() != size {
        let more = if bytes.len() > size { "more" } else { "only" };
        let found = bytes.len().min(size);
        return Err(format!("its shape {dims:?} of {dtype} needs {size} bytes, found {more} {found}"));
    }
    if swapped {
        bytes.chunks_exact_mut(dtype.bytes()).for_each(<[u8]>::reverse);
    }
    if header.order() == Order::Fortran {
        bytes = to_row_major(&bytes, &dims, dtype.bytes());
    }
    Tensor::from_bytes(dtype, &dims, &bytes).map_err(|cause| cause.to_string())
}

/// The element type, and whether the bytes of an element are in the other order.
fn element_type(dtype: &npyz::DType) -> std::result::Result<(DType, bool), String> {
    let unsupported = || format!("elements of type {} are not supported", dtype.descr());
    let npyz::DType::Plain(plain) = dtype else {
        return Err(unsupported());
    };
    let found = match (plain.type_char(), plain.size_field()) {
        (TypeChar::Bool, 1) => DType::Bool,
        (TypeChar::Float, 2) => DType::F16,
        (TypeChar::Float, 4) => DType::F32,
        (TypeChar::Float, 8) => DType::F64,
        (TypeChar::Int, 1) => DType::I8,
        (TypeChar::Int, 2) => DType::I16,
        (TypeChar::Int, 4) => DType::I32,
        (TypeChar::Int, 8) => DType::I64,
        (TypeChar::Uint, 1) => DType::U8,
        (TypeChar::Uint, 2) => DType::U16,
        (TypeChar::Uint, 4) => DType::U32,
        (TypeChar::Uint, 8) => DType::U64,
        // NumPy has no bf16; what it has from elsewhere it saves as raw data of two bytes.
        (TypeChar::RawData, 2) => DType::BF16,
        _ => return Err(unsupported()),
    };
    Ok((found, plain.endianness() == Endianness::Big))
}

/// NumPy's name of an element type.
fn type_string(dtype: DType) -> Result<TypeStr> {
    let name = match dtype {
        DType::F32 => "<f4",
        DType::F64 => "<f8",
        DType::F16 => "<f2",
        DType::BF16 => "|V2",
        DType::I8 => "|i1",
        DType::I16 => "<i2",
        DType::I32 => "<i4",
        DType::I64 => "<i8",
        DType::U8 => "|u1",
        DType::U16 => "<u2",
        DType::U32 => "<u4",
        DType::U64 => "<u8",
        DType::Bool => "|b1",
    };
    name.parse().map_err(|cause| Error::Argument(format!("type {dtype} in a .npy file: {cause}")))
}

/// Elements in column-major order, in row-major order.
fn to_row_major(bytes: &[u8], dims: &[i64], size: usize) -> Vec<u8> {
    let dims: Vec<usize> = dims.iter().map(|&dim| dim.unsigned_abs() as usize).collect();
    let mut strides = Vec::with_capacity(dims.len());
    let mut stride = size;
    for dim in &dims {
        strides.push(stride);
        stride *= dim;
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut index = vec![0; dims.len()];
    while out.len() < bytes.len() {
        let at: usize = index.iter().zip(&strides).map(|(i, stride)| i * stride).sum();
        out.extend_from_slice(bytes.get(at..at + size).unwrap_or_default());
        // Count up like an odometer, the last dim fastest.
        for (i, dim) in index.iter_mut().zip(&dims).rev() {
            *i += 1;
            if *i < *dim {
                break;
            }
            *i = 0;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_comes_back() {
        let dir = tempfile::tempdir().expect("folder");
        for &dtype in DType::ALL {
            let path = dir.path().join(format!("{dtype}.npy"));
            let mut tensor = Tensor::zeros(dtype, &[2, 0, 3]).expect("tensor");
            write(&path, &tensor).expect("written");
            assert_eq!(read(&path).expect("read").dims(), [2, 0, 3]);
            tensor = Tensor::zeros(dtype, &[2, 3]).expect("tensor");
            tensor.fill(|| 1.0);
            write(&path, &tensor).expect("written");
            let back = read(&path).expect("read");
            assert_eq!((back.dtype(), back.dims(), back.bytes()), (dtype, tensor.dims(), tensor.bytes()));
        }
    }

    #[test]
    fn damaged_files_are_errors() {
        let dir = tempfile::tempdir().expect("folder");
        let path = dir.path().join("a.npy");
        write(&path, &Tensor::zeros(DType::F32, &[4, 4]).expect("tensor")).expect("written");
        let good = std::fs::read(&path).expect("file");
        for length in 0..good.len() {
            assert!(read_array(&good[..length]).is_err(), "cut to {length}");
        }
        for at in 0..128 {
            let mut bad = good.clone();
            bad[at] ^= 0x15;
            // Some flips give another valid header; none may panic.
            let _ = read_array(bad.as_slice());
        }
        let long = [good.as_slice(), &[0]].concat();
        assert!(read_array(long.as_slice()).is_err());
        assert!(read_archive(&path).is_err());
    }

    #[test]
    fn column_major_arrays_are_turned() {
        let out = to_row_major(&[1, 4, 2, 5, 3, 6], &[2, 3], 1);
        assert_eq!(out, [1, 2, 3, 4, 5, 6]);
    }
}

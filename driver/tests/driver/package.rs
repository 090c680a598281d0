//! Packaging: what is written, that it is the same each time, and that nothing is left where it fails.

use aitmlir_driver::package::{DeviceCode, Package, WeightsPlace, link, object, package};
use aitmlir_driver::run::library::{Device, Library};

use crate::affine::{at, info, make, program};

#[test]
fn the_same_input_gives_the_same_bytes() {
    let (a, b) = (tempfile::tempdir().expect("folder"), tempfile::tempdir().expect("folder"));
    let first = make(&at(&a, "one.so"), "affine", 2.0, WeightsPlace::Embed);
    let second = make(&at(&b, "two.so"), "affine", 2.0, WeightsPlace::Embed);
    let read = |path| std::fs::read(path).expect("file");
    assert!(read(&first.library) == read(&second.library));
    assert_eq!(read(&first.header), read(&second.header));
    let library = read(&first.library);
    let path = a.path().to_str().expect("path").as_bytes();
    assert!(!library.windows(path.len()).any(|window| window == path));
}

#[test]
fn a_failure_leaves_nothing() {
    let dir = tempfile::tempdir().expect("folder");
    let output = at(&dir, "m.so");
    let error = package(Package {
        program: program(),
        device: &DeviceCode::default(),
        info: info("m"),
        constants: &[&[0; 16], &[0; 12], &[]],
        weights: WeightsPlace::File,
        output: &output,
    })
    .expect_err("bias has 12 bytes");
    assert!(error.to_string().contains("'bias'"), "{error}");
    assert_eq!(std::fs::read_dir(dir.path()).expect("folder").count(), 0);
}

#[test]
fn what_is_no_regular_file_stays() {
    let dir = tempfile::tempdir().expect("folder");
    let output = at(&dir, "m.so");
    let _socket = std::os::unix::net::UnixListener::bind(&output).expect("socket");
    let data: [&[u8]; 3] = [&[0; 16], &[0; 16], &[]];
    let error = package(Package {
        program: program(),
        device: &DeviceCode::default(),
        info: info("m"),
        constants: &data,
        weights: WeightsPlace::Embed,
        output: &output,
    })
    .expect_err("a socket is in its place");
    assert!(error.to_string().ends_with("not the name of a regular file"), "{error}");
    assert_eq!(std::fs::read_dir(dir.path()).expect("folder").count(), 1);
}

#[test]
fn a_linker_without_compiler_driver_will_do() {
    let dir = tempfile::tempdir().expect("folder");
    let mut info = info("plain");
    info.constants.clear();
    let objects = ["program.o", "data.o", "runtime.a"].map(|name| at(&dir, name));
    std::fs::write(&objects[0], program()).expect("program");
    let architecture = object::check_program(program()).expect("program");
    let data = object::Data { info: &info, weights: &[], device: &DeviceCode::default() };
    object::write_data_object(&objects[1], architecture, &data).expect("data");
    std::fs::write(&objects[2], link::RUNTIME).expect("runtime");
    let output = at(&dir, "plain.so");
    // The linker that the system's `cc` itself calls; `ld.lld` takes the same flags.
    let linker = link::Linker { program: "ld".into(), is_driver: false };
    let what = link::Link { objects: &objects, name: "plain", output: &output, scratch: dir.path() };
    link::link_with(&linker, &what).expect("linked");
    let library = Library::open(&output).expect("library");
    library.create(None, 2, Device::default()).expect("model");
}

#[test]
fn no_text_is_relocated() {
    use ::object::elf::{DT_TEXTREL, FileHeader64};
    use ::object::read::elf::{Dyn as _, FileHeader as _};
    let dir = tempfile::tempdir().expect("folder");
    let made = make(&at(&dir, "m.so"), "affine", 2.0, WeightsPlace::Embed);
    let bytes = std::fs::read(made.library).expect("library");
    let header = FileHeader64::<::object::Endianness>::parse(bytes.as_slice()).expect("ELF");
    let endian = header.endian().expect("an order of bytes");
    let sections = header.sections(endian, bytes.as_slice()).expect("sections");
    let (dynamic, _) = sections.dynamic(endian, bytes.as_slice()).expect("readable").expect("a dynamic section");
    assert!(!dynamic.is_empty());
    assert!(dynamic.iter().all(|entry| entry.d_tag(endian) != DT_TEXTREL));
}

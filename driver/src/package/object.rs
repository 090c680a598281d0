//! The data object of a model: the table that the runtime reads, the description and the weights.

use std::path::Path;

use aitmlir_runtime::info::{ModelInfo, WEIGHTS_ALIGN};
use aitmlir_runtime::program::{FOLD_SYMBOL, MAIN_SYMBOL, PROGRAM_SYMBOL};
use object::read::{Object as _, ObjectSymbol as _};
use object::write::{Object, Relocation, SectionId, StandardSegment, Symbol, SymbolId, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, RelocationEncoding, RelocationFlags, RelocationKind, SectionFlags,
    SectionKind, SymbolFlags, SymbolKind, SymbolScope, elf,
};

use super::DeviceCode;
use super::error::{Error, Result};

/// Weights beyond this size go to a large-data section: code reaches only 2 GiB, and the rest of the library needs room.
const LARGE_DATA: usize = 512 << 20;

/// The flag of a section that is reached by 64-bit addresses only (x86-64 psABI).
const SHF_X86_64_LARGE: u64 = 0x1000_0000;

/// Words of the table: see `aitmlir_runtime::program::Program`.
const TABLE_WORDS: u64 = 10;

/// Checks that the compiled program defines its two entries; returns its architecture.
pub fn check_program(program: &[u8]) -> Result<Architecture> {
    let bad = |cause: String| Error::Internal(format!("the program's object file: {cause}"));
    let file = object::File::parse(program).map_err(|cause| bad(cause.to_string()))?;
    for entry in [MAIN_SYMBOL, FOLD_SYMBOL] {
        if !file.symbols().any(|symbol| symbol.is_definition() && symbol.name() == Ok(entry)) {
            return Err(bad(format!("{entry} is not defined")));
        }
    }
    Ok(file.architecture())
}

/// What the data object holds.
pub struct Data<'a> {
    /// The description.
    pub info: &'a ModelInfo,
    /// The weights; empty where a file holds them.
    pub weights: &'a [u8],
    /// The code of kernels for a device.
    pub device: &'a DeviceCode,
}

/// Writes the data object to `path`.
pub fn write_data_object(path: &Path, architecture: Architecture, data: &Data<'_>) -> Result<()> {
    let json =
        data.info.to_json().map_err(|cause| Error::Internal(format!("the description of the model: {cause}")))?;
    let mut text = json.into_bytes();
    let info_len = text.len() as u64;
    text.push(0);
    // The driver reads PTX up to its NUL.
    let mut ptx = data.device.ptx.clone().into_bytes();
    ptx.push(0);
    let (text, ptx) = ((text.as_slice(), info_len), ptx.as_slice());
    let object = build(architecture, text, data.weights, (&data.device.binary, ptx))
        .map_err(|cause| Error::Internal(cause.to_string()))?;
    let file = std::fs::File::create(path).map_err(Error::file("write", path))?;
    object.write_stream(file).map_err(|cause| match cause.downcast::<std::io::Error>() {
        Ok(cause) => Error::file("write", path)(*cause),
        Err(cause) => Error::Internal(cause.to_string()),
    })
}

fn build<'a>(
    architecture: Architecture,
    (info, info_len): (&'a [u8], u64),
    weights: &'a [u8],
    (binary, ptx): (&'a [u8], &'a [u8]),
) -> object::write::Result<Object<'a>> {
    let mut object = Object::new(BinaryFormat::Elf, architecture, Endianness::Little);
    let large = architecture == Architecture::X86_64 && weights.len() > LARGE_DATA;
    let info_symbol = data_section(&mut object, ".rodata", "aitmlir_program_info", info, 8, false);
    let name = if large { ".lrodata" } else { ".rodata" };
    let weights_symbol = data_section(&mut object, name, "aitmlir_program_weights", weights, WEIGHTS_ALIGN, large);
    let main = add_symbol(&mut object, MAIN_SYMBOL, SymbolKind::Text, SymbolSection::Undefined, 0);
    let fold = add_symbol(&mut object, FOLD_SYMBOL, SymbolKind::Text, SymbolSection::Undefined, 0);

    let table = object.add_section(
        object.segment_name(StandardSegment::Data).to_vec(),
        b".data.rel.ro.aitmlir".to_vec(),
        SectionKind::ReadOnlyDataWithRel,
    );
    let mut words = Vec::new();
    let lengths = (binary.len() as u64, ptx.len() as u64 - 1);
    for word in [0, info_len, 0, weights.len() as u64, 0, 0, 0, lengths.0, 0, lengths.1] {
        words.extend_from_slice(&u64::to_le_bytes(word));
    }
    object.append_section_data(table, &words, 8);
    let mut words = vec![(0, info_symbol), (2, weights_symbol), (4, main), (5, fold)];
    // Where there is none its word stays null.
    for (word, name, data, length) in
        [(6, "aitmlir_program_binary", binary, lengths.0), (8, "aitmlir_program_ptx", ptx, lengths.1)]
    {
        if length > 0 {
            words.push((word, data_section(&mut object, ".rodata", name, data, 64, false)));
        }
    }
    for (word, symbol) in words {
        let flags = RelocationFlags::Generic {
            kind: RelocationKind::Absolute,
            encoding: RelocationEncoding::Generic,
            size: 64,
        };
        object.add_relocation(table, Relocation { offset: word * 8, symbol, addend: 0, flags })?;
    }
    add_symbol(&mut object, PROGRAM_SYMBOL, SymbolKind::Data, SymbolSection::Section(table), TABLE_WORDS * 8);
    // Without this note a linker makes the stack of the whole process executable.
    object.add_section(Vec::new(), b".note.GNU-stack".to_vec(), SectionKind::Other);
    Ok(object)
}

/// A section of its own with one symbol at its start.
fn data_section<'a>(
    object: &mut Object<'a>,
    section: &str,
    name: &str,
    data: &'a [u8],
    align: u64,
    large: bool,
) -> SymbolId {
    let section: SectionId = object.add_section(Vec::new(), section.as_bytes().to_vec(), SectionKind::ReadOnlyData);
    object.set_section_data(section, data, align);
    if large {
        let sh_flags = elf::SectionFlags(elf::SHF_ALLOC.0 | SHF_X86_64_LARGE);
        object.section_mut(section).flags = SectionFlags::Elf { sh_type: elf::SHT_PROGBITS, sh_flags };
    }
    add_symbol(object, name, SymbolKind::Data, SymbolSection::Section(section), data.len() as u64)
}

/// A symbol that the library does not export.
fn add_symbol(object: &mut Object<'_>, name: &str, kind: SymbolKind, section: SymbolSection, size: u64) -> SymbolId {
    object.add_symbol(Symbol {
        name: name.as_bytes().to_vec(),
        value: 0,
        size,
        kind,
        scope: if section == SymbolSection::Undefined { SymbolScope::Unknown } else { SymbolScope::Linkage },
        weak: false,
        section,
        flags: SymbolFlags::None,
    })
}

//! The C header of an exported kernel: a struct a tensor, and functions that take them.

use std::fmt::Write;

use aitmlir_runtime::info::{Dim, ModelInfo, TensorInfo};

use super::super::header::{comment, identifier, shape, unique};
use super::Names;
use super::checks::{ALIGNMENT, Checks, DRIVER};

/// What the header is made from.
struct Header<'a> {
    info: &'a ModelInfo,
    names: &'a Names,
    checks: &'a Checks,
    op: &'a str,
    record: bool,
    workspace: bool,
}

/// The text of the header of the kernel of op `op`. `record`: it fills a failure record; `workspace`: it needs one for some sizes.
pub(super) fn header(
    info: &ModelInfo,
    names: &Names,
    checks: &Checks,
    op: &str,
    record: bool,
    workspace: bool,
) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = Header { info, names, checks, op, record, workspace }.write(&mut text);
    text
}

/// The fields of a tensor that are dimensions: those that are not static.
fn fields(tensor: &TensorInfo) -> Vec<(String, &Dim)> {
    let open = tensor.dims.iter().enumerate().filter_map(|(d, dim)| match dim {
        Dim::Static(_) => None,
        Dim::Dynamic(dynamic) => Some((dynamic.name.as_deref().map_or_else(|| format!("dim{d}"), identifier), dim)),
    });
    let (names, dims): (Vec<String>, Vec<&Dim>) = open.unzip();
    // A dimension called `data` must not be the pointer, nor one called `stride0` a stride.
    let taken: Vec<String> =
        std::iter::once("data".to_owned()).chain((0..tensor.dims.len()).map(|d| format!("stride{d}"))).collect();
    let skipped = taken.len();
    let names = unique(taken.into_iter().chain(names));
    names.into_iter().skip(skipped).zip(dims).collect()
}

/// The fields of tensor `t` that are strides: those that are not static.
fn stride_fields(checks: &Checks, t: usize) -> Vec<(String, usize)> {
    let strides = checks.tensors.get(t).map(|tensor| tensor.strides.as_slice()).unwrap_or_default();
    let open = strides.iter().enumerate().filter(|(_, stride)| stride.fixed.is_none());
    open.map(|(d, _)| (format!("stride{d}"), d)).collect()
}

impl Header<'_> {
    fn tensors(&self) -> impl Iterator<Item = (&TensorInfo, &String, bool)> {
        let outputs = self.info.outputs.iter().map(|tensor| (tensor, true));
        let all = self.info.inputs.iter().map(|tensor| (tensor, false)).chain(outputs);
        all.zip(&self.names.tensors).map(|((tensor, output), name)| (tensor, name, output))
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let (prefix, info) = (&self.names.prefix, self.info);
        let upper = prefix.to_ascii_uppercase();
        writeln!(
            out,
            "/*\n * The kernel '{}' ({}, {}), made by {}.\n *",
            comment(&info.name),
            self.op,
            comment(&info.target),
            comment(&info.compiler)
        )?;
        out.push_str(ABOUT);
        writeln!(out, "#ifndef AITMLIR_KERNEL_{upper}_H\n#define AITMLIR_KERNEL_{upper}_H\n")?;
        writeln!(out, "#include <stddef.h>\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n")?;
        self.write_statuses(out, &upper)?;
        self.write_tensors(out)?;
        writeln!(out, "/* The kernel on one GPU. */\ntypedef struct {prefix}_module {prefix}_module;\n")?;
        writeln!(out, "/* Loads the kernel on a GPU, by the number that the driver gives it. */")?;
        writeln!(out, "int {prefix}_load({prefix}_module **module, int device);")?;
        writeln!(out, "/* Frees it; no launch of it may be under way. NULL is fine. */")?;
        writeln!(out, "void {prefix}_unload({prefix}_module *module);")?;
        writeln!(out, "/* What a status means. */\nconst char *{prefix}_message(int status);")?;
        writeln!(
            out,
            "/* What the functions below call, with the tensors as words: each its data and its open dimensions. */"
        )?;
        writeln!(
            out,
            "int {prefix}_enqueue({prefix}_module *module, const uint64_t *words, void *workspace, int64_t *record,"
        )?;
        writeln!(out, "    void *stream, uint64_t *bytes);\n")?;
        self.write_launch(out)?;
        writeln!(out, "#ifdef __cplusplus\n}}\n#endif\n\n#endif /* AITMLIR_KERNEL_{upper}_H */")
    }

    fn write_statuses(&self, out: &mut String, upper: &str) -> std::fmt::Result {
        writeln!(
            out,
            "/* Statuses; {upper}_DRIVER + n is the driver's error n. {}_message gives the texts. */",
            self.names.prefix
        )?;
        writeln!(out, "enum {{\n  {upper}_OK = 0,")?;
        for (status, text) in self.checks.texts.iter().enumerate().skip(1) {
            writeln!(out, "  /* {status}: {} */", comment(text))?;
        }
        writeln!(out, "  {upper}_DRIVER = {DRIVER}\n}};\n")
    }

    fn write_tensors(&self, out: &mut String) -> std::fmt::Result {
        for (t, (tensor, name, output)) in self.tensors().enumerate() {
            let prefix = &self.names.prefix;
            let lies = self.layout(t);
            let (role, constant) = if output { ("written", "") } else { ("read", "const ") };
            writeln!(out, "/* {}: {role}; {lies}, data aligned to {ALIGNMENT} bytes. */", shape(tensor))?;
            writeln!(out, "typedef struct {prefix}_tensor_{name} {{")?;
            writeln!(out, "  {constant}{} *data;", tensor.dtype.c_type())?;
            for (field, dim) in fields(tensor) {
                writeln!(out, "  int64_t {field}; /* {} */", comment(&dim.to_string()))?;
            }
            for (field, d) in stride_fields(self.checks, t) {
                writeln!(out, "  int64_t {field}; /* elements from one index of dimension {d} to the next */")?;
            }
            writeln!(out, "}} {prefix}_tensor_{name};\n")?;
        }
        Ok(())
    }

    /// How tensor `t` lies in memory.
    fn layout(&self, t: usize) -> String {
        let strides = self.checks.tensors.get(t).map(|tensor| tensor.strides.as_slice()).unwrap_or_default();
        if strides.is_empty() {
            return "row-major".to_owned();
        }
        let list = strides.iter().map(|s| s.fixed.map_or_else(|| "?".to_owned(), |n| n.to_string()));
        format!("strides [{}] in elements", list.collect::<Vec<_>>().join(", "))
    }

    fn parameters(&self) -> String {
        let prefix = &self.names.prefix;
        let list: Vec<String> =
            self.names.tensors.iter().map(|name| format!("{prefix}_tensor_{name} {name}")).collect();
        list.join(", ")
    }

    fn write_words(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "  const uint64_t words[] = {{")?;
        for (t, (tensor, name, _)) in self.tensors().enumerate() {
            write!(out, "    (uint64_t)(uintptr_t){name}.data,")?;
            for (field, _) in fields(tensor) {
                write!(out, " (uint64_t){name}.{field},")?;
            }
            for (field, _) in stride_fields(self.checks, t) {
                write!(out, " (uint64_t){name}.{field},")?;
            }
            writeln!(out)?;
        }
        writeln!(out, "  }};")
    }

    fn write_launch(&self, out: &mut String) -> std::fmt::Result {
        let (prefix, parameters) = (&self.names.prefix, self.parameters());
        if self.workspace {
            writeln!(
                out,
                "/* The bytes of workspace of a launch with tensors of these sizes; nothing is launched. */"
            )?;
            writeln!(out, "static inline int {prefix}_workspace({prefix}_module *module, {parameters},")?;
            writeln!(out, "    uint64_t *bytes) {{")?;
            self.write_words(out)?;
            writeln!(out, "  return {prefix}_enqueue(module, words, NULL, NULL, NULL, bytes);\n}}\n")?;
        }
        writeln!(
            out,
            "/*\n * Launches the kernel on a stream (a CUstream or cudaStream_t; NULL: the default stream), and does not wait for it."
        )?;
        if self.workspace {
            writeln!(
                out,
                " * workspace: device memory of {prefix}_workspace bytes, aligned to 256 and zero before the first launch that gets it;"
            )?;
            writeln!(
                out,
                " * launches that may run at the same time need one each. May be NULL where those are 0 bytes."
            )?;
        }
        if self.record {
            writeln!(
                out,
                " * record: five int64_t in device memory, zero before the launch. After it the first is not zero where a check of the"
            )?;
            writeln!(out, " * tensors' data failed, such as an index out of range.")?;
        }
        writeln!(out, " */")?;
        let workspace = if self.workspace { "void *workspace, " } else { "" };
        let record = if self.record { "int64_t *record, " } else { "" };
        writeln!(out, "static inline int {prefix}_launch({prefix}_module *module, {parameters},")?;
        writeln!(out, "    {workspace}{record}void *stream) {{")?;
        self.write_words(out)?;
        let given = |there: bool, name: &'static str| if there { name } else { "NULL" };
        let (workspace, record) = (given(self.workspace, "workspace"), given(self.record, "record"));
        writeln!(out, "  return {prefix}_enqueue(module, words, {workspace}, {record}, stream, NULL);\n}}\n")
    }
}

const ABOUT: &str = " * Link the object file beside this header to your program, together with the C library's libdl where that is one of its own. The
 * CUDA driver is loaded when the kernel is. All functions may be called from several threads at a time, and give a status: 0 for
 * success. Tensors are in the memory of the GPU (of its primary context, as cudaMalloc gives it).
 */
";

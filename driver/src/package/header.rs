//! The typed C header of a model: `aitmlir.h` and, on top of it, structs and functions in the names of the model.

use std::collections::BTreeSet;
use std::fmt::Write;

use aitmlir_runtime::info::{Dim, ModelInfo, TensorInfo};

/// The model's name as a C identifier in lower case: the prefix of all that the header declares.
pub fn c_prefix(name: &str) -> String {
    let prefix = identifier(name).to_ascii_lowercase();
    // `aitmlir_api` is the name of a type.
    if prefix == "aitmlir" { "aitmlir_model".to_string() } else { prefix }
}

/// The text of the header.
pub fn header(info: &ModelInfo) -> String {
    let names = Names::new(info);
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write_header(&mut text, info, &names);
    text
}

/// The C names of a model.
struct Names {
    prefix: String,
    upper: String,
    inputs: Vec<String>,
    outputs: Vec<String>,
    dims: Dims,
}

/// The input dims that vary: one field for each name, and one for each dim without one.
struct Dims {
    /// Field and dim.
    fields: Vec<(String, Dim)>,
    /// For each input and dim, the field, where it varies.
    of_input: Vec<Vec<Option<usize>>>,
}

impl Names {
    fn new(info: &ModelInfo) -> Names {
        let prefix = c_prefix(&info.name);
        let upper = prefix.to_ascii_uppercase();
        let inputs = unique(info.inputs.iter().map(|input| identifier(&input.name)));
        // An output `y` has fields `y`, `y_bytes` and `y_dims`, which other outputs' names must not be.
        let outputs = unique(info.outputs.iter().map(|output| identifier(&output.name)));
        let dims = Dims::new(info, &inputs);
        Names { prefix, upper, inputs, outputs, dims }
    }
}

impl Names {
    /// The parameters for dims and inputs, with a comma behind.
    fn typed_parameters(&self) -> String {
        let prefix = &self.prefix;
        let dims = if self.dims.fields.is_empty() { String::new() } else { format!("const {prefix}_dims *dims, ") };
        format!("{dims}const {prefix}_inputs *inputs,")
    }

    /// How many dims all inputs have.
    fn shape_numbers(&self) -> usize {
        self.dims.of_input.iter().map(Vec::len).sum()
    }
}

impl Dims {
    /// The field that holds a dim of an input, where it varies.
    fn field(&self, input: usize, dim: usize) -> Option<&str> {
        let field = (*self.of_input.get(input)?.get(dim)?)?;
        self.fields.get(field).map(|(name, _)| name.as_str())
    }
}

impl Dims {
    fn new(info: &ModelInfo, inputs: &[String]) -> Dims {
        let mut keys: Vec<(String, Dim)> = Vec::new();
        let mut known: Vec<Option<String>> = Vec::new();
        let mut of_input = Vec::new();
        for (input, c_name) in info.inputs.iter().zip(inputs) {
            let mut fields = Vec::new();
            for (d, dim) in input.dims.iter().enumerate() {
                fields.push(match dim {
                    Dim::Static(_) => None,
                    Dim::Dynamic(dynamic) => {
                        let same = known.iter().position(|name| name.is_some() && *name == dynamic.name);
                        Some(same.unwrap_or_else(|| {
                            let fallback = || format!("{c_name}_dim{d}");
                            keys.push((dynamic.name.as_deref().map_or_else(fallback, identifier), dim.clone()));
                            known.push(dynamic.name.clone());
                            keys.len() - 1
                        }))
                    }
                });
            }
            of_input.push(fields);
        }
        let names = unique(keys.iter().map(|(name, _)| name.clone()));
        Dims { fields: names.into_iter().zip(keys.into_iter().map(|(_, dim)| dim)).collect(), of_input }
    }
}

fn write_header(out: &mut String, info: &ModelInfo, names: &Names) -> std::fmt::Result {
    let (prefix, upper) = (&names.prefix, &names.upper);
    writeln!(out, "/* C interface of the model '{}', made by {}. */", comment(&info.name), comment(&info.compiler))?;
    writeln!(out, "#ifndef AITMLIR_MODEL_{upper}_H\n#define AITMLIR_MODEL_{upper}_H\n")?;
    writeln!(out, "{}", aitmlir_runtime::HEADER.trim_end())?;
    writeln!(out, "\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n")?;
    writeln!(out, "/* The functions of this model's library. */\nconst aitmlir_api *{prefix}_api(void);\n")?;
    writeln!(
        out,
        "/* Define this to a table of your own where the library is not linked but loaded (dlsym \"{prefix}_api\"). */"
    )?;
    writeln!(out, "#ifndef {upper}_API\n#define {upper}_API ({prefix}_api())\n#endif\n")?;
    write_indices(out, "INPUT", upper, &names.inputs)?;
    write_indices(out, "OUTPUT", upper, &names.outputs)?;
    write_dims(out, names)?;
    write_inputs(out, info, names)?;
    write_outputs(out, info, names)?;
    write_functions(out, info, names)?;
    writeln!(out, "\n#ifdef __cplusplus\n}}\n#endif\n\n#endif /* AITMLIR_MODEL_{upper}_H */")
}

fn write_indices(out: &mut String, kind: &str, upper: &str, names: &[String]) -> std::fmt::Result {
    writeln!(out, "/* Indices of the {}s. */\nenum {{", kind.to_ascii_lowercase())?;
    let upper_names = unique(names.iter().map(|name| name.to_ascii_uppercase()));
    for (i, name) in upper_names.iter().enumerate() {
        writeln!(out, "  {upper}_{kind}_{name} = {i},")?;
    }
    writeln!(out, "  {upper}_{kind}S = {}\n}};\n", names.len())
}

fn write_dims(out: &mut String, names: &Names) -> std::fmt::Result {
    if names.dims.fields.is_empty() {
        return Ok(());
    }
    writeln!(out, "/* The input dims that vary. */\ntypedef struct {}_dims {{", names.prefix)?;
    for (field, dim) in &names.dims.fields {
        writeln!(out, "  int64_t {field}; /* {} */", comment(&dim.to_string()))?;
    }
    writeln!(out, "}} {}_dims;\n", names.prefix)
}

fn write_inputs(out: &mut String, info: &ModelInfo, names: &Names) -> std::fmt::Result {
    writeln!(out, "/* The inputs: dense, row-major. */\ntypedef struct {}_inputs {{", names.prefix)?;
    for (input, name) in info.inputs.iter().zip(&names.inputs) {
        writeln!(out, "  const {} *{name}; /* {} */", input.dtype.c_type(), shape(input))?;
    }
    if info.inputs.is_empty() {
        writeln!(out, "  char unused;")?;
    }
    writeln!(out, "}} {}_inputs;\n", names.prefix)
}

fn write_outputs(out: &mut String, info: &ModelInfo, names: &Names) -> std::fmt::Result {
    writeln!(out, "/* The outputs: your buffers and their sizes in bytes; the run writes the dims. */")?;
    writeln!(out, "typedef struct {}_outputs {{", names.prefix)?;
    for (output, name) in info.outputs.iter().zip(&names.outputs) {
        writeln!(out, "  {} *{name}; /* {} */\n  uint64_t {name}_bytes;", output.dtype.c_type(), shape(output))?;
        if !output.dims.is_empty() {
            writeln!(out, "  int64_t {name}_dims[{}];", output.dims.len())?;
        }
    }
    if info.outputs.is_empty() {
        writeln!(out, "  char unused;")?;
    }
    writeln!(out, "}} {}_outputs;\n", names.prefix)
}

fn write_functions(out: &mut String, info: &ModelInfo, names: &Names) -> std::fmt::Result {
    let (prefix, upper) = (&names.prefix, &names.upper);
    writeln!(out, "/* Creates the model; options may be NULL. Free it with {prefix}_destroy. */")?;
    writeln!(out, "static inline int {prefix}_create(const aitmlir_options *options, aitmlir_model **model) {{")?;
    writeln!(out, "  return {upper}_API->model_create(options, model);\n}}\n")?;
    writeln!(out, "static inline void {prefix}_destroy(aitmlir_model *model) {{")?;
    writeln!(out, "  {upper}_API->model_destroy(model);\n}}\n")?;
    writeln!(out, "/* Text of the last failure on this thread. */")?;
    writeln!(out, "static inline const char *{prefix}_last_error(void) {{")?;
    writeln!(out, "  return {upper}_API->last_error();\n}}\n")?;
    write_fill(out, info, names)?;
    write_run(out, info, names)?;
    write_run_owned(out, info, names)
}

/// The function that makes the ABI's tensors of the typed inputs.
fn write_fill(out: &mut String, info: &ModelInfo, names: &Names) -> std::fmt::Result {
    let (prefix, shapes, inputs) = (&names.prefix, names.shape_numbers(), info.inputs.len());
    writeln!(out, "/* The ABI's tensors of the inputs; shapes: room for their dims. */")?;
    writeln!(out, "static inline void {prefix}_fill({}", names.typed_parameters())?;
    writeln!(out, "    int64_t shapes[{}], aitmlir_tensor in[{}]) {{", shapes.max(1), inputs.max(1))?;
    let mut at = 0;
    for (i, (input, c_name)) in info.inputs.iter().zip(&names.inputs).enumerate() {
        let mut elements = String::new();
        for (d, dim) in input.dims.iter().enumerate() {
            let value = names.dims.field(i, d).map_or_else(|| dim.min().to_string(), |field| format!("dims->{field}"));
            writeln!(out, "  shapes[{}] = {value};", at + d)?;
            write!(elements, " * (uint64_t)shapes[{}]", at + d)?;
        }
        writeln!(out, "  in[{i}] = aitmlir_tensor_of((void *)inputs->{c_name}, shapes + {at},")?;
        let (dtype, rank) = (dtype(input), input.dims.len());
        writeln!(out, "    sizeof(*inputs->{c_name}){elements}, {dtype}, {rank});")?;
        at += rank;
    }
    if info.inputs.is_empty() {
        writeln!(out, "  (void)inputs;\n  (void)shapes;\n  (void)in;")?;
    }
    writeln!(out, "}}\n")
}

fn write_run(out: &mut String, info: &ModelInfo, names: &Names) -> std::fmt::Result {
    let (prefix, upper) = (&names.prefix, &names.upper);
    let (inputs, outputs) = (info.inputs.len(), info.outputs.len());
    writeln!(out, "/* Runs the model into your buffers. */")?;
    writeln!(out, "static inline int {prefix}_run(aitmlir_model *model, {}", names.typed_parameters())?;
    writeln!(out, "    {prefix}_outputs *outputs) {{")?;
    write_call_inputs(out, names)?;
    writeln!(out, "  aitmlir_tensor out[{}];", outputs.max(1))?;
    for (i, (output, name)) in info.outputs.iter().zip(&names.outputs).enumerate() {
        let (dtype, rank) = (dtype(output), output.dims.len());
        let dims = if rank == 0 { "NULL".to_string() } else { format!("outputs->{name}_dims") };
        writeln!(
            out,
            "  out[{i}] = aitmlir_tensor_of(outputs->{name}, {dims}, outputs->{name}_bytes, {dtype}, {rank});"
        )?;
    }
    if info.outputs.is_empty() {
        writeln!(out, "  (void)outputs;")?;
    }
    writeln!(out, "  return {upper}_API->run(model, in, {inputs}, out, {outputs});\n}}\n")
}

fn write_run_owned(out: &mut String, info: &ModelInfo, names: &Names) -> std::fmt::Result {
    let (prefix, upper) = (&names.prefix, &names.upper);
    writeln!(out, "/* Runs the model into memory of the library: for outputs whose size depends on data. */")?;
    writeln!(out, "static inline int {prefix}_run_owned(aitmlir_model *model, {}", names.typed_parameters())?;
    writeln!(out, "    aitmlir_result **result) {{")?;
    write_call_inputs(out, names)?;
    writeln!(out, "  return {upper}_API->run_owned(model, in, {}, result);\n}}", info.inputs.len())
}

fn write_call_inputs(out: &mut String, names: &Names) -> std::fmt::Result {
    let (shapes, inputs) = (names.shape_numbers().max(1), names.inputs.len().max(1));
    let dims = if names.dims.fields.is_empty() { "" } else { "dims, " };
    writeln!(out, "  int64_t shapes[{shapes}];\n  aitmlir_tensor in[{inputs}];")?;
    writeln!(out, "  {}_fill({dims}inputs, shapes, in);", names.prefix)
}

fn dtype(tensor: &TensorInfo) -> String {
    format!("AITMLIR_{}", tensor.dtype.name().to_ascii_uppercase())
}

pub(super) fn shape(tensor: &TensorInfo) -> String {
    let dims: Vec<String> = tensor.dims.iter().map(Dim::to_string).collect();
    let text = format!("'{}' {}[{}]", tensor.name, tensor.dtype, dims.join(", "));
    comment(&text)
}

/// A text that can stand in a C comment.
pub(super) fn comment(text: &str) -> String {
    text.replace("*/", "* /").replace("/*", "/ *").replace(|c: char| c.is_control(), " ")
}

/// A C identifier made from a name: other characters become `_`.
pub(super) fn identifier(name: &str) -> String {
    let mut text: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if text.is_empty() || text.starts_with(|c: char| c.is_ascii_digit()) || text.starts_with('_') {
        text.insert(0, 'm');
    }
    if RESERVED.contains(&text.as_str()) {
        text.push('_');
    }
    text
}

/// Makes names unique by a number at their end.
pub(super) fn unique(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let mut made = Vec::new();
    for name in names {
        let mut candidate = name.clone();
        let mut n = 2;
        while suffixes(&candidate).iter().any(|name| taken.contains(name)) {
            candidate = format!("{name}_{n}");
            n += 1;
        }
        taken.extend(suffixes(&candidate));
        made.push(candidate);
    }
    made
}

/// A name and the fields made from it.
fn suffixes(name: &str) -> [String; 3] {
    [name.to_string(), format!("{name}_bytes"), format!("{name}_dims")]
}

/// Words of C and C++ that no field can be called.
#[rustfmt::skip]
const RESERVED: &[&str] = &[
    "alignas", "alignof", "and", "asm", "auto", "bool", "break", "case", "catch", "char", "class", "concept", "const",
    "constexpr", "continue", "decltype", "default", "delete", "do", "double", "else", "enum", "explicit", "export",
    "extern", "false", "float", "for", "friend", "goto", "if", "inline", "int", "long", "mutable", "namespace", "new",
    "noexcept", "not", "nullptr", "operator", "or", "private", "protected", "public", "register", "requires", "restrict",
    "return", "short", "signed", "sizeof", "static", "struct", "switch", "template", "this", "throw", "true", "try",
    "typedef", "typeid", "typename", "typeof", "union", "unsigned", "using", "virtual", "void", "volatile", "while", "xor",
];

//! The CPU that code is made for.

use inkwell::targets::TargetMachine;

/// What kernels and code generation need to know of a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuTarget {
    /// LLVM's target triple.
    pub triple: String,
    /// LLVM's name of the CPU.
    pub cpu: String,
    /// LLVM's feature string ("+avx2,-avx512f,...").
    pub features: String,
    /// The width of a vector register.
    pub vector_bits: u32,
    /// How many vector registers there are.
    pub vector_registers: u32,
}

impl CpuTarget {
    /// The machine that this runs on.
    pub fn host() -> Self {
        let triple = TargetMachine::get_default_triple().as_str().to_string_lossy().into_owned();
        let cpu = TargetMachine::get_host_cpu_name().to_string();
        let features = TargetMachine::get_host_cpu_features().to_string();
        Self::new(triple, cpu, features)
    }

    /// Any machine of this one's architecture.
    pub fn baseline() -> Self {
        let triple = TargetMachine::get_default_triple().as_str().to_string_lossy().into_owned();
        let cpu = if triple.starts_with("x86_64") { "x86-64" } else { "generic" };
        Self::new(triple, cpu.to_owned(), String::new())
    }

    fn new(triple: String, cpu: String, features: String) -> Self {
        let has = |feature: &str| features.split(',').any(|f| f.strip_prefix('+') == Some(feature));
        let (vector_bits, vector_registers) = if has("avx512f") {
            (512, 32)
        } else if has("avx2") {
            (256, 16)
        } else {
            (128, if triple.starts_with("aarch64") { 32 } else { 16 })
        };
        Self { triple, cpu, features, vector_bits, vector_registers }
    }

    /// The features that the code may use, by LLVM's names, sorted.
    pub fn enabled_features(&self) -> Vec<String> {
        let mut names: Vec<_> =
            self.features.split(',').filter_map(|f| f.strip_prefix('+')).map(str::to_owned).collect();
        names.sort();
        names
    }
}

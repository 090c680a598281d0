//! Whether this machine has the CPU features that a model was compiled for.

use crate::error::{Error, Result};

/// Fails where the CPU lacks one of `features` (LLVM's names). A name that isn't known here is not checked.
pub(crate) fn check_features(features: &[String]) -> Result<()> {
    let missing: Vec<&str> = features.iter().map(String::as_str).filter(|name| has(name) == Some(false)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let text = format!("the model was compiled for a CPU with {}, which this machine lacks", missing.join(", "));
    Err(Error::Unsupported(text))
}

/// Rows of (LLVM's name, name in Rust).
#[cfg(target_arch = "x86_64")]
macro_rules! detect {
    ($name:expr; $($llvm:literal = $rust:tt;)*) => {
        match $name {
            $($llvm => Some(std::arch::is_x86_feature_detected!($rust)),)*
            _ => None,
        }
    };
}

#[cfg(target_arch = "x86_64")]
fn has(name: &str) -> Option<bool> {
    detect! { name;
        "avx" = "avx";
        "avx2" = "avx2";
        "avx512bf16" = "avx512bf16";
        "avx512bw" = "avx512bw";
        "avx512cd" = "avx512cd";
        "avx512dq" = "avx512dq";
        "avx512f" = "avx512f";
        "avx512fp16" = "avx512fp16";
        "avx512vl" = "avx512vl";
        "avx512vnni" = "avx512vnni";
        "avxvnni" = "avxvnni";
        "bmi" = "bmi1";
        "bmi2" = "bmi2";
        "f16c" = "f16c";
        "fma" = "fma";
        "lzcnt" = "lzcnt";
        "movbe" = "movbe";
        "popcnt" = "popcnt";
        "sse3" = "sse3";
        "sse4.1" = "sse4.1";
        "sse4.2" = "sse4.2";
        "ssse3" = "ssse3";
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn has(_name: &str) -> Option<bool> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_features_are_not_checked() {
        assert!(check_features(&["no-such-feature".to_string()]).is_ok());
    }
}

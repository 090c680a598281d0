//! What can go wrong before or while a kernel runs. Faults of the *kernel* are not errors: they are findings.

/// Result of the simulator.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a module could not be read or a kernel could not be started. Each text is one line that names the cause.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text is not PTX.
    #[error("line {line}: {what}")]
    Syntax {
        /// Line of the PTX text.
        line: u32,
        /// What was found and expected.
        what: String,
    },
    /// PTX that the simulator does not execute.
    #[error("line {line}: `{opcode}` is not supported: {why}")]
    Unsupported {
        /// Line of the PTX text.
        line: u32,
        /// The instruction or directive as written.
        opcode: String,
        /// What about it is not supported.
        why: String,
    },
    /// A launch that no device would accept.
    #[error("kernel `{kernel}`: {what}")]
    Launch {
        /// Name of the kernel.
        kernel: String,
        /// What is wrong with the launch.
        what: String,
    },
    /// A tensor map whose numbers break a rule of the hardware.
    #[error("tensor map: {0}")]
    TensorMap(String),
    /// An access of the host to device memory that does not exist.
    #[error("device memory: {0}")]
    Memory(String),
}

impl Error {
    /// A syntax error at `line`.
    pub fn syntax(line: u32, what: impl Into<String>) -> Self {
        Error::Syntax { line, what: what.into() }
    }

    /// An unsupported instruction at `line`.
    pub fn unsupported(line: u32, opcode: impl Into<String>, why: impl Into<String>) -> Self {
        Error::Unsupported { line, opcode: opcode.into(), why: why.into() }
    }
}

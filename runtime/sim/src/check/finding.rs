//! Findings: what a kernel did wrong, where.

use serde::Serialize;
use std::collections::HashMap;
use std::fmt;

/// State spaces of PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Space {
    /// Resolved at run time from the address.
    Generic,
    /// Global memory.
    Global,
    /// Shared memory of the CTA.
    Shared,
    /// Shared memory of the cluster.
    SharedCluster,
    /// Memory of a thread.
    Local,
    /// Constant memory.
    Const,
    /// Parameters of the kernel.
    Param,
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Space::Generic => "generic",
            Space::Global => "global",
            Space::Shared => "shared",
            Space::SharedCluster => "shared::cluster",
            Space::Local => "local",
            Space::Const => "const",
            Space::Param => "param",
        })
    }
}

/// Kinds of findings. Their names are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// An access outside every allocation.
    OutOfBounds,
    /// An address that is not a multiple of the access size.
    Misaligned,
    /// A read of memory that nobody wrote.
    UninitialisedRead,
    /// A write to a buffer that the host gave as an input.
    WriteToInput,
    /// Two accesses, one a write, that nothing orders.
    Race,
    /// An async-proxy access of generic-proxy writes with no `fence.proxy.async` between.
    MissingProxyFence,
    /// A register of a `wgmma` in flight was touched.
    WgmmaInFlight,
    /// Registers written before a `wgmma` with no `wgmma.fence` between.
    WgmmaFence,
    /// Threads of a warp that do not reach an aligned instruction together.
    BarrierDivergence,
    /// Threads that wait for what can no longer come.
    Deadlock,
    /// A wait on a parity that names another phase than the one meant.
    ParityAliasing,
    /// An mbarrier used uninitialised, or with counts it cannot have.
    MbarrierMisuse,
    /// A descriptor or tensor map that the instruction cannot use.
    BadDescriptor,
    /// More registers, threads or shared memory than there is.
    Limits,
    /// `trap` was executed.
    Trap,
    /// The kernel did not end within the step limit.
    NoProgress,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::OutOfBounds => "out-of-bounds",
            Kind::Misaligned => "misaligned",
            Kind::UninitialisedRead => "uninitialised-read",
            Kind::WriteToInput => "write-to-input",
            Kind::Race => "race",
            Kind::MissingProxyFence => "missing-proxy-fence",
            Kind::WgmmaInFlight => "wgmma-in-flight",
            Kind::WgmmaFence => "wgmma-fence",
            Kind::BarrierDivergence => "barrier-divergence",
            Kind::Deadlock => "deadlock",
            Kind::ParityAliasing => "parity-aliasing",
            Kind::MbarrierMisuse => "mbarrier-misuse",
            Kind::BadDescriptor => "bad-descriptor",
            Kind::Limits => "limits",
            Kind::Trap => "trap",
            Kind::NoProgress => "no-progress",
        })
    }
}

/// One finding; equal ones are counted.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// What is wrong.
    pub kind: Kind,
    /// Kernel.
    pub kernel: String,
    /// Line of the PTX text.
    pub line: u32,
    /// Opcode at that line.
    pub opcode: String,
    /// Source file and line, where `.loc` gives them.
    pub source: Option<(String, u32)>,
    /// CTA of the first occurrence.
    pub cta: [u32; 3],
    /// Thread of the first occurrence.
    pub thread: [u32; 3],
    /// Address of the first occurrence.
    pub address: Option<u64>,
    /// PTX line of the other access, of a race.
    pub other_line: Option<u32>,
    /// The rest in words.
    pub detail: String,
    /// Occurrences.
    pub count: u64,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} line {} `{}`", self.kind, self.kernel, self.line, self.opcode)?;
        if let Some((file, line)) = &self.source {
            write!(f, " ({file}:{line})")?;
        }
        let ([cx, cy, cz], [tx, ty, tz]) = (self.cta, self.thread);
        write!(f, ", cta ({cx},{cy},{cz}) thread ({tx},{ty},{tz})")?;
        if let Some(address) = self.address {
            write!(f, ", address {address:#x}")?;
        }
        write!(f, ": {}", self.detail)?;
        if self.count > 1 {
            write!(f, " [{} times]", self.count)?;
        }
        Ok(())
    }
}

/// Findings of a run, one for each kind, line and other line.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    list: Vec<Finding>,
    index: HashMap<(Kind, u32, Option<u32>), usize>,
}

impl Findings {
    /// Counts an occurrence of what is known, or adds what `make` gives.
    pub fn add(&mut self, kind: Kind, line: u32, other_line: Option<u32>, make: impl FnOnce() -> Finding) {
        let key = (kind, line, other_line);
        if let Some(known) = self.index.get(&key).and_then(|&i| self.list.get_mut(i)) {
            known.count += 1;
            return;
        }
        self.index.insert(key, self.list.len());
        self.list.push(make());
    }

    /// Adds those of another part of the run.
    pub fn merge(&mut self, other: Findings) {
        for finding in other.list {
            let count = finding.count;
            let (kind, line, other_line) = (finding.kind, finding.line, finding.other_line);
            self.add(kind, line, other_line, || Finding { count: 0, ..finding });
            if let Some(f) = self.index.get(&(kind, line, other_line)).and_then(|&i| self.list.get_mut(i)) {
                f.count = f.count.max(1) - u64::from(f.count > 0) + count;
            }
        }
    }

    /// All, by line.
    pub fn into_sorted(mut self) -> Vec<Finding> {
        self.list.sort_by_key(|f| (f.line, f.kind, f.other_line));
        self.list
    }
}

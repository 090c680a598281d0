//! What is watched while a kernel runs. One mechanism orders all accesses: the vector clocks of [`clock`], which
//! barriers, mbarriers, fences and the completion of async operations move forward. [`shadow`] keeps who touched
//! each byte last, and a pair of accesses that the clocks do not order is a race.

pub mod clock;
pub mod finding;
pub mod shadow;

/// The checks that run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checks {
    /// Misaligned accesses. Accesses out of bounds are always reported: they cannot be carried out.
    pub align: bool,
    /// Reads of memory never written.
    pub uninit: bool,
    /// Data races and missing proxy fences.
    pub races: bool,
    /// Registers of `wgmma` in flight.
    pub wgmma: bool,
    /// Divergence at barriers, deadlock, parity aliasing, misuse of mbarriers.
    pub barriers: bool,
    /// Register and shared-memory limits.
    pub limits: bool,
}

impl Checks {
    /// All of them.
    pub const ALL: Checks =
        Checks { align: true, uninit: true, races: true, wgmma: true, barriers: true, limits: true };
    /// None but what cannot be carried out.
    pub const NONE: Checks =
        Checks { align: false, uninit: false, races: false, wgmma: false, barriers: false, limits: false };

    /// Reads a list such as `races,uninit`, `all` or `none`.
    pub fn parse(list: &str) -> Result<Checks, String> {
        let mut checks = Checks::NONE;
        for name in list.split(',') {
            match name {
                "all" => checks = Checks::ALL,
                "none" => checks = Checks::NONE,
                "align" => checks.align = true,
                "uninit" => checks.uninit = true,
                "races" => checks.races = true,
                "wgmma" => checks.wgmma = true,
                "barriers" => checks.barriers = true,
                "limits" => checks.limits = true,
                other => {
                    let known = "all, none, align, uninit, races, wgmma, barriers, limits";
                    return Err(format!("no check is named `{other}`; there are {known}"));
                }
            }
        }
        Ok(checks)
    }

    /// Whether accesses leave marks in shadow memory.
    pub fn shadow(self) -> bool {
        self.races || self.uninit
    }
}

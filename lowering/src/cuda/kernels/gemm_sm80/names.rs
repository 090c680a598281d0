//! Names of configurations, in tables and in messages.

use super::{Config, Kind};

impl Config {
    /// A short name: what multiplies, the tile, the warps along M and N (of `mma` alone: FMA's threads share a tile in one way), and the stages. How wide copies are
    /// is no part of it: they are as wide as addresses allow.
    pub fn short_name(&self) -> String {
        let ([rows, columns], [along_m, along_n]) = (self.tile(), self.warps);
        match self.kind {
            Kind::Mma => format!("mma_{rows}x{columns}_w{along_m}x{along_n}_s{}", self.stages),
            Kind::Fma => format!("fma_{rows}x{columns}_s{}", self.stages),
        }
    }
}

/// The configuration of that short name, with the widest copies; it need not be one of the candidates, or legal for any problem.
pub fn parse(name: &str) -> Option<Config> {
    let mut parts = name.split('_');
    let kind = match parts.next()? {
        "mma" => Kind::Mma,
        "fma" => Kind::Fma,
        _ => return None,
    };
    let pair = |text: &str| -> Option<[u32; 2]> {
        let (a, b) = text.split_once('x')?;
        Some([a.parse().ok()?, b.parse().ok()?])
    };
    let tile = pair(parts.next()?)?;
    let warps = match kind {
        Kind::Mma => pair(parts.next()?.strip_prefix('w')?)?,
        Kind::Fma => Config::FMA.warps,
    };
    let stages = parts.next()?.strip_prefix('s')?.parse().ok()?;
    let warp_tile = [tile[0].checked_div(warps[0])?, tile[1].checked_div(warps[1])?];
    let config = Config { kind, warps, warp_tile, stages, ..Config::LARGE };
    (parts.next().is_none() && config.short_name() == name).then_some(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_all_of_a_configuration() {
        for name in ["mma_128x128_w2x2_s3", "mma_16x64_w1x4_s6", "fma_128x64_s3"] {
            assert_eq!(parse(name).map(|config| config.short_name()).as_deref(), Some(name));
        }
        for other in
            ["", "mma_64x64_s3", "mma_65x64_w2x2_s3", "mma_64x64_w0x2_s3", "fma_64x64_s3_d", "co1_64x64_s6_k1_c2_g8"]
        {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}

//! Names of configurations, in tables and in messages.

use super::{Config, Schedule};

impl Config {
    /// A short name that says all: schedule and consumers, tile, stages, parts of a tile (`x` in a cluster, `k` through the workspace, `sk` for
    /// stream-K), CTAs of a multiprocessor, group; `_t` for the transposed product, `_d` for plain stores; `_m` and `_n` with the CTAs that share an
    /// operand, along rows and along columns; `_b2` where stages are filled two at a time; `_o` where a launch may begin while the one
    /// before it ends.
    pub fn short_name(&self) -> String {
        let [rows, columns] = self.tile();
        let parts = match (self.stream, self.cluster) {
            (true, _) => "sk".to_owned(),
            (_, true) => format!("x{}", self.split),
            (_, false) => format!("k{}", self.split),
        };
        let shared = ["m", "n"].into_iter().zip(self.share).filter(|(_, share)| *share > 1);
        let sharing: String = shared.map(|(along, share)| format!("_{along}{share}")).collect();
        let burst = if self.burst == 1 { String::new() } else { format!("_b{}", self.burst) };
        let overlap = if self.overlap { "_o" } else { "" };
        format!(
            "{}{}_{rows}x{columns}_s{}_{parts}_c{}_g{}{}{}{sharing}{burst}{overlap}",
            if self.schedule == Schedule::PingPong { "pp" } else { "co" },
            self.consumers,
            self.stages,
            self.ctas_per_sm,
            self.group,
            if self.swapped { "_t" } else { "" },
            if self.tma_store { "" } else { "_d" },
        )
    }
}

/// The configuration of that short name, which need not be one of the candidates, or legal for any problem: see [`Config::short_name`].
pub fn parse(name: &str) -> Option<Config> {
    let mut parts = name.split('_');
    let (kind, tile) = (parts.next()?, parts.next()?);
    let (schedule, consumers) = match kind.split_at_checked(2)? {
        ("pp", rest) => (Schedule::PingPong, rest),
        ("co", rest) => (Schedule::Cooperative, rest),
        _ => return None,
    };
    let (rows, columns) = tile.split_once('x')?;
    let mut config = Config {
        schedule,
        consumers: consumers.parse().ok().filter(|n| *n <= 2)?,
        columns: columns.parse().ok()?,
        ..Config::PING_PONG
    };
    let of_chain = Config { chains: 1, ..config }.tile()[0];
    config.chains = rows.parse::<u32>().ok()?.checked_div(of_chain)?;
    config.stages = parts.next()?.strip_prefix('s')?.parse().ok()?;
    let split = parts.next()?;
    (config.split, config.cluster, config.stream) = match split.split_at_checked(1)? {
        ("s", "k") => (1, false, true),
        ("x", count) => (count.parse().ok()?, true, false),
        ("k", count) => (count.parse().ok()?, false, false),
        _ => return None,
    };
    config.ctas_per_sm = parts.next()?.strip_prefix('c')?.parse().ok()?;
    config.group = parts.next()?.strip_prefix('g')?.parse().ok()?;
    for part in parts {
        match part.split_at_checked(1)? {
            ("t", "") => config.swapped = true,
            ("d", "") => config.tma_store = false,
            ("m", count) => config.share[0] = count.parse().ok()?,
            ("n", count) => config.share[1] = count.parse().ok()?,
            ("o", "") => config.overlap = true,
            ("b", count) => config.burst = count.parse().ok()?,
            _ => return None,
        }
    }
    // What is written in another way, such as numbers with leading zeros, is no name.
    (config.short_name() == name).then_some(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_all_of_a_configuration() {
        for name in [
            "pp2_128x128_s6_k1_c1_g8",
            "co2_256x64_s4_x4_c1_g16",
            "co1_64x8_s12_k32_c2_g4_t_d",
            "co2_128x128_s6_sk_c1_g8",
            "pp2_64x128_s8_k1_c1_g8_n2_b2",
            "pp2_64x128_s8_k1_c1_g8_m2_b2_o",
            "co2_128x72_s8_k1_c1_g8_d_m4_n2_o",
        ] {
            assert_eq!(parse(name).map(|config| config.short_name()).as_deref(), Some(name));
        }
        for other in
            ["", "pp", "pp2_128x128", "co0_64x64_s4_k1_c1_g8", "co1_64x64_s04_k1_c1_g8", "co1_96x64_s4_k1_c1_g8"]
        {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}

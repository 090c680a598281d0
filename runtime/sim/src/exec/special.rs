//! Special registers and addresses of other CTAs.

use super::lane::{LANES, Lanes};
use crate::machine::cluster::Cluster;
use crate::machine::warp::Warp;
use crate::memory::address::{RANK_SHIFT, SHARED_BASE};
use crate::program::{Reg, Special, Src};

impl Cluster<'_> {
    /// Lanes of a special register.
    pub fn special(&self, w: &Warp, s: Special) -> Lanes {
        let launch = self.grid.launch;
        let cta = self.ctas.get(w.cta);
        let axis = |v: [u32; 3], a: u8| v.get(a as usize).copied().unwrap_or(if a > 2 { 0 } else { 1 });
        let masks = |f: fn(u32) -> u32| std::array::from_fn(|i| u64::from(f(i as u32)));
        let value = match s {
            Special::Tid(a) => return w.tid.get(a as usize).copied().unwrap_or([0; LANES]),
            Special::Laneid => return masks(|i| i),
            Special::LanemaskEq => return masks(|i| 1 << i),
            Special::LanemaskLt => return masks(|i| (1 << i) - 1),
            Special::LanemaskLe => return masks(|i| u32::MAX >> (31 - i)),
            Special::LanemaskGe => return masks(|i| u32::MAX << i),
            Special::LanemaskGt => return masks(|i| u32::MAX << i << 1),
            Special::Ntid(a) => axis(launch.block, a),
            Special::Ctaid(a) => axis(cta.map_or([0; 3], |c| c.id), a),
            Special::Nctaid(a) => axis(launch.grid, a),
            Special::Clusterid(a) => axis(self.id, a),
            Special::Nclusterid(a) => axis(std::array::from_fn(|i| launch.grid[i] / self.grid.cluster[i]), a),
            Special::ClusterCtaid(a) => axis(cta.map_or([0; 3], |c| c.in_cluster), a),
            Special::ClusterNctaid(a) => axis(self.grid.cluster, a),
            Special::ClusterCtarank => w.cta as u32,
            Special::ClusterNctarank => self.ctas.len() as u32,
            Special::ExplicitCluster => u32::from(self.ctas.len() > 1),
            Special::Warpid => w.index,
            Special::Nwarpid => cta.map_or(0, |c| c.warps.len() as u32),
            Special::Smid => self.index * self.ctas.len() as u32 + w.cta as u32,
            Special::Nsmid => 132,
            Special::Gridid => 1,
            Special::Clock => return [self.steps; LANES],
            Special::DynamicSmem => launch.dynamic_shared,
            Special::TotalSmem => cta.map_or(0, |c| c.shared.len() as u32),
        };
        [u64::from(value); LANES]
    }

    /// `mapa`: the same place in another CTA of the cluster.
    pub fn mapa(&mut self, w: &mut Warp, active: u32, dst: Reg, [addr, rank]: [Src; 2], generic: bool) {
        let (addr, rank) = (self.value(w, addr), self.value(w, rank));
        let base = if generic { SHARED_BASE } else { 0 };
        let low = (1u64 << RANK_SHIFT) - 1;
        let mapped = |i: usize| base + ((addr[i] - base.min(addr[i])) & low | (rank[i] + 1) << RANK_SHIFT);
        w.set(dst, active, &std::array::from_fn(mapped));
    }

    /// `getctarank`
    pub fn cta_rank(&mut self, w: &mut Warp, active: u32, dst: Reg, addr: Src, generic: bool) {
        let addr = self.value(w, addr);
        let base = if generic { SHARED_BASE } else { 0 };
        let own = w.cta as u64;
        let rank = |i: usize| (addr[i].wrapping_sub(base) >> RANK_SHIFT & 0xFF).checked_sub(1).unwrap_or(own);
        w.set(dst, active, &std::array::from_fn(rank));
    }
}

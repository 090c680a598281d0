#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
// Tiles of warps, groups of the threads that came, reductions and scans of them.
extern "C" __global__ void cooperative(const int *x, int *out) {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    int v = x[blockIdx.x * blockDim.x + threadIdx.x];
    int sum = cg::reduce(tile, v, cg::plus<int>());
    int scan = cg::exclusive_scan(tile, v, cg::plus<int>());
    int above = 0;
    if (v > 0) {
        auto active = cg::coalesced_threads();
        above = active.size() * 100 + active.thread_rank();
    }
    block.sync();
    auto pairs = cg::labeled_partition(cg::tiled_partition<32>(block), v & 1);
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum * 3 + scan * 7 + above + (int)pairs.size() * 11 + tile.shfl(v, 3) + tile.any(v > 95);
}

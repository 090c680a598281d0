#include <cooperative_groups.h>
#include <cuda/barrier>
#pragma nv_diag_suppress static_var_with_dynamic_init
// cuda::memcpy_async on a cuda::barrier.
extern "C" __global__ void memcpy_async_barrier(const int *x, int *out, int steps) {
    __shared__ alignas(16) int tile[256];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    auto block = cooperative_groups::this_thread_block();
    if (block.thread_rank() == 0) init(&bar, block.size());
    block.sync();
    int sum = 0;
    for (int s = 0; s < steps; s++) {
        cuda::memcpy_async(block, tile, x + s * 256, cuda::aligned_size_t<16>(sizeof(tile)), bar);
        bar.arrive_and_wait();
        sum += tile[block.thread_rank()] * (s + 1) + tile[255 - block.thread_rank()];
        block.sync();
    }
    out[block.thread_rank()] = sum;
}

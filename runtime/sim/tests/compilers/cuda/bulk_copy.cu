#include <cuda/barrier>
#include <cuda/ptx>
#include <utility>
#pragma nv_diag_suppress static_var_with_dynamic_init
// cp.async.bulk in, cp.async.bulk out.
extern "C" __global__ void bulk_copy(const int *x, int *y) {
    __shared__ alignas(16) int tile[1024];
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ barrier bar;
    if (threadIdx.x == 0) {
        init(&bar, blockDim.x);
        cuda::device::experimental::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    barrier::arrival_token token;
    if (threadIdx.x == 0) {
        cuda::device::experimental::cp_async_bulk_global_to_shared(tile, x + blockIdx.x * 1024, sizeof(tile), bar);
        token = cuda::device::barrier_arrive_tx(bar, 1, sizeof(tile));
    } else {
        token = bar.arrive();
    }
    bar.wait(std::move(token));
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) tile[i] = tile[i] * 2 + 1;
    cuda::device::experimental::fence_proxy_async_shared_cta();
    __syncthreads();
    if (threadIdx.x == 0) {
        cuda::device::experimental::cp_async_bulk_shared_to_global(y + blockIdx.x * 1024, tile, sizeof(tile));
        cuda::device::experimental::cp_async_bulk_commit_group();
        cuda::device::experimental::cp_async_bulk_wait_group_read<0>();
    }
}

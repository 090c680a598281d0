// The last block to arrive adds what the others left.
__device__ unsigned arrived = 0;
extern "C" __global__ void last_block(const int *x, volatile int *partial, int *out, int n) {
    __shared__ int sums[128];
    __shared__ bool last;
    int t = threadIdx.x, sum = 0;
    for (int i = blockIdx.x * 128 + t; i < n; i += gridDim.x * 128) sum += x[i];
    sums[t] = sum;
    __syncthreads();
    for (int d = 64; d > 0; d /= 2) {
        if (t < d) sums[t] += sums[t + d];
        __syncthreads();
    }
    if (t == 0) {
        partial[blockIdx.x] = sums[0];
        __threadfence();
        last = atomicInc(&arrived, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        int total = 0;
        for (int i = 0; i < gridDim.x; i++) total += partial[i];
        *out = total;
    }
}

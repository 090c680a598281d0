#include <cuda_pipeline.h>
// Two stages of cp.async ahead of a sum.
extern "C" __global__ void cp_async_pipeline(const float4 *x, float *out, int steps) {
    __shared__ float4 stage[3][128];
    int t = threadIdx.x;
    const float4 *from = x + blockIdx.x * steps * 128;
    for (int s = 0; s < 2; s++) {
        if (s < steps) __pipeline_memcpy_async(&stage[s][t], &from[s * 128 + t], 16);
        __pipeline_commit();
    }
    float sum = 0;
    for (int s = 0; s < steps; s++) {
        if (s + 2 < steps) __pipeline_memcpy_async(&stage[(s + 2) % 3][t], &from[(s + 2) * 128 + t], 16);
        __pipeline_commit();
        __pipeline_wait_prior(2);
        __syncthreads();
        float4 v = stage[s % 3][127 - t];
        sum += v.x * 1.0f + v.y * 2.0f + v.z * 3.0f + v.w * 4.0f;
        __syncthreads();
    }
    out[blockIdx.x * 128 + t] = sum;
}

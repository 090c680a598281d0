#include <cuda_bf16.h>
#include <cuda_fp16.h>
// Every atomic on global memory; the float sums are of small integers, so their order does not matter.
extern "C" __global__ void atomics_global(const int *x, unsigned *words, unsigned long long *longs, float *floats, double *doubles, __half2 *halves) {
    int v = x[blockIdx.x * blockDim.x + threadIdx.x];
    atomicAdd(&words[0], v);
    atomicMin((int *)&words[1], v);
    atomicMax((int *)&words[2], v);
    atomicMin(&words[3], v);
    atomicMax(&words[4], v);
    atomicAnd(&words[5], v | 0xff);
    atomicOr(&words[6], v);
    atomicXor(&words[7], v);
    atomicInc(&words[8], 100);
    atomicDec(&words[9], 50);
    atomicSub(&words[10], v);
    // A maximum by compare and swap.
    unsigned old = words[11], seen;
    do {
        seen = old;
        old = atomicCAS(&words[11], seen, max(seen, v * 7u & 0xffff));
    } while (old != seen);
    atomicAdd(&longs[0], (unsigned long long)v);
    atomicMax(&longs[1], (unsigned long long)(long long)v);
    atomicMin((long long *)&longs[2], (long long)v);
    atomicXor(&longs[3], (unsigned long long)v << 20);
    atomicAdd(&floats[0], (float)(v % 16));
    atomicAdd(&floats[1 + (v & 3)], 1.0f);
    atomicAdd(&doubles[0], (double)(v % 1024));
    atomicAdd(&halves[0], __floats2half2_rn(1.0f, (float)(v & 1)));
    if (atomicExch(&words[12], v) == 0xdeadbeef) words[13] = 1;
}

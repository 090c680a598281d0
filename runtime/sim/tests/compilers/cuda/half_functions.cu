#include <cuda_fp16.h>
// Functions of halves that go through approximations.
extern "C" __global__ void half_functions(const __half2 *x, __half2 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half2 a = x[i], *o = out + i * 6;
    o[0] = h2exp(a);
    o[1] = h2log2(__habs2(a));
    o[2] = h2sqrt(__habs2(a));
    o[3] = h2rcp(a);
    o[4] = h2tanh_approx(a);
    o[5] = h2exp2(a);
}

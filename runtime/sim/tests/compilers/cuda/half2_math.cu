#include <cuda_fp16.h>
// Arithmetic, comparison and conversion of halves, two at a time.
extern "C" __global__ void half2_math(const __half2 *x, const __half2 *y, __half2 *out, unsigned *masks, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half2 a = x[i], b = y[i], *o = out + i * 12;
    o[0] = __hadd2(a, b);
    o[1] = __hmul2(a, b);
    o[2] = __hfma2(a, b, a);
    o[3] = __hmin2(a, b);
    o[4] = __hmax2(a, b);
    o[5] = __hsub2_sat(a, b);
    o[6] = __hneg2(__habs2(a));
    o[7] = __hfma2_relu(a, b, b);
    o[8] = __h2div(a, b);
    o[9] = __hge2(a, b);
    o[10] = __float22half2_rn(make_float2(__low2float(a) * 3.0f, __high2float(b) * 0.1f));
    o[11] = __halves2half2(__int2half_rn(__half2int_rd(__low2half(a))), __hmax_nan(__high2half(a), __high2half(b)));
    masks[i] = __hlt2_mask(a, b) ^ (__hbeq2(a, b) ? 1 : 0) ^ (__hgt(__low2half(a), __low2half(b)) ? 0x100 : 0) ^
               (__hbneu2(a, b) ? 0x10000 : 0);
}

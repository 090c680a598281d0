#include <cuda_bf16.h>
// bfloat16: every rounding, arithmetic and back.
extern "C" __global__ void bf16_convert(const float *x, const float *y, __nv_bfloat162 *out, int *ints, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a = x[i], b = y[i];
    __nv_bfloat16 p = __float2bfloat16_rn(a), q = __float2bfloat16_rz(b);
    __nv_bfloat162 u = __floats2bfloat162_rn(a, b), v = __halves2bfloat162(q, p), *o = out + i * 8;
    o[0] = u;
    o[1] = __halves2bfloat162(__float2bfloat16_rd(a), __float2bfloat16_ru(b));
    o[2] = __hadd2(u, v);
    o[3] = __hmul2(u, v);
    o[4] = __hfma2(u, v, u);
    o[5] = __hmax2(u, v);
    o[6] = __hmin2_nan(u, v);
    o[7] = __halves2bfloat162(__hdiv(p, q), __hneg(p));
    ints[i] = __bfloat162int_rn(p) + (__hlt(p, q) ? 1000000 : 0) + (__hge(p, q) ? 2000000 : 0);
}

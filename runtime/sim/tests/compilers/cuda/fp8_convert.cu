#include <cuda_fp8.h>
// 8-bit floats: saturating conversions and back.
extern "C" __global__ void fp8_convert(const float2 *x, __nv_fp8x2_storage_t *out, float2 *back, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    auto a = __nv_cvt_float2_to_fp8x2(x[i], __NV_SATFINITE, __NV_E4M3);
    auto b = __nv_cvt_float2_to_fp8x2(x[i], __NV_SATFINITE, __NV_E5M2);
    out[i * 2] = a, out[i * 2 + 1] = b;
    __half2 h = __half2(__nv_cvt_fp8x2_to_halfraw2(a, __NV_E4M3)), g = __half2(__nv_cvt_fp8x2_to_halfraw2(b, __NV_E5M2));
    back[i * 2] = __half22float2(h), back[i * 2 + 1] = __half22float2(g);
}

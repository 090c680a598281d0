// 16 bytes a thread, with a tail.
extern "C" __global__ void saxpy4(const float *__restrict__ x, const float *__restrict__ y, float *__restrict__ out, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 4) {
        float4 u = reinterpret_cast<const float4 *>(x)[i], v = reinterpret_cast<const float4 *>(y)[i];
        reinterpret_cast<float4 *>(out)[i] = make_float4(a * u.x + v.x, a * u.y + v.y, a * u.z + v.z, a * u.w + v.w);
    }
    if (i < n % 4) out[n / 4 * 4 + i] = a * x[n / 4 * 4 + i] + y[n / 4 * 4 + i];
}

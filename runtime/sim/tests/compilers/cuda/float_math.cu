// f32: library functions at full and at fast precision, directed rounding.
extern "C" __global__ void float_math(const float *a, const float *b, float *exact, float *approximate, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = a[i], y = b[i], *e = exact + i * 8, *p = approximate + i * 8;
    e[0] = x / y;
    e[1] = sqrtf(fabsf(x)) + rintf(x) + truncf(y);
    e[2] = __fadd_rz(x, y) + __fmul_ru(x, y) + __fmaf_rd(x, y, 0.3f);
    e[3] = __fdiv_rd(x, y) + __frcp_ru(y) + __fsqrt_rz(fabsf(y));
    e[4] = fmaxf(x, y) - fminf(x, 0.25f) + copysignf(x, y);
    e[5] = (float)__float2int_rn(x * 100) + (float)__float2uint_ru(fabsf(y) * 10) + (float)(long long)(y * 1e10f);
    e[6] = fmodf(x * 50, y);
    e[7] = ldexpf(x, (int)(y * 4)) + (float)ilogbf(y);
    p[0] = expf(x);
    p[1] = logf(fabsf(y) + 0.1f);
    p[2] = sinf(x * 1e5f);
    p[3] = powf(fabsf(x), y);
    p[4] = tanhf(x);
    p[5] = __expf(y) + __logf(fabsf(x)) + __sinf(x) + __cosf(y);
    p[6] = erff(x) + rsqrtf(fabsf(y));
    p[7] = __fdividef(x, y) + cbrtf(y);
}

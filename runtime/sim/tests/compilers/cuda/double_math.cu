// f64: arithmetic, roots, directed rounding, and functions that call others with arrays in local memory.
extern "C" __global__ void double_math(const double *a, const double *b, double *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double x = a[i], y = b[i], *o = out + i * 10;
    o[0] = x * y + x;
    o[1] = x / y;
    o[2] = sqrt(fabs(x));
    o[3] = exp(x * 0.01);
    o[4] = sin(x * 1e6);
    o[5] = log(fabs(y) + 1.0);
    o[6] = __dadd_ru(x, y) - __dmul_rd(x, y);
    o[7] = fmin(x, y) + floor(x) + rint(y);
    o[8] = (double)(float)x + (double)(long long)y + (double)__double2uint_rn(fabs(y));
    o[9] = __fma_rz(x, y, 0.1) + __ddiv_rz(x, y) + __dsqrt_ru(fabs(y));
}

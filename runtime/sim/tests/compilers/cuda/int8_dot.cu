// dp4a and dp2a with every mix of signs.
extern "C" __global__ void int8_dot(const int *a, const int *b, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int x = a[i], y = b[i];
    out[i * 4] = __dp4a(x, y, 100) + __dp4a((unsigned)x, (unsigned)y, 7u);
    out[i * 4 + 1] = __dp2a_lo(x, y, -3) ^ __dp2a_hi(x, y, 5);
    out[i * 4 + 2] = __dp2a_lo((unsigned)x, (unsigned)y, 9u) + __dp2a_hi((unsigned)x, (unsigned)y, 1u);
    int mixed;
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(mixed) : "r"(x), "r"(y), "r"(11));
    out[i * 4 + 3] = mixed;
}

// Integers of 64 bits: products, division, shifts, bits.
extern "C" __global__ void int64_math(const long long *a, const long long *b, long long *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    long long x = a[i], y = b[i] | 1, *o = out + i * 12;
    unsigned long long ux = x, uy = y;
    o[0] = __mul64hi(x, y);
    o[1] = __umul64hi(ux, uy);
    o[2] = x / y;
    o[3] = x % y;
    o[4] = ux / uy;
    o[5] = ux % uy;
    o[6] = x * y + (x >> (y & 63)) + (ux >> (y & 31)) + (x << (y & 15));
    o[7] = __clzll(x) + 100 * __popcll(x) + 100000LL * __ffsll(x);
    o[8] = __brevll(x);
    o[9] = max(x, y) - min(ux, uy);
    o[10] = llabs(x) + (x > y) + 2 * (ux >= uy);
    unsigned __int128 wide = (unsigned __int128)ux * uy + ux;
    o[11] = (long long)(wide >> 37);
}

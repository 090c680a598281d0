// Bit fields, permutations, funnel shifts, differences, byte-wise SIMD.
extern "C" __global__ void int32_bits(const unsigned *a, const unsigned *b, unsigned *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned x = a[i], y = b[i], *o = out + i * 16, r;
    o[0] = __byte_perm(x, y, y & 0x7777);
    o[1] = __funnelshift_l(x, y, x) ^ __funnelshift_rc(x, y, y & 63);
    o[2] = __brev(x) + __clz(y) + __ffs(x) * 64 + __popc(y);
    o[3] = __sad(x, y, 5) + __usad(x, y, 6);
    o[4] = __mulhi((int)x, (int)y) ^ __umulhi(x, y);
    o[5] = __mul24(x, y) + __umul24(y, x);
    o[6] = __hadd((int)x, (int)y) ^ __urhadd(x, y);
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y & 255), "r"(y >> 8 & 255));
    o[7] = r;
    asm("bfe.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y & 31), "r"(y >> 8 & 31));
    o[8] = r;
    asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(r) : "r"(x), "r"(y), "r"(x & 31), "r"(y & 31));
    o[9] = r;
    asm("bfind.shiftamt.s32 %0, %1;" : "=r"(r) : "r"(x));
    o[10] = r;
    asm("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(y & 3));
    o[11] = r;
    asm("prmt.b32.ecl %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(x & 3));
    o[12] = r;
    o[13] = __vadd4(x, y) ^ __vmaxs2(x, y);
    o[14] = __vcmpgtu4(x, y);
    o[15] = (int)x / (int)(y | 1) + x % (y | 1);
}

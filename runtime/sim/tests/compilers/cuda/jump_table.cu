// A switch of many cases, which nvcc makes a tree of, and a brx.idx.
extern "C" __global__ void jump_table(const int *x, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = x[i], r = 0;
    switch (v) {
    case 0: r = out[i] + 17; break;
    case 1: r = i * 3; out[n + i] = 1; break;
    case 2: for (int k = 0; k < i % 7; k++) r = r * 5 + k; break;
    case 3: r = __popc(i) * 1000; break;
    case 4: r = i / 7; out[n + i] = r - 2; break;
    case 5: r = ~i; break;
    case 6: r = i << 3;  // falls through
    case 7: r = i % 11 - r; out[n + i] = r; break;
    case 8: r = min(i, 40); break;
    case 9: r = x[(i + 1) % n] * 9; break;
    case 10: r = __clz(i); out[n + i] = -r; break;
    case 11: for (int k = 0; k < i % 5; k++) r += x[k] << k; break;
    case 12: r = i ^ 0x55; break;
    case 13: r = out[n + i] - 4; break;
    case 14: r = i * i * i; break;
    case 15: r = __brev(i); break;
    case 16: r = x[0] + x[n - 1]; break;
    case 17: r = 40 - i; out[n + i] = i; break;
    case 18: r = i & 12; break;
    case 19: r = i | 33; break;
    default: r = -1;
    }
    int picked;
    asm volatile("{ table: .branchtargets first, second, third;\n\t"
                 "brx.idx %1, table;\n\t"
                 "first: mul.lo.s32 %0, %2, 3; bra.uni done;\n\t"
                 "second: sub.s32 %0, 100, %2; bra.uni done;\n\t"
                 "third: xor.b32 %0, %2, 1;\n\t"
                 "done: }"
                 : "=r"(picked)
                 : "r"(i % 3), "r"(i));
    out[i] = r + picked * 1000;
}

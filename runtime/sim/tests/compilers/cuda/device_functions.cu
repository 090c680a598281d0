// Functions that are not inlined, with structures as arguments and results.
struct Pair {
    int a;
    float b;
    double c;
};
__device__ __noinline__ Pair mix(Pair p, int k) {
    Pair r;
    r.a = p.a * k + 1;
    r.b = p.b + (float)p.a;
    r.c = p.c * 0.5 + k;
    return r;
}
__device__ __noinline__ int steps(unsigned n) {
    int count = 0;
    while (n > 1) {
        n = n & 1 ? 3 * n + 1 : n / 2;
        count++;
    }
    return count;
}
__device__ __noinline__ void add_to(int *p, int v) { *p += v; }
extern "C" __global__ void device_functions(const int *x, int *ints, double *doubles, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Pair p = {x[i], 0.25f, 3.0};
    for (int k = 0; k < 3; k++) p = mix(p, k + i % 2);
    int total = steps(x[i] & 0xff);
    if (i % 3 == 0) add_to(&total, p.a);
    ints[i] = total;
    doubles[i] = p.b + p.c;
}

#include <cuda_bf16.h>
// mma.sync on fragments that ldmatrix brought from shared memory.
extern "C" __global__ void mma_sync(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c) {
    __shared__ alignas(16) __nv_bfloat16 at[16 * 16], bt[16 * 8];
    int lane = threadIdx.x;
    for (int i = lane; i < 16 * 16; i += 32) at[i] = a[i];
    for (int i = lane; i < 16 * 8; i += 32) bt[i] = b[i];
    __syncthreads();
    unsigned x[4], y[2];
    unsigned pa = __cvta_generic_to_shared(at + lane % 16 * 16 + lane / 16 * 8), pb = __cvta_generic_to_shared(bt + lane % 16 * 8);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(pa));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(y[0]), "=r"(y[1]) : "r"(pb));
    float d[4] = {0, 0, 0, 0};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    int row = lane / 4, column = lane % 4 * 2;
    c[row * 8 + column] = d[0], c[row * 8 + column + 1] = d[1];
    c[(row + 8) * 8 + column] = d[2], c[(row + 8) * 8 + column + 1] = d[3];
}

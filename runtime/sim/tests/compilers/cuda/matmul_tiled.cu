// A product of f32 matrices through shared tiles.
extern "C" __global__ void matmul_tiled(const float *a, const float *b, float *c, int m, int n, int k) {
    __shared__ float at[16][16], bt[16][16];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0;
    for (int p = 0; p < k; p += 16) {
        at[y][x] = row < m && p + x < k ? a[row * k + p + x] : 0.0f;
        bt[y][x] = column < n && p + y < k ? b[(p + y) * n + column] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; i++) sum += at[y][i] * bt[i][x];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}

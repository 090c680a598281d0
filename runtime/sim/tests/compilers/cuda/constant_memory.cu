// Constant memory with initial values, read at uniform and divergent places.
__constant__ float weights[9] = {0.5f, -1.0f, 0.25f, 2.0f, 4.0f, -0.5f, 1.0f, 3.0f, -2.0f};
__constant__ struct {
    int scale;
    short shifts[4];
    const float *base;
} parameters = {3, {1, 2, 3, -4}, weights};
__device__ int counter = 7;
extern "C" __global__ void constant_memory(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int k = 0; k < 9; k++) sum += weights[k] * x[(i + k) % n];
    sum += weights[i % 9] * parameters.scale + parameters.shifts[i & 3] + parameters.base[(i + 4) % 9];
    out[i] = sum + counter;
}

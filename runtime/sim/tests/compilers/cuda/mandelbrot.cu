// Loops that end at another step in every lane.
extern "C" __global__ void mandelbrot(unsigned short *out, int width, int height, int limit) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float cr = -2.0f + 2.5f * x / width, ci = -1.25f + 2.5f * y / height, r = 0, i = 0;
    int k = 0;
    for (; k < limit && r * r + i * i < 4.0f; k++) {
        float t = r * r - i * i + cr;
        i = 2 * r * i + ci;
        r = t;
    }
    out[y * width + x] = k;
}

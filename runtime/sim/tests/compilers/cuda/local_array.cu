// Arrays indexed at run time: local memory.
extern "C" __global__ void local_array(const int *x, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v[16];
    for (int k = 0; k < 16; k++) v[k] = x[i * 16 + k];
    // Insertion sort.
    for (int k = 1; k < 16; k++) {
        int key = v[k], j = k - 1;
        for (; j >= 0 && v[j] > key; j--) v[j + 1] = v[j];
        v[j + 1] = key;
    }
    for (int k = 0; k < 16; k++) out[i * 16 + k] = v[(k * 5 + i) & 15];
}

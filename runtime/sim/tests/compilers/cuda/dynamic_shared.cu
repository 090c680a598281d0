// Several arrays in dynamic shared memory: a bitonic sort of keys with values.
extern "C" __global__ void dynamic_shared(const int *x, int *keys_out, unsigned short *places_out) {
    extern __shared__ __align__(16) unsigned char room[];
    int *keys = reinterpret_cast<int *>(room);
    unsigned short *places = reinterpret_cast<unsigned short *>(room + blockDim.x * 4);
    int t = threadIdx.x, n = blockDim.x;
    keys[t] = x[blockIdx.x * n + t] * n + t, places[t] = t;
    for (int size = 2; size <= n; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            int other = t ^ stride;
            if (other > t && (keys[t] > keys[other]) == ((t & size) == 0)) {
                int k = keys[t];
                unsigned short p = places[t];
                keys[t] = keys[other], places[t] = places[other];
                keys[other] = k, places[other] = p;
            }
        }
    __syncthreads();
    keys_out[blockIdx.x * n + t] = keys[t];
    places_out[blockIdx.x * n + t] = places[t];
}

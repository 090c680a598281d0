#include <mma.h>
using namespace nvcuda;
// int8 through shared memory, the result stored column by column.
extern "C" __global__ void wmma_integer(const signed char *a, const signed char *b, int *c, int k) {
    __shared__ signed char tile[32 * 16];
    wmma::fragment<wmma::matrix_a, 32, 8, 16, signed char, wmma::row_major> af;
    wmma::fragment<wmma::matrix_b, 32, 8, 16, signed char, wmma::row_major> bf;
    wmma::fragment<wmma::accumulator, 32, 8, 16, int> cf;
    wmma::fill_fragment(cf, -5);
    for (int p = 0; p < k; p += 16) {
        for (int i = threadIdx.x; i < 32 * 16; i += 32) tile[i] = a[i / 16 * k + p + i % 16];
        __syncwarp();
        wmma::load_matrix_sync(af, tile, 16);
        wmma::load_matrix_sync(bf, b + p * 16, 16);
        wmma::mma_sync(cf, af, bf, cf);
        __syncwarp();
    }
    wmma::store_matrix_sync(c, cf, 32, wmma::mem_col_major);
}

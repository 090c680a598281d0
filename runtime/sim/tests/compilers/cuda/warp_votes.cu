// Every vote, match and reduction of a warp, once by half a warp.
extern "C" __global__ void warp_votes(const int *x, unsigned *out) {
    int lane = threadIdx.x, v = x[blockIdx.x * 32 + lane];
    unsigned *o = out + (blockIdx.x * 32 + lane) * 16;
    const unsigned all = 0xffffffff;
    o[0] = __ballot_sync(all, v > 0);
    o[1] = __any_sync(all, v > 90) * 2 + __all_sync(all, v > -100);
    o[2] = __match_any_sync(all, v & 3);
    int same;
    o[3] = __match_all_sync(all, v & 256, &same);
    o[4] = same;
    o[5] = __reduce_add_sync(all, v);
    o[6] = __reduce_min_sync(all, v);
    o[7] = __reduce_max_sync(all, v);
    o[8] = __reduce_and_sync(all, (unsigned)v) ^ __reduce_or_sync(all, (unsigned)v);
    o[9] = __reduce_xor_sync(all, (unsigned)v);
    o[10] = __match_any_sync(all, (long long)v * 0x100000001LL & 0x300000001LL);
    o[11] = __shfl_sync(all, v, lane * 7 & 31, 16);
    o[12] = __shfl_up_sync(all, v, 3, 8);
    if (lane < 16) {
        o[13] = __ballot_sync(0xffff, v & 1);
        o[14] = __reduce_max_sync(0xffff, (unsigned)v);
    } else {
        o[13] = __activemask() != 0;
        o[14] = __reduce_add_sync(0xffff0000, (unsigned)v);
    }
    __syncwarp();
    o[15] = __popc(__ballot_sync(all, v % 3 == 0) & ((1u << lane) - 1));
}

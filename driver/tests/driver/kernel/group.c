/* Launches the group of two products of group.mlir: with rows in both, and in one. */
#include "group.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuCtxSetCurrent(void *context);
int cuMemAlloc_v2(uint64_t *memory, size_t bytes);
int cuMemFree_v2(uint64_t memory);
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes);

typedef _Float16 half;
enum { DEPTH = 64 };

static int failures;

/* Numbers that f16 holds, on both sides. */
static half *numbers(size_t count, unsigned seed, uint16_t **on_gpu) {
  half *made = malloc((count + 1) * sizeof *made);
  for (size_t i = 0; i < count; i++) {
    seed = seed * 1103515245 + 12345;
    made[i] = (half)(((int)(seed >> 16) % 17 - 8) / 8.0f);
  }
  uint64_t memory = 0;
  if (cuMemAlloc_v2(&memory, (count + 8) * sizeof *made) != 0) exit(1);
  *on_gpu = (uint16_t *)(uintptr_t)memory;
  if (count != 0 && cuMemcpyHtoD_v2((uint64_t)(uintptr_t)*on_gpu, made, count * sizeof *made) != 0) exit(1);
  return made;
}

static void compare(const half *left, const half *right, const uint16_t *result, int64_t m, int64_t n, const char *name) {
  half *got = malloc((m * n + 1) * sizeof *got);
  if (m * n != 0 && cuMemcpyDtoH_v2(got, (uint64_t)(uintptr_t)result, m * n * sizeof *got) != 0) exit(1);
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < n; j++) {
      float sum = 0;
      for (int64_t l = 0; l < DEPTH; l++) sum += (float)left[i * DEPTH + l] * (float)right[j * DEPTH + l];
      if (fabsf((float)got[i * n + j] - sum) > 1e-3f * (1 + fabsf(sum)) && failures++ < 5) {
        printf("%s[%d, %d] is %g, expected %g\n", name, (int)i, (int)j, (float)got[i * n + j], sum);
      }
    }
  }
  free(got);
}

static void check(group_module *module, int64_t m, int64_t n) {
  group_tensor_x x = {NULL, m};
  group_tensor_y y = {NULL, n};
  group_tensor_w w = {NULL};
  group_tensor_v v = {NULL};
  group_tensor_p p = {NULL, m};
  group_tensor_q q = {NULL, n};
  uint16_t *at[6];
  half *hx = numbers(m * DEPTH, 1, &at[0]), *hy = numbers(n * DEPTH, 2, &at[1]);
  half *hw = numbers(72 * DEPTH, 3, &at[2]), *hv = numbers(40 * DEPTH, 4, &at[3]);
  half *hp = numbers(m * 72, 5, &at[4]), *hq = numbers(n * 40, 6, &at[5]);
  x.data = at[0], y.data = at[1], w.data = at[2], v.data = at[3], p.data = at[4], q.data = at[5];
  int status = group_launch(module, x, y, w, v, p, q, NULL);
  if (status != 0) {
    printf("%d rows and %d rows: %s\n", (int)m, (int)n, group_message(status));
    failures++;
  }
  compare(hx, hw, p.data, m, 72, "p");
  compare(hy, hv, q.data, n, 40, "q");
  for (int i = 0; i < 6; i++) cuMemFree_v2((uint64_t)(uintptr_t)at[i]);
  free(hx), free(hy), free(hw), free(hv), free(hp), free(hq);
}

int main(void) {
  group_module *module = NULL;
  void *context = NULL;
  int status = group_load(&module, 0);
  if (status != 0) {
    printf("%s\n", group_message(status));
    return 1;
  }
  if (cuInit(0) != 0 || cuDevicePrimaryCtxRetain(&context, 0) != 0 || cuCtxSetCurrent(context) != 0) return 1;
  check(module, 5, 70);
  check(module, 0, 3);
  group_unload(module);
  cuDevicePrimaryCtxRelease_v2(0);
  return failures == 0 ? 0 : 1;
}

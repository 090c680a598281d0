/*
 * Uses one kernel without a runtime:
 *
 *   aitmlir-compile linear.mlir --target cuda:sm_90a --emit=kernel -o linear
 *   cc linear.c linear.o -lcuda -o linear && ./linear
 *
 * The kernel needs no -lcuda of its own: this program does, for memory on the GPU.
 */
#include "linear.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What this program calls of the CUDA driver API (cuda.h has it). */
int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuCtxSetCurrent(void *context);
int cuMemAlloc_v2(uint64_t *memory, size_t bytes);
int cuMemFree_v2(uint64_t memory);
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes);

typedef _Float16 half;
enum { COLUMNS = 64 };

static int failures;

static void expect(int status, const char *text) {
  if (strcmp(linear_message(status), text) != 0) {
    printf("status %d: %s\n  expected: %s\n", status, linear_message(status), text);
    failures++;
  }
}

static uint16_t *upload(const half *from, size_t count) {
  uint64_t memory = 0;
  if (cuMemAlloc_v2(&memory, count * sizeof *from) != 0 || cuMemcpyHtoD_v2(memory, from, count * sizeof *from) != 0) {
    printf("no memory on the GPU\n");
    exit(1);
  }
  return (uint16_t *)(uintptr_t)memory;
}

/* Numbers that f16 holds. */
static half *numbers(size_t count, unsigned seed) {
  half *made = malloc(count * sizeof *made);
  for (size_t i = 0; i < count; i++) {
    seed = seed * 1103515245 + 12345;
    made[i] = (half)(((int)(seed >> 16) % 17 - 8) / 8.0f);
  }
  return made;
}

static void check(linear_module *module, int64_t m, int64_t k) {
  half *hx = numbers(m * k, 1), *hw = numbers(COLUMNS * k, 2), *hb = numbers(COLUMNS, 3), *hy = numbers(m * COLUMNS, 4);
  linear_tensor_x x = {upload(hx, m * k), m, k};
  linear_tensor_w w = {upload(hw, COLUMNS * k), k};
  linear_tensor_b b = {upload(hb, COLUMNS)};
  linear_tensor_y y = {upload(hy, m * COLUMNS), m};
  expect(linear_launch(module, x, w, b, y, NULL), "success");
  /* A copy to the host waits for the default stream. */
  if (cuMemcpyDtoH_v2(hy, (uint64_t)(uintptr_t)y.data, m * COLUMNS * sizeof *hy) != 0) {
    printf("the results cannot be copied\n");
    failures++;
  }
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < COLUMNS; j++) {
      float sum = hb[j];
      for (int64_t l = 0; l < k; l++) sum += (float)hx[i * k + l] * (float)hw[j * k + l];
      if (sum < 0) sum = 0;
      if (fabsf((float)hy[i * COLUMNS + j] - sum) > 1e-3f * (1 + fabsf(sum)) && failures++ < 5) {
        printf("%d x %d, y[%d, %d] is %g, expected %g\n", (int)m, (int)k, (int)i, (int)j, (float)hy[i * COLUMNS + j], sum);
      }
    }
  }
  /* What is refused before anything is launched. */
  linear_tensor_x odd = x, none = x, aside = x, empty = x;
  odd.k = k + 4;
  none.data = NULL;
  aside.data = x.data + 1;
  empty.m = 0;
  linear_tensor_w longer = {w.data, k + 8};
  linear_tensor_y more = {y.data, m + 1};
  expect(linear_launch(module, odd, w, b, y, NULL), "x: dimension 1 (k) is not a multiple of 8");
  expect(linear_launch(module, none, w, b, y, NULL), "x: data is NULL");
  expect(linear_launch(module, aside, w, b, y, NULL), "x: data is not aligned to 16 bytes");
  expect(linear_launch(module, empty, w, b, y, NULL), "x: dimension 0 (m) is not in 1..");
  expect(linear_launch(module, x, longer, b, y, NULL), "w: dimension 1 (k) is not equal to dimension 1 of x");
  expect(linear_launch(module, x, w, b, more, NULL), "y: dimension 0 (m) is not what the kernel computes from these inputs");
  expect(linear_launch(NULL, x, w, b, y, NULL), "the module is NULL");
  cuMemFree_v2((uint64_t)(uintptr_t)x.data);
  cuMemFree_v2((uint64_t)(uintptr_t)w.data);
  cuMemFree_v2((uint64_t)(uintptr_t)b.data);
  cuMemFree_v2((uint64_t)(uintptr_t)y.data);
  free(hx), free(hw), free(hb), free(hy);
}

int main(void) {
  linear_module *module = NULL;
  void *context = NULL;
  int status = linear_load(&module, 0);
  if (status != 0) {
    printf("%s\n", linear_message(status));
    return 1;
  }
  if (cuInit(0) != 0 || cuDevicePrimaryCtxRetain(&context, 0) != 0 || cuCtxSetCurrent(context) != 0) {
    printf("no CUDA context\n");
    return 1;
  }
  check(module, 5, 64);
  check(module, 40, 72);
  check(module, 130, 96);
  linear_unload(module);
  cuDevicePrimaryCtxRelease_v2(0);
  printf(failures == 0 ? "ok\n" : "%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}

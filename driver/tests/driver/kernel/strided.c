/* Uses the kernel of strided.mlir: rows with gaps that hold no numbers, of every alignment. */
#include "strided.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
  if (strcmp(strided_message(status), text) != 0) {
    printf("status %d: %s\n  expected: %s\n", status, strided_message(status), text);
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

/* Rows of numbers that f16 holds, with NaN between them. */
static half *matrix(int64_t rows, int64_t columns, int64_t stride, unsigned seed) {
  half *made = malloc(rows * stride * sizeof *made);
  for (int64_t i = 0; i < rows * stride; i++) {
    seed = seed * 1103515245 + 12345;
    made[i] = i % stride < columns ? (half)(((int)(seed >> 16) % 17 - 8) / 8.0f) : (half)NAN;
  }
  return made;
}

static void check(strided_module *module, int64_t m, int64_t k, int64_t gap_x, int64_t gap_w, int64_t gap_y) {
  int64_t sx = k + gap_x, sw = k + gap_w, sy = COLUMNS + gap_y;
  half *hx = matrix(m, k, sx, 1), *hw = matrix(COLUMNS, k, sw, 2), *hy = matrix(m, 0, sy, 3);
  strided_tensor_x x = {upload(hx, m * sx), m, k, sx};
  strided_tensor_w w = {upload(hw, COLUMNS * sw), k, sw};
  strided_tensor_y y = {upload(hy, m * sy), m, sy};
  expect(strided_launch(module, x, w, y, NULL), "success");
  if (cuMemcpyDtoH_v2(hy, (uint64_t)(uintptr_t)y.data, m * sy * sizeof *hy) != 0) {
    printf("the results cannot be copied\n");
    failures++;
  }
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < sy; j++) {
      float sum = 0, found = (float)hy[i * sy + j];
      for (int64_t l = 0; j < COLUMNS && l < k; l++) sum += (float)hx[i * sx + l] * (float)hw[j * sw + l];
      int right = j < COLUMNS ? fabsf(found - sum) <= 1e-3f * (1 + fabsf(sum)) : isnan(found);
      if (!right && failures++ < 5) {
        printf("%d x %d, strides %d %d %d: y[%d, %d] is %g, expected %g\n", (int)m, (int)k, (int)sx, (int)sw, (int)sy, (int)i, (int)j, found, sum);
      }
    }
  }
  strided_tensor_x narrow = x;
  narrow.stride0 = k - 1;
  strided_tensor_y far = y;
  far.stride0 = (int64_t)1 << 41;
  expect(strided_launch(module, narrow, w, y, NULL), "x: the stride of dimension 0 is smaller than what lies between, or too large");
  expect(strided_launch(module, x, w, far, NULL), "y: the stride of dimension 0 is smaller than what lies between, or too large");
  cuMemFree_v2((uint64_t)(uintptr_t)x.data);
  cuMemFree_v2((uint64_t)(uintptr_t)w.data);
  cuMemFree_v2((uint64_t)(uintptr_t)y.data);
  free(hx), free(hw), free(hy);
}

int main(void) {
  strided_module *module = NULL;
  void *context = NULL;
  int status = strided_load(&module, 0);
  if (status != 0) {
    printf("%s\n", strided_message(status));
    return 1;
  }
  if (cuInit(0) != 0 || cuDevicePrimaryCtxRetain(&context, 0) != 0 || cuCtxSetCurrent(context) != 0) {
    printf("no CUDA context\n");
    return 1;
  }
  check(module, 40, 72, 0, 0, 0);
  check(module, 40, 72, 8, 24, 16);
  check(module, 33, 64, 1, 8, 3);
  check(module, 7, 30, 2, 5, 1);
  check(module, 130, 16, 0, 3, 0);
  strided_unload(module);
  cuDevicePrimaryCtxRelease_v2(0);
  printf(failures == 0 ? "ok\n" : "%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}

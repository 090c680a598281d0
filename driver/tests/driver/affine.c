/*
 * A hand-written program that keeps the contract with the runtime, for the packaging tests:
 *   input 0 "x": f32 [n, 4]; output 0 "y": f32 [n, 4] = x * scale + bias; output 1 "positive": f32 [k], the elements > 0
 *   constants 0 "scale": f32 [4], 1 "bias": f32 [4], 2 derived: scale * scale
 * An x of 1000 fails a check; with n = 7 it asks for more memory than there is; with n = 13, y is scale^2.
 */
#include <stdint.h>

void *aitmlir_rt_input(void *run, int64_t i);
int64_t aitmlir_rt_input_dim(void *run, int64_t i, int64_t d);
void *aitmlir_rt_output(void *run, int64_t i, const int64_t *dims, int64_t bytes);
void *aitmlir_rt_constant(void *run, int64_t k);
void *aitmlir_rt_arena(void *run, int64_t bytes);
void *aitmlir_rt_alloc(void *run, int64_t bytes);
void *aitmlir_rt_scratch(int64_t bytes);
void aitmlir_rt_parallel(void (*task)(void *env, int64_t lo, int64_t hi), void *env, int64_t n);
void aitmlir_rt_site(void *run, int64_t site);
void aitmlir_rt_fail(int64_t code, int64_t a, int64_t b);

struct env {
  const float *x, *scale, *bias;
  float *tmp;
};

static void rows(void *data, int64_t lo, int64_t hi) {
  struct env *env = data;
  float *row = aitmlir_rt_scratch(4 * sizeof(float));
  for (int64_t i = lo; i < hi; ++i) {
    for (int j = 0; j < 4; ++j) {
      if (env->x[4 * i + j] == 1000.0f)
        aitmlir_rt_fail(2, 1000, 9);
      row[j] = env->x[4 * i + j] * env->scale[j] + env->bias[j];
    }
    for (int j = 0; j < 4; ++j)
      env->tmp[4 * i + j] = row[j];
  }
}

void aitmlir_program_main(void *run) {
  int64_t n = aitmlir_rt_input_dim(run, 0, 0);
  if (n == 7)
    aitmlir_rt_alloc(run, INT64_MAX - 4096);
  float *tmp = aitmlir_rt_arena(run, n * 16);
  struct env env = {aitmlir_rt_input(run, 0), aitmlir_rt_constant(run, 0), aitmlir_rt_constant(run, 1), tmp};
  aitmlir_rt_site(run, 0);
  aitmlir_rt_parallel(rows, &env, n);

  int64_t dims[2] = {n, 4};
  float *y = aitmlir_rt_output(run, 0, dims, n * 16);
  const float *squares = aitmlir_rt_constant(run, 2);
  float *positive = aitmlir_rt_alloc(run, n * 16);
  int64_t count = 0;
  for (int64_t i = 0; i < 4 * n; ++i) {
    y[i] = n == 13 ? squares[i % 4] : tmp[i];
    if (y[i] > 0)
      positive[count++] = y[i];
  }
  float *out = aitmlir_rt_output(run, 1, &count, count * 4);
  for (int64_t i = 0; i < count; ++i)
    out[i] = positive[i];
}

void aitmlir_program_fold(void *run) {
  const float *scale = aitmlir_rt_constant(run, 0);
  float *squares = aitmlir_rt_constant(run, 2);
  for (int j = 0; j < 4; ++j)
    squares[j] = scale[j] * scale[j];
}

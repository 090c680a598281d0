/* Uses two models by their typed headers, linked to one program. */
#include <stdio.h>

#include "one.h"
#include "two.h"

static int fail(const char *text) {
  fprintf(stderr, "%s\n", text);
  return 1;
}

int main(void) {
  float x[4] = {1, 1, 1, 1}, y[4], positive[4];
  aitmlir_model *one, *two;
  if (one_create(NULL, &one) != AITMLIR_OK || two_create(NULL, &two) != AITMLIR_OK)
    return fail(one_last_error());

  one_dims dims = {1};
  one_inputs inputs = {x};
  one_outputs outputs = {.y = y, .y_bytes = sizeof y, .positive = positive, .positive_bytes = sizeof positive};
  if (one_run(one, &dims, &inputs, &outputs) != AITMLIR_OK)
    return fail(one_last_error());
  printf("one: %g %g %g %g, positive %d\n", y[0], y[1], y[2], y[3], (int)outputs.positive_dims[0]);

  two_dims two_d = {1};
  two_inputs two_i = {x};
  aitmlir_result *result;
  if (two_run_owned(two, &two_d, &two_i, &result) != AITMLIR_OK)
    return fail(two_last_error());
  aitmlir_tensor t, p;
  const aitmlir_api *api = two_api();
  if (api->result_output(result, TWO_OUTPUT_Y, &t) != AITMLIR_OK ||
      api->result_output(result, TWO_OUTPUT_POSITIVE, &p) != AITMLIR_OK)
    return fail(two_last_error());
  const float *v = t.data;
  printf("two: %g %g %g %g, positive %d\n", v[0], v[1], v[2], v[3], (int)p.dims[0]);
  api->result_destroy(result);

  dims.n = 100;
  if (one_run(one, &dims, &inputs, &outputs) != AITMLIR_INVALID_TENSOR)
    return fail("100 rows were accepted");
  printf("refused: %s\n", one_last_error());
  one_destroy(one);
  two_destroy(two);
  return 0;
}

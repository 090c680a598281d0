/*
 * Tells what files contain, with the magika model compiled to a library.
 *
 * usage: demo LABELS FILE...     LABELS: a text file with the name of each class of the model, one a line
 */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "magika.h"

/* What the model was trained on: see the wheel's config.min.json. */
enum { BLOCK = 4096, SIDE = 1024, FEATURES = 2 * SIDE, PADDING = 256, MIN_BYTES = 8, MAX_CLASSES = 1024 };

typedef struct {
  unsigned char head[BLOCK], tail[BLOCK];
  size_t size; /* of either: the whole file where it is smaller than a block */
} Ends;

static int is_space(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Reads the first and the last block of a file. */
static int read_ends(const char *path, Ends *ends) {
  FILE *file = fopen(path, "rb");
  if (!file)
    return -1;
  int status = -1;
  long length;
  if (fseek(file, 0, SEEK_END) == 0 && (length = ftell(file)) >= 0) {
    ends->size = length < BLOCK ? (size_t)length : BLOCK;
    if (fseek(file, 0, SEEK_SET) == 0 && fread(ends->head, 1, ends->size, file) == ends->size &&
        fseek(file, length - (long)ends->size, SEEK_SET) == 0 &&
        fread(ends->tail, 1, ends->size, file) == ends->size)
      status = 0;
  }
  fclose(file);
  return status;
}

/* The model's input: the first bytes after leading space, then the last bytes before trailing space, padded where there
 * are too few. Gives the number of bytes in the first part. */
static size_t extract_features(const Ends *ends, int32_t features[FEATURES]) {
  size_t begin = 0, end = ends->size;
  while (begin < ends->size && is_space(ends->head[begin]))
    begin++;
  while (end > 0 && is_space(ends->tail[end - 1]))
    end--;
  size_t head = ends->size - begin < SIDE ? ends->size - begin : SIDE;
  size_t tail = end < SIDE ? end : SIDE;
  for (size_t i = 0; i < SIDE; i++) {
    features[i] = i < head ? ends->head[begin + i] : PADDING;
    features[SIDE + i] = i < SIDE - tail ? PADDING : ends->tail[end - SIDE + i];
  }
  return head;
}

static size_t read_labels(const char *path, char labels[MAX_CLASSES][32]) {
  FILE *file = fopen(path, "r");
  size_t count = 0;
  if (!file)
    return 0;
  while (count < MAX_CLASSES && fscanf(file, "%31s", labels[count]) == 1)
    count++;
  fclose(file);
  return count;
}

static double milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

static int classify(aitmlir_model *model, char labels[MAX_CLASSES][32], size_t classes, const char *path) {
  static Ends ends;
  static int32_t features[FEATURES];
  static float probabilities[MAX_CLASSES];
  if (read_ends(path, &ends) != 0) {
    fprintf(stderr, "error: cannot read %s\n", path);
    return -1;
  }
  if (extract_features(&ends, features) < MIN_BYTES) {
    printf("%-20s %11s %8s  %s\n", "(too short)", "", "", path);
    return 0;
  }
  magika_dims dims = {1};
  magika_inputs inputs = {.bytes = features};
  magika_outputs outputs = {.target_label = probabilities, .target_label_bytes = sizeof probabilities};
  double start = milliseconds();
  if (magika_run(model, &dims, &inputs, &outputs) != AITMLIR_OK) {
    fprintf(stderr, "error: %s: %s\n", path, magika_last_error());
    return -1;
  }
  double time = milliseconds() - start;
  if ((size_t)outputs.target_label_dims[1] != classes) {
    fprintf(stderr, "error: the model has %lld classes, not %zu\n", (long long)outputs.target_label_dims[1], classes);
    return -1;
  }
  size_t best = 0;
  for (size_t i = 1; i < classes; i++)
    if (probabilities[i] > probabilities[best])
      best = i;
  printf("%-20s %10.1f%% %6.2f ms  %s\n", labels[best], 100 * (double)probabilities[best], time, path);
  return 0;
}

int main(int argc, char **argv) {
  static char labels[MAX_CLASSES][32];
  if (argc < 3) {
    fprintf(stderr, "usage: %s LABELS FILE...\n", argv[0]);
    return 2;
  }
  size_t classes = read_labels(argv[1], labels);
  if (classes == 0) {
    fprintf(stderr, "error: no labels in %s\n", argv[1]);
    return 1;
  }
  aitmlir_model *model;
  if (magika_create(NULL, &model) != AITMLIR_OK) {
    fprintf(stderr, "error: %s\n", magika_last_error());
    return 1;
  }
  printf("%-20s %11s %9s  %s\n", "label", "probability", "time", "file");
  int status = 0;
  for (int i = 2; i < argc; i++)
    if (classify(model, labels, classes, argv[i]) != 0)
      status = 1;
  magika_destroy(model);
  return status;
}

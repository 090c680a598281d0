/* The functions of libcuda.so.1 that an exported kernel and its program call, on an aitmlir_device: the PTX simulator's. */
#include "aitmlir.h"

#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, NO_BINARY_FOR_GPU = 209, NOT_FOUND = 500, LAUNCH_FAILED = 719 };

typedef struct {
  void *module;
  const char *ptx;
} Module;

typedef struct {
  void *function;
  uint32_t params;
} Function;

typedef struct {
  uint32_t grid[3], block[3], shared;
  void *stream;
  struct {
    int32_t id;
    uint32_t padding;
    uint32_t size[16];
  } *attributes;
  uint32_t attribute_count;
} Config;

static const aitmlir_device *device;
/* Contexts pushed and retained less those popped and released. */
static int pushed, retained;

void fake_cuda_use(const aitmlir_device *used) { device = used; }
int fake_cuda_open(void) { return pushed * 1000 + retained; }

int cuInit(unsigned flags) { return flags == 0 ? SUCCESS : INVALID_VALUE; }

int cuDeviceGet(int *found, int ordinal) {
  *found = ordinal;
  return ordinal == 0 ? SUCCESS : 101;
}

int cuDevicePrimaryCtxRetain(void **context, int number) {
  (void)number;
  retained++;
  *context = &retained;
  return SUCCESS;
}

int cuDevicePrimaryCtxRelease_v2(int number) {
  (void)number;
  retained--;
  return SUCCESS;
}

int cuCtxSetCurrent(void *context) { return context == &retained ? SUCCESS : 201; }

int cuCtxPushCurrent_v2(void *context) {
  pushed++;
  return context == &retained ? SUCCESS : 201;
}

int cuCtxPopCurrent_v2(void **context) {
  pushed--;
  *context = &retained;
  return SUCCESS;
}

int cuDeviceGetAttribute(int *value, int attribute, int number) {
  (void)number;
  *value = device->multiprocessors;
  return attribute == 16 ? SUCCESS : INVALID_VALUE;
}

int cuModuleLoadData(void **module, const void *image) {
  aitmlir_device_image loaded = {NULL, 0, image, 0};
  if (memcmp(image, "\177ELF", 4) == 0) return NO_BINARY_FOR_GPU;
  loaded.ptx_bytes = strlen(image);
  Module *made = malloc(sizeof *made);
  made->ptx = image;
  *module = made;
  return device->load(device->context, &loaded, &made->module) == 0 ? SUCCESS : NO_BINARY_FOR_GPU;
}

int cuModuleUnload(void *module) {
  device->unload(device->context, ((Module *)module)->module);
  free(module);
  return SUCCESS;
}

/* How many parameters an entry of PTX text has. */
static uint32_t parameters(const char *ptx, const char *name) {
  size_t length = strlen(name);
  for (const char *at = strstr(ptx, ".entry "); at != NULL; at = strstr(at + 7, ".entry ")) {
    if (strncmp(at + 7, name, length) != 0 || at[7 + length] != '(') continue;
    const char *end = strchr(at, ')');
    uint32_t count = 0;
    for (at = strstr(at, ".param"); at != NULL && at < end; at = strstr(at + 6, ".param")) count++;
    return count;
  }
  return 0;
}

int cuModuleGetFunction(void **function, void *module, const char *name) {
  Module *loaded = module;
  Function *made = malloc(sizeof *made);
  made->params = parameters(loaded->ptx, name);
  *function = made;
  return device->function(device->context, loaded->module, name, 0, &made->function) == 0 ? SUCCESS : NOT_FOUND;
}

int cuFuncSetAttribute(void *function, int attribute, int value) {
  return function != NULL && attribute == 8 && value > 0 ? SUCCESS : INVALID_VALUE;
}

static int start(const Config *config, void *function, void **params) {
  Function *loaded = function;
  aitmlir_device_launch launch = {{0}, {0}, {1, 1, 1}, config->shared, loaded->params, 0, (const void *const *)params};
  memcpy(launch.grid, config->grid, sizeof launch.grid);
  memcpy(launch.block, config->block, sizeof launch.block);
  if (config->attribute_count == 1) {
    if (config->attributes->id != 4) return INVALID_VALUE;
    memcpy(launch.cluster, config->attributes->size, sizeof launch.cluster);
  }
  return device->launch(device->context, loaded->function, &launch, config->stream) == 0 ? SUCCESS : LAUNCH_FAILED;
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   void *stream, void **params, void **extra) {
  Config config = {{gx, gy, gz}, {bx, by, bz}, shared, stream, NULL, 0};
  return extra == NULL ? start(&config, function, params) : INVALID_VALUE;
}

int cuLaunchKernelEx(const Config *config, void *function, void **params, void **extra) {
  return extra == NULL ? start(config, function, params) : INVALID_VALUE;
}

int cuTensorMapEncodeTiled(void *to, int type, unsigned rank, void *address, const uint64_t *dims, const uint64_t *strides,
                           const uint32_t *box, const uint32_t *steps, int interleave, int swizzle, int promotion, int fill) {
  static const struct {
    int32_t dtype;
    uint64_t bytes;
  } types[] = {{AITMLIR_U8, 1},  {AITMLIR_U16, 2}, {AITMLIR_U32, 4}, {AITMLIR_I32, 4}, {AITMLIR_U64, 8},
               {AITMLIR_I64, 8}, {AITMLIR_F16, 2}, {AITMLIR_F32, 4}, {AITMLIR_F64, 8}, {AITMLIR_BF16, 2}};
  aitmlir_device_tensor_map map = {address, types[type].dtype, (int32_t)rank, {1, 1, 1, 1, 1}, {0}, {1, 1, 1, 1, 1}, 0};
  if (interleave != 0 || fill != 0 || promotion != 2 || steps[0] != 1) return INVALID_VALUE;
  map.strides[0] = types[type].bytes;
  for (unsigned i = 0; i < rank; i++) {
    map.dims[i] = dims[i];
    map.box[i] = box[i];
    if (i > 0) map.strides[i] = strides[i - 1];
  }
  map.swizzle = swizzle == 0 ? 0 : 16 << swizzle;
  return device->tensor_map(device->context, &map, to) == 0 ? SUCCESS : INVALID_VALUE;
}

int cuGetErrorString(int error, const char **text) {
  *text = error == LAUNCH_FAILED ? device->last_error(device->context) : "an error of the simulated driver";
  return SUCCESS;
}

int cuMemAlloc_v2(uint64_t *memory, size_t bytes) {
  void *made = NULL;
  int status = device->alloc(device->context, bytes, &made);
  *memory = (uint64_t)(uintptr_t)made;
  return status == 0 ? SUCCESS : 2;
}

int cuMemFree_v2(uint64_t memory) {
  return device->free(device->context, (void *)(uintptr_t)memory) == 0 ? SUCCESS : INVALID_VALUE;
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
  return device->copy_in(device->context, (void *)(uintptr_t)to, from, bytes, NULL) == 0 ? SUCCESS : INVALID_VALUE;
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
  return device->copy_out(device->context, to, (void *)(uintptr_t)from, bytes, NULL) == 0 ? SUCCESS : INVALID_VALUE;
}

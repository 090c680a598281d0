/*
 * The C interface of every model library that aitmlir makes.
 *
 * A library holds one model. Several libraries can be loaded in one process: each exports these functions, and each
 * also exports NAME_api (NAME: the model's name), so that several can be linked to one program by that name.
 *
 * All functions may be called from several threads at a time, on one model too; only aitmlir_model_destroy must be the
 * last call for its model. Functions that return an int give a status: AITMLIR_OK or what went wrong, with one line of
 * text from aitmlir_last_error on the same thread. No function prints, exits or throws.
 *
 * A model is compiled for the CPU or for CUDA. One for CUDA is created on a GPU (or on a device that the caller brings, see
 * aitmlir_device); its tensors may be in host memory, from and to which a run copies, or in the memory of that device.
 *
 * Tensors are dense and row-major. Strings are UTF-8 and, where not said otherwise, live as long as their model.
 */
#ifndef AITMLIR_H
#define AITMLIR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface. A library of another version is not compatible. */
#define AITMLIR_ABI_VERSION 1

/* Status numbers. */
enum {
  AITMLIR_OK = 0,
  AITMLIR_INVALID_ARGUMENT = 1, /* NULL, an unknown name, an index out of range */
  AITMLIR_INVALID_TENSOR = 2,   /* wrong type, rank, shape or alignment; the text names input, dim, bound and value */
  AITMLIR_BUFFER_TOO_SMALL = 3, /* the text says how many bytes are needed */
  AITMLIR_WEIGHTS = 4,          /* the weights file is missing or not the right one */
  AITMLIR_CHECK_FAILED = 5,     /* a check of the model failed on this data, such as an index out of range */
  AITMLIR_OUT_OF_MEMORY = 6,
  AITMLIR_UNSUPPORTED = 7,      /* this machine cannot run the model */
  AITMLIR_INTERNAL = 8,         /* a fault of aitmlir: please report */
  AITMLIR_DEVICE_FAILED = 9     /* the device or its driver failed; the text says in what */
};

/* Element types. 16-bit floats are passed as their bits; a bool is one byte, 0 or 1. */
enum {
  AITMLIR_F32 = 1,
  AITMLIR_F64 = 2,
  AITMLIR_F16 = 3,
  AITMLIR_BF16 = 4,
  AITMLIR_I8 = 5,
  AITMLIR_I16 = 6,
  AITMLIR_I32 = 7,
  AITMLIR_I64 = 8,
  AITMLIR_U8 = 9,
  AITMLIR_U16 = 10,
  AITMLIR_U32 = 11,
  AITMLIR_U64 = 12,
  AITMLIR_BOOL = 13
};

/* Which memory a tensor is in. */
enum {
  AITMLIR_HOST = 0,
  AITMLIR_DEVICE = 1 /* that of the model's device */
};

/* A loaded model. */
typedef struct aitmlir_model aitmlir_model;

/* Outputs of a run in memory of the library. */
typedef struct aitmlir_result aitmlir_result;

/* A device; see below. */
typedef struct aitmlir_device aitmlir_device;

/* How a model is created. Set struct_size to sizeof(aitmlir_options) and what you don't use to zero. */
typedef struct aitmlir_options {
  size_t struct_size;
  const char *weights_path; /* path of the weights file; NULL: in the folder $AITMLIR_WEIGHTS_DIR, then beside the library */
  int32_t threads;          /* threads of a run; 0: one */
  int32_t device_index;     /* for a model compiled for CUDA: which of the driver's GPUs it runs on */
  const aitmlir_device *device; /* the device it runs on instead; NULL: a GPU of the CUDA driver */
  int32_t graphs;               /* on a device: see below; 0: none */
  int32_t reserved;             /* zero */
} aitmlir_options;

/*
 * Graphs: a run whose tensors are all in device memory, and that does nothing but launch kernels, is captured into a graph when it comes
 * for the second time with the same addresses, sizes and shapes; from then on it is one launch. Each concurrent run keeps at most
 * aitmlir_options.graphs of them, those used last. What is in the memory may change from run to run; memory that is freed and made again
 * at the same address is the same to a graph.
 */

/* A tensor in memory of the caller (or of a result). */
typedef struct aitmlir_tensor {
  void *data;    /* aligned to the element size, in device memory to 16 bytes; of an input and of a constant that is set only read */
  int64_t *dims; /* rank numbers; of an output written by the run */
  uint64_t bytes; /* bytes of the buffer: may be more than the tensor needs */
  int32_t dtype;
  int32_t rank;
  uint64_t memory;   /* AITMLIR_HOST or AITMLIR_DEVICE: where data is */
  uint64_t reserved; /* zero */
} aitmlir_tensor;

/* A dimension of an input or output. */
typedef struct aitmlir_dim {
  const char *name; /* NULL where it has none; input dims of one name must be one number in a run */
  int64_t min;
  int64_t max;      /* -1: no bound */
  int64_t multiple; /* the value is a multiple of this; 1 otherwise */
} aitmlir_dim;

/* An input or output. A dim is static where min equals max. */
typedef struct aitmlir_tensor_info {
  const char *name;
  const aitmlir_dim *dims;
  int32_t dtype;
  int32_t rank;
} aitmlir_tensor_info;

/* A constant of the model. */
typedef struct aitmlir_constant_info_t {
  const char *name; /* original name in the source model */
  const int64_t *dims;
  uint64_t bytes;
  int32_t dtype;
  int32_t rank;
  int32_t derived; /* 1: computed from other constants, cannot be set */
  int32_t reserved;
} aitmlir_constant_info_t;

/* Memory of a model, in bytes; -1 where it depends on shapes. */
typedef struct aitmlir_memory_info {
  int64_t weights;     /* constants of the model, shared by all runs */
  int64_t arena;       /* intermediate tensors of one run */
  int64_t lower_bound; /* no plan can do with less */
  int64_t naive;       /* without sharing of memory */
} aitmlir_memory_info;

/* AITMLIR_ABI_VERSION of the library. */
uint32_t aitmlir_abi_version(void);
/* Name and version of the compiler that made the library. */
const char *aitmlir_compiler_version(void);
/* Everything the library says about its model, as JSON. Needs no model and no weights. */
const char *aitmlir_info_json(void);
/* Text of the last failure on this thread, "" if there was none; valid until the next failure on this thread. */
const char *aitmlir_last_error(void);

/* Loads the weights. options may be NULL. */
int aitmlir_model_create(const aitmlir_options *options, aitmlir_model **model);
/* Frees the model. No run of it may be under way. NULL is fine. */
void aitmlir_model_destroy(aitmlir_model *model);
/* From the next run on, a run uses this many threads; 0: all cores. */
int aitmlir_set_threads(aitmlir_model *model, int32_t threads);

/* Inputs, outputs and constants, in the order of the source model. A count of a NULL model is 0. */
int32_t aitmlir_input_count(const aitmlir_model *model);
int32_t aitmlir_output_count(const aitmlir_model *model);
int32_t aitmlir_constant_count(const aitmlir_model *model);
/* Index of a name, or -1. */
int32_t aitmlir_input_index(const aitmlir_model *model, const char *name);
int32_t aitmlir_output_index(const aitmlir_model *model, const char *name);
int32_t aitmlir_constant_index(const aitmlir_model *model, const char *name);
int aitmlir_input_info(const aitmlir_model *model, int32_t index, aitmlir_tensor_info *info);
int aitmlir_output_info(const aitmlir_model *model, int32_t index, aitmlir_tensor_info *info);
int aitmlir_constant_info(const aitmlir_model *model, int32_t index, aitmlir_constant_info_t *info);
int aitmlir_memory(const aitmlir_model *model, aitmlir_memory_info *info);

/*
 * The shape of an output for inputs of these shapes; only dtype, rank and dims of the inputs are read.
 * dims: rank numbers, -1 where the dim depends on the inputs' data. max_dims (may be NULL): rank numbers, the dim or its
 * upper bound, -1 where there is none.
 */
int aitmlir_output_shape(const aitmlir_model *model, const aitmlir_tensor *inputs, int32_t input_count, int32_t output,
                         int64_t *dims, int64_t *max_dims);

/*
 * Runs the model on all inputs into the caller's output buffers. Each output's dtype and rank must be as in its info, dims
 * must have room for rank numbers, and bytes for the shape of this run. Inputs and outputs must not overlap.
 */
int aitmlir_run(aitmlir_model *model, const aitmlir_tensor *inputs, int32_t input_count, aitmlir_tensor *outputs,
                int32_t output_count);

/*
 * The same on a stream of the model's device (a CUstream or cudaStream_t; NULL is the default stream), after the work that the
 * stream has. Where all inputs and outputs are in device memory, and the model neither checks data nor has outputs whose size
 * depends on data, the function returns before the run is done: synchronize the stream before you read the outputs.
 */
int aitmlir_run_on(aitmlir_model *model, const aitmlir_tensor *inputs, int32_t input_count, aitmlir_tensor *outputs,
                   int32_t output_count, void *stream);

/* Runs the model into memory of the library: for outputs whose size depends on data. Free the result after use. */
int aitmlir_run_owned(aitmlir_model *model, const aitmlir_tensor *inputs, int32_t input_count, aitmlir_result **result);
/* An output of a result; data and dims are valid until the result is destroyed. */
int aitmlir_result_output(const aitmlir_result *result, int32_t index, aitmlir_tensor *output);
/* Frees a result. NULL is fine. A result may outlive its model, but not the library. */
void aitmlir_result_destroy(aitmlir_result *result);

/* Copies a constant into tensor->data; dtype, rank, dims and bytes must fit. */
int aitmlir_constant_get(const aitmlir_model *model, const char *name, const aitmlir_tensor *tensor);
/*
 * Replaces constants by copies of tensors and computes what derives from them, all or nothing. Runs under way keep the
 * constants they started with.
 */
int aitmlir_constants_set(aitmlir_model *model, int32_t count, const char *const *names, const aitmlir_tensor *tensors);

/* The device that the model runs on, to make memory and streams with; NULL for a model compiled for the CPU. */
const aitmlir_device *aitmlir_model_device(const aitmlir_model *model);

/* Device code of a model: a binary of the device (a cubin), PTX text that ends in a NUL, or both. NULL where there is none. */
typedef struct aitmlir_device_image {
  const void *binary;
  uint64_t binary_bytes;
  const char *ptx;
  uint64_t ptx_bytes; /* without the NUL */
} aitmlir_device_image;

/* One launch of a kernel. */
typedef struct aitmlir_device_launch {
  uint32_t grid[3];    /* CTAs */
  uint32_t block[3];   /* threads of a CTA */
  uint32_t cluster[3]; /* CTAs of a cluster; 1, 1, 1 for none */
  uint32_t shared_bytes; /* dynamic shared memory of a CTA */
  uint32_t param_count;
  uint32_t overlaps; /* not 0: it may begin while kernels before it in the stream run, and waits for them by itself */
  const void *const *params; /* a pointer to each of the kernel's parameters */
} aitmlir_device_launch;

/* A tiled tensor map before it is encoded; dimension 0 is the innermost. */
typedef struct aitmlir_device_tensor_map {
  void *address;
  int32_t dtype; /* an element type, or 100: f32, rounded to tf32 as it is read */
  int32_t rank;
  uint64_t dims[5];
  uint64_t strides[5]; /* bytes; strides[0] is the element's size */
  uint32_t box[5];
  int32_t swizzle; /* bytes: 0, 32, 64 or 128 */
} aitmlir_device_tensor_map;

/*
 * A device as a table of functions. aitmlir_model_device gives that of a model; a caller that passes in a table of its own
 * (a simulator, another driver) must keep it until the models on it are destroyed. context is the first argument of every
 * function. All but last_error return 0, or a number for which last_error has a text on the same thread. They may be called
 * from several threads at a time. A stream may be NULL: the default stream.
 */
struct aitmlir_device {
  size_t struct_size; /* sizeof(aitmlir_device) */
  void *context;
  const char *name;
  int32_t multiprocessors;
  const char *(*last_error)(void *context);
  /* Memory, aligned to 256 bytes. */
  int (*alloc)(void *context, uint64_t bytes, void **memory);
  int (*free)(void *context, void *memory);
  /* From host memory, which may be changed after the return unless it is page-locked. */
  int (*copy_in)(void *context, void *to, const void *from, uint64_t bytes, void *stream);
  /* To host memory; done when the stream is. */
  int (*copy_out)(void *context, void *to, const void *from, uint64_t bytes, void *stream);
  int (*load)(void *context, const aitmlir_device_image *image, void **module);
  int (*unload)(void *context, void *module);
  /* A kernel that will be launched with at most so much dynamic shared memory; valid as long as its module. */
  int (*function)(void *context, void *module, const char *name, uint32_t shared_bytes, void **function);
  int (*launch)(void *context, void *function, const aitmlir_device_launch *launch, void *stream);
  /* Encodes a tensor map into 128 bytes of host memory, aligned to 64. */
  int (*tensor_map)(void *context, const aitmlir_device_tensor_map *map, void *to);
  int (*stream_create)(void *context, void **stream);
  int (*stream_destroy)(void *context, void *stream);
  int (*synchronize)(void *context, void *stream);
  int (*event_create)(void *context, void **event);
  int (*event_destroy)(void *context, void *event);
  int (*event_record)(void *context, void *event, void *stream);
  /* Later work of the stream waits for the event. */
  int (*event_wait)(void *context, void *event, void *stream);
  /* Waits for the second event and gives the time between the two. */
  int (*event_elapsed)(void *context, void *start, void *end, float *milliseconds);
  /* What is launched between the two calls on this thread becomes a graph, which can be launched again and again. */
  int (*capture_begin)(void *context, void *stream);
  int (*capture_end)(void *context, void *stream, void **graph);
  int (*graph_launch)(void *context, void *graph, void *stream);
  int (*graph_destroy)(void *context, void *graph);
};

/* A tensor of these parts. */
static inline aitmlir_tensor aitmlir_tensor_of(void *data, int64_t *dims, uint64_t bytes, int32_t dtype, int32_t rank) {
  aitmlir_tensor tensor;
  tensor.data = data;
  tensor.dims = dims;
  tensor.bytes = bytes;
  tensor.dtype = dtype;
  tensor.rank = rank;
  tensor.memory = AITMLIR_HOST;
  tensor.reserved = 0;
  return tensor;
}

/* All functions as a table. */
typedef struct aitmlir_api {
  size_t struct_size;
  uint32_t (*abi_version)(void);
  const char *(*compiler_version)(void);
  const char *(*info_json)(void);
  const char *(*last_error)(void);
  int (*model_create)(const aitmlir_options *, aitmlir_model **);
  void (*model_destroy)(aitmlir_model *);
  int (*set_threads)(aitmlir_model *, int32_t);
  int32_t (*input_count)(const aitmlir_model *);
  int32_t (*output_count)(const aitmlir_model *);
  int32_t (*constant_count)(const aitmlir_model *);
  int32_t (*input_index)(const aitmlir_model *, const char *);
  int32_t (*output_index)(const aitmlir_model *, const char *);
  int32_t (*constant_index)(const aitmlir_model *, const char *);
  int (*input_info)(const aitmlir_model *, int32_t, aitmlir_tensor_info *);
  int (*output_info)(const aitmlir_model *, int32_t, aitmlir_tensor_info *);
  int (*constant_info)(const aitmlir_model *, int32_t, aitmlir_constant_info_t *);
  int (*memory)(const aitmlir_model *, aitmlir_memory_info *);
  int (*output_shape)(const aitmlir_model *, const aitmlir_tensor *, int32_t, int32_t, int64_t *, int64_t *);
  int (*run)(aitmlir_model *, const aitmlir_tensor *, int32_t, aitmlir_tensor *, int32_t);
  int (*run_owned)(aitmlir_model *, const aitmlir_tensor *, int32_t, aitmlir_result **);
  int (*result_output)(const aitmlir_result *, int32_t, aitmlir_tensor *);
  void (*result_destroy)(aitmlir_result *);
  int (*constant_get)(const aitmlir_model *, const char *, const aitmlir_tensor *);
  int (*constants_set)(aitmlir_model *, int32_t, const char *const *, const aitmlir_tensor *);
  int (*run_on)(aitmlir_model *, const aitmlir_tensor *, int32_t, aitmlir_tensor *, int32_t, void *);
  const aitmlir_device *(*model_device)(const aitmlir_model *);
} aitmlir_api;

/* The table of this library; the same function is exported as NAME_api. */
const aitmlir_api *aitmlir_get_api(void);

#ifdef __cplusplus
}
#endif

#endif /* AITMLIR_H */

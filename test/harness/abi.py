"""A ctypes binding of runtime/include/aitmlir.h: the interface of every compiled model."""

from __future__ import annotations

import ctypes
import pathlib
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass

import ml_dtypes
import numpy as np

ABI_VERSION = 1

# dtype number of the C ABI -> NumPy type
DTYPES: dict[int, np.dtype] = {
    1: np.dtype(np.float32),
    2: np.dtype(np.float64),
    3: np.dtype(np.float16),
    4: np.dtype(ml_dtypes.bfloat16),
    5: np.dtype(np.int8),
    6: np.dtype(np.int16),
    7: np.dtype(np.int32),
    8: np.dtype(np.int64),
    9: np.dtype(np.uint8),
    10: np.dtype(np.uint16),
    11: np.dtype(np.uint32),
    12: np.dtype(np.uint64),
    13: np.dtype(np.bool_),
}
DTYPE_NUMBERS: dict[np.dtype, int] = {dtype: number for number, dtype in DTYPES.items()}


class _Options(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("weights_path", c_char_p), ("threads", c_int32), ("device_index", c_int32), ("device", c_void_p), ("graphs", c_int32), ("reserved", c_int32)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("dims", POINTER(c_int64)),
        ("bytes", c_uint64),
        ("dtype", c_int32),
        ("rank", c_int32),
        ("memory", c_uint64),
        ("reserved", c_uint64),
    ]


class _Dim(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("min", c_int64), ("max", c_int64), ("multiple", c_int64)]


class _TensorInfo(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("dims", POINTER(_Dim)), ("dtype", c_int32), ("rank", c_int32)]


# function -> (result type, argument types)
_FUNCTIONS = {
    "aitmlir_abi_version": (c_uint32, []),
    "aitmlir_compiler_version": (c_char_p, []),
    "aitmlir_info_json": (c_char_p, []),
    "aitmlir_last_error": (c_char_p, []),
    "aitmlir_model_create": (c_int32, [POINTER(_Options), POINTER(c_void_p)]),
    "aitmlir_model_destroy": (None, [c_void_p]),
    "aitmlir_set_threads": (c_int32, [c_void_p, c_int32]),
    "aitmlir_input_count": (c_int32, [c_void_p]),
    "aitmlir_output_count": (c_int32, [c_void_p]),
    "aitmlir_input_info": (c_int32, [c_void_p, c_int32, POINTER(_TensorInfo)]),
    "aitmlir_output_info": (c_int32, [c_void_p, c_int32, POINTER(_TensorInfo)]),
    "aitmlir_output_shape": (
        c_int32,
        [c_void_p, POINTER(_Tensor), c_int32, c_int32, POINTER(c_int64), POINTER(c_int64)],
    ),
    "aitmlir_run": (c_int32, [c_void_p, POINTER(_Tensor), c_int32, POINTER(_Tensor), c_int32]),
    "aitmlir_run_owned": (c_int32, [c_void_p, POINTER(_Tensor), c_int32, POINTER(c_void_p)]),
    "aitmlir_result_output": (c_int32, [c_void_p, c_int32, POINTER(_Tensor)]),
    "aitmlir_result_destroy": (None, [c_void_p]),
}


class AbiError(Exception):
    """A call that did not return AITMLIR_OK: the status and the library's own line about it."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True)
class Dim:
    """A dimension of an input or output; `maximum` is None where there is no bound."""

    name: str | None
    minimum: int
    maximum: int | None


@dataclass(frozen=True)
class TensorInfo:
    """An input or output of a model."""

    name: str
    dtype: np.dtype
    dims: tuple[Dim, ...]


class _Tensors:
    """An array of C tensors over NumPy arrays, which it keeps alive."""

    def __init__(self, arrays: Sequence[np.ndarray]) -> None:
        self.arrays = [np.ascontiguousarray(a).reshape(a.shape) for a in arrays]
        self.dims = [(c_int64 * max(a.ndim, 1))(*a.shape) for a in self.arrays]
        self.count = len(self.arrays)
        self.c = (_Tensor * max(self.count, 1))()
        for tensor, array, dims in zip(self.c, self.arrays, self.dims):
            tensor.data, tensor.dims = array.ctypes.data, dims
            tensor.bytes, tensor.rank = array.nbytes, array.ndim
            tensor.dtype = DTYPE_NUMBERS.get(array.dtype, 0)


class Model:
    """A compiled model, loaded. Close it, or use it in a `with` statement."""

    def __init__(self, path: pathlib.Path, weights: pathlib.Path | None = None, threads: int = 1) -> None:
        self._library = ctypes.CDLL(str(path.resolve()))
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(self._library, name)
            function.restype, function.argtypes = result, arguments
        found = self._library.aitmlir_abi_version()
        if found != ABI_VERSION:
            raise AbiError(0, f"library has ABI version {found}, this binding {ABI_VERSION}")
        options = _Options(ctypes.sizeof(_Options), str(weights).encode() if weights else None, threads, 0)
        self._model = c_void_p()
        self._check(self._library.aitmlir_model_create(byref(options), byref(self._model)))
        self.inputs = self._infos("input")
        self.outputs = self._infos("output")

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Frees the model; the library stays loaded."""
        self._library.aitmlir_model_destroy(self._model)
        self._model = c_void_p()

    def info_json(self) -> str:
        """All that the library says about its model."""
        return self._library.aitmlir_info_json().decode()

    def output_shapes(self, inputs: Sequence[np.ndarray]) -> list[tuple[int, ...]]:
        """The shapes of the outputs for inputs of these shapes; -1 where a dim depends on data."""
        tensors = _Tensors(inputs)
        shapes = []
        for index, output in enumerate(self.outputs):
            rank = len(output.dims)
            dims = (c_int64 * max(rank, 1))()
            self._check(self._library.aitmlir_output_shape(self._model, tensors.c, tensors.count, index, dims, None))
            shapes.append(tuple(dims[:rank]))
        return shapes

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Runs into memory of the library and copies the outputs."""
        tensors = _Tensors(inputs)
        result = c_void_p()
        self._check(self._library.aitmlir_run_owned(self._model, tensors.c, tensors.count, byref(result)))
        try:
            return [self._result_output(result, index) for index in range(len(self.outputs))]
        finally:
            self._library.aitmlir_result_destroy(result)

    def bind(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> BoundRun:
        """A run between these arrays, that can be repeated without any work in Python."""
        return BoundRun(self, _Tensors(inputs), _Tensors(outputs))

    def _result_output(self, result: c_void_p, index: int) -> np.ndarray:
        tensor = _Tensor()
        self._check(self._library.aitmlir_result_output(result, index, byref(tensor)))
        dtype, shape = DTYPES[tensor.dtype], tuple(tensor.dims[: tensor.rank])
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        data = ctypes.string_at(tensor.data, size) if size else b""
        return np.frombuffer(data, dtype=dtype).reshape(shape)

    def _infos(self, kind: str) -> list[TensorInfo]:
        count = getattr(self._library, f"aitmlir_{kind}_count")(self._model)
        return [self._info(kind, index) for index in range(count)]

    def _info(self, kind: str, index: int) -> TensorInfo:
        info = _TensorInfo()
        self._check(getattr(self._library, f"aitmlir_{kind}_info")(self._model, index, byref(info)))
        dims = tuple(
            Dim(dim.name.decode() if dim.name else None, dim.min, None if dim.max < 0 else dim.max)
            for dim in info.dims[: info.rank]
        )
        return TensorInfo(info.name.decode(), DTYPES[info.dtype], dims)

    def _check(self, status: int) -> None:
        if status != 0:
            raise AbiError(status, self._library.aitmlir_last_error().decode(errors="replace"))


class BoundRun:
    """A run with caller-owned inputs and outputs; `outputs` are the arrays that it writes."""

    def __init__(self, model: Model, inputs: _Tensors, outputs: _Tensors) -> None:
        self._model, self._inputs, self._outputs = model, inputs, outputs
        self.outputs = outputs.arrays

    def __call__(self) -> None:
        model, inputs, outputs = self._model, self._inputs, self._outputs
        model._check(model._library.aitmlir_run(model._model, inputs.c, inputs.count, outputs.c, outputs.count))

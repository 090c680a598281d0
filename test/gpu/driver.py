"""Launches kernels of a bundle through the CUDA driver API, as `kernels.json` describes them (crate kernel-launch)."""

import ctypes
import json
import pathlib
import struct

import torch

cuda = ctypes.CDLL("libcuda.so.1")
MAP_TYPES = {"U8": 0, "U16": 1, "I32": 3, "F16": 6, "F32": 7, "Bf16": 9, "Tf32": 11}
SWIZZLES = {"None": 0, "B32": 1, "B64": 2, "B128": 3}
MAX_DYNAMIC_SHARED, NON_PORTABLE = 8, 14

# Of tensor maps into the L2: 128 bytes.
PROMOTION = 2
# CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
OVERLAP = 6


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig"""
    _fields_ = [(name, ctypes.c_uint32) for name in ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "shared", "padding")]
    _fields_ += [("stream", ctypes.c_void_p), ("attributes", ctypes.c_void_p), ("count", ctypes.c_uint32)]


class Attribute(ctypes.Structure):
    """CUlaunchAttribute"""
    _fields_ = [("id", ctypes.c_int32), ("padding", ctypes.c_int32), ("value", ctypes.c_int32 * 16)]


def check(code, what):
    if code:
        text = ctypes.c_char_p()
        cuda.cuGetErrorString(code, ctypes.byref(text))
        raise RuntimeError(f"{what}: {text.value.decode() if text.value else code}")


def value(expr, dims, sms):
    if expr == "Sms":
        return sms
    (kind, sides), = expr.items()
    if kind == "Const":
        return sides
    if kind == "Dim":
        return dims[sides]
    a, b = (value(side, dims, sms) for side in sides)
    return {"Add": lambda: a + b, "Sub": lambda: a - b, "Mul": lambda: a * b, "Div": lambda: a // b,
            "CeilDiv": lambda: (a + b - 1) // b, "Rem": lambda: a % b, "Min": lambda: min(a, b), "Max": lambda: max(a, b),
            "Less": lambda: int(a < b), "Equal": lambda: int(a == b)}[kind]()


def tensor_map(spec, dims, sms, operands):
    rank = len(spec["dims"])
    at = operands[spec["operand"]] + value(spec["offset"], dims, sms)
    sizes = (ctypes.c_uint64 * rank)(*(value(d, dims, sms) for d in spec["dims"]))
    strides = (ctypes.c_uint64 * max(rank - 1, 1))(*(value(s, dims, sms) for s in spec["strides"]))
    boxes = (ctypes.c_uint32 * rank)(*spec["boxes"])
    steps = (ctypes.c_uint32 * rank)(*([1] * rank))
    room = ctypes.create_string_buffer(128 + 64)
    aligned = (ctypes.addressof(room) + 63) // 64 * 64
    # No interleaving, zeros out of bounds.
    check(cuda.cuTensorMapEncodeTiled(ctypes.c_void_p(aligned), MAP_TYPES[spec["dtype"]], rank, ctypes.c_void_p(at), sizes, strides,
                                      boxes, steps, 0, SWIZZLES[spec["swizzle"]], PROMOTION, 0), "cuTensorMapEncodeTiled")
    return room, aligned


class Kernel:
    def __init__(self, folder, entry):
        self.launch, self.epilogue, self.dtype, self.config = (entry[k] for k in ("launch", "epilogue", "dtype", "config"))
        self.name = self.launch["name"]
        self.sms = torch.cuda.get_device_properties(0).multi_processor_count
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        self.image = (folder / entry["file"]).read_bytes()
        check(cuda.cuModuleLoadData(ctypes.byref(module), self.image), self.name)
        check(cuda.cuModuleGetFunction(ctypes.byref(self.function), module, self.name.encode()), self.name)
        check(cuda.cuFuncSetAttribute(self.function, MAX_DYNAMIC_SHARED, self.launch["smem_bytes"]), self.name)

    def grid(self, dims):
        return [value(e, dims, self.sms) for e in self.launch["grid"]]

    def fits(self, dims):
        """Parts of a tile wait for each other, so all of them must run at once; and the shape must be one that the kernel is for."""
        config, (m, n, k) = self.config, dims
        slots = self.sms * config["ctas_per_sm"]
        if config["split"] > 1 and self.grid(dims)[0] > (2 * slots if config["cluster"] else slots):
            return False
        if config["split"] > (k + 63) // 64:
            return False
        if self.epilogue == "heads" and (m % 512 or n % 64):
            return False
        if not config["tma_store"] and n % 64 == 0 and config["columns"] % 64 == 0:
            return False
        if config["swapped"]:
            # For few rows; in large clusters, for any.
            few = m <= config["columns"] and (config["columns"] < 2 * m or config["columns"] == 8)
            return few or config["sharers"] > 2 and m > 32
        return m >= 64

    def bytes_of(self, param, dims, operands, workspace):
        """A parameter as the kernel gets it."""
        (kind, spec), = param.items()
        if kind == "Each":
            return b"".join(self.bytes_of(own, dims, operands, workspace) for own in spec)
        if kind == "Map":
            if any(value(d, dims, self.sms) == 0 for d in spec["dims"]):
                # Of a group: an empty problem, whose map nothing reads.
                return bytes(128)
            _room, at = tensor_map(spec, dims, self.sms, operands)
            return ctypes.string_at(at, 128)
        if kind == "Pointer":
            return struct.pack("<Q", operands[spec["operand"]] + value(spec["offset"], dims, self.sms))
        if kind == "Workspace":
            return struct.pack("<Q", workspace + value(spec["offset"], dims, self.sms))
        if kind == "F32":
            return struct.pack("<f", spec)
        return struct.pack({"I32": "<i", "I64": "<q"}[kind], value(spec, dims, self.sms))

    def prepare(self, dims, operands):
        """A call that launches on torch's current stream."""
        keep, pointers = [], []
        workspace = 0
        if self.launch["workspace"]:
            size, zeroed = (value(self.launch["workspace"][k], dims, self.sms) for k in ("bytes", "zeroed"))
            room = torch.zeros(size, dtype=torch.uint8, device="cuda")
            workspace = room.data_ptr()
            keep += [room, zeroed]
        for param in self.launch["params"]:
            data = self.bytes_of(param, dims, operands, workspace)
            room = ctypes.create_string_buffer(len(data) + 64)
            at = (ctypes.addressof(room) + 63) // 64 * 64
            ctypes.memmove(at, data, len(data))
            keep.append(room)
            pointers.append(at)
        params = (ctypes.c_void_p * len(pointers))(*pointers)
        # As the runtime starts it: a launch that waits by itself may begin while the one before it ends.
        attribute = Attribute(OVERLAP)
        attribute.value[0] = 1
        config = LaunchConfig(*self.grid(dims), *self.launch["block"], self.launch["smem_bytes"])
        if self.launch.get("overlaps"):
            config.attributes, config.count = ctypes.addressof(attribute), 1
            keep.append(attribute)

        def run(keep=keep):
            config.stream = torch.cuda.current_stream().cuda_stream
            check(cuda.cuLaunchKernelEx(ctypes.byref(config), self.function, params, None), self.name)

        return run


def load(folder):
    folder = pathlib.Path(folder)
    return [Kernel(folder, entry) for entry in json.loads((folder / "kernels.json").read_text())]

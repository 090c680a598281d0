"""Runs the kernels of a manifest on this machine's GPU, through the CUDA driver API alone, and keeps what they wrote.

    python3 device.py MANIFEST OUT [JOBS]

Each PTX file is run by a process of its own with a time limit. OUT gets NAME.bin for each case: its `out` and `inout` buffers one after the
other. The last line counts the cases that ran.
"""

import concurrent.futures
import ctypes
import json
import pathlib
import struct
import subprocess
import sys

import fill

LIMIT_S = 60
PACK = {"i32": "<i", "u32": "<I", "i64": "<q", "u64": "<Q", "f32": "<f", "f64": "<d"}
MAX_DYNAMIC_SHARED, ERROR_LOG, ERROR_LOG_BYTES = 8, 5, 6


class Device:
    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *args):
        code = getattr(self.cuda, name)(*args)
        if code:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorString(code, ctypes.byref(text))
            raise RuntimeError(f"{name}: {text.value.decode() if text.value else code}")

    def load(self, ptx):
        module, log = ctypes.c_void_p(), ctypes.create_string_buffer(8192)
        options = (ctypes.c_int * 2)(ERROR_LOG, ERROR_LOG_BYTES)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), len(log))
        try:
            self.call("cuModuleLoadDataEx", ctypes.byref(module), ptx, 2, options, values)
        except RuntimeError as error:
            raise RuntimeError(f"{error}: {log.value.decode(errors='replace')[:600]}") from error
        return module

    def upload(self, data):
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(len(data), 16)))
        self.call("cuMemcpyHtoD_v2", address, data, ctypes.c_size_t(len(data)))
        return address

    def run(self, module, case, specials):
        """The bytes of the buffers that the kernel writes."""
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), module, case["kernel"].encode())
        if case["shared"]:
            self.call("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED, case["shared"])
        buffers, rooms = [], []
        for index, param in enumerate(case["params"]):
            if param["use"] == "value":
                data = struct.pack(PACK[param["type"]], param["value"])
            else:
                content = fill.fill(param, index + 1, specials)
                address = self.upload(content if param["use"] != "out" else b"\xcd" * len(content))
                buffers.append((param["use"], address, len(content)))
                data = struct.pack("<Q", address.value)
            rooms.append(ctypes.create_string_buffer(data, len(data)))
        params = (ctypes.c_void_p * len(rooms))(*(ctypes.addressof(room) for room in rooms))
        self.call("cuLaunchKernel", function, *case["grid"], *case["block"], case["shared"], None, params, None)
        self.call("cuCtxSynchronize")
        written = b""
        for use, address, count in buffers:
            if use != "in":
                room = ctypes.create_string_buffer(count)
                self.call("cuMemcpyDtoH_v2", room, address, ctypes.c_size_t(count))
                written += room.raw
            self.call("cuMemFree_v2", address)
        return written


def one_module(manifest, ptx, out):
    content = json.loads(manifest.read_text())
    device = Device()
    module = device.load((manifest.parent / ptx).read_bytes() + b"\0")
    for case in content["cases"]:
        if case["ptx"] == ptx:
            (out / f"{case['name']}.bin").write_bytes(device.run(module, case, content.get("specials")))
            print("ran", case["name"], flush=True)


def main():
    manifest, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    if len(sys.argv) > 4:
        return one_module(manifest, sys.argv[4], out)
    jobs = int(sys.argv[3]) if len(sys.argv) > 3 else 8
    out.mkdir(parents=True, exist_ok=True)
    cases = json.loads(manifest.read_text())["cases"]

    def start(ptx):
        try:
            done = subprocess.run(
                [sys.executable, __file__, manifest, out, "1", ptx], timeout=LIMIT_S, capture_output=True, text=True
            )
        except subprocess.TimeoutExpired:
            return ptx, 0, f"still running after {LIMIT_S} s"
        said = done.stderr.strip().splitlines()
        return ptx, done.stdout.count("ran "), said[-1] if said and done.returncode else ""

    ran = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for ptx, count, error in pool.map(start, dict.fromkeys(case["ptx"] for case in cases)):
            ran += count
            if error:
                print(f"{ptx}: {error}", flush=True)
    print(f"{ran} of {len(cases)} cases ran")


if __name__ == "__main__":
    sys.exit(main())

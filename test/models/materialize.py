"""Weights for the graphs in graphs/, from the names of their initializers.

The graphs were exported by torch.onnx without their float weights of 2,048 elements and more. Each weight is drawn by a
generator seeded with a hash of its name, scaled so that activations keep their size through the model: the same bytes
on every machine. Expected outputs come from another runtime.
"""

from __future__ import annotations

import hashlib
import pathlib

import numpy as np
import onnx

# Networks whose folded batch norms and gates would shrink random activations to nothing.
CONV_GAIN = {"efficientnet_b0": 2.25, "mobilenet_v3_large": 2.0}
ALIGNMENT = 64


def materialize(graph: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """The path of a complete model for a graph, made in `folder` where it is not there yet."""
    result = folder / graph.name
    if result.is_file():
        return result
    folder.mkdir(parents=True, exist_ok=True)
    model = onnx.load(graph, load_external_data=False)
    weights = f"{graph.stem}.weights"
    gain = CONV_GAIN.get(graph.stem, 1.0)
    with (folder / weights).open("wb") as file:
        for tensor in model.graph.initializer:
            if tensor.data_location != onnx.TensorProto.EXTERNAL:
                continue
            file.write(b"\0" * (-file.tell() % ALIGNMENT))
            dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
            data = _values(tensor.name, tuple(tensor.dims), gain).astype(dtype).tobytes()
            _set_location(tensor, weights, file.tell(), len(data))
            file.write(data)
    # Last: an interrupted run leaves no model.
    onnx.save(model, result)
    return result


def _set_location(tensor: onnx.TensorProto, file: str, offset: int, length: int) -> None:
    del tensor.external_data[:]
    for key, value in (("location", file), ("offset", offset), ("length", length)):
        entry = tensor.external_data.add()
        entry.key, entry.value = key, str(value)


def _values(name: str, shape: tuple[int, ...], conv_gain: float) -> np.ndarray:
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
    generator = np.random.Generator(np.random.PCG64(seed))
    drawn = generator.standard_normal(int(np.prod(shape)), dtype=np.float32).reshape(shape)
    kind = name.lower()
    if "running_var" in kind:
        return 0.75 + 0.25 * np.abs(drawn)
    if len(shape) == 1:
        is_scale = any(word in kind for word in ("weight", "gamma", "scale"))
        return 1 + 0.1 * drawn if is_scale else 0.02 * drawn
    if any(word in kind for word in ("embed", "wte", "wpe", "pos")):
        return 0.05 * drawn
    fan_in = int(np.prod(shape[1:])) if len(shape) != 2 else max(shape)
    return drawn / np.sqrt(fan_in) * (conv_gain if len(shape) == 4 else 1)

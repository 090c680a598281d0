"""The models and what to feed them. The first set of inputs of a model is the one that is timed."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import onnx
from harness import TARGET

from .materialize import materialize

Draw = Callable[[np.random.Generator], np.ndarray]
Inputs = dict[str, Draw]

WHEELS = TARGET / "models"
GRAPHS = pathlib.Path(__file__).with_name("graphs")
LIGHT = pathlib.Path(onnx.__file__).parent / "backend/test/data/light"


@dataclass(frozen=True)
class Entry:
    """A model: where its file comes from, and sets of inputs."""

    name: str
    group: str
    locate: Callable[[], pathlib.Path]
    inputs: list[Inputs]

    def draw(self, index: int) -> dict[str, np.ndarray]:
        """The arrays of a set of inputs: the same on every machine."""
        generator = np.random.default_rng(index)
        return {name: draw(generator) for name, draw in self.inputs[index].items()}


def image(*shape: int) -> Draw:
    """Pixels from 0 to 1."""
    return lambda generator: generator.random(shape, dtype=np.float32)


def signed_image(*shape: int) -> Draw:
    """Pixels from -1 to 1."""
    return lambda generator: 2 * generator.random(shape, dtype=np.float32) - 1


def normal(*shape: int, scale: float = 1.0) -> Draw:
    """Normally distributed values: sound, recurrent state."""
    return lambda generator: scale * generator.standard_normal(shape, dtype=np.float32)


def ids(count: int, *shape: int, dtype: type = np.int64) -> Draw:
    """Indices of a table with `count` rows."""
    return lambda generator: generator.integers(0, count, shape).astype(dtype)


def scalar(value: int) -> Draw:
    """One int64, always the same."""
    return lambda _: np.asarray(value, dtype=np.int64)


def mask(batch: int, length: int) -> Draw:
    """Ones; the last row of a batch of more than one ends in padding."""

    def draw(_: np.random.Generator) -> np.ndarray:
        values = np.ones((batch, length), dtype=np.int64)
        if batch > 1:
            values[-1, length * 3 // 4 :] = 0
        return values

    return draw


def _wheel(name: str, path: str, *inputs: Inputs) -> Entry:
    return Entry(name, "wheel", lambda: WHEELS / path, list(inputs))


def _graph(name: str, *inputs: Inputs) -> Entry:
    return Entry(name, "graph", lambda: materialize(GRAPHS / f"{name}.onnx", WHEELS / "graphs"), list(inputs))


def _light(name: str, data: str) -> Entry:
    return Entry(f"light_{name}", "light", lambda: LIGHT / f"light_{name}.onnx", [{data: image(1, 3, 224, 224)}])


# A chunk is 512 samples at 16 kHz after 64 of context.
def _silero(batch: int, **more: Draw) -> Inputs:
    return {"input": normal(batch, 576, scale=0.1), "state": normal(2, batch, 128, scale=0.1), **more}


def _silero_sequence(length: int) -> Inputs:
    return {
        "input": normal(length, 576, scale=0.1),
        "h": normal(1, 1, 128, scale=0.1),
        "c": normal(1, 1, 128, scale=0.1),
    }


def _rxnmap(length: int) -> Inputs:
    return {
        "atoms": ids(121, 1, length),
        "neighbors": ids(17, 1, length),
        "distances": ids(13, 1, length, length),
        "roles": ids(4, 1, length),
    }


def _text(vocabulary: int, batch: int, length: int) -> Inputs:
    return {"input_ids": ids(vocabulary, batch, length), "attention_mask": mask(batch, length)}


def _vision(batch: int) -> Inputs:
    return {"image": normal(batch, 3, 224, 224)}


_SILERO = "silero-vad/silero_vad/data"
_RAPIDOCR = "rapidocr-onnxruntime/rapidocr_onnxruntime/models"
_BASIC_PITCH = "basic-pitch/basic_pitch/saved_models/icassp_2022"

CATALOGUE: list[Entry] = [
    _wheel("silero_vad", f"{_SILERO}/silero_vad.onnx", _silero(1, sr=scalar(16000)), _silero(2, sr=scalar(16000))),
    _wheel(
        "silero_vad_16k_op15",
        f"{_SILERO}/silero_vad_16k_op15.onnx",
        _silero(1, sr=scalar(16000)),
        _silero(2, sr=scalar(16000)),
    ),
    _wheel(
        "silero_vad_16k_sequence", f"{_SILERO}/silero_vad_16k_sequence.onnx", _silero_sequence(8), _silero_sequence(3)
    ),
    _wheel("silero_vad_half", f"{_SILERO}/silero_vad_half.onnx", _silero(1), _silero(2)),
    _wheel(
        "silero_vad_op18_ifless",
        f"{_SILERO}/silero_vad_op18_ifless.onnx",
        _silero(1, sr=scalar(16000)),
        _silero(2, sr=scalar(16000)),
    ),
    _wheel("silero_vad_openvino_16k", f"{_SILERO}/silero_vad_openvino_16k.onnx", _silero(1)),
    _wheel(
        "magika",
        "magika/magika/models/standard_v3_3/model.onnx",
        {"bytes": ids(257, 1, 2048, dtype=np.int32)},
        {"bytes": ids(257, 3, 2048, dtype=np.int32)},
    ),
    _wheel(
        "ch_PP-OCRv4_det",
        f"{_RAPIDOCR}/ch_PP-OCRv4_det_infer.onnx",
        {"x": signed_image(1, 3, 320, 320)},
        {"x": signed_image(2, 3, 192, 256)},
    ),
    _wheel(
        "ch_PP-OCRv4_rec",
        f"{_RAPIDOCR}/ch_PP-OCRv4_rec_infer.onnx",
        {"x": signed_image(1, 3, 48, 320)},
        {"x": signed_image(2, 3, 48, 160)},
    ),
    _wheel(
        "ch_ppocr_mobile_v2.0_cls",
        f"{_RAPIDOCR}/ch_ppocr_mobile_v2.0_cls_infer.onnx",
        {"x": signed_image(1, 3, 48, 192)},
        {"x": signed_image(3, 3, 48, 192)},
    ),
    _wheel(
        "nudenet_320n",
        "nudenet/nudenet/320n.onnx",
        {"images": image(1, 3, 320, 320)},
        {"images": image(2, 3, 256, 320)},
    ),
    _wheel(
        "ddddocr_common",
        "ddddocr/ddddocr/common.onnx",
        {"input1": image(1, 1, 64, 160)},
        {"input1": image(1, 1, 64, 104)},
    ),
    _wheel("ddddocr_common_det", "ddddocr/ddddocr/common_det.onnx", {"images": image(1, 3, 416, 416)}),
    _wheel(
        "ddddocr_common_old",
        "ddddocr/ddddocr/common_old.onnx",
        {"input1": image(1, 1, 64, 160)},
        {"input1": image(1, 1, 64, 104)},
    ),
    _wheel(
        "basic_pitch",
        f"{_BASIC_PITCH}/nmp.onnx",
        {"serving_default_input_2:0": normal(1, 43844, 1, scale=0.1)},
        {"serving_default_input_2:0": normal(2, 43844, 1, scale=0.1)},
    ),
    _wheel("rxnmap", "chython-rxnmap/chython_rxnmap/rxnmap.onnx", _rxnmap(24), _rxnmap(40)),
    _graph("resnet50", _vision(1), _vision(2)),
    _graph("mobilenet_v3_large", _vision(1), _vision(2)),
    _graph("efficientnet_b0", _vision(1), _vision(2)),
    _graph("convnext_tiny", _vision(1), _vision(2)),
    _graph("vit_b_16", _vision(1), _vision(2)),
    _graph("bert_base", _text(30522, 1, 128), _text(30522, 2, 128), _text(30522, 1, 37), _text(30522, 2, 37)),
    _graph("llama_4l", _text(32000, 1, 128), _text(32000, 2, 128), _text(32000, 1, 37), _text(32000, 2, 37)),
    _light("bvlc_alexnet", "data_0"),
    _light("densenet121", "data_0"),
    _light("inception_v1", "data_0"),
    _light("inception_v2", "data_0"),
    _light("resnet50", "gpu_0/data_0"),
    _light("shufflenet", "gpu_0/data_0"),
    _light("squeezenet", "data_0"),
    _light("vgg19", "data_0"),
    _light("zfnet512", "gpu_0/data_0"),
]

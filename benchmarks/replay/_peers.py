"""All who run the rows, by the name of their column."""

from __future__ import annotations

import functools
from collections.abc import Callable

from . import _onnx_peers, _ours, _torch_peers
from ._rows import Row, Tensors
from ._runner import Runner

MAKERS: dict[str, Callable[[Row, int, Tensors], Runner]] = {
    "torchscript": _torch_peers.torchscript,
    "eager": _torch_peers.eager,
    "compile": _torch_peers.compiled,
    "onnxruntime": _onnx_peers.onnxruntime,
    "openvino": _onnx_peers.openvino,
    "exact": functools.partial(_ours.graph, "exact"),
    "fast": functools.partial(_ours.graph, "fast"),
}

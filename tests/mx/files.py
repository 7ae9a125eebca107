"""Files made by hand, and what they are worth."""

from __future__ import annotations

import json

import ml_dtypes
import numpy as np

E2M1 = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])


def file_of(path, metadata=None, **tensors):
    """A file by hand: ``name=(dtype, array of bytes or numbers)``, dots in names as ``__``."""
    head, data = {"__metadata__": metadata} if metadata else {}, b""
    for name, (dtype, array) in tensors.items():
        raw = array.tobytes()
        offsets = [len(data), len(data) + len(raw)]
        head[name.replace("__", ".")] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": offsets}
        data += raw
    text = json.dumps(head).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def fours(*shape):
    """Random codes of mxfp4: as bytes, low nibble first, and as numbers."""
    codes = np.random.default_rng(0).integers(0, 16, shape, dtype=np.uint8)
    numbers = np.where(codes & 8, -1.0, 1.0) * E2M1[codes & 7]
    return codes[..., ::2] | codes[..., 1::2] << 4, numbers


def eights(*shape):
    codes = np.random.default_rng(1).integers(0, 126, shape, dtype=np.uint8)
    return codes, codes.view(ml_dtypes.float8_e4m3fn).astype(np.float64)


def powers(*shape):
    """Random scales: as bytes of e8m0 and as numbers."""
    scales = np.random.default_rng(2).integers(117, 137, shape, dtype=np.uint8)
    return scales, 2.0 ** (scales.astype(np.float64) - 127)


def blockwise(numbers, scales, size=32):
    return numbers * np.repeat(scales, size, -1)[..., : numbers.shape[-1]]


def sharded(folder):
    for i, name in enumerate("ab"):
        (packed, _), (scales, _) = fours(2, 32), powers(2, 1)
        parts = {f"{name}_blocks": ("U8", packed.reshape(2, 1, 16)), f"{name}_scales": ("U8", scales)}
        file_of(folder / f"model-{i}.safetensors", **parts)
    index = {f"{n}_{p}": f"model-{i}.safetensors" for i, n in enumerate("ab") for p in ("blocks", "scales")}
    return index


def indexed(folder, index):
    path = folder / "model.safetensors.index.json"
    path.write_text(json.dumps({"weight_map": index}))
    return path

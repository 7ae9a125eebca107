"""Files with inputs, written by other libraries than ours where there is one."""

from __future__ import annotations

import struct
import wave
import zlib

import numpy as np


def write_wav(path, samples, rate=16000):
    """``samples``: int16 [n] or [n, channels]."""
    samples = np.asarray(samples, dtype="<i2")
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1 if samples.ndim == 1 else samples.shape[1])
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(samples.tobytes())


def write_png(path, pixels):
    """``pixels``: uint8 [h, w, 1, 3 or 4]; as the standard has it, for Pillow may not be there."""
    height, width, channels = pixels.shape
    lines = b"".join(b"\0" + line.tobytes() for line in pixels)

    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2, 4: 6}[channels], 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(lines))
        + chunk(b"IEND", b"")
    )

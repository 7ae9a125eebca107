"""The native library: found, loaded and described here, and nowhere else."""

from ._load import (
    info as info,
    ops as ops,
)

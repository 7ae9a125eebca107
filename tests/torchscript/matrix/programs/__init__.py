"""Small programs for torch.jit.script, by construct; imported only where torch has torch.jit."""

from . import (
    classes as classes,
    containers as containers,
    exceptions as exceptions,
    inplace as inplace,
    loops as loops,
    modules as modules,
    numbers as numbers,
    slices as slices,
    state as state,
    statements as statements,
    tensors as tensors,
    texts as texts,
    types as types,
)
from ._case import CASES as CASES, Case as Case, Row as Row

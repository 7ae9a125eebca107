"""The rules, each a function of a case and the choice that was made for it.

The first problem in this order is the sentence that a diagnosis begins with:
what prevents everything comes before what prevents a part.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Callable

from .._case import Case
from .._choose import Choice
from . import _companions, _cuda, _next, _nvidia, _others, _system, _torch
from ._finding import (
    NOTE as NOTE,
    PROBLEM as PROBLEM,
    UNKNOWN as UNKNOWN,
    WARNING as WARNING,
    Finding as Finding,
)

RULES: tuple[Callable[[Case, Choice], Iterator[Finding]], ...] = (
    _system.platform,
    _system.interpreter,
    _system.libraries,
    _system.macos_intel,
    _torch.broken,
    _nvidia.state,
    _nvidia.last_driver,
    _torch.missing,
    _cuda.refused_wish,
    _cuda.cpu_build,
    _cuda.driver,
    _cuda.kernels,
    _cuda.toolkit,
    _cuda.portable_code,
    _cuda.none_fits,
    _others.amd,
    _others.intel,
    _nvidia.visible,
    _companions.versions,
    _companions.nvidia_packages,
    _torch.unknown_version,
    _companions.triton,
    _companions.numpy,
    _torch.several,
    _nvidia.library_path,
    _cuda.no_gpu,
    _nvidia.mig,
    _others.apple,
    _torch.ostinato,
    _next.newer,
    _next.with_driver,
    _next.drops,
)


def findings(case: Case, choice: Choice) -> tuple[Finding, ...]:
    """What all rules say, without repetitions."""
    return tuple(dict.fromkeys(each for rule in RULES for each in rule(case, choice)))

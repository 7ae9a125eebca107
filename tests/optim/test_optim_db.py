"""What torch tests its optimizers with: every input of its database, in every dtype, and every refusal."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import torch
from torch.testing._internal.common_optimizers import optim_db

import ostinato as ost

from .support import CLASSES, ours, parameters, stock, train, twins

# Of six steps, against the plain loop in float64; short formats also keep their state short, as in torch.
TOLERANCE = {
    torch.float32: 1e-5,
    torch.float64: 1e-11,
    torch.bfloat16: 6e-2,
    torch.float16: 8e-3,
    torch.complex64: 1e-5,
    torch.complex128: 1e-11,
}
SHAPES = ((10, 5), (7,), (1,), (130,))
INFOS = {info.optim_cls.__name__: info for info in optim_db if info.optim_cls.__name__ in CLASSES}


def _inputs(name: str, dtype: torch.dtype) -> dict[str, dict[str, Any]]:
    """By description. What torch keeps for other devices holds on the CPU here."""
    found = {}
    for device in ("cpu", "cuda", "mps"):
        for given in INFOS[name].optim_inputs_func(device=device, dtype=dtype):
            found[given.desc] = given.kwargs
    return found


@functools.cache
def _cases() -> list[tuple[str, torch.dtype, str]]:
    return [(name, dtype, desc) for name in CLASSES for dtype in TOLERANCE for desc in _inputs(name, dtype)]


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    return value.item() if isinstance(value, torch.Tensor) else value


def test_the_database_has_all_of_them() -> None:
    assert set(INFOS) == set(CLASSES)
    assert len(_cases()) >= 200


@pytest.mark.parametrize(("name", "dtype", "desc"), _cases(), ids=str)
def test_input(name: str, dtype: torch.dtype, desc: str) -> None:
    kwargs = _inputs(name, dtype)[desc]
    params = parameters(dtype, SHAPES)
    wide = twins(params, torch.complex128 if dtype.is_complex else torch.float64)
    plain = {k: _plain(v) for k, v in kwargs.items() if k != "capturable"}  # torch has that for other devices
    mine, reference = ours(name, params, **kwargs), stock(name, wide, **plain)
    train((mine, params), (reference, wide), steps=6)
    tolerance = TOLERANCE[dtype]
    for p, q in zip(params, wide, strict=True):
        torch.testing.assert_close(p, q, rtol=tolerance, atol=tolerance, check_dtype=False)


@pytest.mark.parametrize("name", CLASSES)
def test_refusals_are_torchs(name: str) -> None:
    for error in INFOS[name].optim_error_inputs_func(device="cpu", dtype=torch.float32):
        given, kind = error.optimizer_error_input, error.error_type
        expects = pytest.warns if issubclass(kind, Warning) else pytest.raises
        with expects(kind, match=error.error_regex):
            getattr(ost.optim, name)(given.params, **given.kwargs)


@pytest.mark.filterwarnings("ignore:optimizer contains a parameter group with duplicate parameters")
@pytest.mark.parametrize("name", CLASSES)
def test_a_parameter_given_twice_is_updated_twice(name: str) -> None:
    params = parameters(torch.float32, [(70_001,)])
    others = twins(params)
    train((ours(name, params * 2), params), (stock(name, others * 2), others))
    torch.testing.assert_close(params[0], others[0], rtol=2e-6, atol=2e-6, check_dtype=False)

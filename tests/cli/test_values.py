"""The language of --args."""

from __future__ import annotations

import pytest
import torch

from ostinato import _errors
from ostinato.cli._values import parse_args


def test_everything_at_once(tmp_path):
    torch.save(torch.arange(3), tmp_path / "a.pt")
    text = f"float32[1, 512], 16000, -1.5e-3, true, None, 'a, b', @{tmp_path / 'a.pt'}"
    text += ", int64[2]=1, (1, [bool[]])"
    x, rate, small, yes, nothing, words, saved, ones, (one, (flag,)) = parse_args(text)
    assert (x.shape, x.dtype) == ((1, 512), torch.float32)
    assert (rate, small, yes, nothing, words, one) == (16000, -1.5e-3, True, None, "a, b", 1)
    assert type(rate) is int
    assert torch.equal(saved, torch.arange(3))
    assert torch.equal(ones, torch.ones(2, dtype=torch.int64))
    assert (flag.shape, flag.dtype) == ((), torch.bool)


def test_random_tensors_repeat():
    first, second = parse_args("float32[4], float32[4]")
    assert not torch.equal(first, second)
    assert torch.equal(parse_args("float32[4]")[0], first)


def test_none_at_all():
    assert parse_args("  ") == ()
    assert parse_args("()") == ((),)


@pytest.mark.parametrize(
    "text",
    ["float32", "float32[1", "float32[a]", "float32[1,,2]", "floatx[1]", "1 2", ",", "(1", "1)", "'a", "x=1"]
    + ["[" * 50, "@", "__import__('os')", "1; 2", "float32[99999999999999999999]"],
)
def test_what_cannot_be_read_is_refused(text):
    with pytest.raises(_errors.UsageError) as caught:
        parse_args(text)
    assert caught.value.code in ("cli.args", "cli.tensors")

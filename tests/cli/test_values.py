"""The language of --args."""

from __future__ import annotations

import numpy as np
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


def test_arguments_by_name_and_short_dtypes(tmp_path):
    named = parse_args("x=f32[1, 3]=1, sr = 16000,kinds=(u8[2], bf16[2])")
    assert list(named) == ["x", "sr", "kinds"]
    assert torch.equal(named["x"], torch.ones(1, 3))
    assert named["sr"] == 16000
    assert [each.dtype for each in named["kinds"]] == [torch.uint8, torch.bfloat16]
    np.savez(tmp_path / "a.npz", np.arange(3))
    assert torch.equal(parse_args(f"@{tmp_path / 'a.npz'}")[0], torch.arange(3))
    np.savez(tmp_path / "a.npz", x=1, y=2)
    with pytest.raises(_errors.UsageError, match="has the arrays: x, y"):
        parse_args(f"@{tmp_path / 'a.npz'}")


def test_none_at_all():
    assert parse_args("  ") == ()
    assert parse_args("()") == ((),)


@pytest.mark.parametrize(
    "text",
    [
        "float32",
        "float32[1",
        "float32[a]",
        "float32[1,,2]",
        "floatx[1]",
        "1 2",
        ",",
        "(1",
        "1)",
        "'a",
        "x=",
        "x=1, 2",
        "x=1, x=2",
        "(x=1)",
    ]
    + ["[" * 50, "@", "__import__('os')", "1; 2", "float32[99999999999999999999]"],
)
def test_what_cannot_be_read_is_refused(text):
    with pytest.raises(_errors.UsageError) as caught:
        parse_args(text)
    assert caught.value.code in ("cli.args", "deployment.data")

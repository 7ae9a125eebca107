"""``ostinato quantize``."""

from __future__ import annotations

import json

import pytest
import torch
from safetensors.torch import save_file

import ostinato as ost
from ostinato.cli import _quantize, main
from ostinato.mx import _formats, _layouts, _quantize as _mx_quantize, _scales


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    state = {"a.weight": torch.randn(4, 64), "b.weight": torch.zeros(4, 40), "b.bias": torch.ones(4)}
    save_file(state, "in.safetensors")
    return tmp_path


def test_a_table(folder, capsys):
    assert main(["quantize", "in.safetensors", "-o", "out.safetensors"]) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert lines[0].split() == ["mxfp4", "shape", "bytes", "before", "after", "SNR", "dB"]
    assert lines[1].split()[:4] == ["a.weight", "4x64", "1,024", "136"]
    assert lines[-1].split() == ["all", "1,664", "272"]
    assert "quantizing: 100 %" in captured.err
    state = ost.mx.load_safetensors("out.safetensors")
    assert state["a.weight"].format is ost.mx.mxfp4


def test_json_with_a_filter(folder, capsys):
    options = ["--format", "mxfp8_e4m3", "--layout", "deepseek", "--json"]
    assert main(["quantize", "in.safetensors", "-o", "out.safetensors", *options]) == 0
    said = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    (weight,) = said["quantized"]
    snr = weight.pop("snr")
    assert 20 < snr < 40
    assert weight == {
        "name": "a.weight",
        "shape": [4, 64],
        "format": "mxfp8_e4m3",
        "bytes_before": 1024,
        "bytes_after": 264,
    }
    assert said["left"] == [{"name": "b.weight", "reason": "the layout 'deepseek' has no form for it"}]
    for options in (["--filter", "b.*", "--filter", "c*"], ["--skip", "a*"]):
        assert main(["quantize", "in.safetensors", "-o", "out.safetensors", "--json", *options]) == 0
        said = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
        assert [each["name"] for each in said["quantized"]] == ["b.weight"]
        assert said["quantized"][0]["snr"] is None  # zeros lose nothing


def test_other_files_are_refused(folder, capsys):
    torch.save({}, "model.pt2")
    for path, why in (("model.pt2", "before it is exported"), ("no.safetensors", "no file")):
        assert main(["quantize", path, "-o", "out.safetensors"]) == 2
        captured = capsys.readouterr()
        assert why in captured.err
        assert captured.out == ""


def test_what_can_be_chosen_is_what_there_is():
    assert list(_quantize.FORMATS) == list(_formats.FORMATS)
    assert list(_quantize.LAYOUTS) == list(_layouts.LAYOUTS)
    assert list(_quantize.SCALE_MODES) == list(_scales.MODES)
    assert _quantize.BLOCK_SIZES == _mx_quantize.BLOCK_SIZES

"""``ostinato run`` on each kind of file, and what it writes."""

from __future__ import annotations

import io
import json
import sys

import numpy as np
import pytest
import torch

from ostinato.cli import _results, main
from ostinato.deployment import convert
from tests.deployment import models
from tests.deployment.files import write_png, write_wav


class Picture(torch.nn.Module):
    def forward(self, image):
        return {"mean": image.mean((2, 3)), "size": image.shape[-1]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("run")
    args = [(torch.zeros(1, 64), 16000), (torch.zeros(1, 32), 8000)]
    convert(models.Detector(), args, out=path / "vad.pt2")
    convert(models.plain(), (torch.zeros(2, 12),), out=path / "net.pt2")
    convert(Picture(), (torch.zeros(1, 3, 4, 6),), out=path / "picture.pt2")
    return path


@pytest.fixture
def here(folder, tmp_path, monkeypatch, capsys):
    """Runs a file of the folder in a folder of its own: status, document, standard error."""
    monkeypatch.chdir(tmp_path)

    def run(name, *given):
        status = main(["run", str(folder / name), *map(str, given), "--json"])
        out, err = capsys.readouterr()
        return status, json.loads(out) if out else None, err

    return run


def test_sound_streams_through_the_state(here):
    samples = np.random.default_rng(0).integers(-9999, 9999, 200, dtype="int16")
    write_wav("a.wav", samples)
    status, document, err = here("vad.pt2", "a.wav", "-o", "out.npz")
    assert status == 0
    assert document["calls"] == 4
    assert "4 calls" in err
    model = models.Detector()
    sound = torch.from_numpy(samples.astype("float32") / 32768)
    sound = torch.nn.functional.pad(sound, (0, 56)).split(64)
    with torch.no_grad():
        expected = torch.stack([model(each[None], 16000) for each in sound])
    got = np.load("out.npz")["result"]
    torch.testing.assert_close(torch.from_numpy(got), expected, rtol=1e-4, atol=1e-5)


def test_tables_and_arrays_in_batches_from_files_and_standard_input(here, monkeypatch):
    rows = np.random.default_rng(0).normal(size=(6, 12)).astype("float32")
    np.savetxt("a.csv", rows, delimiter=",")
    np.savez("a.npz", rows)
    torch.save(torch.from_numpy(rows), "a.pt")
    with torch.no_grad():
        expected = models.plain()(torch.from_numpy(rows)).reshape(3, 2, 3)
    for name in ("a.csv", "a.npz", "a.pt", "-"):
        with open("a.npz", "rb") as file:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(file.read())))
        assert here("net.pt2", name, "-o", "out.pt")[0] == 0
        torch.testing.assert_close(torch.load("out.pt", weights_only=True), expected, rtol=1e-4, atol=1e-5)


def test_a_picture_to_json(here, tmp_path):
    pytest.importorskip("PIL")
    pixels = np.arange(72, dtype="uint8").reshape(4, 6, 3)
    write_png(tmp_path / "a.png", pixels)
    assert here("picture.pt2", "a.png", "-o", "out.json")[0] == 0
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["size"] == 6
    assert found["mean"][0] == pytest.approx((pixels / 255.0).mean((0, 1)).tolist(), abs=1e-6)


def test_arguments_by_name(here):
    status, document, _ = here("vad.pt2", "--args", "sr=8000, x=f32[1,32]")
    assert status == 0
    assert document["outputs"][0]["shape"] == [1, 8]


def test_errors_name_the_file_the_input_and_what_is_wanted(here):
    np.savez("bad.npz", input=np.zeros((3, 12), "float32"))
    status, document, err = here("net.pt2", "bad.npz", "-o", "out.npz")
    assert (status, document) == (2, None)
    assert "bad.npz: input input is float32[3, 12], and the model takes float32[2, 12]" in err
    assert err.strip().splitlines()[-1].startswith("hint: ")


def test_results_that_have_no_place_in_json_or_numpy(tmp_path):
    value = {"a": torch.tensor([1.5, float("nan"), float("inf")]).bfloat16(), "b": ("text", 3)}
    _results.write(value, str(tmp_path / "a.json"))
    expected = {"a": [1.5, "nan", "inf"], "b.0": "text", "b.1": 3}
    assert json.loads((tmp_path / "a.json").read_text(), parse_constant=pytest.fail) == expected
    _results.write(value, str(tmp_path / "a.npz"))
    arrays = np.load(tmp_path / "a.npz")
    assert arrays["a"].dtype == np.float32
    assert (arrays["b.0"], arrays["b.1"]) == ("text", 3)


def test_results_of_several_calls():
    one, two = torch.ones(2), torch.zeros(2)
    assert _results.joined([(one, 1), (two, 2)])[0].tolist() == [[1, 1], [0, 0]]
    assert _results.joined([(one, 1), (two, 2)])[1] == [1, 2]
    assert [len(each) for each in _results.joined([one, torch.ones(3)])] == [2, 3]

"""Inputs from files: how each kind becomes calls, and that a deployment is proved on them."""

from __future__ import annotations

import io
import pickle
import sys
import zipfile

import numpy as np
import pytest
import torch

import ostinato as ost
from ostinato import _errors
from ostinato.deployment import _deploy
from ostinato.deployment._files import content_of, read
from ostinato.deployment._fit import Taken, calls

from . import models
from .files import write_png, write_wav


def refused(code, function, *args, **options):
    with pytest.raises(_errors.OstinatoError) as caught:
        function(*args, **options)
    assert caught.value.code == code, caught.value
    assert caught.value.hint
    return caught.value.message


def fitted(path, *taken, names=("x", "sr")):
    return calls(read(path), names, [each if isinstance(each, Taken) else Taken(each) for each in taken])


# ---- each kind of file ----


def test_arrays_by_name_and_by_position(tmp_path):
    x = np.arange(6, dtype="float32").reshape(2, 3)
    np.savez(tmp_path / "a.npz", sr=np.array(8000), x=x)
    np.savez(tmp_path / "b.npz", x, np.array(8000))
    for name in ("a.npz", "b.npz"):
        ((got, rate),) = fitted(tmp_path / name, (torch.zeros(2, 3), 8000))
        assert torch.equal(got, torch.from_numpy(x))
        assert (rate, type(rate)) == (8000, int)


@pytest.mark.parametrize("shape", [(4, 1, 3), (4, 3)])
def test_more_rows_are_more_calls(tmp_path, shape):
    x = np.random.default_rng(0).normal(size=shape).astype("float32")
    np.savez(tmp_path / "a.npz", x=x)
    found = fitted(tmp_path / "a.npz", (torch.zeros(1, 3), 8000))
    assert torch.equal(torch.cat([each for each, _ in found]), torch.from_numpy(x.reshape(4, 3)))
    assert [rate for _, rate in found] == [8000] * 4
    (whole,) = fitted(tmp_path / "a.npz", Taken((torch.zeros(1, *shape[1:]),), frozenset({(0, 0)})))
    assert torch.equal(whole[0], torch.from_numpy(x))


def test_saved_tensors(tmp_path):
    x = torch.randn(2, 3)
    for value in (x, (x,), {"x": x}, [(x,)], [{"x": x}]):
        torch.save(value, tmp_path / "a.pt")
        ((got, rate),) = fitted(tmp_path / "a.pt", (torch.zeros(2, 3), 8000))
        assert torch.equal(got, x)
        assert rate == 8000
    torch.save([(x, 1), (x[:1], 1), (torch.cat([x, x]), 1)], tmp_path / "a.pt")
    each_its_own = fitted(tmp_path / "a.pt", (x[:1], 1), (x, 1))
    assert [len(each) for each, _ in each_its_own] == [2, 1, 2, 2]
    torch.save([(x, 1), (x + 1, 1)], tmp_path / "a.pt")
    assert [int((each - x).sum()) for each, _ in fitted(tmp_path / "a.pt", (x, 1))] == [0, 6]


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_sound_of_each_width(width):
    import wave

    values = np.array([0, 1, -1, 100, -128, 127], dtype=np.int64) * 256 ** (width - 1)
    raw = (
        (values + 128).astype("u1").tobytes()
        if width == 1
        else b"".join(int(each).to_bytes(width, "little", signed=True) for each in values)
    )
    stream = io.BytesIO()
    with wave.open(stream, "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(width)
        file.setframerate(8000)
        file.writeframes(raw)
    content = content_of("a.wav", stream.getvalue())
    assert content.rate == 8000
    expected = torch.from_numpy((values / 2.0 ** (8 * width - 1)).astype("float32")).reshape(-1, 2).T
    assert torch.equal(content.value, expected)


def test_sound_is_cut_into_pieces_and_the_rate_chooses_the_variant(tmp_path):
    samples = np.arange(100, dtype="int16") * 100
    write_wav(tmp_path / "a.wav", samples, 8000)
    found = fitted(tmp_path / "a.wav", (torch.zeros(1, 64), 16000), (torch.zeros(1, 32), 8000))
    assert [(tuple(x.shape), rate) for x, rate in found] == [((1, 32), 8000)] * 4
    whole = torch.cat([x[0] for x, _ in found])
    assert torch.equal(whole[:100], torch.from_numpy(samples.astype("float32") / 32768))
    assert not whole[100:].any()
    message = refused("deployment.misfit", fitted, tmp_path / "a.wav", (torch.zeros(1, 64), 16000))
    assert "sound of 8000 Hz" in message
    write_wav(tmp_path / "b.wav", samples.reshape(-1, 2))
    message = refused("deployment.misfit", fitted, tmp_path / "b.wav", (torch.zeros(1, 64), 16000))
    assert "b.wav: input x is sound of 2 channels" in message
    assert "float32[1, 64]" in message


def test_pictures(tmp_path):
    pytest.importorskip("PIL")
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype="uint8")
    write_png(tmp_path / "a.png", pixels)
    first = torch.from_numpy(pixels).permute(2, 0, 1)
    for wanted, expected in (
        (torch.zeros(1, 3, 5, 7), first.float()[None] / 255),
        (torch.zeros(3, 5, 7), first.float() / 255),
        (torch.zeros(1, 5, 7, 3, dtype=torch.uint8), torch.from_numpy(pixels)[None]),
    ):
        ((got,),) = fitted(tmp_path / "a.png", (wanted,))
        assert torch.equal(got, expected)
    message = refused("deployment.misfit", fitted, tmp_path / "a.png", (torch.zeros(1, 3, 8, 8),))
    assert "a picture of 5x7 with 3 channels" in message
    assert "float32[1, 3, 8, 8]" in message


def test_pictures_need_an_extra_that_is_named(tmp_path, monkeypatch):
    write_png(tmp_path / "a.png", np.zeros((2, 2, 1), dtype="uint8"))
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r"ostinato\[images\]"):
        read(tmp_path / "a.png")


def test_tables(tmp_path):
    (tmp_path / "a.csv").write_text("left, right\n1,2\n3;4\n\n5 6\n")
    rows = torch.tensor([[1.0, 2], [3, 4], [5, 6]])
    assert [x.tolist() for (x,) in fitted(tmp_path / "a.csv", (torch.zeros(1, 2),))] == rows[:, None].tolist()
    ((x,),) = fitted(tmp_path / "a.csv", (torch.zeros(3, 2, dtype=torch.int64),))
    assert torch.equal(x, rows.to(torch.int64))
    (tmp_path / "b.csv").write_text("1,2\n1\n")
    assert "line 2 has 1 numbers" in refused("deployment.data", read, tmp_path / "b.csv")
    (tmp_path / "b.csv").write_text("1,2\n1,x\n")
    assert "line 2" in refused("deployment.data", read, tmp_path / "b.csv")


# ---- what is refused ----


class Attack:
    def __reduce__(self):
        return exec, ("raise SystemExit",)


def _bad_files():
    array = io.BytesIO()
    np.savez(array, x=np.array([Attack()], dtype=object))
    huge = io.BytesIO()
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }".ljust(117) + b"\n"
    with zipfile.ZipFile(huge, "w") as file:
        file.writestr("x.npy", b"\x93NUMPY\x01\0" + len(header).to_bytes(2, "little") + header)
    return {
        "empty": b"",
        "text": b"hello",
        "objects": array.getvalue(),
        "huge": huge.getvalue(),
        "cut": array.getvalue()[:-30],
        "pickle": pickle.dumps(Attack()),
        "sound": b"RIFF\xff\xff\xff\xffWAVEfmt ",
        "picture": b"\x89PNG\r\n\x1a\n1234",
    }


@pytest.mark.parametrize("data", _bad_files().values(), ids=_bad_files())
def test_what_cannot_be_read(data):
    if data.startswith(b"\x89PNG"):
        pytest.importorskip("PIL")
    assert "bad cannot be used" in refused("deployment.data", content_of, "bad", data)


def test_what_does_not_fit_names_file_input_and_what_is_wanted(tmp_path):
    wanted = (torch.zeros(2, 3), 8000)
    for arrays, parts in (
        ({"x": np.zeros((2, 3))}, ("input x is float64[2, 3]", "takes float32[2, 3]")),
        ({"x": np.zeros((3, 3), "float32")}, ("float32[3, 3]", "float32[2, 3]")),
        ({"x": np.zeros((2, 3), "float32"), "sr": np.array(1)}, ("input sr is 1", "takes 8000")),
    ):
        np.savez(tmp_path / "a.npz", **arrays)
        message = refused("deployment.misfit", fitted, tmp_path / "a.npz", wanted)
        assert all(each in message for each in ("a.npz", *parts)), message
    np.savez(tmp_path / "a.npz", y=np.zeros(3))
    assert "array y" in refused("deployment.data_names", fitted, tmp_path / "a.npz", wanted)


# ---- deployments ----


@pytest.fixture
def compared(monkeypatch):
    """What a deployment's file was called with: a list of plans."""
    seen = []
    honest = _deploy.tried

    def tried(file, archive, plans):
        seen.extend(plans)
        return honest(file, archive, plans)

    monkeypatch.setattr(_deploy, "tried", tried)
    return seen


def test_arrays_are_examples_and_what_is_compared(tmp_path, compared):
    x = np.random.default_rng(0).normal(size=(3, 5, 12)).astype("float32")
    (tmp_path / "data").mkdir()
    for i, each in enumerate(x):
        np.savez(tmp_path / "data" / f"{i}.npz", each)
    (tmp_path / "data" / "notes.txt").write_text("no data")
    report = ost.deploy(models.plain(), out=tmp_path / "net.pt2", data=tmp_path / "data")
    assert report.methods["forward"] == ["(float32[5, 12])"]
    assert not report.guessed
    assert report.data == ["0.npz", "1.npz", "2.npz"]
    assert "compared on 0.npz, 1.npz, 2.npz" in str(report)
    used = {call.args[0].numpy().tobytes() for plan in compared for call in plan}
    assert used == {each.tobytes() for each in x}


def test_sound_runs_through_a_model_with_state_piece_after_piece(tmp_path, compared):
    samples = np.random.default_rng(0).integers(-9999, 9999, 64 * 20, dtype="int16")
    write_wav(tmp_path / "a.wav", samples)
    report = ost.deploy(
        models.Detector(),
        {"x": torch.zeros(1, 64), "sr": 16000},
        out=tmp_path / "d.pt2",
        data=tmp_path / "a.wav",
    )
    heard = torch.cat([call.args[0][0] for call in compared[1]])
    assert torch.equal(heard, torch.from_numpy(samples.astype("float32") / 32768))
    assert [call.method for call in compared[2]].count("reset_states") == 1
    assert report.eager.calls == sum(map(len, compared))


def test_what_data_do_not_reach_is_compared_on_random_values(tmp_path, compared):
    write_wav(tmp_path / "a.wav", np.ones(640, dtype="int16"))
    report = ost.deploy(models.Detector(), out=tmp_path / "d.pt2", data=tmp_path / "a.wav")
    assert report.methods["forward"] == ["(float32[1, 64], 16000)", "(float32[1, 32], 8000)"]
    assert {call.args[1] for plan in compared for call in plan if call.args} == {16000, 8000}


def test_the_budget_is_that_of_the_data(tmp_path):
    """Columns that the data never uses may be rounded as they like."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 8, bias=False))
    with torch.no_grad():
        model[0].weight[:, :32] = model[0].weight[:, :32].sign()  # which every format holds
    x = np.zeros((4, 64), "float32")
    x[:, :32] = np.random.default_rng(0).normal(size=(4, 32))
    np.savez(tmp_path / "x.npz", x)
    report = ost.deploy(model, out=tmp_path / "a.pt2", data=tmp_path / "x.npz", mx="mxfp4", max_error=1e-3)
    assert report.quantization.error <= 1e-6
    assert [each.format for each in report.quantization.weights] == ["mxfp4"]
    other = ost.deploy(model, (torch.randn(4, 64),), out=tmp_path / "b.pt2", mx="mxfp4")
    assert other.quantization.error > 1e-3


def test_a_program_takes_data_too(tmp_path):
    net = models.plain().eval()
    torch.export.save(torch.export.export(net, (torch.randn(2, 12),)), tmp_path / "s.pt2")
    np.savez(tmp_path / "x.npz", input=np.zeros((6, 12), "float32"))
    report = ost.deploy(tmp_path / "s.pt2", out=tmp_path / "net.pt2", data=tmp_path / "x.npz")
    assert report.eager.calls >= 4
    np.savez(tmp_path / "x.npz", input=np.zeros((5, 12), "float32"))
    refused(
        "deployment.misfit", ost.deploy, tmp_path / "s.pt2", out=tmp_path / "n.pt2", data=tmp_path / "x.npz"
    )


def test_folders_and_names_that_do_not_help(tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    out = tmp_path / "net.pt2"
    refused("deployment.no_data", ost.deploy, models.plain(), out=out, data=empty)
    refused("deployment.named_args", ost.deploy, models.Detector(), {"sr": 16000}, out=out)
    for i in range(17):
        np.savez(empty / f"{i}.npz", np.zeros((i + 1, 12), "float32"))
    assert "17 signatures" in refused(
        "deployment.many_variants", ost.deploy, models.plain(), out=out, data=empty
    )

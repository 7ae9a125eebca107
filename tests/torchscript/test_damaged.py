"""Files cut short, changed or made of noise end in ArchiveError, and never in anything else."""

from __future__ import annotations

import contextlib
import io
import pickle
import zipfile

import pytest
from hypothesis import example, given, settings, strategies as st

import ostinato as ost
from ostinato._errors import ArchiveError
from ostinato.torchscript._archive_data import Refused
from ostinato.torchscript._archive_pickle import read_pickle

from .archives import MODULE, method, module_pickle, tensor, text, write

CODE = MODULE.replace("  training", "  w : Tensor\n  training").replace("relu(x)", "add(x, self.w)")
DATA = module_pickle("M", {"w": tensor(), "training": b"\x88"})


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = write(tmp_path_factory.mktemp("good") / "a.pt", CODE, DATA, {"data/0": bytes(8)})
    ost.torchscript.load(path)
    return path


def tried(path):
    """Loads and inspects; ArchiveError is the only error that may come."""
    for use in (ost.torchscript.inspect, ost.torchscript.load):
        with contextlib.suppress(ArchiveError):
            use(path)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_truncated_files(good, tmp_path_factory, data):
    content = good.read_bytes()
    path = tmp_path_factory.mktemp("cut") / "a.pt"
    path.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])
    with pytest.raises(ArchiveError):
        ost.torchscript.load(path)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_changed_bytes(good, tmp_path_factory, data):
    content = bytearray(good.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("changed") / "a.pt"
    path.write_bytes(content)
    tried(path)


@settings(max_examples=40, deadline=None)
@given(content=st.binary(max_size=300))
@example(b"")
@example(b"PK\x05\x06" + bytes(18))
def test_noise(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("noise") / "a.pt"
    path.write_bytes(content)
    with pytest.raises(ArchiveError):
        ost.torchscript.load(path)


@settings(max_examples=300, deadline=None)
@given(content=st.binary(max_size=60))
def test_noise_as_a_pickle(content):
    with contextlib.suppress(Refused):
        read_pickle(b"\x80\x02" + content + b".")


_WORDS = [
    "x",
    "self",
    "torch",
    "relu",
    "(",
    ")",
    "[",
    "]",
    ".",
    ",",
    "=",
    "1",
    "-",
    '"a"',
    "return",
    "\n    ",
    ":",
    "if",
    "__torch__",
    "M",
    "ops",
    "prim",
    "CONSTANTS",
    "annotate",
    "for i in range(2)",
    "pass",
    "None",
]


@settings(max_examples=150, deadline=None)
@given(words=st.lists(st.sampled_from(_WORDS), max_size=25))
def test_noise_as_code(tmp_path_factory, words):
    path = write(tmp_path_factory.mktemp("code") / "a.pt", method(" ".join(words) + "\npass"))
    tried(path)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_changed_pickles(good, tmp_path_factory, data):
    content = bytearray(DATA)
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("pickle") / "a.pt"
    tried(write(path, CODE, bytes(content), {"data/0": bytes(8)}))


def test_a_changed_weight_is_noticed(tmp_path):
    path = write(tmp_path / "a.pt", CODE, DATA, {"data/0": b"ostinato"})
    path.write_bytes(path.read_bytes().replace(b"ostinato", b"ostinat0"))
    with pytest.raises(ArchiveError):
        ost.torchscript.load(path)


def test_other_files_are_told_apart(tmp_path):
    missing = tmp_path / "missing" / "a.pt"
    with pytest.raises(ArchiveError) as error:
        ost.torchscript.load(missing)
    assert error.value.code == "torchscript.unreadable"
    legacy = tmp_path / "a.pt"
    legacy.write_bytes(pickle.dumps({}))
    with pytest.raises(ArchiveError) as error:
        ost.torchscript.load(legacy)
    assert error.value.code == "torchscript.damaged"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a/models/model.json", b"{}")
    legacy.write_bytes(buffer.getvalue())
    with pytest.raises(ArchiveError) as error:
        ost.torchscript.load(legacy)
    assert error.value.code == "torchscript.not_torchscript"


def test_a_checkpoint_of_torch_save_is_told_apart(tmp_path):
    import torch

    path = tmp_path / "a.pt"
    torch.save({"w": torch.ones(2)}, path)
    for use in (ost.torchscript.load, ost.torchscript.inspect, ost.torchscript.source):
        with pytest.raises(ArchiveError) as error:
            use(path)
        assert error.value.code == "torchscript.no_code"


@pytest.mark.parametrize(
    ("entries", "version"),
    [
        ({"version": b"x"}, "3"),
        ({"byteorder": b"big"}, "3"),
        ({}, "three"),
        ({"constants.pkl": b"\x80\x02K\x01."}, "3"),
    ],
)
def test_entries_that_contradict_the_format(tmp_path, entries, version):
    with pytest.raises(ArchiveError):
        ost.torchscript.load(write(tmp_path / "a.pt", entries=entries, version=version))


def test_data_that_its_class_does_not_declare(tmp_path):
    for state in [{"stranger": b"\x88"}, {"training": tensor("9")}]:
        with pytest.raises(ArchiveError):
            ost.torchscript.load(write(tmp_path / "a.pt", data=module_pickle("M", state)))
    with pytest.raises(ArchiveError):
        ost.torchscript.load(write(tmp_path / "a.pt", data=b"\x80\x02]."))
    with pytest.raises(ArchiveError):
        ost.torchscript.load(write(tmp_path / "a.pt", data=module_pickle("N")))
    with pytest.raises(ArchiveError):
        ost.torchscript.load(
            write(tmp_path / "a.pt", data=b"\x80\x02c__torch__\nM\n)\x81" + text("x") + b"b.")
        )

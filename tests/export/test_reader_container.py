"""The zip around a program and the layout in it, made to do harm: refused before torch sees any of it."""

import zipfile

import pytest
import torch

from ostinato._errors import ArchiveError
from ostinato.export import load
from ostinato.export._vet import VettedArchive
from ostinato.export._vet._zip import _HUGE_PAGE

from .hostile import MODEL, WEIGHTS, refused, write


def test_the_good_file_is_good(good, tmp_path):
    program = load(write(tmp_path / "a.pt2", good))
    assert program.module()(torch.ones(5, 4), mode="bare").shape == (5, 4)


@pytest.mark.parametrize(
    "name", ["../evil", "/evil", "models/../../evil", "models//x.json", "models\\x.json", "data/we\nird"]
)
def test_names_that_leave_the_folder(good, tmp_path, name):
    refused(write(tmp_path / "a.pt2", {**good, name: b""}))


def test_entries_outside_the_root(good, tmp_path):
    write(tmp_path / "a.pt2", good)
    with zipfile.ZipFile(tmp_path / "a.pt2", "a") as file:
        file.writestr("elsewhere/models/model.json", b"{}")
    refused(tmp_path / "a.pt2", "does not lie in the folder")


def test_an_entry_that_occurs_twice(good, tmp_path):
    refused(write(tmp_path / "a.pt2", [*good.items(), (MODEL, good[MODEL])]), "occurs twice")


def test_compressed_entries(good, tmp_path):
    bomb = {**good, "extra/zeros": bytes(10_000_000)}
    refused(write(tmp_path / "a.pt2", bomb, compression=zipfile.ZIP_DEFLATED), "compressed")


def test_overlapping_entries(good, tmp_path):
    path = write(tmp_path / "a.pt2", {**good, "extra/a": b"x" * 100, "extra/b": b"x" * 100})
    raw = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as file:
        offset = file.getinfo("archive/extra/a").header_offset
    entry = raw.rfind(b"archive/extra/b")
    raw[entry - 4 : entry] = (offset + 1).to_bytes(4, "little")
    path.write_bytes(raw)
    refused(path, "overlaps")


def test_too_many_entries(good, tmp_path, monkeypatch):
    monkeypatch.setattr("ostinato.export._vet._zip.MAX_ENTRIES", 5)
    refused(write(tmp_path / "a.pt2", good), "entries")


@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip", b"PK\x05\x06" + bytes(18)])
def test_files_that_are_no_zip(tmp_path, content):
    (tmp_path / "a.pt2").write_bytes(content)
    refused(tmp_path / "a.pt2")


@pytest.mark.parametrize(
    ("entry", "content"),
    [
        ("archive_format", b"aoti"),
        ("archive_version", b"1"),
        ("byteorder", b"big"),
        ("archive_format", b"p" * 200),
    ],
)
def test_other_formats(good, tmp_path, entry, content):
    refused(write(tmp_path / "a.pt2", {**good, entry: content}), entry)


def test_a_folder(tmp_path):
    refused(tmp_path)


def test_compiled_code(good, tmp_path):
    path = write(tmp_path / "a.pt2", {**good, "data/aotinductor/model/model.so": b"\x7fELF"})
    assert "torch._inductor.aoti_load_package" in refused(path, "native code").hint
    refused(write(tmp_path / "a.pt2", {**good, "data/other/model.so": b"\x7fELF"}), "not read")


@pytest.mark.parametrize("entry", [MODEL, WEIGHTS, "data/weights/weight_0", "archive_format"])
def test_missing_entries(good, tmp_path, entry):
    refused(write(tmp_path / "a.pt2", {name: content for name, content in good.items() if name != entry}))


def test_closing_is_not_forgotten(good, tmp_path):
    with VettedArchive(write(tmp_path / "a.pt2", good)) as archive:
        archive.vet_models()
    with pytest.raises(ArchiveError):
        archive.read("archive_format")


@pytest.mark.parametrize("nbytes", [0, 1, _HUGE_PAGE - 1, _HUGE_PAGE, _HUGE_PAGE + 1, 5_000_001])
def test_entries_of_every_size_are_read_whole_into_memory_of_their_own(good, tmp_path, nbytes):
    content = torch.randint(256, (nbytes,), dtype=torch.uint8).numpy().tobytes()
    path = write(tmp_path / "a.pt2", {**good, "extra/large": content})
    with VettedArchive(path) as archive:
        first, second = archive.read("extra/large"), archive.read("extra/large")
    assert bytes(first) == content
    first[:] = bytes(nbytes)
    assert bytes(second) == content
    assert content in path.read_bytes()


@pytest.mark.parametrize("at", [0, _HUGE_PAGE // 2, _HUGE_PAGE + 999])
def test_a_damaged_large_entry(good, tmp_path, at):
    content = bytearray(_HUGE_PAGE + 1000)
    raw = write(tmp_path / "a.pt2", {**good, "extra/large": content}).read_bytes()
    content[at] = 1
    (tmp_path / "a.pt2").write_bytes(raw.replace(bytes(len(content)), bytes(content)))
    with VettedArchive(tmp_path / "a.pt2") as archive, pytest.raises(ArchiveError, match="damaged"):
        archive.read("extra/large")

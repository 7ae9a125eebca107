"""Files that lie, end early, or change while they are read: an error, and never less."""

from __future__ import annotations

import json
import os
import pathlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

import ostinato as ost

from .files import file_of, fours, indexed, powers, sharded

# Linux, unless told to, gives no process more memory than there is.
_OVERCOMMIT = pathlib.Path("/proc/sys/vm/overcommit_memory")
_REFUSES = _OVERCOMMIT.exists() and _OVERCOMMIT.read_text().strip() != "1"
load, save = ost.mx.load_safetensors, ost.mx.save_safetensors


@pytest.mark.parametrize("name", ["../a", "/etc/passwd", "x/a", "x\\a", "c:a", "..", "", 3, None, "a\0"])
def test_an_index_leads_nowhere_else(tmp_path, name):
    path = indexed(tmp_path, {**sharded(tmp_path), "c": name})
    with pytest.raises(ost.ArchiveError, match="plain name"):
        load(path)


def test_an_index_that_lies(tmp_path):
    path = indexed(tmp_path, {**sharded(tmp_path), "c": "model-0.safetensors"})
    with pytest.raises(ost.ArchiveError, match=r"the first is c\."):
        load(path)


def test_sizes_are_checked(tmp_path):
    (packed, _), (scales, _) = fours(4, 64), powers(4, 3)
    parts = {"a__weight_packed": ("U8", packed), "a__weight_scale": ("U8", scales)}
    with pytest.raises(ost.ArchiveError, match=r"\[4, 3\], and should have \[4, 2\]"):
        load(file_of(tmp_path / "a.safetensors", **parts))
    for about in (
        {"shape": [2**61, 2**61]},
        {"block_size": 0},
        {"format": "mxfp5"},
        {"shape": [-1]},
        {"dtype": []},
    ):
        said = {"format": "mxfp4", "block_size": 32, "shape": [4, 64], "dtype": "float32", **about}
        metadata = {"ostinato.mx": "1", "ostinato.mx:a": json.dumps(said)}
        parts = {"a__qdata": ("U8", packed), "a__scale": ("U8", scales[:, :2].copy())}
        with pytest.raises(ost.ArchiveError):
            load(file_of(tmp_path / "b.safetensors", metadata, **parts))


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("good") / "a.safetensors"
    save({"a.weight": ost.mx.quantize(torch.randn(3, 40), ost.mx.mxfp4), "b": torch.ones(3)}, path)
    return path


def test_no_prefix_of_a_file_is_read(good):
    data, path = good.read_bytes(), good.with_name("cut.safetensors")
    for length in range(0, len(data), 7):
        path.write_bytes(data[:length])
        with pytest.raises(ost.ArchiveError):
            load(path)


@settings(max_examples=300, deadline=None)
@given(where=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255))
def test_a_changed_byte_is_read_or_refused(good, where, byte):
    data, path = bytearray(good.read_bytes()), good.with_name("changed.safetensors")
    data[int(where * len(data))] = byte
    path.write_bytes(data)
    try:
        state = load(path)
    except ost.OstinatoError:
        return
    for tensor in state.values():
        if isinstance(tensor, ost.mx.MXTensor):
            assert tensor.dequantize().shape == tensor.shape


def raw(path, head, data=b"", length=None):
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    path.write_bytes((len(text) if length is None else length).to_bytes(8, "little") + text + data)
    return path


def tensor(start, end, shape=None, dtype="U8"):
    return {"dtype": dtype, "shape": [end - start] if shape is None else shape, "data_offsets": [start, end]}


HEADS = {
    "overlap": {"a": tensor(0, 3), "b": tensor(2, 4)},
    "twice the same bytes": {"a": tensor(0, 4), "b": tensor(0, 4)},
    "gap": {"a": tensor(0, 1), "b": tensor(2, 4)},
    "bytes after the last": {"a": tensor(0, 3)},
    "beyond the end": {"a": tensor(0, 5)},
    "backwards": {"a": tensor(0, 4), "b": tensor(4, 2, [0])},
    "negative": {"a": tensor(-1, 4, [5])},
    "shape of other bytes": {"a": tensor(0, 4, [5])},
    "huge shape": {"a": tensor(0, 4, [2**40, 2**40])},
    "product that wraps to 4": {"a": tensor(0, 4, [2**32 + 1, 2**32 + 4])},
    "huge beside zero": {"a": tensor(0, 4), "b": tensor(4, 4, [2**61, 0, 2**61])},
    "many sizes": {"a": tensor(0, 4, [1] * 5000 + [4])},
    "sizes no integers": {"a": tensor(0, 4, [4.0])},
    "size true": {"a": tensor(0, 4), "b": tensor(4, 4, [True, 0])},
    "no shape": {"a": {"dtype": "U8", "data_offsets": [0, 4]}},
    "no object": {"a": [1, 2]},
    "unknown dtype": {"a": tensor(0, 4, dtype="F6_E2M3")},
    "half a byte": {"a": tensor(0, 4, [7], "F4")},
    "metadata no text": {"__metadata__": {"format": 1}, "a": tensor(0, 4)},
    "a list": b"[]  ",
    "no JSON": b'{"a": }',
    "deep": b'{"a":' * 100_000,
    "long number": b'{"a":{"dtype":"U8","shape":[' + b"9" * 5000 + b'],"data_offsets":[0,4]}}',
    "a name twice": b'{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"a":{}}',
    "no Unicode": b'{"\xff":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}',
    "half a surrogate": b'{"\\ud800":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}',
    "UTF-16": '{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}'.encode("utf-16-le"),
}


@pytest.mark.parametrize("what", HEADS)
def test_a_head_that_lies(tmp_path, what):
    path = raw(tmp_path / "a.safetensors", HEADS[what], b"1234")
    with pytest.raises(ost.ArchiveError, match=r"a\.safetensors"):
        load(path, layout="gpt-oss")


def test_the_head_that_the_others_spoil_is_read(tmp_path):
    path = raw(tmp_path / "a.safetensors", {"b": tensor(3, 4), "a": tensor(0, 3)}, b"1234")
    state = load(path, layout="gpt-oss")
    assert {name: each.tolist() for name, each in state.items()} == {"a": [49, 50, 51], "b": [52]}


@pytest.mark.parametrize("length", [2**64 - 1, 2**63, 100_000_001, 3])
def test_a_length_that_lies(tmp_path, length):
    path = raw(tmp_path / "a.safetensors", {"a": tensor(0, 4)}, b"1234", length)
    with pytest.raises(ost.ArchiveError, match=r"a\.safetensors"):
        load(path, layout="gpt-oss")


@pytest.mark.parametrize("rows", [2**20, 2**50, 2**58])
@pytest.mark.parametrize("empty", [0, 1])
def test_shapes_of_nothing_cost_nothing(tmp_path, rows, empty):
    shape, scales = [rows, rows], [rows // 128, rows // 128]
    shape[empty] = scales[empty] = 0
    head = {"a.weight": tensor(0, 0, shape, "F8_E4M3"), "a.scale": tensor(0, 0, scales, "F8_E8M0")}
    path = raw(tmp_path / "a.safetensors", head)
    if rows == 2**58 and empty == 1:
        with pytest.raises(ost.ArchiveError, match="less numbers"):
            load(path)
    else:
        assert list(load(path)["a.weight"].shape) == shape


@pytest.mark.skipif(not _REFUSES, reason="this system promises any memory")
def test_a_hole_instead_of_bytes(tmp_path):
    path = raw(tmp_path / "a.safetensors", {"a": tensor(0, 1 << 43)})
    try:
        os.truncate(path, path.stat().st_size + (1 << 43))
    except OSError:
        pytest.skip("this file system has no files of that size")
    with pytest.raises(ost.ArchiveError, match="no memory"):
        load(path, layout="gpt-oss")


def test_any_byte_is_a_bool(tmp_path):
    path = raw(tmp_path / "a.safetensors", {"a": tensor(0, 3, dtype="BOOL")}, b"\0\1\7")
    loaded = load(path, layout="gpt-oss")["a"]
    assert loaded.view(torch.uint8).tolist() == [0, 1, 1]


def test_a_file_that_is_cut_while_it_is_read(tmp_path):
    path = indexed(tmp_path, sharded(tmp_path))

    def cut(line):
        if "2 of 2" in line:  # the head of the first has been read, its tensors have not
            first = tmp_path / "model-0.safetensors"
            os.truncate(first, first.stat().st_size - 20)

    with pytest.raises(ost.ArchiveError, match="become shorter"):
        load(path, tell=cut)


def test_a_file_that_is_cut_later_changes_nothing(tmp_path):
    path = tmp_path / "a.safetensors"
    x = ost.mx.quantize(torch.randn(64, 1024), ost.mx.mxfp8_e4m3)
    save({"a": x}, path)
    state = load(path)
    os.truncate(path, 0)  # a mapped file would end the process here
    assert torch.equal(state["a"].dequantize(), x.dequantize())


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({"a_blocks": ("U8", (2, 1, 16)), "a_scales": ("F32", (2, 1))}, "dtype F32"),
        ({"a_blocks": ("U8", (2, 1, 16)), "a_scales": ("U8", (2,))}, r"should have \[2, 1\]"),
        ({"a_blocks": ("U8", (2, 2, 16)), "a_scales": ("U8", (4, 1))}, r"should have \[2, 2\]"),
        ({"w__weight": ("I8", (4, 32)), "w__scale": ("F8_E8M0", (4, 1))}, r"should have \[4, 2\]"),
        ({"w__weight": ("F8_E4M3", (256, 256)), "w__scale": ("F8_E8M0", (3, 2))}, r"should have \[2, 2\]"),
        ({"w__weight_packed": ("U8", (4, 32)), "w__weight_scale": ("U8", (3, 2))}, r"should have \[4, 2\]"),
        ({"w__weight": ("F8_E4M3", (4, 64)), "w__weight_scale": ("U8", (4, 3))}, r"should have \[4, 2\]"),
    ],
)
def test_scales_that_do_not_fit(tmp_path, parts, why):
    width = {"F32": np.float32}
    arrays = {
        name: (kind, np.zeros(shape, width.get(kind, np.uint8))) for name, (kind, shape) in parts.items()
    }
    with pytest.raises(ost.ArchiveError, match=why):
        load(file_of(tmp_path / "a.safetensors", **arrays))


@pytest.mark.parametrize("text", ["[]", "{", '{"quantization_config": 3}', "{" * 100_000])
def test_a_configuration_that_is_none(tmp_path, text):
    (tmp_path / "config.json").write_text(text)
    path = file_of(tmp_path / "a.safetensors", a=("F32", np.ones(3, np.float32)))
    with pytest.raises(ost.ArchiveError):
        load(path)


@pytest.mark.parametrize("text", ["{}", '{"weight_map": {}}', '{"weight_map": []}', "", "[" * 100_000])
def test_an_index_of_nothing(tmp_path, text):
    (tmp_path / "model.safetensors.index.json").write_text(text)
    with pytest.raises(ost.ArchiveError):
        load(tmp_path)


def test_no_device_but_the_processor_is_read_into(tmp_path, good):
    with torch.device("meta"):
        state = load(good)
    assert {each.device.type for each in state.values()} == {"cpu"}


def test_threads_that_save_to_one_path(tmp_path):
    path = tmp_path / "a.safetensors"
    states = [{"a": ost.mx.quantize(torch.full((64, 512), 1.0 + i), ost.mx.mxfp8_e4m3)} for i in range(4)]
    with ThreadPoolExecutor(len(states)) as pool:
        list(pool.map(save, states * 10, [path] * 40))
    assert load(path)["a"].dequantize().unique().numel() == 1
    assert [each.name for each in tmp_path.iterdir()] == ["a.safetensors"]

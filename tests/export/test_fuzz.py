"""Damaged files: either what they hold is still the same, or they are refused; nothing else happens."""

import json
import zipfile

import torch
from hypothesis import HealthCheck, given, settings, strategies as st

from ostinato._errors import ArchiveError
from ostinato.export import load, load_methods, save_methods, trace_stateful

from .models import Policy

_cache = {}


def original(folder):
    if not _cache:
        methods = trace_stateful(Policy(), {"forward": [((torch.ones(1, 5),), {})]}, reset="reset_memory")
        save_methods(folder / "original.pt2", methods)
        _cache["raw"] = (folder / "original.pt2").read_bytes()
        _cache["answer"] = answer(folder / "original.pt2")
    return _cache["raw"], _cache["answer"]


def answer(path):
    loaded = load_methods(path)
    forward = loaded.methods["forward"][0].program.module()
    with torch.no_grad():
        return torch.stack([forward(torch.ones(1, 5)) for _ in range(2)])


def check(folder, raw):
    path = folder / "damaged.pt2"
    path.write_bytes(raw)
    try:
        got = answer(path)
    except ArchiveError:
        return
    assert torch.equal(got, _cache["answer"])


quiet = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)


@quiet
@given(st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), min_size=1, max_size=4))
def test_flipped_bytes(tmp_path, flips):
    raw, _ = original(tmp_path)
    damaged = bytearray(raw)
    for where, change in flips:
        damaged[int(where * len(raw))] ^= change
    check(tmp_path, bytes(damaged))


@quiet
@given(st.floats(0, 1), st.binary(max_size=40))
def test_truncated_files(tmp_path, where, tail):
    raw, _ = original(tmp_path)
    check(tmp_path, raw[: int(where * len(raw))] + tail)


@quiet
@given(st.floats(0, 1), st.integers(1, 300), st.binary(max_size=40))
def test_parts_that_are_missing_or_new(tmp_path, where, length, new):
    raw, _ = original(tmp_path)
    start = int(where * len(raw))
    check(tmp_path, raw[:start] + new + raw[start + length :])


def test_every_byte_of_the_directory(tmp_path):
    raw, _ = original(tmp_path)
    start = raw.rfind(b"PK\x05\x06")
    first = raw.find(b"PK\x01\x02")
    for offset in [*range(start, len(raw)), *range(first, first + 120)]:
        damaged = bytearray(raw)
        damaged[offset] ^= 0x41
        check(tmp_path, bytes(damaged))


# ---- well-formed files whose documents are damaged: no checksum catches these ----

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(
        ["x", "as_int", "as_tensor", "torch.ops.aten.add.Tensor", "Infinity", "s0", "hidden_state"]
    ),
    st.sampled_from(
        [[], {}, [[]], {"as_int": -1}, {"as_tensor": {"name": "x"}}, {"as_none": True}, [1] * 70]
    ),
)


def places(value, way=()):
    """All ways to a value inside a JSON document."""
    yield way
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*way, key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from places(item, (*way, i))


def replaced(document, way, how, value):
    *steps, last = way
    for step in steps:
        document = document[step]
    if how == "delete":
        del document[last]
    elif how == "twice" and isinstance(document, list):
        document.append(document[last])
    else:
        document[last] = value


@quiet
@given(st.data())
def test_damaged_documents(tmp_path, data):
    original(tmp_path)
    (tmp_path / "whole.pt2").write_bytes(_cache["raw"])
    with zipfile.ZipFile(tmp_path / "whole.pt2") as file:
        entries = {name: file.read(name) for name in file.namelist()}
    entry = data.draw(st.sampled_from([name for name in entries if name.endswith(".json")]))
    for _ in range(data.draw(st.integers(1, 2))):
        document = json.loads(entries[entry])
        ways = list(places(document))[1:]
        if not ways:
            break
        way = data.draw(st.sampled_from(ways))
        replaced(document, way, data.draw(st.sampled_from(["put", "delete", "twice"])), data.draw(VALUES))
        entries[entry] = json.dumps(document).encode()
    with zipfile.ZipFile(tmp_path / "damaged.pt2", "w") as file:
        for name, content in entries.items():
            file.writestr(name, content)
    for read in (load, load_methods):
        try:
            read(tmp_path / "damaged.pt2")
        except ArchiveError:
            continue

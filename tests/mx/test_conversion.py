"""quantize_safetensors: the same as quantize_ of the model, from file to file, a tensor at a time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

import ostinato as ost

from .files import indexed
from .model import FORMATS
from .test_modules import Experts
from .test_tensor import same

convert, load = ost.mx.quantize_safetensors, ost.mx.load_safetensors


def net():
    torch.manual_seed(0)
    parts = {
        "conv": nn.Conv2d(3, 8, 3),
        "signal": nn.Conv1d(4, 6, 5),
        "table": nn.Embedding(20, 40),
        "norm": nn.BatchNorm1d(8),
        "mix": Experts(),
        "head": nn.Linear(70, 5),
    }
    return nn.ModuleDict(parts)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "model.safetensors"
    save_file(net().state_dict(), path, metadata={"format": "pt"})
    return path


@pytest.mark.parametrize("format", FORMATS, ids=lambda f: f.name)
def test_it_does_what_quantize_does_to_the_model(tmp_path, source, format):
    model, report = net(), ost.mx.Report()
    ost.mx.quantize_(model, format, block_size=64, scale_mode="rceil", report=report)
    done = convert(source, tmp_path / "out.safetensors", format, block_size=64, scale_mode="rceil")
    state = load(tmp_path / "out.safetensors")
    assert set(state) == set(model.state_dict())
    for name, expected in model.state_dict().items():
        if isinstance(expected, ost.mx.MXTensor):
            same(state[name], expected)
        else:
            assert torch.equal(state[name], expected)
    assert sorted(done.quantized, key=lambda w: w.names) == sorted(report.quantized, key=lambda w: w.names)
    fresh = net()
    ost.mx.quantize_(fresh, format, block_size=64)
    fresh.requires_grad_(False)
    fresh.load_state_dict(state, assign=True)
    x = torch.randn(3, 70)
    assert torch.equal(fresh["head"](x), model["head"](x))


def test_metadata_stay_and_bytes_are_those_of_save(tmp_path, source):
    convert(source, tmp_path / "out.safetensors", ost.mx.mxfp4)
    model = ost.mx.quantize_(net(), ost.mx.mxfp4)
    ost.mx.save_safetensors(model, tmp_path / "saved.safetensors")
    a, b = ((tmp_path / name).read_bytes() for name in ("out.safetensors", "saved.safetensors"))
    assert a.replace(b'"format":"pt",', b"")[8:].split(b"}}", 1)[0] == b[8:].split(b"}}", 1)[0]
    assert a[-1000:] == b[-1000:]


@pytest.mark.parametrize("layout", ["torchao", "gpt-oss", "compressed-tensors", "deepseek"])
def test_other_layouts_copy_what_they_have_no_form_for(tmp_path, layout):
    save_file({"a.weight": torch.randn(4, 64), "b.weight": torch.randn(4, 40)}, tmp_path / "in.safetensors")
    out = tmp_path / "out.safetensors"
    report = convert(tmp_path / "in.safetensors", out, ost.mx.mxfp4, layout=layout)
    assert [w.names for w in report.quantized] == [("a.weight",)]
    assert [w.name for w in report.left] == ["b.weight"]
    state = load(out, layout=layout)
    assert isinstance(state["a.weight"], ost.mx.MXTensor)
    assert state["b.weight"].dtype == torch.float32


def split(folder):
    """The model in two files and an index."""
    state = net().state_dict()
    index = {name: f"part-{i % 2}.safetensors" for i, name in enumerate(state)}
    for file in sorted(set(index.values())):
        save_file({name: state[name] for name in state if index[name] == file}, folder / file)
    return indexed(folder, index)


@pytest.mark.parametrize("by_index", [False, True])
def test_several_files(tmp_path, by_index):
    folder, out, lines = tmp_path / "in", tmp_path / "a" / "out", []
    folder.mkdir()
    path = split(folder)
    convert(path if by_index else folder, out, ost.mx.mxfp6_e3m2, tell=lines.append)
    assert sorted(each.name for each in out.iterdir()) == [
        "model.safetensors.index.json",
        "part-0.safetensors",
        "part-1.safetensors",
    ]
    index = json.loads((out / "model.safetensors.index.json").read_text())
    assert index["metadata"]["total_size"] == sum(each.stat().st_size for each in out.glob("*.safetensors"))
    for file in set(index["weight_map"].values()):
        assert set(load_file(out / file)) == {n for n, f in index["weight_map"].items() if f == file}
    model = ost.mx.quantize_(net(), ost.mx.mxfp6_e3m2)
    state = load(out)
    assert set(state) == set(model.state_dict())
    same(state["head.weight"], model["head"].weight)
    assert lines[-1].startswith("quantizing: 100 %")
    convert(folder, out, ost.mx.mxfp4)  # again, over the same files
    assert load(out)["head.weight"].format is ost.mx.mxfp4
    with pytest.raises(ost.ArchiveError, match="quantized already"):
        convert(out, tmp_path / "again", ost.mx.mxfp4)


def test_a_folder_of_one_file(tmp_path, source):
    convert(tmp_path, tmp_path / "out", ost.mx.mxfp4)
    assert [each.name for each in (tmp_path / "out").iterdir()] == ["model.safetensors"]
    assert isinstance(load(tmp_path / "out")["head.weight"], ost.mx.MXTensor)


def test_everything_else_is_copied(tmp_path):
    kinds = [torch.bool, torch.int64, torch.float8_e5m2, torch.complex64, torch.float16]
    state = {str(kind).replace(".", "_"): torch.ones(3).to(kind) for kind in kinds}
    state |= {"ids.weight": torch.arange(64).view(2, 32), "empty.weight": torch.empty(0, 32)}
    state |= {"position": torch.randn(1, 7, 32), "plain": torch.randn(2, 32), "norm.weight": torch.randn(32)}
    save_file({**state, "a.weight": torch.randn(2, 32)}, tmp_path / "in.safetensors")
    convert(tmp_path / "in.safetensors", tmp_path / "out.safetensors", ost.mx.mxfp4)
    back = load(tmp_path / "out.safetensors")
    assert isinstance(back.pop("a.weight"), ost.mx.MXTensor)
    assert set(back) == set(state)
    for name, tensor in state.items():
        assert back[name].dtype == tensor.dtype
        assert torch.equal(back[name].view(torch.uint8), tensor.view(torch.uint8))


def test_a_filter(tmp_path, source):
    convert(source, tmp_path / "out.safetensors", ost.mx.mxfp4, filter_fn=lambda name: name == "head.weight")
    state = load(tmp_path / "out.safetensors")
    assert [name for name, t in state.items() if isinstance(t, ost.mx.MXTensor)] == ["head.weight"]
    with pytest.raises(ost.ArchiveError, match="the filter takes none"):
        convert(source, tmp_path / "none.safetensors", ost.mx.mxfp4, filter_fn=lambda name: False)


def test_what_is_refused_writes_nothing(tmp_path, source):
    before = sorted(tmp_path.iterdir())
    for out, options, why in (
        (source, {}, "where the checkpoint lies"),
        (tmp_path / "out", {}, r"does not end in \.safetensors"),
        (tmp_path / "no" / "out.safetensors", {}, "cannot be written"),
        (tmp_path / "out.safetensors", {"layout": "x"}, "layout='x'"),
        (tmp_path / "out.safetensors", {"block_size": 3}, "block_size=3"),
        (tmp_path / "out.safetensors", {"layout": "deepseek", "block_size": 64}, "no form"),
    ):
        with pytest.raises(ost.OstinatoError, match=why):
            convert(source, out, ost.mx.mxfp4, **options)
    with pytest.raises(ost.UsageError, match="no MX format"):
        convert(source, tmp_path / "out.safetensors", "mxfp4")
    assert sorted(tmp_path.iterdir()) == before
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "other.safetensors").touch()
    with pytest.raises(ost.UsageError, match=r"other\.safetensors"):
        convert(tmp_path, tmp_path / "out", ost.mx.mxfp4)


def test_a_file_that_ends_early_leaves_no_part(tmp_path, source):
    def cut(line):
        if line.startswith("quantizing"):
            source.write_bytes(source.read_bytes()[:-40])

    with pytest.raises(ost.ArchiveError, match="become shorter"):
        convert(source, tmp_path / "out.safetensors", ost.mx.mxfp4, tell=cut)
    assert list(tmp_path.iterdir()) == [source]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_is_that_of_one_tensor(tmp_path):
    script = """
        import sys, torch, ostinato as ost

        def peak():
            with open("/proc/self/status") as file:
                return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) * 1024

        torch.set_num_threads(1)
        ost.mx.quantize_safetensors("one.safetensors", "x.safetensors", ost.mx.mxfp8_e4m3)
        before = peak()  # with one tensor, and all the libraries that this needs
        ost.mx.quantize_safetensors("many.safetensors", "y.safetensors", ost.mx.mxfp8_e4m3)
        print(peak() - before)
    """
    size, count = 16 << 20, 8
    for name, parts in (("one", 1), ("many", count)):
        head = {
            f"{i}.weight": {
                "dtype": "F32",
                "shape": [size // 4096, 1024],
                "data_offsets": [i * size, (i + 1) * size],
            }
            for i in range(parts)
        }
        text = json.dumps(head).encode()
        (tmp_path / f"{name}.safetensors").write_bytes(len(text).to_bytes(8, "little") + text)
        os.truncate(tmp_path / f"{name}.safetensors", 8 + len(text) + parts * size)  # zeros
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        # Smaller blocks leave holes in the heap, how many is a matter of where it happens to lie; with
        # this bound every piece of a tensor is given back to the system when it is freed.
        env={**os.environ, "MALLOC_MMAP_THRESHOLD_": str(1 << 16)},
    )
    assert int(done.stdout) <= size / 2

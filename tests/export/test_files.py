"""What was saved is what is loaded: programs, state, signatures, metadata."""

import io
import json
import os
import pickletools
import subprocess
import sys
import zipfile

import pytest
import torch
from torch import nn

from ostinato._errors import ArchiveError
from ostinato.export import (
    load,
    load_methods,
    read_metadata,
    save,
    save_methods,
    trace_stateful,
    verify,
)

from .models import Affine, Detector, Policy, Started, detector_calls


@pytest.fixture(scope="module")
def methods():
    return trace_stateful(Detector().eval(), {"forward": detector_calls()}, reset="reset_states")


@pytest.fixture(scope="module")
def path(methods, tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / "detector.pt2"
    source = {"name": "detector.jit", "sha256": "0" * 64}
    save_methods(
        path, methods, metadata={"source": source, "verification": {"max_abs": 0.0}, "user": {"a": [1]}}
    )
    return path


def test_what_was_saved_is_what_is_loaded(path):
    loaded = load_methods(path)
    report = verify(Detector().eval(), loaded.methods)
    assert report.max_abs == 0.0
    assert list(loaded.methods) == ["forward", "reset_states"]
    assert loaded.metadata == read_metadata(path)


def test_state_and_weights_are_one_object_in_all_programs(path):
    loaded = load_methods(path)
    first, second = (each.program.state_dict for each in loaded.methods["forward"])
    reset = loaded.methods["reset_states"][0].program.state_dict
    assert first["_state"] is second["_state"] is reset["_state"] is loaded.state["_state"]
    assert first["_context"] is reset["_context"]
    assert second["_context__1x16"] is reset["_context__1x16"]


def test_states_of_equal_bytes_do_not_become_one(path):
    loaded = load_methods(path)
    tensors = list(loaded.state.values())
    assert len({each.untyped_storage().data_ptr() for each in tensors}) == len(tensors)


def test_state_written_by_one_method_is_read_by_another(path):
    loaded = load_methods(path)
    forward = loaded.methods["forward"][0].program.module()
    reset = loaded.methods["reset_states"][0].program.module()
    with torch.no_grad():
        x = torch.randn(1, 64)
        first = forward(x, 16000)
        assert not torch.equal(forward(x, 16000), first)
        reset()
        assert torch.equal(forward(x, 16000), first)


def test_stock_torch_opens_the_main_program(path):
    program = torch.export.load(path)
    x = torch.randn(1, 64)
    with torch.no_grad():
        assert torch.equal(program.module()(x, 16000), Detector().eval()(x, 16000))


def test_no_pickle_and_no_path_of_this_machine_in_the_file(path):
    with zipfile.ZipFile(path) as file:
        for name in file.namelist():
            content = file.read(name)
            assert os.path.dirname(__file__).encode() not in content
            if not content.startswith(b"\x80"):
                continue
            with pytest.raises(ValueError):  # what looks like a pickle by chance is none
                list(pickletools.genops(io.BytesIO(content)))


def test_shared_weights_lie_in_the_file_once(tmp_path):
    class Big(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(200, 200)

        def forward(self, x, flag: bool):
            return self.linear(x) if flag else -self.linear(x)

    calls = [((torch.zeros(1, 200), flag), {}) for flag in (True, False)]
    save_methods(tmp_path / "big.pt2", trace_stateful(Big(), {"forward": calls}))
    assert os.path.getsize(tmp_path / "big.pt2") < 1.3 * 200 * 200 * 4
    first, second = load_methods(tmp_path / "big.pt2").methods["forward"]
    assert first.program.state_dict["linear.weight"] is second.program.state_dict["linear.weight"]


def test_weights_are_aligned_in_the_file(path):
    with zipfile.ZipFile(path) as file, open(path, "rb") as raw:
        for entry in file.infolist():
            raw.seek(entry.header_offset + 26)
            name, extra = (int.from_bytes(raw.read(2), "little") for _ in range(2))
            assert (entry.header_offset + 30 + name + extra) % 64 == 0


def test_the_same_programs_give_the_same_bytes(methods, tmp_path):
    for name in ("a.pt2", "b.pt2"):
        save_methods(tmp_path / name, methods)
    assert (tmp_path / "a.pt2").read_bytes() == (tmp_path / "b.pt2").read_bytes()


def test_metadata_says_what_the_file_holds(path):
    metadata = read_metadata(path)
    forward = metadata.methods["forward"]
    assert forward.on_variant_change == "reset"
    assert [each.model for each in forward.variants] == ["model", "forward.1"]
    assert forward.variants[1].mode == "_last_batch_size=1, _last_sr=8000"
    assert forward.variants[0].inputs == {
        "args": {"tuple": [{"tensor": {"dtype": "float32", "shape": [1, 64]}}, {"value": 16000}]},
        "kwargs": {"dict": {}},
    }
    assert forward.variants[0].outputs == {"tensor": {"dtype": "float32", "shape": [1, 1]}}
    assert forward.variants[1].state == ["_state", "_context__1x16"]
    assert metadata.methods["reset_states"].resets
    assert metadata.state["_state"].shape == [2, 1, 8]
    assert metadata.state["_state"].initial == "zeros"
    assert metadata.source == {"name": "detector.jit", "sha256": "0" * 64}
    assert metadata.verification == {"max_abs": 0.0}
    assert metadata.user == {"a": [1]}
    assert metadata.portable
    assert json.dumps(metadata.to_json())


def test_metadata_and_the_strict_reader_need_no_torch(path):
    program = (
        "import sys; from ostinato.export import read_metadata\n"
        "from ostinato.export._vet import VettedArchive\n"
        f"print(list(read_metadata({str(path)!r}).methods));"
        f"print(len(VettedArchive({str(path)!r}).vet_models()), 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["['forward', 'reset_states']", "3 False"]


def test_load_gives_the_first_variant_of_a_method(path):
    assert "_context" in load(path).state_dict
    assert load(path, "reset_states").module()() is None
    with pytest.raises(ArchiveError, match="forward, reset_states"):
        load(path, "nothing")


def test_a_module_is_saved_with_its_state(tmp_path):
    save(Policy(), tmp_path / "policy.pt2", (torch.randn(1, 5),))
    loaded = load_methods(tmp_path / "policy.pt2")
    assert set(loaded.state) == {"hidden_state", "cell_state"}
    assert verify(Policy(), loaded.methods).max_abs == 0.0


def test_an_initial_value_travels(tmp_path):
    save(Started(), tmp_path / "started.pt2", (torch.zeros(3),))
    assert read_metadata(tmp_path / "started.pt2").state["level"].initial == "value"
    assert load_methods(tmp_path / "started.pt2").state["level"].tolist() == [2.0, 2.0, 2.0]


def test_a_program_that_changes_buffers_in_place_is_described(tmp_path):
    with torch.no_grad():
        program = torch.export.export(Policy(), (torch.randn(1, 5),))
    save(program, tmp_path / "p.pt2")
    assert set(read_metadata(tmp_path / "p.pt2").state) == {"hidden_state", "cell_state"}


def test_nested_results_none_and_keywords(tmp_path):
    save(Affine(), tmp_path / "a.pt2", (torch.randn(2, 4), None), {"mode": "plain"})
    variant = read_metadata(tmp_path / "a.pt2").methods["forward"].variants[0]
    assert variant.inputs["kwargs"] == {"dict": {"mode": {"value": "plain"}}}
    assert variant.outputs["dict"]["both"]["list"][1] == {"value": None}
    x = torch.randn(2, 4)
    got = load(tmp_path / "a.pt2").module()(x, None, mode="plain")
    assert torch.equal(got["y"], Affine()(x)["y"])


def test_dynamic_dimensions(tmp_path):
    batch = torch.export.Dim("batch", min=2, max=64)
    save(
        Affine(),
        tmp_path / "a.pt2",
        (torch.randn(4, 4),),
        {"mode": "bare"},
        dynamic_shapes={"x": {0: 2 * batch}, "mode": None},
    )
    shape = (
        read_metadata(tmp_path / "a.pt2").methods["forward"].variants[0].inputs["args"]["tuple"][0]["tensor"]
    )
    assert shape["shape"][0]["min"] == 4
    assert shape["shape"][1] == 4
    loaded = load_methods(tmp_path / "a.pt2").methods["forward"][0]
    assert loaded.args[0].shape == (4, 4)
    assert loaded.program.module()(torch.randn(10, 4), mode="bare").shape == (10, 4)


def test_control_flow_goes_through(tmp_path):
    class Flow(nn.Module):
        def forward(self, x):
            y = torch.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, (x,))
            i, a = torch.while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, a * 1.5), (torch.tensor(0), y))
            return a + i

    save(Flow(), tmp_path / "f.pt2", (torch.randn(3),))
    for x in (torch.ones(3), -torch.ones(3)):
        assert torch.equal(load(tmp_path / "f.pt2").module()(x), Flow()(x))
        assert torch.equal(torch.export.load(tmp_path / "f.pt2").module()(x), Flow()(x))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64, torch.int8, torch.bool, torch.complex64])
def test_weights_of_other_dtypes_and_layouts(tmp_path, dtype):
    class Views(nn.Module):
        def __init__(self):
            super().__init__()
            base = (torch.arange(48.0) % 2).to(dtype)
            self.register_buffer("part", base[8:20].reshape(3, 4).t())
            self.register_buffer("rest", base[4:16])
            self.register_buffer("empty", torch.zeros(0, 3, dtype=dtype))
            self.register_buffer("one", torch.ones((), dtype=dtype))

        def forward(self, x):
            return x.to(dtype) + self.part, self.rest, self.empty, self.one

    save(Views(), tmp_path / "v.pt2", (torch.zeros(4, 3),))
    for program in (load(tmp_path / "v.pt2"), torch.export.load(tmp_path / "v.pt2")):
        for got, expected in zip(program.module()(torch.ones(4, 3)), Views()(torch.ones(4, 3)), strict=True):
            assert got.dtype == expected.dtype
            assert torch.equal(got, expected)
    state = load(tmp_path / "v.pt2").state_dict
    assert state["part"].stride() == (1, 4)
    assert state["part"].untyped_storage().data_ptr() == state["rest"].untyped_storage().data_ptr()


def test_files_of_stock_torch_are_read_without_their_pickles(tmp_path):
    program = torch.export.export(Affine(), (torch.randn(2, 4),))
    torch.export.save(program, tmp_path / "stock.pt2")
    loaded = load(tmp_path / "stock.pt2")
    assert loaded.example_inputs is None
    x = torch.randn(2, 4)
    assert torch.equal(loaded.module()(x)["y"], Affine()(x)["y"])
    with pytest.raises(ArchiveError) as error:
        read_metadata(tmp_path / "stock.pt2")
    assert error.value.code == "export.no_metadata"

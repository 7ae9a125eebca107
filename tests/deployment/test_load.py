"""`ost.load`: a deployed file called like the model that it was made from."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
import zipfile

import pytest
import torch

import ostinato as ost
from ostinato import _errors

from . import models


@pytest.fixture(scope="module")
def detector(tmp_path_factory):
    path = tmp_path_factory.mktemp("deployed") / "vad.pt2"
    ost.deploy(models.Detector(), out=path, numerics="exact")
    return path


def test_variants_share_state_and_reset_as_the_model_does(detector):
    model, loaded = models.Detector().eval(), ost.load(detector)
    for rate, size in [(16000, 64), (16000, 64), (8000, 32), (8000, 32), (16000, 64)]:
        x = torch.randn(1, size)
        assert torch.equal(loaded(x, rate), model(x, rate))
    loaded.reset_states()
    x = torch.randn(1, 64)
    assert torch.equal(loaded(x, 16000), models.Detector()(x, 16000))


def test_results_are_new_tensors_without_gradients(detector):
    loaded = ost.load(detector)
    x = torch.randn(1, 64, requires_grad=True)
    first = loaded(x, 16000)
    kept = first.clone()
    loaded(x, 16000)
    assert torch.equal(first, kept)
    assert not first.requires_grad
    assert torch.is_grad_enabled()


def test_results_may_be_the_graphs_own(detector):
    loaded = ost.load(detector, copy_outputs=False)
    first = loaded(torch.randn(1, 64), 16000)
    assert loaded(torch.randn(1, 64), 16000) is first


def test_arguments_by_name_of_a_subclass_and_not_contiguous(detector):
    loaded, again = ost.load(detector), ost.load(detector)
    x = torch.randn(64, 2)[:, :1].t()
    expected = loaded(x, 16000)
    assert torch.equal(again(x=x, sr=16000), expected)
    expected = loaded(x, 16000)
    assert torch.equal(again(torch.nn.Parameter(x), sr=16000), expected)


@pytest.mark.parametrize(
    "args",
    [
        (torch.zeros(1, 65), 16000),
        (torch.zeros(1, 64), 8000),
        (torch.zeros(1, 64), 16000.0),
        (torch.zeros(1, 64, dtype=torch.float64), 16000),
        (torch.zeros(1, 64),),
        (torch.zeros(1, 64), {1}),
        (torch.zeros(1, 64), [16000]),
    ],
)
def test_a_call_that_no_variant_takes_lists_them(detector, args):
    with pytest.raises(_errors.UsageError, match=r"forward\(float32\[1, 64\], 16000\)") as caught:
        ost.load(detector)(*args)
    assert caught.value.code == "deployment.no_variant"


def test_methods_state_and_figures(detector):
    loaded = ost.load(detector)
    assert list(loaded.methods) == ["forward", "reset_states"]
    assert "reset_states" in dir(loaded)
    assert "float32[1, 64], 16000" in repr(loaded)
    assert [each["captured"] for each in loaded.stats()["forward"]] == [False, False]
    loaded(*loaded.methods["forward"].example())
    first, second = loaded.stats()["forward"]
    assert first["captured"]
    assert first["nodes"] > 0
    assert not second["captured"]
    assert loaded.state["_hidden"].abs().sum() > 0
    loaded.reset_states()
    assert loaded.state["_hidden"].abs().sum() == 0
    with pytest.raises(AttributeError, match="reset_states"):
        _ = loaded.nothing


def test_threads_take_turns(tmp_path):
    model = models.plain().eval()
    ost.deploy(model, out=tmp_path / "net.pt2", numerics="exact")
    loaded = ost.load(tmp_path / "net.pt2")
    wrong = []

    def work(seed):
        generator = torch.Generator().manual_seed(seed)
        for _ in range(200):
            x = torch.randn(1, 12, generator=generator)
            with torch.no_grad():
                if not torch.equal(loaded(x), model(x)):
                    wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


def test_inside_inference_mode_and_outside(detector):
    loaded, model = ost.load(detector), models.Detector().eval()
    for i in range(4):
        with torch.inference_mode(i % 2 == 0):
            x = torch.randn(1, 64)
            assert torch.equal(loaded(x, 16000), model(x, 16000))


def test_shapes_that_vary(tmp_path):
    model = models.plain().eval()
    batch = torch.export.Dim("batch", min=2, max=64)
    ost.export.save(model, tmp_path / "net.pt2", (torch.randn(3, 12),), dynamic_shapes=({0: batch},))
    loaded = ost.load(tmp_path / "net.pt2")
    for rows in [*range(2, 30), 5]:
        x = torch.randn(rows, 12)
        torch.testing.assert_close(loaded(x), model(x))
    with pytest.raises(_errors.UsageError):
        loaded(torch.randn(65, 12))


def test_an_input_that_the_program_changes(tmp_path):
    class Adds(torch.nn.Module):
        def forward(self, x, y):
            x.add_(y)
            return x * 2

    torch.export.save(torch.export.export(Adds(), (torch.zeros(3), torch.ones(3))), tmp_path / "a.pt2")
    loaded = ost.load(tmp_path / "a.pt2")
    x = torch.arange(3.0)
    assert torch.equal(loaded(x, torch.ones(3)), torch.tensor([2.0, 4.0, 6.0]))
    assert torch.equal(x, torch.tensor([1.0, 2.0, 3.0]))


def test_a_fresh_process_loads_and_replays(detector, tmp_path):
    x = torch.randn(1, 64)
    torch.save(x, tmp_path / "x.pt")
    code = (
        "import sys, torch, ostinato as ost\n"
        "vad = ost.load(sys.argv[1])\n"
        "x = torch.load(sys.argv[2], weights_only=True)\n"
        "torch.save([vad(x, 16000), vad(x, 16000)], sys.argv[3])\n"
    )
    command = [sys.executable, "-c", code, detector, tmp_path / "x.pt", tmp_path / "y.pt"]
    subprocess.run(list(map(str, command)), check=True)
    model = models.Detector().eval()
    for got in torch.load(tmp_path / "y.pt", weights_only=True):
        torch.testing.assert_close(got, model(x, 16000), rtol=1e-5, atol=1e-6)


class Attack:
    def __reduce__(self):
        import os

        return os.system, ("touch hacked",)


def hostile(path):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a/archive_format", "pt2")
        file.writestr("a/archive_version", "0")
        file.writestr("a/models/model.json", "{}")
        file.writestr("a/data/sample_inputs/model.pt", pickle.dumps(Attack()))
        file.writestr("a/data/weights/model.pt", pickle.dumps(Attack()))


def not_a_zip(path):
    path.write_bytes(b"PK\x03\x04 not a zip file")


def truncated(path):
    ost.deploy(models.plain(), out=path)
    path.write_bytes(path.read_bytes()[:-300])


def weights(path):
    torch.save({"a": torch.zeros(3)}, path)


@pytest.mark.parametrize("make", [hostile, not_a_zip, truncated, weights])
def test_a_file_that_may_not_be_read_is_refused_and_nothing_runs(tmp_path, monkeypatch, make):
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "bad.pt2")
    with pytest.raises(_errors.ArchiveError) as caught:
        ost.load(tmp_path / "bad.pt2")
    assert caught.value.hint
    assert [each.name for each in tmp_path.iterdir()] == ["bad.pt2"]


@pytest.mark.parametrize("path", ["missing.pt2", "."])
def test_paths_without_a_file(tmp_path, path):
    with pytest.raises(_errors.ArchiveError):
        ost.load(tmp_path / path)


def test_a_module_that_holds_its_weights_needs_no_torch_to_be_recognised(detector):
    code = f"import sys; from ostinato.deployment import file_kind; print(file_kind({str(detector)!r}))"
    code += "; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["pt2", "False"]

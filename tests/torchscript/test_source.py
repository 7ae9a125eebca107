"""A written module gives what the archive gives, in a process that has nothing but torch."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest
import torch

import ostinato as ost
from ostinato._errors import ArchiveError, DeployError
from ostinato.cli import main
from ostinato.torchscript._names import PLAIN, PRIMITIVES
from ostinato.torchscript._operators import ATEN, PRIM
from ostinato.torchscript._written._helpers import Library
from ostinato.torchscript._written._layout import quoted

from .archives import FOLDER, MODULE, method, module_pickle, needs_archives, tensor, text, write
from .test_golden import NAMES, calls_of

SCRIPT = pathlib.Path(__file__).with_name("run_written.py")


def ruff(path):
    pytest.importorskip("ruff", reason="ruff is not installed")
    for command in (["check"], ["format", "--check", "--diff"]):
        options = [*command, "--isolated", "--no-cache", "--line-length", "110"]
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *options, str(path)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr


def answers(jobs):
    """What written modules give: folder → (archive, rows of calls, each on a model of its own)."""
    for folder, (archive, rows) in jobs.items():
        source = ost.torchscript.source(archive, weights=folder / "weights.safetensors")
        (folder / "module.py").write_text(source, encoding="utf-8")
        torch.save(rows, folder / "calls.pt")
    command = [sys.executable, "-W", "error", "-I", str(SCRIPT), *map(str, jobs)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {folder.name: torch.load(folder / "answers.pt", weights_only=False) for folder in jobs}


def same(got, wanted, **tolerance):
    if isinstance(wanted, torch.Tensor):
        torch.testing.assert_close(got.detach(), wanted.detach(), equal_nan=True, **tolerance)
    elif isinstance(wanted, (tuple, list)):
        assert len(got) == len(wanted)
        for first, second in zip(got, wanted, strict=True):
            same(first, second, **tolerance)
    else:
        assert got == wanted


@needs_archives
def test_real_archives_give_their_recorded_outputs(tmp_path):
    jobs = {}
    for name in NAMES:
        (tmp_path / name).mkdir()
        row = [(each["method"], tuple(each["args"]), each["kwargs"]) for each in calls_of(name)]
        jobs[tmp_path / name] = FOLDER / name, [row]
    for name, (got,) in answers(jobs).items():
        for each, call in zip(got, calls_of(name), strict=True):
            same(each, call["out"], rtol=1e-4, atol=1e-5)
    ruff(tmp_path)


_X = torch.arange(12.0).reshape(3, 4) / 5 - 1
CALLS = {
    "Numbers": [[("forward", (a, b, f), {})] for a, b, f in [(7, 3, 2.5), (-9, 4, -1.25), (0, 5, 0.0)]],
    "Texts": [[("forward", ("abcab,x", 7, 0.1, True), {})], [("forward", ("a", 0, 1e20, False), {})]],
    "Lists": [[("forward", (n,), {})] for n in (0, 3, -4)],
    "Dicts": [[("forward", ({"a": 3, "b": 4},), {})]],
    "Tensors": [
        [("forward", (_X,), {})],
        [("forward", (_X, 2 * _X), {})],
        [("forward", (-_X.abs(), None, 3), {})],
    ],
    "Stateful": [[("forward", (_X,), {}), ("report", (), {}), ("forward", (_X * 2,), {}), ("reset", (), {})]],
    "Kinds": [
        [("forward", (5, 1), {}), ("forward", ("abc", 1), {}), ("forward", (torch.ones(3), "s"), {})],
        [("objects", (3,), {}), ("quiet", (torch.ones(2), 0), {})],
    ],
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_scripted_models_give_what_torch_jit_gives(tmp_path):
    jit = pytest.importorskip("torch.jit", reason="this torch has no torch.jit")
    from . import models

    jobs = {}
    for name, rows in CALLS.items():
        (tmp_path / name).mkdir()
        torch.manual_seed(0)
        jit.script(getattr(models, name)().eval()).save(tmp_path / name / "m.pt")
        jobs[tmp_path / name] = tmp_path / name / "m.pt", rows
    for name, got in answers(jobs).items():
        for row, calls in zip(got, CALLS[name], strict=True):
            theirs = jit.load(tmp_path / name / "m.pt")
            for each, (called, args, kwargs) in zip(row, calls, strict=True):
                with torch.no_grad():
                    same(each, getattr(theirs, called)(*args, **kwargs), rtol=0, atol=0)
    ruff(tmp_path)


def namespace(source):
    found = {"__name__": "written"}
    exec(compile(source, "written", "exec"), found)
    return found


def test_the_module_and_its_state_dict(tmp_path):
    from . import models

    path = tmp_path / "m.pt"
    torch.jit.script(models.Stateful().eval()).save(path)
    loaded = ost.torchscript.load(path)
    found = namespace(ost.torchscript.source(path, weights=tmp_path / "w.safetensors"))
    model = found["load"](tmp_path / "w.safetensors")
    ours, theirs = model.state_dict(), loaded.state_dict()
    assert list(ours) == list(theirs)
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert [name for name, _ in model.named_parameters()] == [name for name, _ in loaded.named_parameters()]
    assert {name: each.training for name, each in model.named_modules()} == {
        name: each.training for name, each in loaded.named_modules()
    }
    safetensors = pytest.importorskip("safetensors.torch")
    file = safetensors.load_file(tmp_path / "w.safetensors")
    assert all(torch.equal(file[name], theirs[name]) for name in theirs)


def test_an_lstm_keeps_one_object_for_a_weight_that_two_lists_hold(tmp_path):
    path = tmp_path / "m.pt"
    torch.jit.script(torch.nn.LSTM(3, 4)).save(path)
    model = namespace(ost.torchscript.source(path, weights=tmp_path / "w"))["load"](tmp_path / "w")
    assert model._flat_weights[0] is model.weight_ih_l0


def test_every_operator_has_a_name_or_a_text(tmp_path):
    library = Library(9)
    plain = {library.name(f"aten::{short}") for short in PLAIN if short not in ATEN}
    for short in ATEN:
        library.name(f"aten::{short}")
    for short in PRIM.keys() - {"member", "set_member", "new"} | PRIMITIVES:
        library.name(f"prim::{short}")
    lines = ["from __future__ import annotations", *library.imports, *library.text()]
    found = namespace("\n".join(lines))
    found["F"] = torch.nn.functional
    for name in plain:
        assert callable(eval(name, found)), name
    assert not any("ostinato" in each for each in library.text())


# ---- what a hostile archive may not do ----


@pytest.mark.parametrize("name", ["numpy", "untyped_storage", "__reduce_ex__", "_version", "cpu"])
def test_attributes_that_torch_and_python_have_are_asked_of_classes_of_the_archive_alone(tmp_path, name):
    body = f"_0 = x.{name}\nreturn _0"
    code = method(body).replace("  training", f"  {name} : int\n  training")
    try:
        source = ost.torchscript.source(
            write(tmp_path / "a.pt", code, module_pickle("M", {"training": b"\x88"}))
        )
    except ArchiveError:
        return  # refused from the start
    assert f"x.{name}" not in source
    with pytest.raises(AttributeError):
        namespace(source)["load"]().forward(torch.ones(2))


HOSTILE = ['a"b', "a'b\\", '"""', "\n\r", "\u202e\u2066", "'\"" * 3, "\\", "{x}", "%s\x00", "é\ud7ff"]


@pytest.mark.parametrize("value", HOSTILE)
def test_a_text_stays_a_text(tmp_path, value):
    written = quoted(value)
    assert eval(written) == value
    assert written.isprintable()
    code = MODULE.replace("  training", "  word : str\n  training")
    data = module_pickle("M", {"training": b"\x88", "word": text(value)})
    source = ost.torchscript.source(write(tmp_path / "a.pt", code, data))
    assert namespace(source)["load"]().word == value


@pytest.mark.parametrize("folder", ['x"""y', "x'y", "x y", "é", "class", "torch"])
def test_names_of_files_reach_no_code(tmp_path, folder):
    code = MODULE.replace("__torch__.M", f"__torch__.{folder}.M") if folder.isidentifier() else MODULE
    data = module_pickle("M").replace(b"c__torch__\nM", f"c__torch__.{folder}\nM".encode())
    try:
        source = ost.torchscript.source(write(tmp_path / "a.pt", {f"code/__torch__/{folder}.py": code}, data))
    except ArchiveError:
        return
    assert torch.equal(namespace(source)["load"]()(-torch.ones(2)), torch.zeros(2))


@pytest.mark.parametrize("name", ["F", "nn", "load", "Model", "range", "l", "size", "self_", "weights"])
def test_variables_are_kept_apart_from_what_the_module_uses(tmp_path, name):
    body = f"{name} = torch.add(x, 1)\n_1 = torch.size({name}, 0)\n_2 = torch.zeros([_1])\n_3 = {name}\n"
    body += f"return torch.mul({name}, torch.add(_2, _3))"
    source = ost.torchscript.source(write(tmp_path / "a.pt", method(body)))
    (tmp_path / "a.py").write_text(source)
    ruff(tmp_path / "a.py")
    assert torch.equal(namespace(source)["load"]()(torch.ones(2)), torch.full((2,), 4.0))


# ---- order and files ----


def test_calls_keep_their_order(tmp_path):
    body = "_0 = torch.neg(x)\n_1 = torch.add_(x, 1)\nreturn torch.sub(_0, torch.mul(_1, x))"
    source = ost.torchscript.source(write(tmp_path / "a.pt", method(body)))
    x = torch.tensor([2.0])
    assert namespace(source)["load"]()(x) == torch.tensor([-2.0 - 9.0])


def test_a_tensor_that_safetensors_cannot_hold_is_refused_by_name(tmp_path, monkeypatch):
    from ostinato.torchscript._written import _build

    monkeypatch.setattr(_build, "NAMES", {})
    code = MODULE.replace("  training", "  w : Tensor\n  training")
    data = module_pickle("M", {"w": tensor(), "training": b"\x88"})
    with pytest.raises(ArchiveError, match=r"w is a torch\.float32 tensor"):
        ost.torchscript.source(write(tmp_path / "a.pt", code, data, {"data/0": bytes(8)}))


def test_the_command_writes_both_files(tmp_path, capsys):
    code = MODULE.replace("  training", "  w : Tensor\n  training")
    data = module_pickle("M", {"w": tensor(), "training": b"\x88"})
    path = write(tmp_path / "a.pt", code, data, {"data/0": bytes(8)})
    assert main(["convert", str(path), "-o", str(tmp_path / "a.py"), "--json"]) == 0
    assert '"weights_bytes"' in capsys.readouterr().out
    model = namespace((tmp_path / "a.py").read_text())["load"](tmp_path / "a.safetensors")
    assert torch.equal(model.w, torch.zeros(2))
    assert main(["convert", str(path), "-o", str(tmp_path / "no" / "a.py")]) == 2
    assert main(["convert", str(path), "-o", str(tmp_path / "a.pt2"), "--weights", "w"]) == 2
    assert "hint:" in capsys.readouterr().err
    with pytest.raises(DeployError):
        ost.torchscript.source(path, weights=tmp_path / "no" / "w")

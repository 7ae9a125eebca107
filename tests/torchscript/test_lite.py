"""Lite-interpreter archives without code: their bytecode gives what torch's own mobile module gives."""

from __future__ import annotations

import copy
import pickle
import zipfile

import pytest
import torch

import ostinato as ost
from ostinato._errors import ArchiveError

from .archives import FOLDER, needs_archives, write
from .test_differential import Around, same

mobile = pytest.importorskip("torch.jit.mobile", reason="this torch has no lite interpreter")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")

X = torch.linspace(-2, 3, 12).reshape(3, 4)
CALLS = {
    "models.Numbers": [("forward", 7, 3, 2.5), ("divided", 1, 0)],
    "models.Texts": [("forward", "abcab,x", 7, 0.1, True)],
    "models.Lists": [("forward", 3), ("forward", -4)],
    "models.Dicts": [("forward", {"a": 3, "b": 4})],
    "models.Tensors": [("forward", X), ("forward", X, 2 * X), ("forward", -X.abs(), None, 3)],
    "lite_models.Flow": [
        ("forward", 9, [1, 2]),
        ("forward", 2, [5, -1, 3]),
        ("forward", 0, [300]),
        ("swapped", 7),
    ],
    "lite_models.Numbers": [("forward", torch.ones(2))],
}


def without_code(source, target):
    with zipfile.ZipFile(source) as whole, zipfile.ZipFile(target, "w") as stripped:
        for entry in whole.infolist():
            if not entry.filename.partition("/")[2].startswith("code/"):
                stripped.writestr(entry.filename, whole.read(entry))
    return target


def saved(folder, module, flat=False):
    """The lite archive of a module, and where it is stored without its code."""
    path = folder / "a.ptl"
    torch.jit.script(module.eval())._save_for_lite_interpreter(str(path), _use_flatbuffer=flat)
    return path, path if flat else without_code(path, folder / "b.ptl")


def model(name):
    import importlib

    file, _, cls = name.partition(".")
    torch.manual_seed(0)
    return getattr(importlib.import_module(f"{__package__}.{file}"), cls)()


def compare(path, ours, calls):
    theirs = mobile._load_for_lite_interpreter(str(path))
    for method, *arguments in calls:
        wanted = theirs.run_method(method, *copy.deepcopy(arguments))
        same(getattr(ours, method)(*copy.deepcopy(arguments)), wanted)


@pytest.mark.parametrize("name", CALLS)
def test_bytecode_gives_what_torchs_own_interpreter_gives(tmp_path, name):
    path, stripped = saved(tmp_path, model(name))
    compare(path, ost.torchscript.load(stripped), CALLS[name])


# Torch's mobile interpreter crashes on interfaces and unions, so the models themselves are asked.
CRASHES = {
    "lite_models.Steps": [("forward", torch.ones(3))],
    "lite_models.Things": [
        ("forward", torch.ones(2)),
        ("forward", torch.ones(2), 0.5, torch.zeros(2)),
        ("kind", 3),
        ("kind", "a"),
        ("kind", X),
        ("checked", 4),
        ("shapes", X),
    ],
}


@pytest.mark.parametrize("name", CRASHES)
def test_bytecode_that_torchs_own_interpreter_does_not_run(tmp_path, name):
    net = model(name)
    ours = ost.torchscript.load(saved(tmp_path, net)[1])
    for method, *arguments in CRASHES[name]:
        same(getattr(ours, method)(*arguments), getattr(net, method)(*arguments))


def test_a_model_raises_what_its_author_raised(tmp_path):
    _, stripped = saved(tmp_path, model("lite_models.Things"))
    with pytest.raises(ValueError, match="too small: -1"):
        ost.torchscript.load(stripped).checked(-1)


LAYERS = {
    "lstm": torch.nn.LSTM(4, 4, num_layers=2, batch_first=True, bidirectional=True),
    "transformer": torch.nn.TransformerEncoder(
        torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 1
    ),
    "dynamic": torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(torch.nn.Linear(4, 6))),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_of_torch(tmp_path, name):
    path, stripped = saved(tmp_path, Around(LAYERS[name]))
    module = ost.torchscript.load(stripped)
    with torch.no_grad():
        compare(path, module, [("forward", torch.randn(2, 5, 4))])


@pytest.mark.parametrize("version", range(4, 9))
def test_every_version_that_torch_can_still_write(tmp_path, version):
    path, _ = saved(tmp_path, model("models.Tensors"))
    older = tmp_path / "older.ptl"
    assert version == 8 or mobile._backport_for_mobile(str(path), str(older), version)
    older = path if version == 8 else older
    module = ost.torchscript.load(without_code(older, tmp_path / "stripped.ptl"))
    compare(older, module, CALLS["models.Tensors"])


def test_parameters_buffers_and_submodules_have_their_names(tmp_path):
    net = Around(torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3)))
    _, stripped = saved(tmp_path, net)
    module = ost.torchscript.load(stripped)
    assert dict(module.named_parameters()).keys() == dict(net.named_parameters()).keys()
    assert module.state_dict().keys() == net.state_dict().keys()


def test_inspect_tells_methods_and_operators_from_the_bytecode(tmp_path):
    _, stripped = saved(tmp_path, model("lite_models.Things"))
    info = ost.torchscript.inspect(stripped)
    assert info.archive == "lite"
    assert info.methods["checked"] == "(n: int) -> int"
    assert info.methods["forward"].startswith("(x: Tensor, scale: float=2.0, bias: Optional[Tensor]=None)")
    assert info.operators["aten::add_"] == 1
    assert not info.unsupported


def test_source_and_convert_take_bytecode_as_they_take_code(tmp_path):
    net = Around(torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh()))
    _, stripped = saved(tmp_path, net)
    space: dict[str, object] = {}
    exec(ost.torchscript.source(stripped, weights=tmp_path / "w.safetensors"), space)
    x = torch.randn(2, 4)
    same(space["load"](tmp_path / "w.safetensors")(x), net(x))
    same(ost.torchscript.convert(stripped, (x,)).module()(x), net(x))


@needs_archives
def test_a_real_archive_without_its_code(tmp_path):
    module = ost.torchscript.load(without_code(FOLDER / "vit4mnist.ptl", tmp_path / "a.ptl"))
    calls = torch.load(FOLDER / "vit4mnist.golden.pt", weights_only=True)
    with torch.no_grad():
        for call in calls:
            same(getattr(module, call["method"])(*call["args"], **call["kwargs"]), call["out"])


# ---- files that are no bytecode ----


def bytecode(instructions, operators=(), constants=(), types=(), name="__torch__.M.forward", version=8):
    tables = (
        ("instructions", tuple(instructions)),
        ("operators", operators),
        ("constants", constants),
        ("types", types),
        ("register_size", 4),
    )
    return pickle.dumps((version, (name, tables)), protocol=2)


START = [("STOREN", 1, 2)]
END = [("LOAD", 2, 0), ("RET", 0, 0)]
BAD = {
    "a version of the future": bytecode([*START, *END], version=12),
    "no version": pickle.dumps(("x",), protocol=2),
    "no tuple": pickle.dumps([8], protocol=2),
    "an instruction that is none": bytecode([*START, ("EXEC", 0, 0), *END]),
    "two parts": bytecode([("STOREN", 1), *END]),
    "no instructions": bytecode([]),
    "an empty stack": bytecode([*START, ("STORE", 1, 0), *END]),
    "a register without a value": bytecode([*START, ("LOAD", 9, 0), ("RET", 0, 0)]),
    "a negative register": bytecode([*START, ("LOAD", -1, 0), ("RET", 0, 0)]),
    "an operator beyond the table": bytecode([*START, ("OP", 3, 0), *END]),
    "an operator before the table": bytecode([*START, ("OP", -1, 0), *END], (("aten::relu", "", 1),)),
    "a constant beyond the table": bytecode([*START, ("LOADC", 0, 0), *END]),
    "a jump of its own": bytecode([*START, ("JMP", -1, 0), *END]),
    "a condition without an end": bytecode([*START, ("LOAD", 2, 0), ("JF", 900, 0), *END]),
    "a condition that goes back": bytecode([*START, ("LOAD", 2, 0), ("JF", -2, 0), *END]),
    "a loop without an end": bytecode([*START, ("LOOP", 2, 2), ("JMP", 5, 0), *END]),
    "a loop over nothing": bytecode([*START, ("LOOP", 2, -5), ("JMP", -1, 0), *END]),
    "a million values": bytecode([*START, ("LIST_UNPACK", 10**9, 0), *END]),
    "a million parts": bytecode([*START, ("TUPLE_CONSTRUCT", 10**9, 0), *END]),
    "an operator of files": bytecode([*START, ("OP", 0, 0), *END], (("aten::save", "", 1),)),
    "an operator of nobody": bytecode([*START, ("OP", 0, 0), *END], (("aten::nope", "", 1),)),
    "an operator of another name": bytecode(
        [*START, ("LOAD", 2, 0), ("OP", 0, 0), *END], (("os::system", "", 1),)
    ),
    "an attribute that is none": bytecode([*START, ("LOAD", 1, 0), ("GET_ATTR", 70, 0), ("RET", 0, 0)]),
    "an attribute of a tensor": bytecode([*START, ("LOAD", 2, 0), ("GET_ATTR", 0, 0), ("RET", 0, 0)]),
    "a class of nobody": bytecode([*START, ("CREATE_OBJECT", 0, 0), *END], types=("os.popen",)),
    "a class of C++": bytecode(
        [*START, ("CREATE_OBJECT", 0, 0), *END], types=("__torch__.torch.classes.a.B",)
    ),
    "a method of Python's": bytecode(
        [*START, ("LOAD", 2, 0), ("INTERFACE_CALL", 0, 1), ("RET", 0, 0)], constants=("__reduce__",)
    ),
    "a name that is none": bytecode([*START, *END], name="forward"),
    "a method between underscores": bytecode(
        [*START, ("LOAD", 1, 0), ("INTERFACE_CALL", 0, 1), ("RET", 0, 0)], constants=("__class__",)
    ),
    "a type without an end": bytecode([*START, ("ISINSTANCE", 0, 1), *END], types=("List[" * 3000,)),
    "a deep nest": bytecode([*START, *[("LOADC", 0, 0), ("JF", 2, 0)] * 9000, *END], constants=(True,)),
}


@pytest.mark.parametrize("name", BAD)
def test_bytecode_that_contradicts_itself_is_refused(tmp_path, name):
    with pytest.raises(ArchiveError) as error:
        ost.torchscript.load(write(tmp_path / "a.ptl", {}, entries={"bytecode.pkl": BAD[name]}))
    assert error.value.hint


def test_the_smallest_bytecode_is_read(tmp_path):
    good = bytecode([*START, ("LOAD", 2, 0), ("OP", 0, 0), ("RET", 0, 0)], (("aten::relu", "", 1),))
    module = ost.torchscript.load(write(tmp_path / "a.ptl", {}, entries={"bytecode.pkl": good}))
    assert module(torch.tensor([-1.0, 2.0])).tolist() == [0, 2]

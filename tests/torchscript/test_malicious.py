"""Files made to do harm are refused with ArchiveError, and nothing in them runs."""

from __future__ import annotations

import os
import pickle
import sys
import zipfile

import pytest

import ostinato as ost
from ostinato._errors import ArchiveError
from ostinato.torchscript._archive_data import Refused
from ostinato.torchscript._archive_pickle import read_pickle

from .archives import MODULE, method, module_pickle, number, tensor, text, write


def refused(path, use=ost.torchscript.load):
    with pytest.raises(ArchiveError) as error:
        use(path)
    assert error.value.hint
    return error.value


# ---- pickles ----


@pytest.mark.parametrize("entry", ["data.pkl", "constants.pkl"])
@pytest.mark.parametrize("module", ["posix", "os", "nt"])
@pytest.mark.parametrize("use", [ost.torchscript.load, ost.torchscript.inspect, ost.torchscript.source])
def test_a_pickle_that_calls_os_system(tmp_path, monkeypatch, entry, module, use):
    monkeypatch.chdir(tmp_path)
    attack = b"\x80\x02c" + module.encode() + b"\nsystem\n" + text("touch hacked") + b"\x85R."
    path = write(tmp_path / "a.pt", entries={entry: attack})
    if use is ost.torchscript.inspect and entry == "constants.pkl":
        use(path)  # inspect has no need of the constants
    else:
        assert "system" in refused(path, use).message
    assert not (tmp_path / "hacked").exists()


@pytest.mark.parametrize(
    "content",
    [
        b"\x80\x02cbuiltins\neval\n" + text("1") + b"\x85R.",
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n)R.",
        b"\x80\x02ctorch\nload\n" + text("x") + b"\x85R.",
        b"\x80\x02c__torch__\nM\n" + text("x") + b"\x85\x81.",
        b"\x80\x02c__torch__\nM\n)R.",
        b"\x80\x02ctorch\nFloatStorage\n)R.",
        b"\x80\x02ctorch.jit._pickle\nbuild_intlist\n" + number(1) + b"\x85R.",
        b"\x80\x02(cos\nsystem\nX\x01\x00\x00\x00xo.",
        b"\x80\x02ccollections\nOrderedDict\n)R}b.",
        b"\x80\x04\x8c\x02os\x8c\x06system\x93.",
        b"\x80\x02I1\n.",
        b"\x80\x02(.",
        b"\x80\x02t.",
        b"\x80\x02]].",
        b"\x80\x02h\x07.",
        b"\x80\x02(q\x00.",
        b"\x80\x02}].u.",
        b"\x80\x02}(]Nu.",
        b"\x80\x02ctorch\nFloatStorage\nQ.",
        b"\x80\x02P1\n.",
        b"",
        b"\x80",
        pickle.dumps(print),
        pickle.dumps(object(), protocol=5),
    ],
)
def test_pickles_that_are_no_data(content):
    with pytest.raises(Refused):
        read_pickle(content)


def test_a_tensor_may_not_reach_beyond_its_storage(tmp_path):
    code = MODULE.replace("  training", "  w : Tensor\n  training")
    for shape, stride, numel, stored in [((3,), (1,), 2, 8), ((2, 2), (2, 2), 4, 16), ((2,), (1,), 2, 4)]:
        data = module_pickle("M", {"w": tensor(shape=shape, stride=stride, numel=numel), "training": b"\x88"})
        refused(write(tmp_path / "a.pt", code, data, {"data/0": bytes(stored)}))
    for shape in [(2**31 - 1, 2**31 - 1), (0, 2**31 - 1)]:
        data = module_pickle("M", {"w": tensor(shape=shape, stride=(1, 1)), "training": b"\x88"})
        path = write(tmp_path / "a.pt", code, data, {"data/0": bytes(8)})
        if 0 not in shape:
            refused(path)


def test_deep_and_endless_data(tmp_path):
    code = MODULE.replace("  training", "  w : Any\n  training")
    endless = b"]q\x00h\x00a"
    doubling = b"]q\x00"
    for at in range(1, 61):
        doubling = b"]q" + bytes([at]) + doubling + b"ah" + bytes([at - 1]) + b"a"
    for data in [b"]" * 100_000 + b"a" * 99_999, b")" + b"\x85" * 100_000, endless]:
        refused(write(tmp_path / "a.pt", code, module_pickle("M", {"w": data, "training": b"\x88"})))
    # Sharing that would be 2 to the power 60 values if it were copied.
    tuples = doubling.replace(b"]q\x00", b")q\x00")
    for at in range(1, 61):
        tuples = tuples.replace(b"]q" + bytes([at]), b"").replace(
            b"ah" + bytes([at - 1]) + b"a", b"h" + bytes([at - 1]) + b"\x86q" + bytes([at])
        )
    for data in (doubling, tuples):
        path = write(tmp_path / "a.pt", code, module_pickle("M", {"w": data, "training": b"\x88"}))
        ost.torchscript.load(path).double()
        ost.torchscript.inspect(path)


# ---- code ----

ATTACKS = {
    "import": "import os",
    "import from": "from os import system",
    "dunder import": '_0 = __import__("os")\nreturn _0',
    "builtins": "return __builtins__",
    "eval": 'return eval("1")',
    "open": 'return open("hacked", "w")',
    "exec through getattr": 'return getattr(x, "__class__")',
    "bases": "return ().__class__.__bases__",
    "subclasses": "return x.__class__.__base__.__subclasses__()",
    "globals": "return self.forward.__globals__",
    "func globals": "return self.forward.__func__.__globals__",
    "code": "return self.forward.__code__",
    "dict": "return self.__dict__",
    "f-string": 'return f"{x}"',
    "f-string with a call": 'return f"{x.__class__}"',
    "lambda": "return (lambda: 1)()",
    "comprehension": "return [y for y in x]",
    "generator": "return (y for y in x)",
    "walrus": "return (y := x)",
    "set": "return {x}",
    "starred": "return torch.cat(*x)",
    "double starred": "return torch.cat(**x)",
    "await": "return await x",
    "yield": "yield x",
    "global": "global y",
    "nonlocal": "def f():\n  nonlocal x\nreturn f",
    "delete": "del x",
    "try": "try:\n  pass\nexcept:\n  pass",
    "raise": "raise x",
    "assert": "assert x",
    "async": "async def f():\n  pass",
    "class": "class A:\n  pass",
    "decorated": "@x\ndef f():\n  pass\nreturn x",
    "match": "match x:\n  case y:\n    pass",
    "bytes": 'return b"x"',
    "ellipsis": "return ...",
    "power": "return 9**9**9",
    "repetition": 'return "x" * 9999999999',
    "chained comparison": "return 1 < x < 2",
    "boolean": "return x or 1",
    "ternary": "return 1 if x else 2",
    "assignment to self": "self = x\nreturn self",
    "assignment to a class": "__torch__.M = x\nreturn x",
    "assignment to a dunder": "self.__class__ = x\nreturn x",
    "assignment to an undeclared attribute": "self.forward = x\nreturn x",
    "assignment to torch": "torch.add = x\nreturn x",
    "undeclared attribute": "return self.load_state_dict(x)",
    "undeclared attribute of torch": "return self.apply(x)",
    "unknown name": "return y",
    "unknown operator": "return torch.frobnicate(x)",
    "reading files": 'return torch.from_file("/etc/passwd", False, 3)',
    "writing files": 'return torch.save(x, "hacked")',
    "torch.load": 'return torch.load("hacked")',
    "torch.ops": 'return torch.ops.load_library("x.so")',
    "private operators": "return torch._C._cuda_init()",
    "our own helpers": 'return ops.prim.member(x, "data")',
    "our own globals": "return prim__member(x, 1)",
    "getattr of a variable": "return getattr(self, x)",
    "setattr": 'return setattr(self, "x", x)',
    "isinstance of an expression": "return isinstance(x, self.forward())",
    "default": "return x",
    "large number": "return " + "9" * 5000,
    "range": "for i in x:\n  pass",
    "missing class": "return __torch__.N()",
    "missing function": "return __torch__.deep.down.f(x)",
    "missing constant": "return CONSTANTS.c7",
    "odd constant": "return CONSTANTS.__class__",
    "foreign class": "return __torch__.torch.classes.quantized.LinearPackedParamsBase()",
}


@pytest.mark.parametrize("name", ATTACKS)
def test_code_that_is_not_torchscript(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    arguments = 'x: Tensor=open("hacked", "w")' if name == "default" else "x: Tensor"
    path = write(tmp_path / "a.pt", method(ATTACKS[name], arguments))
    error = refused(path)
    assert "a.pt" in error.message
    refused(path, ost.torchscript.source)
    assert not (tmp_path / "hacked").exists()


@pytest.mark.parametrize(
    "code",
    [
        "import os\n" + MODULE.replace("torch.relu", "os.system"),
        MODULE + "print(1)\n",
        MODULE.replace("(Module)", "(Module, metaclass=M)"),
        MODULE.replace("(Module)", "(object)"),
        MODULE.replace("class M", "@staticmethod\nclass M"),
        MODULE.replace("  training : bool", "  training : bool\n  x = print(1)"),
        MODULE.replace("  training : bool", "  training : bool\n  print(1)"),
        MODULE.replace("  training : bool", "  training : bool\n  x : Final[int] = print(1)"),
        MODULE.replace("  training : bool", "  training : bool\n  _parameters : Dict[str, int]"),
        MODULE.replace("  training : bool", "  training : bool\n  load_state_dict : Any"),
        MODULE + MODULE,
        MODULE.replace("forward(self: __torch__.M,\n    x: Tensor)", "forward()"),
        MODULE.replace("x: Tensor", "*x: Tensor"),
        MODULE.replace("x: Tensor", "**x: Tensor"),
        MODULE.replace("x: Tensor", "x: Tensor, /"),
        MODULE.replace("__parameters__ = []", "__parameters__ = [print(1)]"),
        MODULE.replace("forward", "_call_impl"),
        "class N(Module):\n  pass\n",
        "",
        "\x00",
        "class M(Module:\n",
    ],
)
def test_files_of_code_that_are_not_torchscript(tmp_path, code):
    refused(write(tmp_path / "a.pt", code))


def test_attributes_of_tensors_are_out_of_reach_at_run_time_too(tmp_path):
    """A class may declare any name; code reaches it on objects of that class only."""
    code = method(
        "return x.numpy()",
        extra="class N:\n  numpy : int\n  def tofile(self: __torch__.N) -> int:\n    return 1\n",
    )
    import torch

    module = ost.torchscript.load(write(tmp_path / "a.pt", code))
    with pytest.raises(AttributeError, match="declares no attribute 'numpy'"):
        module(torch.ones(1))
    code = method("return getattr(self.forward, 'x')")
    module = ost.torchscript.load(write(tmp_path / "a.pt", code))
    with pytest.raises(AttributeError):
        module(torch.ones(1))


def test_translated_code_has_no_builtins(tmp_path):
    module = ost.torchscript.load(write(tmp_path / "a.pt"))
    namespace = type(module).forward.__globals__
    assert set(namespace["__builtins__"]) == {"__import__"}
    with pytest.raises(ImportError):
        namespace["__builtins__"]["__import__"]("antigravity")
    assert "antigravity" not in sys.modules


# ---- sizes ----


def test_deep_code(tmp_path):
    for body in [
        "return " + "(" * 5000 + "x" + ")" * 5000,
        "return " + "-" * 5000 + "x",
        "return " + "not " * 5000 + "x",
        "return " + "x" + ".y" * 50_000,
        "return " + "[" * 150 + "x" + "]" * 150,
        "return " + "torch.relu(" * 150 + "x" + ")" * 150,
        "return " + " + ".join(["x"] * 50_000),
        "\n".join("  " * at + "if x:" for at in range(95)) + "\n" + "  " * 95 + "pass",
        "\n".join(" " * at + "while x:" for at in range(60)) + "\n" + " " * 60 + "pass",
        "return isinstance(x, " + "List[" * 150 + "int" + "]" * 150 + ")",
    ]:
        path = tmp_path / "a.pt"
        write(path, method(body))
        try:
            ost.torchscript.load(path)
        except ArchiveError:
            continue
        assert body.startswith("if"), body[:40]  # blocks alone may be that deep


def test_a_zip_bomb(tmp_path):
    bomb = {"data/0": bytes(200 << 20)}
    path = write(tmp_path / "a.pt", entries=bomb, compression=zipfile.ZIP_DEFLATED)
    assert os.path.getsize(path) < 1 << 20
    assert "claim" in refused(path).message


def test_entries_that_do_not_belong(tmp_path):
    for name in [
        "../evil",
        "/etc/evil",
        "a/../../evil",
        "b/evil",
        "evil",
        "a//evil",
        "a/x\\y",
        "a/x\ny",
        "a/" + "x" * 2000,
    ]:
        path = write(tmp_path / "a.pt")
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(name, b"x")
        refused(path)
    path = write(tmp_path / "a.pt")
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("a/data.pkl", b"x")
    assert "twice" in refused(path).message

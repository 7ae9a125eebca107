"""A loaded module is an ordinary torch.nn.Module."""

from __future__ import annotations

import copy
import struct
import zipfile

import pytest
import torch

import ostinato as ost
from ostinato._errors import ArchiveError, UsageError
from ostinato.torchscript import _names, _operators

from .archives import MODULE, method, module_pickle, number, tensor, text, write

CODE = """class M(Module):
  __parameters__ = ["w", "none", ]
  __buffers__ = ["b", ]
  w : Tensor
  none : Optional[Tensor]
  b : Tensor
  free : Tensor
  weights : List[Tensor]
  training : bool
  count : int
  pair : Tuple[int, str]
  __annotations__["0"] = __torch__.N
  width : Final[int] = 48
  def forward(self: __torch__.M,
    x: Tensor,
    scale: int=2) -> Tensor:
    _0 = getattr(self, "0")
    b = self.b
    self.b = torch.add(b, 1)
    self.count = torch.add(self.count, 1)
    return torch.mul(torch.add((_0).forward(x, ), (self.weights)[0]), scale)
  def __private(self: __torch__.M) -> int:
    return self.count
  def public(self: __torch__.M) -> int:
    return (self).__private()
  def moved(self: __torch__.M) -> Tensor:
    return torch.add(torch.zeros([2], dtype=6, layout=None, device=torch.device("cuda:0")), self.free)
class N(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.N,
    x: Tensor) -> Tensor:
    return torch.relu(x)
"""
MEMO = b"q\x05"


def weight(key):
    trainable = tensor(key).replace(b"\x89}tR", b"\x88}tR")
    return trainable


STATE = {
    "w": weight("0"),
    "none": b"N",
    "b": tensor("1"),
    "free": tensor("2"),
    "weights": b"ctorch.jit._pickle\nbuild_tensorlist\n(]" + weight("0") + b"atR",
    "training": b"\x89",
    "count": number(7),
    "pair": b"(" + number(1) + text("a") + b"t",
    "0": b"c__torch__\nN\n)\x81}(" + text("training") + b"\x89ub",
}
STORAGES = {f"data/{at}": struct.pack("<2f", at + 1, at + 2) for at in range(3)}


@pytest.fixture
def path(tmp_path):
    return write(tmp_path / "a.pt", CODE, module_pickle("M", STATE), STORAGES)


@pytest.fixture
def module(path):
    return ost.torchscript.load(path)


def test_names_and_values(module):
    assert isinstance(module, torch.nn.Module)
    assert list(module.state_dict()) == ["w", "b"]
    assert [name for name, _ in module.named_parameters()] == ["w"]
    assert [name for name, _ in module.named_buffers()] == ["b"]
    assert [name for name, _ in module.named_modules()] == ["", "0"]
    assert module.w.tolist() == [1, 2]
    assert module.w.requires_grad
    assert isinstance(module.w, torch.nn.Parameter)
    assert module.none is None
    assert module.free.tolist() == [3, 4]
    assert not isinstance(module.free, torch.nn.Parameter)
    assert (module.count, module.pair, module.width, module.training) == (7, (1, "a"), 48, False)
    assert module.weights[0] is module.w
    assert "width=48" in repr(module)
    assert type(module).__name__ == "M"


def test_calls_change_the_attributes(module):
    x = torch.tensor([-1.0, 1.0])
    assert module(x).tolist() == [2, 6]
    assert module(x, scale=3).tolist() == [3, 9]
    assert (module.count, module.b.tolist()) == (9, [4, 5])
    assert module.public() == 9


def test_modes(module):
    assert module.train().training
    assert getattr(module, "0").training
    assert not module.eval().training


def test_copies_keep_what_they_share(module):
    other = copy.deepcopy(module)
    assert other.weights[0] is other.w
    with torch.no_grad():
        other.w.zero_()
    assert module.w.tolist() == [1, 2]
    other(torch.ones(2))
    assert (module.count, other.count) == (7, 8)


def test_a_change_of_type_reaches_every_tensor(module):
    module.to(torch.float64)
    for each in (module.w, module.b, module.free, module.weights[0]):
        assert each.dtype == torch.float64
    assert module.weights[0] is module.w
    assert module(torch.ones(2, dtype=torch.float64)).dtype == torch.float64


def test_devices_that_the_code_names_are_where_the_model_runs(module):
    assert module.moved().tolist() == [3, 4]


def test_weights_can_be_loaded_and_trained(module):
    module.load_state_dict({"w": torch.zeros(2), "b": torch.zeros(2)})
    assert module(torch.ones(2)).tolist() == [2, 2]
    module(torch.ones(2)).sum().backward()
    assert module.w.grad.tolist() == [2, 2]


def test_writing_to_mapped_weights_leaves_the_file_alone(path, module):
    before = path.read_bytes()
    with torch.no_grad():
        module.w.fill_(9)
        module.b.fill_(9)
    assert path.read_bytes() == before
    assert ost.torchscript.load(path).w.tolist() == [1, 2]


def test_the_file_may_go_once_it_is_loaded(path, module):
    path.unlink()
    assert module(torch.ones(2)).tolist() == [4, 6]


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_storages_may_be_compressed_or_lie_anywhere(tmp_path, compression):
    path = write(tmp_path / "a.pt", CODE, module_pickle("M", STATE), STORAGES, compression=compression)
    assert ost.torchscript.load(path).w.tolist() == [1, 2]


def test_signature_and_constants(module):
    assert ost.torchscript.signature(module) == [("x", "Tensor", ...), ("scale", "int", 2)]
    assert ost.torchscript.signature(module, "public") == []
    assert ost.torchscript.constants(module) == [0, 1, 2, 6, 7, 48]
    with pytest.raises(UsageError, match="nothing"):
        ost.torchscript.signature(module, "nothing")
    for call in (ost.torchscript.signature, ost.torchscript.constants):
        with pytest.raises(UsageError):
            call(torch.nn.Linear(1, 1))


def test_a_dispatch_mode_sees_the_operators(module):
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    x = torch.ones(2)
    with torch.no_grad(), Mode():
        module(x)
    assert seen == ["aten.add.Tensor", "aten.relu.default", "aten.add.Tensor", "aten.mul.Tensor"]


def test_division_of_whole_tensors_before_and_after_format_4(tmp_path):
    code = MODULE.replace("torch.relu(x)", "torch.div(x, 2)")
    x = torch.tensor([-3, 3])
    old = ost.torchscript.load(write(tmp_path / "a.pt", code, version="3"))(x)
    new = ost.torchscript.load(write(tmp_path / "b.pt", code, version="4"))(x)
    assert (old.tolist(), old.dtype) == ([-1, 1], torch.int64)
    assert new.tolist() == [-1.5, 1.5]


def test_state_that_a_method_restores(tmp_path):
    code = """class M(Module):
  __parameters__ = []
  __buffers__ = []
  n : int
  def forward(self: __torch__.M,
    x: Tensor) -> Tensor:
    return torch.mul(x, self.n)
  def __getstate__(self: __torch__.M) -> Tuple[int]:
    return (self.n,)
  def __setstate__(self: __torch__.M,
    state: Tuple[int]) -> NoneType:
    self.n = torch.add((state)[0], 1)
    return None
"""
    data = b"\x80\x02c__torch__\nM\n)\x81" + number(4) + b"\x85b."
    module = ost.torchscript.load(write(tmp_path / "a.pt", code, data))
    assert module(torch.ones(1)).tolist() == [5]
    assert copy.deepcopy(module)(torch.ones(1)).tolist() == [5]
    broken = code.replace("(state)[0]", "(state)[7]")
    with pytest.raises(ArchiveError, match="__setstate__"):
        ost.torchscript.load(write(tmp_path / "b.pt", broken, data))


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("return ops.prim.dtype(x)", 6),
        ("return torch.eq(ops.prim.dtype(x), 6)", True),
        ("return torch.to(x, 7)", torch.ones(2, dtype=torch.float64)),
        ("return torch.to(x, 4, False, True)", torch.ones(2, dtype=torch.int64)),
        ("return torch.to(x, torch.device('cuda:1'), 7)", torch.ones(2, dtype=torch.float64)),
        ("return torch.to(x, ops.prim.device(x), 7, False, False, None)", torch.ones(2, dtype=torch.float64)),
        ("return torch.to(x, torch.zeros([1], dtype=3))", torch.ones(2, dtype=torch.int32)),
        (
            "return torch.to(x, dtype=7, layout=0, device=torch.device('cuda'))",
            torch.ones(2, dtype=torch.float64),
        ),
        ("return torch.zeros_like(x, dtype=4, memory_format=1)", torch.zeros(2, dtype=torch.int64)),
        ("return torch.contiguous(x, memory_format=0)", torch.ones(2)),
        ("return torch.view(x, 3)", torch.ones(2).view(torch.int32)),
        ("return torch.sum(x, dtype=7)", torch.tensor(2.0, dtype=torch.float64)),
        ("return torch.index_put_(x, [torch.tensor([1])], torch.zeros([]))", torch.tensor([1.0, 0.0])),
        ("return torch.index_put(x, [torch.tensor([0])], torch.zeros([]))", torch.tensor([0.0, 1.0])),
        ("return ops.prim.NumToTensor(torch.size(x, 0))", torch.tensor(2)),
        ("return int(torch.mul(ops.prim.NumToTensor(2), 3))", 6),
        ("return torch.unbind(x)", [torch.tensor(1.0), torch.tensor(1.0)]),
        ("return torch.len(torch.append(torch.split(x, 1), x))", 3),
        ("return torch.slice([1, 2, 3], 1)", [2, 3]),
        ("return torch.slice('abc', None, 2)", "ab"),
        ("return ([1, 2, 3])[1:3]", [2, 3]),
        ("return torch.norm(x, 1, [0], True)", torch.tensor([2.0])),
        ("return torch.where(torch.gt(x, 0))", [torch.tensor([0, 1])]),
        ("return torch.tensor([1, 2], dtype=6, device=None)", torch.tensor([1.0, 2.0])),
        ("return torch.pow(2, -1)", 0.5),
        ("return torch.pow(-8., 0.5)", float("nan")),
        ("return torch.pow(10., 400)", float("inf")),
        ("return torch.log(0.)", -float("inf")),
        ("return torch.sqrt(-1.)", float("nan")),
        ("return [inf, -inf, 1]", [float("inf"), -float("inf"), 1]),
        ("return nan", float("nan")),
        ("return '\\303\\244'", "ä"),
        ("return uninitialized(Tensor)", None),
        ("return annotate(int, torch.sum(x))", 2),
        ("return torch.__range_length(10, 2, -3)", 3),
        ("return torch.__derive_index(2, 10, -3)", 4),
        ("return torch.format('{}', [0.1, 1.])", "[0.10000000000000001, 1.]"),
        ("return isinstance([1, 2], List[int])", True),
        ("return isinstance([1, 'a'], List[int])", False),
        ("return isinstance(True, int)", False),
        ("return isinstance(None, (int, NoneType))", True),
        ("return isinstance({'a': (1, 2.)}, Dict[str, Tuple[int, float]])", True),
        ("return isinstance(None, Optional[Dict[str, Tuple[int, float]]])", True),
        ("a : Optional[int] = 3\nreturn a", 3),
        ("lambda_ = 1\naten = 2\nprim__range = 3\nreturn [lambda_, aten, prim__range]", [1, 2, 3]),
        (
            "def __forked_function():\n  return torch.neg(x)\nreturn torch.wait(fork(__forked_function))",
            -torch.ones(2),
        ),
        ("return ops.prim.unchecked_unwrap_optional(annotate(Optional[Tensor], x))", torch.ones(2)),
    ],
)
def test_what_operators_mean(tmp_path, body, wanted):
    got = ost.torchscript.load(write(tmp_path / "a.pt", method(body), version="10"))(torch.ones(2))
    assert type(got) is type(wanted)
    if isinstance(wanted, (str, type(None))):
        assert got == wanted
    else:
        torch.testing.assert_close(got, wanted, rtol=0, atol=0, equal_nan=True)


def test_exceptions_outside_python_s_own_are_runtime_errors(tmp_path):
    for kind, error in [
        ("builtins.KeyError", KeyError),
        ("mine.Wrong", RuntimeError),
        ("builtins.SystemExit", RuntimeError),
    ]:
        code = method(f'ops.prim.RaiseException("no", "{kind}")\nreturn x')
        with pytest.raises(error, match="no"):
            ost.torchscript.load(write(tmp_path / "a.pt", code))(torch.ones(1))


def test_every_name_of_the_table_is_there():
    assert set(_operators.ATEN) == _names.FUNCTIONS
    assert set(_operators.PRIM) >= _names.PRIMITIVES
    assert not _names.PLAIN & _names.FUNCTIONS
    for name in _names.PLAIN:
        assert callable(_operators.callable_of(f"aten::{name}", 10)), name
    assert not [name for name in _names.PLAIN if "from_file" in name or name.startswith("set_")]
    for name in (
        "aten::from_file",
        "aten::save",
        "aten::set_",
        "aten::resize_",
        "prim::member",
        "aten::load",
    ):
        assert _names.unsupported(name)

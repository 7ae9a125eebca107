"""Modules that torch.jit scripts and saves here give the same when Ostinato loads them."""

from __future__ import annotations

import copy
import math

import pytest
import torch
from hypothesis import given, settings, strategies as st

import ostinato as ost

pytest.importorskip("torch.jit", reason="this torch has no torch.jit")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    from . import models

    made = {}

    def both(name):
        if name not in made:
            torch.manual_seed(0)
            path = tmp_path_factory.mktemp("script") / f"{name}.pt"
            torch.jit.script(getattr(models, name)().eval()).save(path)
            made[name] = path
        path = made[name]
        return torch.jit.load(path), ost.torchscript.load(path)

    return both


def same(ours, theirs):
    if isinstance(theirs, torch.Tensor):
        assert isinstance(ours, torch.Tensor)
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0, equal_nan=True)
    elif isinstance(theirs, (list, tuple)):
        assert isinstance(ours, list if isinstance(theirs, list) else tuple)
        assert len(ours) == len(theirs)
        for mine, other in zip(ours, theirs, strict=True):
            same(mine, other)
    else:
        assert type(ours) is type(theirs)
        assert ours == theirs or (isinstance(ours, float) and math.isnan(ours) and math.isnan(theirs))


def compare(pair, name, method, *arguments):
    theirs, ours = pair(name)
    wanted = getattr(theirs, method)(*copy.deepcopy(arguments))
    same(getattr(ours, method)(*copy.deepcopy(arguments)), wanted)


@settings(max_examples=15, deadline=None)
@given(a=st.integers(-1000, 1000), b=st.integers(1, 40), f=st.integers(-400, 400).map(lambda n: n / 8))
def test_numbers(pair, a, b, f):
    compare(pair, "Numbers", "forward", a, b, f)


@pytest.mark.parametrize(("a", "b"), [(1, 0), (-1, 0), (0, 0), (7, -2)])
def test_division_by_zero_is_that_of_the_hardware(pair, a, b):
    compare(pair, "Numbers", "divided", a, b)


@pytest.mark.parametrize("f", [0.1, 1.0, 1e20, 1e16, 123456789.5, 1e-7, math.inf, math.nan, -0.0, -2.5])
@pytest.mark.parametrize("s", ["abcab,x", "a"])
def test_texts(pair, f, s):
    compare(pair, "Texts", "forward", s, 7, f, True)


@pytest.mark.parametrize("n", [0, 3, -4])
def test_lists(pair, n):
    compare(pair, "Lists", "forward", n)


@pytest.mark.parametrize("d", [{"a": 3, "b": 4}, {"a": 1, "z": 2, "q": 3}])
def test_dictionaries(pair, d):
    compare(pair, "Dicts", "forward", d)


def test_tensors(pair):
    x = torch.randn(3, 4)
    compare(pair, "Tensors", "forward", x)
    compare(pair, "Tensors", "forward", x, 2 * x)
    compare(pair, "Tensors", "forward", -x.abs(), None, 3)


def test_state_in_attributes_and_buffers(pair):
    theirs, ours = pair("Stateful")
    for _ in range(3):
        x = torch.randn(2, 4)
        same(ours(x.clone()), theirs(x.clone()))
        same(ours.report(), theirs.report())
    ours.reset()
    theirs.reset()
    same(ours(x), theirs(x))
    for (name, mine), (other, value) in zip(
        sorted(ours.state_dict().items()), sorted(theirs.state_dict().items()), strict=True
    ):
        assert name == other
        assert torch.equal(mine, value)


def test_types_objects_and_named_tuples(pair):
    for arguments in [(5, 1), ("abc", 1), (torch.ones(3), 1), (torch.ones(3), "s")]:
        compare(pair, "Kinds", "forward", *arguments)
    compare(pair, "Kinds", "objects", 3)
    compare(pair, "Kinds", "points", torch.randn(2))
    compare(pair, "Kinds", "quiet", torch.randn(2), 0)


def test_exceptions_of_the_model_are_those_of_its_author(pair):
    with pytest.raises(ValueError, match="bad 2"):
        pair("Kinds")[1].quiet(torch.randn(2), 2)


def test_gradients_flow(pair):
    theirs, ours = pair("Tensors")
    x = torch.randn(3, 4)
    grads = []
    for module in (ours, theirs):
        leaf = x.clone().requires_grad_()
        module(leaf)[8][0].sum().backward()
        grads.append(leaf.grad)
    same(*grads)


def test_traced_modules(tmp_path):
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(36, 5)
    )
    x = torch.randn(1, 3, 8, 8)
    path = tmp_path / "t.pt"
    torch.jit.trace(net, x).save(path)
    assert ost.torchscript.inspect(path).archive == "traced"
    module = ost.torchscript.load(path)
    same(module(x), torch.jit.load(path)(x))
    same(module(x.expand(2, -1, -1, -1)), net(x.expand(2, -1, -1, -1)))


class Around(torch.nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x: torch.Tensor):
        return self.net(x)


@pytest.mark.parametrize(
    "net",
    [
        torch.nn.LSTM(4, 4, num_layers=2, batch_first=True, bidirectional=True),
        torch.nn.GRU(4, 4),
        torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2),
        torch.nn.Sequential(
            torch.nn.Linear(4, 4), torch.nn.LayerNorm(4), torch.nn.SiLU(), torch.nn.Softplus()
        ),
    ],
    ids=["lstm", "gru", "transformer", "mlp"],
)
@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_layers_of_torch(tmp_path, net):
    path = tmp_path / "n.pt"
    scripted = torch.jit.script(Around(net).eval())
    scripted.save(path)
    x = torch.randn(2, 5, 4)
    module = ost.torchscript.load(path)
    with torch.no_grad():
        same(module(x), scripted(x))
    assert list(module.state_dict()) == list(scripted.state_dict())

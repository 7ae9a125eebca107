"""Every dtype of torch in every place of a program: ours gives it back, and a stock torch runs the file."""

import json
import zipfile

import pytest
import torch
from torch import nn

from ostinato._errors import ArchiveError, ExportError
from ostinato.export import load, load_methods, read_metadata, save, save_methods, trace_stateful
from ostinato.export._vet import DTYPES, ORDINARY, STAND_INS

NAMED = [name for name, _ in DTYPES.values()]
# Of int1 to uint7 torch has no operators but views: no module can keep them and copy them. Four of fourteen.
NARROW = {f"{sign}int{bits}" for sign in ("", "u") for bits in range(1, 8)}
SHELLS = ("int1", "int4", "uint4", "uint7")
WHOLE = [*NAMED, *sorted(STAND_INS.keys() - set(NAMED) - NARROW)]


def dtype_of(name):
    return getattr(torch, name)


def some(dtype, rows=2):
    """Elements of all kinds of bit patterns, but for booleans."""
    data = torch.arange(rows * 4 * dtype.itemsize, dtype=torch.uint8).mul(37)
    return (data % 2 if dtype is torch.bool else data).view(dtype).reshape(rows, 4)


def bits(tensor):
    return tensor.contiguous().view(torch.uint8)


class Holds(nn.Module):
    """A weight of the dtype; gives its bytes and itself."""

    def __init__(self, place, dtype):
        super().__init__()
        if place == "parameter":
            self.weight = nn.Parameter(some(dtype), requires_grad=False)
        elif place == "buffer":
            self.register_buffer("weight", some(dtype))
        else:
            self.weight = some(dtype)

    def forward(self, x):
        return self.weight.view(torch.uint8) ^ x, self.weight[1:]


class Takes(nn.Module):
    def forward(self, x):
        return x.t().contiguous().view(torch.uint8) ^ 3


class Gives(nn.Module):
    def __init__(self, dtype):
        super().__init__()
        self.dtype = dtype

    def forward(self, x):
        y = (x ^ 1) if self.dtype is torch.bool else (x ^ 3)
        return {"y": y.view(self.dtype), "more": [y.view(self.dtype)[:1]]}


class Keeps(nn.Module):
    """State that changes in every call."""

    def __init__(self, dtype):
        super().__init__()
        self.register_buffer("state", (bits(some(dtype)) * 0).view(dtype))

    def forward(self, x):
        changed = self.state.view(torch.uint8) ^ x
        self.state.copy_(changed.view(self.state.dtype))
        return changed + 0

    def clear(self):
        self.state.copy_((self.state.view(torch.uint8) * 0).view(self.state.dtype))


class Allocates(nn.Module):
    def __init__(self, dtype):
        super().__init__()
        self.dtype = dtype

    def forward(self, x):
        return torch.empty(2, 3, dtype=self.dtype).view(torch.uint8) * 0 + x


def case(place, dtype):
    """``(module, its argument, whether the argument is seen by stock under another dtype)``."""
    data = bits(some(dtype))
    if place in ("parameter", "buffer", "constant"):
        return Holds(place, dtype), data
    if place == "input":
        return Takes(), some(dtype)
    if place == "output":
        return Gives(dtype), data
    if place == "state":
        return Keeps(dtype), data & 1
    return Allocates(dtype), torch.ones((), dtype=torch.uint8)


PLACES = ("parameter", "buffer", "constant", "input", "output", "argument", "state")


def same(got, expected):
    got, expected = (torch.utils._pytree.tree_leaves(each) for each in (got, expected))
    assert len(got) == len(expected)
    for mine, its in zip(got, expected, strict=True):
        assert mine.dtype == its.dtype
        assert mine.shape == its.shape
        assert torch.equal(bits(mine), bits(its))


def plain(value):
    """As stock sees it: what a file of the oldest torch cannot name is what stands in for it."""

    def viewed(leaf):
        if not isinstance(leaf, torch.Tensor):
            return leaf
        name = str(leaf.dtype).removeprefix("torch.")
        return leaf if name in ORDINARY else leaf.view(dtype_of(STAND_INS[name]))

    return torch.utils._pytree.tree_map(viewed, value)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", WHOLE)
def test_a_module_makes_the_trip(place, name, tmp_path):
    dtype = dtype_of(name)
    module, x = case(place, dtype)
    expected = case(place, dtype)[0](x)
    if place == "state":
        save(module, tmp_path / "m.pt2", (x,))
    else:  # tracing a module without state finds the same program
        save(torch.export.export(module, (x,)), tmp_path / "m.pt2")
    same(load(tmp_path / "m.pt2").module()(x), expected)
    same(torch.export.load(tmp_path / "m.pt2").module()(plain(x)), plain(expected))


@pytest.mark.parametrize("place", PLACES[:-1])
@pytest.mark.parametrize("name", SHELLS)
def test_a_program_with_a_dtype_that_has_only_views(place, name, tmp_path, monkeypatch):
    # At the level of logging that pytest sets, torch writes graphs out, and has no short name for these.
    monkeypatch.setitem(torch.fx.graph.dtype_abbrs, dtype_of(name), name)
    module, x = case(place, dtype_of(name))
    module, takes = (Viewed(), True) if place == "input" else (module, False)
    program = torch.export.export(module, (x,))
    expected = module(x)
    save(program, tmp_path / "m.pt2")
    same(load(tmp_path / "m.pt2").module()(x), expected)
    same(torch.export.load(tmp_path / "m.pt2").module()(plain(x) if takes else x), plain(expected))


class Viewed(nn.Module):
    def forward(self, x):
        return x.t().view(torch.uint8) ^ 3


# ---- what a file says about them ----

E8M0, FP4 = torch.float8_e8m0fnu, torch.float4_e2m1fn_x2


@pytest.fixture(params=[E8M0, FP4, torch.uint32])
def keeper(request, tmp_path):
    dtype = request.param
    x = bits(some(dtype)) & 1
    methods = trace_stateful(Keeps(dtype), {"forward": [((x,), {})]}, reset="clear")
    save_methods(tmp_path / "k.pt2", methods)
    return tmp_path / "k.pt2", dtype, x


def test_methods_share_their_state_under_its_own_dtype(keeper):
    path, dtype, x = keeper
    loaded = load_methods(path)
    state = loaded.state["state"]
    assert state.dtype == dtype
    (forward,), (clear,) = loaded.methods["forward"], loaded.methods["clear"]
    assert forward.program.state_dict["state"] is clear.program.state_dict["state"] is state
    run, reset = forward.program.module(), clear.program.module()
    assert torch.equal(run(x), x)
    assert torch.equal(run(x), x * 0)
    run(x)
    reset()
    assert torch.equal(run(x), x)


def test_a_file_names_the_dtypes_without_torch(keeper):
    path, dtype, _ = keeper
    metadata = read_metadata(path)
    assert metadata.state["state"].dtype == str(dtype).removeprefix("torch.")
    assert set(metadata.dtypes) == {"model", "clear.0"}
    assert set(metadata.dtypes["model"].values()) == {metadata.state["state"].dtype}


def test_a_parameter_stays_one(tmp_path):
    save(Holds("parameter", FP4), tmp_path / "m.pt2", (bits(some(FP4)),))
    weight = load(tmp_path / "m.pt2").state_dict["weight"]
    assert isinstance(weight, nn.Parameter)
    assert weight.dtype == FP4
    assert torch.export.load(tmp_path / "m.pt2").state_dict["weight"].dtype == torch.uint8


def test_loading_and_saving_again_changes_no_byte(tmp_path):
    for dtype in (E8M0, FP4):
        save(Gives(dtype), tmp_path / "a.pt2", (bits(some(dtype)),))
        save(load(tmp_path / "a.pt2"), tmp_path / "b.pt2")
        assert (tmp_path / "a.pt2").read_bytes() == (tmp_path / "b.pt2").read_bytes()


def test_control_flow_over_them(tmp_path):
    class Chooses(nn.Module):
        def forward(self, x):
            def flipped(v):
                return v.flip(0).clone()

            return torch.cond(x.view(torch.uint8).sum() > 600, flipped, torch.clone, (x,))

    for x in (some(E8M0), some(E8M0).view(torch.uint8).mul(0).view(E8M0)):
        save(Chooses(), tmp_path / "m.pt2", (some(E8M0),))
        same(load(tmp_path / "m.pt2").module()(x), Chooses()(x))
        same(torch.export.load(tmp_path / "m.pt2").module()(plain(x)), plain(Chooses()(x)))


def test_several_results_of_one_operator(tmp_path):
    class Splits(nn.Module):
        def forward(self, x):
            a, b = x.view(FP4).split([1, 3], 1)
            return b, a

    x = bits(some(FP4))
    save(Splits(), tmp_path / "m.pt2", (x,))
    same(load(tmp_path / "m.pt2").module()(x), Splits()(x))


class Computes(nn.Module):
    def forward(self, x):
        return x.view(torch.uint32) * 2


def test_computing_with_them_is_refused_by_name_unless_the_file_may_need_this_torch(tmp_path):
    x = torch.arange(4, dtype=torch.int32)
    with pytest.raises(ExportError, match="uint32") as error:
        save(Computes(), tmp_path / "m.pt2", (x,))
    assert error.value.code == "export.unportable_dtype"
    save(Computes(), tmp_path / "m.pt2", (x,), portable=False)
    same(load(tmp_path / "m.pt2").module()(x), Computes()(x))


@pytest.mark.parametrize(
    "dtypes",
    [
        {"model": {"nowhere": "uint32"}},
        {"model": {"x": "uint64"}},
        {"model": {"x": "float32"}},
        {"model": {"x; import os": "uint32"}},
        {"../model": {"x": "uint32"}},
        {"model": ["x"]},
    ],
)
def test_dtypes_that_do_not_go_with_the_program(dtypes, tmp_path):
    save(Gives(E8M0), tmp_path / "m.pt2", (bits(some(E8M0)),))
    with zipfile.ZipFile(tmp_path / "m.pt2") as file:
        entries = {name: file.read(name) for name in file.namelist()}
    document = json.loads(entries["archive/extra/ostinato.json"])
    document["dtypes"] = dtypes
    entries["archive/extra/ostinato.json"] = json.dumps(document).encode()
    with zipfile.ZipFile(tmp_path / "m.pt2", "w") as file:
        for name, content in entries.items():
            file.writestr(name, content)
    for read in (load, load_methods):
        with pytest.raises(ArchiveError):
            read(tmp_path / "m.pt2")

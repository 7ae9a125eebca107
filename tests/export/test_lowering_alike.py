"""Programs that look like a pattern of ours and are not: each keeps its meaning when kernels are put in."""

import pytest
import torch
from torch import nn

from ostinato import _lowering
from ostinato.export import save

from .mx_models import FORMATS, quantized

_aten = torch.ops.aten


@pytest.fixture(scope="module")
def pattern(tmp_path_factory):
    """By model and format: a program of torch's operators, as it is before kernels are put in, and a call."""
    folder = tmp_path_factory.mktemp("alike")

    def of(name, format):
        module, args = quantized(name, format)
        save(torch.export.export(module, args), folder / "m.pt2")
        return torch.export.load(folder / "m.pt2"), args

    return of


def run(program, args):
    weights, supply = _lowering.weights_of(program), iter(args)
    inputs = program.graph.find_nodes(op="placeholder")
    with torch.no_grad():
        return program.graph_module(*(weights[n] if n in weights else next(supply) for n in inputs))


def kernels(program):
    return [n for n in program.graph.nodes if getattr(n.target, "namespace", "") == "ostinato"]


def check(program, args):
    """What the changed program gives, if anything, it gives with kernels too; how many there are."""
    program.graph_module.recompile()
    try:
        expected = run(program, args)
    except Exception:
        expected = None
    _lowering.restore(program)
    if expected is not None:
        torch.testing.assert_close(run(program, args), expected, equal_nan=True)
    return len(kernels(program))


def literals(value, way=()):
    """The ways to numbers and dtypes among the arguments of a node, in lists too."""
    if isinstance(value, (list, tuple)):
        for i, each in enumerate(value):
            yield from literals(each, (*way, i))
    elif type(value) is int:
        yield from ((way, other) for other in (value + 1, value - 1, value // 2, 2 * value))


def changed(args, way, value):
    i, *rest = way
    given = [*args]
    given[i] = changed(given[i], rest, value) if rest else value
    return type(args)(given)


@pytest.mark.parametrize(
    ("name", "format"), [("linear", "mxfp6_e2m3"), ("embedding", "mxfp4"), ("experts", "mxint8")]
)
def test_another_number_anywhere(name, format, pattern):
    whole, args = pattern(name, format)
    untouched = check(_lowering.copied(whole), args)
    assert untouched
    count = 0
    for node in whole.graph.nodes:
        for way, value in literals(node.args):
            program = _lowering.copied(whole)
            twin = next(n for n in program.graph.nodes if n.name == node.name)
            twin.args = changed(twin.args, way, value)
            check(program, args)
            count += 1
    assert count > 30


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (_aten.mul.Tensor, _aten.add.Tensor),
        (_aten.mul.Tensor, _aten.div.Tensor),
        (_aten.bitwise_right_shift.Tensor, _aten.bitwise_left_shift.Tensor),
        (_aten.bitwise_and.Scalar, _aten.bitwise_xor.Scalar),
        (_aten.view.default, _aten.expand.default),
    ],
)
def test_another_operator(old, new, pattern):
    program, args = pattern("linear", "mxfp6_e2m3")
    for node in program.graph.find_nodes(op="call_function", target=old):
        node.target = new
    assert check(program, args) == 0


@pytest.mark.parametrize("dtype", [torch.int64, torch.int16, torch.float64])
def test_another_dtype(dtype, pattern):
    program, args = pattern("bfloat16", "mxfp4")
    for node in program.graph.find_nodes(op="call_function", target=_aten._to_copy.default):
        node.kwargs = {"dtype": dtype}
    assert check(program, args) == 0


@pytest.mark.parametrize("format", FORMATS)
def test_one_number_of_a_table(format, pattern):
    program, args = pattern("linear", format)
    for name, value in [*program.constants.items()]:
        for i in {0, 1, value.numel() // 2, value.numel() - 1}:
            other = _lowering.copied(program)
            other.constants[name] = value.clone()
            flat = other.constants[name].view(-1)
            flat[i] = 3 if flat[i] != 3 else 4
            assert check(other, args) == 0, (name, i)


def test_a_table_that_is_no_constant(pattern):
    """A buffer may be changed by whoever has the program."""
    program, args = pattern("linear", "mxfp4")
    for spec in program.graph_signature.input_specs:
        if spec.target == "mxfp4_values":
            spec.kind = torch.export.graph_signature.InputKind.BUFFER
            spec.persistent = False
    assert check(program, args) == 0


def test_rows_of_other_numbers(pattern):
    """Elements and scales of different rows of a table."""
    program, args = pattern("embedding", "mxfp4")
    first, second = program.graph.find_nodes(op="call_function", target=_aten.index_select.default)
    with program.graph.inserting_before(first):
        rows = program.graph.call_function(_aten.flip.default, (second.args[2], [0]))
    second.args = (*second.args[:2], rows)
    assert check(program, args) == 0


def test_an_operator_between(pattern):
    program, args = pattern("linear", "mxfp4")
    for node in program.graph.find_nodes(op="call_function", target=_aten.mul.Tensor):
        with program.graph.inserting_after(node):
            between = program.graph.call_function(_aten.abs.default, (node,))
        between.meta = dict(node.meta)
        node.replace_all_uses_with(between, lambda user, between=between: user is not between)
    assert check(program, args) == 0


def test_what_others_read_of_a_pattern_stays(pattern):
    """The scales that a pattern looks up are also a result of the program."""
    program, args = pattern("linear", "mxfp4")
    product = program.graph.find_nodes(op="call_function", target=_aten.mul.Tensor)[0]
    output = program.graph.output_node()
    output.args = ((*output.args[0], product.args[1]),)
    assert check(program, args) == 2


def test_names_prove_nothing():
    """A constant that bears the name of a table, in a program that has no pattern."""

    class Named(nn.Module):
        def forward(self, x):
            return x * self.mx_scale_values

    module = Named()
    module.mx_scale_values = torch.arange(3.0)
    program = torch.export.export(module, (torch.ones(3),))
    assert "mx_scale_values" in program.constants
    assert check(program, (torch.ones(3),)) == 0

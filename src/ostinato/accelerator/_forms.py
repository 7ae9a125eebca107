"""Which calls can stand for a node: the `out=` form, a form without Scalars, the functional form."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

import torch

from ._program import Node, Value, leaves
from ._rewrites import REWRITES
from ._schema import OpOverload, full_name


@dataclasses.dataclass(slots=True)
class Form:
    """A call that does what a node does: bound arguments, and where the results belong.

    ``results`` holds a Value for a result that must be copied there, and None for
    one that is in place already.
    """

    op: OpOverload
    arguments: dict[str, Any]
    results: list[Any]


def bind(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments by name, defaults filled in."""
    bound = {}
    for i, argument in enumerate(op._schema.arguments):
        if i < len(args) and not argument.kwarg_only:
            bound[argument.name] = args[i]
        elif argument.name in kwargs:
            bound[argument.name] = kwargs[argument.name]
        else:
            bound[argument.name] = argument.default_value if argument.has_default_value() else None
    return bound


# Their `out=` form does not do what the plain form does: the output is scratch space of another shape,
# or LAPACK is called for other things.
_NO_OUT = {
    "aten::mse_loss",
    "aten::smooth_l1_loss",
    "aten::binary_cross_entropy",
    "aten::soft_margin_loss",
    "aten::huber_loss",
    "aten::_linalg_svd",
    "aten::_linalg_eigh",
}
# Given a number these do something else than given a tensor of it: `x ** 0.5` is a square root.
_NUMBER_MATTERS = {"aten::pow", "aten::float_power", "aten::lerp"}
_FACTORY = ("dtype", "layout", "device", "pin_memory", "memory_format")


def _shape_of(arguments: list[Any]) -> list[tuple[str, str]]:
    return [(a.name, str(a.type)) for a in arguments]


@functools.cache
def out_form(op: OpOverload) -> OpOverload | None:
    """The overload of the same operator that writes its results into tensors it is given."""
    schema = op._schema
    if schema.is_mutable or not schema.returns or schema.name in _NO_OUT:
        return None
    packet = getattr(getattr(torch.ops, op.namespace), schema.name.split("::")[1])
    wanted = _shape_of(schema.arguments)
    relaxed = [a for a in wanted if a[0] not in _FACTORY]
    for name in packet.overloads():
        candidate = getattr(packet, name)
        arguments = candidate._schema.arguments
        given = _shape_of([a for a in arguments if not a.is_out])
        count = sum(a.is_out for a in arguments)
        if count == len(schema.returns) and given in (wanted, relaxed):
            return candidate  # type: ignore[no-any-return]
    return None


@functools.cache
def tensor_form(op: OpOverload) -> OpOverload | None:
    """The overload that takes a tensor where ``op`` takes one Scalar: ``eq.Tensor`` for ``eq.Scalar``."""
    given = _shape_of(op._schema.arguments)
    wanted = [(n, t if n == "alpha" else t.replace("number", "Tensor")) for n, t in given]
    if wanted == _shape_of(op._schema.arguments) or op._schema.name.removesuffix("_") in _NUMBER_MATTERS:
        return None
    packet = getattr(getattr(torch.ops, op.namespace), op._schema.name.split("::")[1])
    for name in packet.overloads():
        candidate = getattr(packet, name)
        if _shape_of(candidate._schema.arguments) == wanted:
            return candidate  # type: ignore[no-any-return]
    return None


@functools.cache
def functional_form(op: OpOverload) -> OpOverload | None:
    """``add.Tensor`` for ``add_.Tensor``."""
    namespace, name = op._schema.name.split("::")
    if not name.endswith("_") or name.endswith("__"):
        return None
    packet = getattr(getattr(torch.ops, namespace), name[:-1], None)
    candidate = getattr(packet, op._overloadname, None) if packet is not None else None
    if candidate is None or _shape_of(candidate._schema.arguments) != _shape_of(op._schema.arguments):
        return None
    return candidate  # type: ignore[no-any-return]


def number_as_tensor(number: Any, beside: list[Value]) -> torch.Tensor | None:
    """A tensor of no dimension that promotes beside ``beside`` as the bare ``number`` does.

    torch lets a number's kind (bool, integer, float, complex) matter and not its
    width; a tensor without dimensions behaves so beside one that has some. None
    where no tensor would.
    """
    if not beside:
        return None
    dtype = torch.result_type(torch.empty((1,), dtype=beside[0].dtype, device="meta"), number)
    for value in beside[1:]:
        other = torch.empty((1,), dtype=value.dtype, device="meta")
        dtype = torch.promote_types(dtype, torch.result_type(other, number))
    dimensioned = any(v.sizes for v in beside)
    wide = {torch.float16: torch.float64, torch.bfloat16: torch.float64, torch.float32: torch.float64}
    if isinstance(number, float) and dtype in wide and any(v.dtype == dtype for v in beside):
        if dimensioned:
            return torch.tensor(number, dtype=wide[dtype])
        return torch.tensor(number, dtype=dtype) if dtype is torch.float32 else None
    if isinstance(number, complex) and dimensioned and any(v.dtype == dtype for v in beside):
        return torch.tensor(number, dtype=torch.complex128)
    try:
        return torch.tensor(number, dtype=dtype)
    except (RuntimeError, OverflowError):
        return None


def _without_numbers(form: Form) -> Form | None:
    """The same call with every number for a tensor, and every Scalar, made a tensor; None if it has none."""
    op = tensor_form(form.op) or form.op
    changed = op is not form.op
    outs = {a.name for a in op._schema.arguments if a.is_out}
    beside = leaves([v for name, v in form.arguments.items() if name not in outs], Value)
    arguments = dict(form.arguments)
    for argument in op._schema.arguments:
        value = arguments[argument.name]
        kind = str(argument.type)
        if kind in ("Tensor", "Optional[Tensor]") and isinstance(value, (bool, int, float, complex)):
            tensor = number_as_tensor(value, beside)
            if tensor is None:
                return None
            arguments[argument.name] = tensor
            changed = True
    return Form(op, arguments, form.results) if changed else None


def _into_outputs(op: OpOverload, arguments: dict[str, Any], results: list[Any]) -> Form | None:
    target = out_form(op)
    # An absent output (a gradient that was not asked for) has nothing to write into.
    if target is None or not all(isinstance(r, Value) or _all_values(r) for r in results):
        return None
    names = {a.name for a in target._schema.arguments}
    moved = {k: v for k, v in arguments.items() if k in names}
    outs = [a.name for a in target._schema.arguments if a.is_out]
    moved.update(zip(outs, results, strict=True))
    return Form(target, moved, [None] * len(target._schema.returns))


def _all_values(result: Any) -> bool:
    return isinstance(result, (list, tuple)) and all(isinstance(r, Value) for r in result)


def _results(node: Node) -> list[Any]:
    """Where each result belongs; None for one that is an argument, changed or merely handed through.

    What may be handed through (``Tensor(a)``) may also be new, as of ``x.to(dtype)``.
    """
    returns = node.op._schema.returns
    outputs = [node.outputs] if len(returns) == 1 else list(node.outputs or ())
    return [
        None if r.alias_info is not None and not _fresh(node, o) else o
        for r, o in zip(returns, outputs, strict=True)
    ]


def _fresh(node: Node, output: Any) -> bool:
    return isinstance(output, Value) and output.storage in node.fresh


def _changed_in_place(node: Node, arguments: dict[str, Any]) -> list[Any]:
    """The argument that each result of an in-place operator is."""
    return [
        arguments[a.name]
        for a in node.op._schema.arguments
        if a.alias_info is not None and a.alias_info.is_write
    ]


def forms(node: Node) -> Iterator[Form]:
    """The calls that can stand for ``node``, the cheapest first."""
    arguments = bind(node.op, node.args, node.kwargs)
    if node.op._schema.is_mutable:
        in_place = Form(node.op, arguments, _results(node))
        yield from _present(in_place, _rewritten(in_place), _without_numbers(in_place))
        functional = functional_form(node.op)
        if functional is not None:
            form = Form(functional, arguments, _changed_in_place(node, arguments))
            yield from _present(form, _without_numbers(form))
        return
    plain = Form(node.op, arguments, _results(node))
    for form in _present(plain, _rewritten(plain), _without_numbers(plain)):
        into = _into_outputs(form.op, form.arguments, form.results)
        if into is not None:
            yield from _present(into, _without_numbers(into))
        yield form


def _present(*forms: Form | None) -> Iterator[Form]:
    return (form for form in forms if form is not None)


def _rewritten(form: Form) -> Form | None:
    rewrite = REWRITES.get(full_name(form.op))
    made = rewrite(form.arguments, form.results) if rewrite is not None else None
    return Form(*made) if made is not None else None

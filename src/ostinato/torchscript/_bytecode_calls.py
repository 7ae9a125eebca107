"""The instructions of bytecode that compute: each takes values from the stack and leaves others."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from ._archive_bytecode import Malformed, Method, Operator
from ._bytecode_types import parse_type
from ._bytecode_values import Value, call, name

if TYPE_CHECKING:
    from ._bytecode_body import Frame, Slots

# Operators that archives' code writes another way: what they are there.
_SAME = {"prim::unchecked_cast"}
_NOTHING = {"prim::RaiseException", "prim::Print", "aten::warn"}


class Calls:
    """Handlers by opcode; each is given the frame, the instruction's numbers and the statements so far."""

    def __init__(self, method: Method, slots: Slots) -> None:
        self._method = method
        self._code = method.instructions
        self._slots = slots
        self._count = 0
        self.following = ("", 0, 0)  # the instruction after the one that is looked at
        self.used: set[str] = set()

    def fresh(self, cls: str | None = None) -> Value:
        """A new variable."""
        self._count += 1
        return Value(ast.Name(id=f"_{self._count}", ctx=ast.Load()), cls)

    def torch(self, short: str, arguments: list[ast.expr]) -> ast.Call:
        """A call of an operator of ``aten``."""
        return call(name(f"torch.{short}"), arguments)

    def _keep(self, made: list[ast.stmt], node: ast.expr, cls: str | None = None) -> Value:
        target = self.fresh(cls)
        made.append(ast.Assign(targets=[ast.Name(id=target.node.id, ctx=ast.Store())], value=node))
        return target

    def _entry(self, table: tuple[Any, ...], at: int) -> Any:
        if not 0 <= at < len(table):
            raise Malformed("an instruction of its bytecode points beyond a table")
        return table[at]

    # ---- operators ----

    def _operator(self, frame: Frame, x: int, n: int, made: list[ast.stmt]) -> None:
        self._invoke(self._entry(self._method.operators, x), None, frame, made)

    def _operator_of(self, frame: Frame, x: int, n: int, made: list[ast.stmt]) -> None:
        self._invoke(self._entry(self._method.operators, x), n, frame, made)

    def _invoke(self, operator: Operator, count: int | None, frame: Frame, made: list[ast.stmt]) -> None:
        written = _WRITTEN.get(operator.name)
        if written is not None:
            frame.stack.append(
                self._keep(made, written([each.node for each in frame.pop(_TAKEN[operator.name])]))
            )
            return
        if operator.name in _SAME:
            return
        if operator.name == "prim::Uninitialized":
            frame.stack.append(Value(ast.Constant(value=None)))
            return
        if operator.name == "prim::TupleUnpack":  # what stores the parts tells how many there are
            opcode, _, stored = self.following
            self._unpack(frame, stored if opcode == "STOREN" else 1, 0, made)
            return
        schema = _schema(operator)
        names = _positions(schema, operator.count if count is None else count)
        if count is not None:
            names = [None] * count
        values = frame.pop(len(names))
        node = call(
            _function(operator.name), [v.node for v, key in zip(values, names, strict=True) if key is None]
        )
        node.keywords = [
            ast.keyword(arg=key, value=v.node)
            for v, key in zip(values, names, strict=True)
            if key is not None
        ]
        results = 0 if operator.name in _NOTHING else len(schema.returns)
        self._results(node, results, frame, made)

    def _results(self, node: ast.expr, count: int, frame: Frame, made: list[ast.stmt]) -> None:
        if count == 0:
            made.append(ast.Expr(value=node))
        elif count == 1:
            frame.stack.append(self._keep(made, node))
        else:
            targets = [self.fresh() for _ in range(count)]
            places: list[ast.expr] = [ast.Name(id=each.node.id, ctx=ast.Store()) for each in targets]
            made.append(ast.Assign(targets=[ast.Tuple(elts=places, ctx=ast.Store())], value=node))
            frame.stack += targets

    def _interface_call(self, frame: Frame, x: int, n: int, made: list[ast.stmt]) -> None:
        method = self._entry(self._method.constants, x)
        if type(method) is not str or n < 1:
            raise Malformed("a method is called without its name or object")
        owner, *rest = frame.pop(n)
        target = ast.Attribute(value=owner.node, attr=method, ctx=ast.Load())
        frame.stack.append(self._keep(made, call(target, [each.node for each in rest])))

    def _warn(self, frame: Frame, x: int, n: int, made: list[ast.stmt]) -> None:
        text, level = frame.pop(2)
        made.append(ast.Expr(value=self.torch("warn", [text.node, level.node])))

    def _raise(self, frame: Frame, x: int, n: int, made: list[ast.stmt]) -> None:
        text, kind = frame.pop(2)
        made.append(ast.Expr(value=call(name("ops.prim.RaiseException"), [text.node, kind.node])))

    # ---- objects ----

    def _constant(self, frame: Frame, x: int, n: int, made: list[ast.stmt]) -> None:
        frame.stack.append(Value(self._slots.constant(self._entry(self._method.constants, x))))

    def _get(self, frame: Frame, x: int, n: int, made: list[ast.stmt]) -> None:
        owner = frame.pop()[0]
        attribute = self._slots.attribute(owner.cls, x)
        node = ast.Attribute(value=owner.node, attr=attribute, ctx=ast.Load())
        frame.stack.append(self._keep(made, node, self._slots.class_of(owner.cls, x)))

    def _set(self, frame: Frame, x: int, n: int, made: list[ast.stmt]) -> None:
        owner, value = frame.pop(2)
        place = ast.Attribute(value=owner.node, attr=self._slots.attribute(owner.cls, x), ctx=ast.Store())
        made.append(ast.Assign(targets=[place], value=value.node))

    def _create(self, frame: Frame, x: int, n: int, made: list[ast.stmt]) -> None:
        cls = self._entry(self._method.types, x)
        if not cls.startswith("__torch__.") or not all(part.isidentifier() for part in cls.split(".")):
            raise Malformed("it makes an object of no class of the archive")
        frame.stack.append(self._keep(made, call(name(f"{cls}.__new__"), [name(cls)]), self._slots.made(cls)))

    def _is_instance(self, frame: Frame, x: int, n: int, made: list[ast.stmt]) -> None:
        kinds = [parse_type(self._entry(self._method.types, at)) for at in range(x, x + min(max(n, 0), 100))]
        told = ast.Tuple(elts=kinds, ctx=ast.Load())
        frame.stack.append(self._keep(made, call(name("isinstance"), [frame.pop()[0].node, told])))

    # ---- containers ----

    def _list(self, frame: Frame, x: int, n: int, made: list[ast.stmt]) -> None:
        parts = [each.node for each in frame.pop(n)]
        frame.stack.append(self._keep(made, ast.List(elts=parts, ctx=ast.Load())))

    def _tuple(self, frame: Frame, x: int, n: int, made: list[ast.stmt]) -> None:
        parts = [each.node for each in frame.pop(x)]
        frame.stack.append(self._keep(made, ast.Tuple(elts=parts, ctx=ast.Load())))

    def _named_tuple(self, frame: Frame, x: int, n: int, made: list[ast.stmt]) -> None:
        kind = self._slots.tuple_class(self._entry(self._method.types, x))
        frame.stack.append(self._keep(made, call(kind, [each.node for each in frame.pop(n)])))

    def _dict(self, frame: Frame, x: int, n: int, made: list[ast.stmt]) -> None:
        if n % 2:
            raise Malformed("a dictionary lacks a value")
        parts = [each.node for each in frame.pop(n)]
        frame.stack.append(self._keep(made, ast.Dict(keys=parts[::2], values=parts[1::2])))

    def _unpack(self, frame: Frame, x: int, n: int, made: list[ast.stmt]) -> None:
        values = frame.pop()[0].node
        if not 0 <= x < 10_000:
            raise Malformed("a list is unpacked into too many values")
        if x == 1:  # one target would take the list itself
            node = ast.Subscript(value=values, slice=ast.Constant(value=0), ctx=ast.Load())
            frame.stack.append(self._keep(made, node))
        elif x:
            self._results(values, x, frame, made)

    def _slice(self, frame: Frame, x: int, n: int, made: list[ast.stmt]) -> None:
        bounds = ast.Slice(lower=ast.Constant(value=x), upper=ast.Constant(value=x + n))
        node = ast.Subscript(value=frame.pop()[0].node, slice=bounds, ctx=ast.Load())
        frame.stack.append(self._keep(made, node))

    HANDLERS: ClassVar[dict[str, Callable[..., None]]] = {
        "OP": _operator,
        "OPN": _operator_of,
        "INTERFACE_CALL": _interface_call,
        "WARN": _warn,
        "RAISE_EXCEPTION": _raise,
        "LOADC": _constant,
        "GET_ATTR": _get,
        "SET_ATTR": _set,
        "CREATE_OBJECT": _create,
        "ISINSTANCE": _is_instance,
        "LIST_CONSTRUCT": _list,
        "LIST_UNPACK": _unpack,
        "TUPLE_CONSTRUCT": _tuple,
        "NAMED_TUPLE_CONSTRUCT": _named_tuple,
        "DICT_CONSTRUCT": _dict,
        "TUPLE_SLICE": _slice,
    }


def _promoted(operator: str) -> Callable[..., None]:
    """The handler of an instruction that is an operator."""

    def run(self: Calls, frame: Frame, x: int, n: int, made: list[ast.stmt]) -> None:
        self._invoke(Operator(operator, "", None), x if operator == "aten::format" else None, frame, made)

    return run


def _item(parts: list[ast.expr]) -> ast.expr:
    return ast.Subscript(value=parts[0], slice=parts[1], ctx=ast.Load())


def _of_torch(short: str) -> Callable[[list[ast.expr]], ast.expr]:
    return lambda parts: call(name(short), parts)


def _to_list(parts: list[ast.expr]) -> ast.expr:
    return call(ast.Attribute(value=parts[0], attr="tolist", ctx=ast.Load()), [])


# Operators that torch's registry does not have, or has with a meaning that types settle: how they are
# written, and how many values they take.
_WRITTEN: dict[str, Callable[[list[ast.expr]], ast.expr]] = {
    "prim::TupleIndex": _item,
    "prim::DictIndex": _item,
    "prim::tolist": _to_list,
    "aten::Bool": _of_torch("bool"),
    "aten::__not__": _of_torch("torch.__not__"),
    "aten::__is__": _of_torch("torch.__is__"),
    "aten::__isnot__": _of_torch("torch.__isnot__"),
    "aten::dim": _of_torch("torch.dim"),
    "prim::device": _of_torch("ops.prim.device"),
    "prim::dtype": _of_torch("ops.prim.dtype"),
    "prim::is_cuda": _of_torch("ops.prim.is_cuda"),
    "prim::NumToTensor": _of_torch("ops.prim.NumToTensor"),
}
_TAKEN = dict.fromkeys(_WRITTEN, 1) | {
    "prim::TupleIndex": 2,
    "prim::DictIndex": 2,
    "prim::tolist": 3,
    "aten::__is__": 2,
    "aten::__isnot__": 2,
}
_PROMOTED = {
    "TUPLE_INDEX": "prim::TupleIndex",
    "DICT_INDEX": "prim::DictIndex",
    "UNCHECKED_CAST": "prim::unchecked_cast",
    "__IS__": "aten::__is__",
    "__ISNOT__": "aten::__isnot__",
    "__NOT__": "aten::__not__",
    "UN_INITIALIZED": "prim::Uninitialized",
    "FORMAT": "aten::format",
    "DEVICE": "prim::device",
    "DTYPE": "prim::dtype",
    "DIM": "aten::dim",
    "TO_LIST": "prim::tolist",
    "NUM_TO_TENSOR": "prim::NumToTensor",
    "IS_CUDA": "prim::is_cuda",
}
Calls.HANDLERS.update({opcode: _promoted(operator) for opcode, operator in _PROMOTED.items()})


def _function(full: str) -> ast.expr:
    space, _, short = full.partition("::")
    if not space.isidentifier() or not short.isidentifier():
        raise Malformed("an operator of its bytecode has no name")
    if full == "prim::Print":
        return name("print")
    return name(f"torch.{short}" if space == "aten" else f"ops.{space}.{short}")


def _schema(operator: Operator) -> Any:
    try:
        return torch._C._get_schema(operator.name, operator.overload)
    except RuntimeError:
        what = f"{operator.name[:80]}.{operator.overload[:80]}"
        raise Malformed(
            f"its bytecode uses the operator {what}, which torch {torch.__version__} has not"
        ) from None


def _positions(schema: Any, count: int | None) -> list[str | None]:
    """For each value on the stack, the keyword that the operator takes it by, or None.

    Where fewer are given than the operator has, those that it writes its result to come last all the same.
    """
    arguments = schema.arguments
    if count is None or count >= len(arguments):
        return [_keyword(each) for each in arguments]
    outs = [each for each in arguments if each.is_out]
    given = [*[each for each in arguments if not each.is_out][: count - len(outs)], *outs]
    return [_keyword(each) for each in given]


def _keyword(argument: Any) -> str | None:
    # Numbers have their factor third, where Python's binding of the operator means something else.
    return argument.name if argument.kwarg_only or argument.name == "alpha" else None

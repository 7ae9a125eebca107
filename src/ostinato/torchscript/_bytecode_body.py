"""Bytecode as statements of the archive's language, which are then translated and checked as any other.

Torch's compiler writes structured code: a condition is ``JF`` over a block that ends in ``JMP`` over the
other one, a loop is ``LOOP`` over a block that jumps back to it.  A range of instructions is therefore read
by one pass that keeps the stack and the registers as expressions.  Anything else that jumps is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

from ._archive_bytecode import Malformed, Method
from ._bytecode_calls import Calls
from ._bytecode_values import Value, assign, call, constant, held, name

_DEPTH = 60
_ENDLESS = 2**63 - 1


class Slots(Protocol):
    """What the body of a method asks about the archive's objects."""

    def made(self, cls: str) -> str: ...
    def attribute(self, cls: str | None, slot: int) -> str: ...
    def class_of(self, cls: str | None, slot: int) -> str | None: ...
    def constant(self, value: object) -> ast.expr: ...
    def tuple_class(self, kind: str) -> ast.expr: ...


@dataclass
class Frame:
    """What is known before an instruction: the stack, and the registers that hold something."""

    stack: list[Value]
    registers: dict[int, Value]

    def pop(self, count: int = 1) -> list[Value]:
        if not 0 <= count <= len(self.stack):
            raise Malformed("its bytecode takes more from the stack than is there")
        taken = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return taken

    def branch(self) -> Frame:
        return Frame(list(self.stack), dict(self.registers))


class Body(Calls):
    """Writes the statements of one method."""

    def __init__(self, method: Method, slots: Slots, arguments: list[Value]) -> None:
        super().__init__(method, slots)
        self._frame = Frame(arguments, {})

    def statements(self) -> list[ast.stmt]:
        """The method's statements, down to its ``return``."""
        made = self._range(0, len(self._code), self._frame, 0)
        return made or [ast.Pass()]

    def _range(self, at: int, end: int, frame: Frame, depth: int) -> list[ast.stmt]:
        if depth > _DEPTH:
            raise Malformed(f"its bytecode is nested more than {_DEPTH} deep")
        made: list[ast.stmt] = []
        while at < end:
            opcode, x, n = self._code[at]
            before, line = len(made), at + 1
            if opcode == "JF":
                at = self._condition(at, end, frame, depth, made)
            elif opcode == "LOOP":
                at = self._loop(at, end, frame, depth, made)
            elif opcode == "RET":
                made.append(ast.Return(value=frame.pop()[0].node))
                if depth or at + 1 != len(self._code):
                    raise Malformed("its bytecode returns before its end")
                at += 1
            else:
                handler = self._HANDLERS.get(opcode)
                if handler is None:
                    raise Malformed(f"its bytecode has the instruction {opcode[:40]}, which models have not")
                at += 1
                self.following = self._code[at] if at < end else ("", 0, 0)
                handler(self, frame, x, n, made)
            for statement in made[before:]:
                statement.lineno = statement.end_lineno = line
                statement.col_offset = statement.end_col_offset = 0
        return made

    # ---- blocks ----

    def _condition(self, at: int, end: int, frame: Frame, depth: int, made: list[ast.stmt]) -> int:
        middle = at + self._code[at][1]
        if not at + 1 < middle <= end or self._code[middle - 1][0] != "JMP":
            raise Malformed("a condition of its bytecode has no end")
        after = middle - 1 + self._code[middle - 1][1]
        if not middle <= after <= end:
            raise Malformed("a condition of its bytecode has no end")
        test = frame.pop()[0]
        base = len(frame.stack)
        ways = []
        for begin, stop in ((at + 1, middle - 1), (middle, after)):
            way = frame.branch()
            ways.append((way, self._range(begin, stop, way, depth + 1)))
        (first, yes), (second, no) = ways
        if len(first.stack) != len(second.stack) or len(first.stack) < base:
            raise Malformed("the ways of a condition leave different stacks")
        for a, b in zip(first.stack[base:], second.stack[base:], strict=True):
            merged = self.fresh(a.cls if a.cls == b.cls else None)
            yes.append(assign(merged, a))
            no.append(assign(merged, b))
            frame.stack.append(merged)
        made.append(ast.If(test=test.node, body=yes or [ast.Pass()], orelse=no))
        self._forget(frame, first, second)
        return after

    def _loop(self, at: int, end: int, frame: Frame, depth: int, made: list[ast.stmt]) -> int:
        """``LOOP X N``: the stack holds rounds done, rounds at most, whether to go on, and N - 2 values."""
        after = at + self._code[at][1]
        if not at + 1 < after <= end or self._code[after - 1][:2] != ("JMP", at - after + 1):
            raise Malformed("a loop of its bytecode has no end")
        count = self._code[at][2] - 2
        _done, most, going, *before = frame.pop(count + 3 if count >= 0 else -1)
        carried = [self.fresh(each.cls) for each in before]
        made.extend(assign(target, value) for target, value in zip(carried, before, strict=True))
        turn = self.fresh()
        inside = Frame([*frame.stack, turn, *carried], dict(frame.registers))
        body = self._range(at + 1, after - 1, inside, depth + 1)
        if len(inside.stack) != len(frame.stack) + 1 + count:
            raise Malformed("a loop of its bytecode leaves another stack")
        again, *values = inside.stack[len(frame.stack) :]
        if carried:
            body.append(_together(carried, values))
        if held(going) is True and held(again) is True and held(most) != _ENDLESS:
            turns = call(name("range"), [most.node])
            made.append(
                ast.For(target=ast.Name(id=turn.node.id, ctx=ast.Store()), iter=turns, body=body, orelse=[])
            )
        else:
            self._while(turn, most, going, again, body, made)
        frame.stack += carried
        self._forget(frame, inside)
        return after

    def _while(
        self, turn: Value, most: Value, going: Value, again: Value, body: list[ast.stmt], made: list[ast.stmt]
    ) -> None:
        test = self.fresh()
        counts = held(most) != _ENDLESS or turn.node.id in self.used
        if counts:
            made.append(assign(turn, constant(0)))
            body.append(assign(turn, Value(self.torch("add", [turn.node, ast.Constant(value=1)]))))
        made.append(assign(test, self._goes(turn, most, going)))
        body.append(assign(test, self._goes(turn, most, again)))
        made.append(ast.While(test=test.node, body=body, orelse=[]))

    def _goes(self, turn: Value, most: Value, going: Value) -> Value:
        if held(most) == _ENDLESS:
            return going
        return Value(self.torch("__and__", [self.torch("lt", [turn.node, most.node]), going.node]))

    def _forget(self, frame: Frame, *ways: Frame) -> None:
        """Registers that a block changed are nothing afterwards: torch's compiler uses each of them once."""
        for register in list(frame.registers):
            if any(way.registers.get(register) is not frame.registers[register] for way in ways):
                del frame.registers[register]

    # ---- registers and the stack ----

    def _load(self, frame: Frame, x: int, n: int, made: list[ast.stmt]) -> None:
        value = frame.registers.get(x)
        if value is None:
            raise Malformed("its bytecode reads a register that holds nothing")
        if isinstance(value.node, ast.Name):
            self.used.add(value.node.id)
        frame.stack.append(value)

    def _store(self, frame: Frame, x: int, n: int, made: list[ast.stmt]) -> None:
        frame.registers[x] = frame.pop()[0]

    def _store_many(self, frame: Frame, x: int, n: int, made: list[ast.stmt]) -> None:
        for at, value in enumerate(frame.pop(n)):
            frame.registers[x + at] = value

    def _drop(self, frame: Frame, x: int, n: int, made: list[ast.stmt]) -> None:
        frame.pop()

    def _clear(self, frame: Frame, x: int, n: int, made: list[ast.stmt]) -> None:
        pass  # a value lives until its function returns

    _HANDLERS: ClassVar[dict[str, Callable[..., None]]] = {
        **Calls.HANDLERS,
        "LOAD": _load,
        "MOVE": _load,
        "STORE": _store,
        "STOREN": _store_many,
        "DROP": _drop,
        "DROPR": _clear,
    }


def _together(targets: list[Value], values: list[Value]) -> ast.stmt:
    if len(targets) == 1:
        return assign(targets[0], values[0])
    places: list[ast.expr] = [ast.Name(id=each.node.id, ctx=ast.Store()) for each in targets]
    made = ast.Tuple(elts=[each.node for each in values], ctx=ast.Load())
    return ast.Assign(targets=[ast.Tuple(elts=places, ctx=ast.Store())], value=made)

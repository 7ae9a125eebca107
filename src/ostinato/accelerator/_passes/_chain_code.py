"""The code of a chain: instructions in the order of the program, made shorter, and given registers."""

from __future__ import annotations

import dataclasses
import enum
import struct


class Op(enum.IntEnum):
    """The instructions; the order is the protocol with ``csrc/kernels/chain.h``."""

    COPY = 0
    NEGATE = 1
    ABSOLUTE = 2
    RELU = 3
    SQUARE_ROOT = 4
    EXP = 5
    EXP2 = 6
    EXPM1 = 7
    LOG = 8
    LOG2 = 9
    LOG10 = 10
    LOG1P = 11
    SIN = 12
    COS = 13
    TANH = 14
    SIGMOID = 15
    ERF = 16
    NORMAL_CDF = 17
    FLOOR = 18
    CEIL = 19
    TRUNCATE = 20
    ROUND = 21
    NOT = 22
    TRUTH = 23
    TO_BFLOAT16 = 24
    TO_HALF = 25
    ADD = 26
    SUBTRACT = 27
    MULTIPLY = 28
    DIVIDE = 29
    MINIMUM = 30
    MAXIMUM = 31
    POWER = 32
    EQUAL = 33
    NOT_EQUAL = 34
    LESS = 35
    LESS_EQUAL = 36
    AND = 37
    OR = 38
    XOR = 39
    TANH_SIGMOID = 40
    MULTIPLY_ADD = 41
    MULTIPLY_SUBTRACT = 42
    SELECT = 43


@dataclasses.dataclass(frozen=True, slots=True)
class Input:
    """What a chain reads from memory, by number."""

    number: int


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """What an instruction has computed, by the instruction's number."""

    number: int


Operand = Input | Result | float


@dataclasses.dataclass(frozen=True, slots=True)
class Instruction:
    op: Op
    args: tuple[Operand, ...]

    def renumbered(self, names: dict[int, int]) -> Instruction:
        """The same with new numbers for the inputs."""
        args = (Input(names[a.number]) if isinstance(a, Input) else a for a in self.args)
        return Instruction(self.op, tuple(args))


def bits(number: float) -> bytes:
    """Tells numbers apart as the kernel does: a zero by its sign, a NaN not at all."""
    try:
        return struct.pack("f", number)
    except OverflowError:
        return struct.pack("f", float("inf") if number > 0 else float("-inf"))


class Code:
    """Instructions being written; the same one is written once."""

    def __init__(self) -> None:
        self.instructions: list[Instruction] = []
        self._known: dict[tuple[object, ...], Result] = {}

    def __call__(self, op: Op, *args: Operand) -> Result:
        args = tuple(float(a) if isinstance(a, (bool, int, float)) else a for a in args)
        key = (op, *(bits(a) if isinstance(a, float) else a for a in args))
        if key not in self._known:
            self._known[key] = Result(len(self.instructions))
            self.instructions.append(Instruction(op, args))
        return self._known[key]


@dataclasses.dataclass(slots=True)
class Assembled:
    """What the native step takes."""

    constants: list[float]
    scratch: int
    code: list[int]


def shorten(instructions: list[Instruction], stored: list[Result]) -> list[Instruction | None]:
    """The same with fewer instructions; None stands where one has gone. Numbers stay what they were."""
    made: list[Instruction | None] = list(instructions)
    uses = _uses(made, stored)
    for number, now in enumerate(instructions):
        if now.op not in (Op.ADD, Op.SUBTRACT, Op.MULTIPLY):
            continue
        joined = _joined(now, made, uses)
        if joined is not None:
            made[number], gone = joined
            for index in gone:
                made[index] = None
    return _alive(made, stored)


def _uses(made: list[Instruction | None], stored: list[Result]) -> dict[Operand, int]:
    uses: dict[Operand, int] = {}
    for operand in (*(a for now in made if now is not None for a in now.args), *stored):
        uses[operand] = uses.get(operand, 0) + 1
    return uses


def _joined(
    now: Instruction, made: list[Instruction | None], uses: dict[Operand, int]
) -> tuple[Instruction, list[int]] | None:
    """``now`` together with the instructions that only it reads, and their numbers."""

    def lone(operand: Operand, op: Op) -> Instruction | None:
        found = made[operand.number] if isinstance(operand, Result) and uses[operand] == 1 else None
        return found if found is not None and found.op is op else None

    for a, b in (now.args, now.args[::-1]):
        if now.op is Op.MULTIPLY:
            tanh, sigmoid = lone(a, Op.TANH), lone(b, Op.SIGMOID)
            if tanh is not None and sigmoid is not None:
                joined = Instruction(Op.TANH_SIGMOID, tanh.args + sigmoid.args)
                return joined, [x.number for x in (a, b) if isinstance(x, Result)]
        elif (product := lone(a, Op.MULTIPLY)) is not None and isinstance(a, Result):
            if now.op is Op.ADD:
                return Instruction(Op.MULTIPLY_ADD, (*product.args, b)), [a.number]
            if a == now.args[1]:
                return Instruction(Op.MULTIPLY_SUBTRACT, (*product.args, b)), [a.number]
    return None


def _alive(made: list[Instruction | None], stored: list[Result]) -> list[Instruction | None]:
    needed = set(stored)
    for number in range(len(made) - 1, -1, -1):
        now = made[number]
        if now is None or Result(number) not in needed:
            made[number] = None
        else:
            needed.update(a for a in now.args if isinstance(a, Result))
    return made


class Assembler:
    """Gives each operand a register: inputs, outputs, constants, then scratch that is used again and again.

    ``stored`` has what each output gets; ``overwrites[n]`` the inputs whose memory output n may lie in.
    """

    def __init__(self, inputs: int, stored: list[Result], overwrites: list[set[int]]) -> None:
        self._inputs = inputs
        self._stored = stored
        self._overwrites = overwrites
        self._constants: dict[bytes, float] = {}

    def assemble(self, made: list[Instruction | None]) -> Assembled:
        outputs = self._direct(made)
        last: dict[Operand, int] = {}
        for number, now in enumerate(made):
            for operand in now.args if now is not None else ():
                last[operand] = number
                if isinstance(operand, float):
                    self._constants.setdefault(bits(operand), operand)
        copied = [(n, o) for n, o in enumerate(self._stored) if n not in outputs.values()]
        last.update((result, len(made)) for _, result in copied)
        return self._registers(made, outputs, last, copied)

    def _direct(self, made: list[Instruction | None]) -> dict[Operand, int]:
        """Which results are computed right into an output."""
        outputs: dict[Operand, int] = {}
        read = {n: i for i, now in enumerate(made) if now for n in now.args if isinstance(n, Input)}
        for number, result in enumerate(self._stored):
            overwritten = (Input(n) for n in self._overwrites[number])
            if result not in outputs and all(read.get(n, -1) <= result.number for n in overwritten):
                outputs[result] = number
        return outputs

    def _registers(
        self,
        made: list[Instruction | None],
        outputs: dict[Operand, int],
        last: dict[Operand, int],
        copied: list[tuple[int, Result]],
    ) -> Assembled:
        names = {key: n for n, key in enumerate(self._constants)}
        first_constant = self._inputs + len(self._stored)
        first_scratch = first_constant + len(names)
        slots: dict[Operand, int] = {}
        free: list[int] = []
        scratch = 0

        def register(operand: Operand) -> int:
            if isinstance(operand, Input):
                return operand.number
            if isinstance(operand, float):
                return first_constant + names[bits(operand)]
            if operand in outputs:
                return self._inputs + outputs[operand]
            return first_scratch + slots[operand]

        code: list[int] = []
        for number, now in enumerate(made):
            if now is None:
                continue
            args = [register(a) for a in now.args]
            free += [slots[a] for a in set(now.args) if a in slots and last[a] == number]
            result = Result(number)
            if result not in outputs:
                if not free:
                    free.append(scratch)
                    scratch += 1
                slots[result] = free.pop()
            code += [now.op, register(result), *args, *[0] * (3 - len(args))]
        for number, operand in copied:
            code += [Op.COPY, self._inputs + number, register(operand), 0, 0]
        return Assembled(list(self._constants.values()), scratch, [int(n) for n in code])

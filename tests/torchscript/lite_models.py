"""Models for the lite interpreter, whose bytecode has what that of ``models`` lacks."""

from typing import NamedTuple, Optional, Union

import torch
from torch import Tensor, nn


class Pair(NamedTuple):
    first: Tensor
    second: dict[str, int]


@torch.jit.interface
class Step(nn.Module):
    def step(self, x: Tensor) -> Tensor:
        pass


class Halve(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(0.5))

    def step(self, x: Tensor) -> Tensor:
        return x * self.factor


class Shift(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("by", torch.arange(3.0))

    def step(self, x: Tensor) -> Tensor:
        return x + self.by


class Steps(nn.Module):
    one: Step
    other: Step

    def __init__(self):
        super().__init__()
        self.one = Halve()
        self.other = Shift()

    def forward(self, x: Tensor) -> Tensor:
        return self.other.step(self.one.step(x))


class Flow(nn.Module):
    """Loops within conditions within loops, with early ends."""

    def forward(self, n: int, xs: list[int]) -> tuple[int, list[int], bool]:
        total = 0
        found: list[int] = []
        for i in range(n):
            if i % 3 == 0:
                continue
            j = i
            while j > 0:
                j = j - 2
                if j == 4:
                    break
                total += j
            found.append(total)
        for x in xs:
            if x < 0:
                return total, found, True
            total += x
        while total > 100:
            total = total // 2
        return total, found, False

    @torch.jit.export
    def swapped(self, n: int) -> tuple[int, int]:
        a, b = 0, 1
        for _ in range(n):
            a, b = b, a + b
        return a, b


class Things(nn.Module):
    """Named tuples, unions, attributes that change, default arguments."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(2))
        self.calls = 0
        self.names = ["ä", "b"]
        self.table = {"x": 1.5}

    def forward(self, x: Tensor, scale: float = 2.0, bias: Optional[Tensor] = None):  # noqa: UP045
        self.calls += 1
        self.seen = self.seen + x
        self.seen += 1
        label = "café {}".format(self.names[0])  # noqa: UP032
        pair = Pair(x * scale, {label: self.calls})
        if bias is not None:
            return pair.second, (self.seen, bias[0:1])
        return pair.second, (self.seen, pair.first)

    @torch.jit.export
    def kind(self, value: Union[int, str, Tensor]) -> str:  # noqa: UP007
        if isinstance(value, int):
            return "int"
        if isinstance(value, (str, Tensor)):
            return "other"
        raise ValueError("none")

    @torch.jit.export
    def checked(self, n: int) -> int:
        if n < 0:
            raise ValueError("too small: " + str(n))
        return n

    @torch.jit.export
    def shapes(self, x: Tensor):
        a, b = x.shape
        values: list[float] = x.view(-1).tolist()
        rows = x.unbind(0)
        first, second = torch.max(x, 1)
        return a * b, values, rows[-1], first, second, x.dtype == torch.float32, x.device.type, self.table


class Numbers(nn.Module):
    """Constants of all kinds."""

    def __init__(self):
        super().__init__()
        self.shift = torch.tensor([1.5, -2.0])

    def forward(self, x: Tensor):
        y = torch.full([2], 3, dtype=torch.int32)
        z = torch.clamp(x, -0.5, float("inf")) + torch.tensor([0.25, 4.0])
        return y, z + self.shift, torch.arange(0, 4, 2), x.sum([0], keepdim=True, dtype=torch.float64), -1e-30

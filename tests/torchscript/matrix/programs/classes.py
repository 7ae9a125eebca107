"""TorchScript classes, properties, special methods, interfaces."""

from typing import Any, List, Optional

import torch
from torch import Tensor, nn

from ._case import case


@torch.jit.script
class Counter:
    def __init__(self, start: int, step: int = 1):
        self.value = start
        self.step = step
        self.seen: List[int] = []

    def tick(self) -> int:
        self.value += self.step
        self.seen.append(self.value)
        return self.value

    @property
    def double(self) -> int:
        return self.value * 2

    @double.setter
    def double(self, value: int):
        self.value = value // 2

    @staticmethod
    def square(n: int) -> int:
        return n * n


@torch.jit.script
class Vector:
    def __init__(self, x: float, y: float):
        self.x = x
        self.y = y

    def __add__(self, other: "Vector") -> "Vector":
        return Vector(self.x + other.x, self.y + other.y)

    def __sub__(self, other: "Vector") -> "Vector":
        return Vector(self.x - other.x, self.y - other.y)

    def __mul__(self, by: float) -> "Vector":
        return Vector(self.x * by, self.y * by)

    def __neg__(self) -> "Vector":
        return Vector(-self.x, -self.y)

    def __eq__(self, other: "Vector") -> bool:
        return self.x == other.x and self.y == other.y

    def __lt__(self, other: "Vector") -> bool:
        return self.x < other.x

    def __str__(self) -> str:
        return "<{} {}>".format(self.x, self.y)

    def __len__(self) -> int:
        return 2

    def __getitem__(self, at: int) -> float:
        return self.x if at == 0 else self.y

    def __setitem__(self, at: int, value: float) -> None:
        if at == 0:
            self.x = value
        else:
            self.y = value

    def __contains__(self, value: float) -> bool:
        return value == self.x or value == self.y

    def __call__(self, n: int) -> float:
        return self.x * n


@torch.jit.script
class Node:
    def __init__(self, value: Tensor, name: Optional[str]):
        self.value = value
        self.name = name

    def told(self) -> str:
        name = self.name
        return "nameless" if name is None else name


@torch.jit.script
class Doubling:
    def __init__(self, n: int):
        self.n = n

    def __enter__(self):
        self.n += 1

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self.n *= 2


@torch.jit.interface
class Step:
    def run(self, x: Tensor) -> Tensor:
        pass


@torch.jit.interface
class Layer(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


@torch.jit.script
class AddOne:
    def __init__(self):
        self.n = 1

    def run(self, x: Tensor) -> Tensor:
        return x + self.n


@torch.jit.script
class Twice:
    def __init__(self):
        pass

    def run(self, x: Tensor) -> Tensor:
        return x * 2


@case("classes", (3,))
def methods(n: int):
    counter = Counter(n)
    other = Counter(n, step=5)
    counter.tick()
    other.tick()
    return counter.tick(), other.tick(), counter.seen, other.value


@case("classes", (3,))
def properties(n: int):
    counter = Counter(n)
    before = counter.double
    counter.double = 20
    return before, counter.double, counter.value


@case("classes", (3,))
def static_methods(n: int) -> int:
    return Counter.square(n)


@case("classes", (3,))
def attributes(n: int):
    counter = Counter(n)
    counter.step = 7
    counter.value += 1
    counter.seen = [4]
    counter.seen += [5]
    return counter.tick(), counter.seen


@case("classes", (2,))
def aliases(n: int) -> int:
    a = Counter(n)
    b = a
    b.tick()
    return a.value


@case("classes", (2,))
def in_a_list(n: int) -> List[int]:
    counters = [Counter(k) for k in range(n)]
    for each in counters:
        each.tick()
    return [each.value for each in counters]


@case("classes", (torch.ones(2), None), (torch.ones(2), "a"))
def with_tensors(x: Tensor, name: Optional[str]):
    node = Node(x + 1, name)
    return node.value, node.told()


@case("classes", (1,), (2,))
def chosen(n: int) -> int:
    if n == 1:
        counter = Counter(10)
    else:
        counter = Counter(20, 2)
    return counter.tick()


@case("special methods", (1.0, 2.0))
def signs(x: float, y: float):
    a, b = Vector(x, y), Vector(y, x)
    c = a + b
    d = a - b
    e = -(a * 3.0)
    return c.x, d.y, e.x, a == b, a < b, a == Vector(x, y)


@case("special methods", (1.0, 2.0))
def items(x: float, y: float):
    a = Vector(x, y)
    a[1] = 5.0
    return a[0], a[1], len(a), str(a), a(3)


@case("special methods", (1.0, 2.0))
def membership(x: float, y: float):
    a = Vector(x, y)
    return x in a, 9.0 in a


@case("special methods", (3,))
def contexts(n: int) -> int:
    d = Doubling(n)
    with d:
        n += d.n
    return d.n * 100 + n


def chosen_step(flag: bool, a: Step, b: Step) -> Step:
    return a if flag else b


@case("interfaces", (torch.ones(2), True), (torch.ones(2), False))
def of_classes(x: Tensor, flag: bool) -> Tensor:
    return chosen_step(flag, AddOne(), Twice()).run(x)


def applied(step: Step, x: Tensor) -> Tensor:
    return step.run(x)


@case("interfaces", (torch.ones(2),))
def as_arguments(x: Tensor) -> Tensor:
    return applied(AddOne(), x) + applied(Twice(), x)


@case("interfaces", (torch.ones(1, 3),))
class Through(nn.Module):
    layer: Layer

    def __init__(self):
        super().__init__()
        self.layer = Scale(1.0)
        self.layers = nn.ModuleList([Scale(2.0), Scale(3.0)])

    def forward(self, x: Tensor, at: int = 1) -> Tensor:
        layer: Layer = self.layers[at]
        return layer.forward(x)


class Scale(nn.Module):
    def __init__(self, by: float):
        super().__init__()
        self.by = by

    def forward(self, x: Tensor) -> Tensor:
        return x * self.by


@case("interfaces", (torch.ones(3),), (torch.ones(3), 0))
class Swapped(nn.Module):
    current: Layer

    def __init__(self):
        super().__init__()
        self.current = Scale(4.0)

    def forward(self, x: Tensor, n: int = 2) -> Tensor:
        for _ in range(n):
            x = self.current.forward(x)
        return x


@case("classes in modules", [("forward", 2), ("forward", 3)])
class Holder(nn.Module):
    def __init__(self):
        super().__init__()
        self.start = 5

    def forward(self, n: int) -> int:
        counter = Counter(self.start, n)
        self.start = counter.tick()
        return counter.tick() + Counter.square(n)

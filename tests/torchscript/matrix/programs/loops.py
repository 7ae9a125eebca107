"""``for`` over ranges, lists, dicts, tuples, texts, tensors and module lists; comprehensions."""

import torch
from torch import Tensor, nn

from ._case import case


@case("for over a range", (5,), (0,), (-1,))
def one_bound(n: int) -> int:
    total = 0
    for k in range(n):
        total += k * k
    return total


@case("for over a range", (2, 11, 3), (10, 0, -4), (3, 3, 1))
def three_bounds(a: int, b: int, step: int) -> list[int]:
    return [k for k in range(a, b, step)]


@case("for over a range", (4,))
def the_variable_afterwards(n: int) -> int:
    k = -1
    for k in range(n):
        pass
    return k


@case("for over a range", (torch.arange(6.0).reshape(2, 3),))
def sizes(x: Tensor) -> Tensor:
    out = torch.zeros(x.size(1))
    for row in range(x.size(0)):
        for column in range(x.shape[1]):
            out[column] += x[row, column] * (row + 1)
    return out


@case("for over a range", (3,))
def length_of_a_range(n: int) -> int:
    return [k for k in range(n)][-1] + len([k for k in range(1, n * 3, 2)])


@case("for over lists", ([3, 4],), ([],))
def numbers(values: list[int]) -> int:
    total = 1
    for each in values:
        total *= each
    return total


@case("for over lists", ([torch.ones(2), torch.zeros(2)],))
def tensors(parts: list[Tensor]) -> Tensor:
    out = torch.full([2], 0.5)
    for part in parts:
        out = out + part
    return out


@case("for over lists", ([5, 6, 7],))
def enumerated(values: list[int]) -> list[int]:
    return [at * each for at, each in enumerate(values)] + [at for at, _ in enumerate(values, 4)]


@case("for over lists", ([1, 2, 3], ["a", "b", "c"]))
def zipped(a: list[int], b: list[str]) -> str:
    out = ""
    for n, s in zip(a, b):
        for _ in range(n):
            out += s
    for at, (n, s) in enumerate(zip(a, b)):
        out += s + str(at + n)
    return out


@case("for over lists", ([1, 2, 3],))
def backwards(values: list[int]) -> list[int]:
    values.reverse()
    return [each for each in values]


@case("for over lists", ([[1, 2], [3], []],))
def of_lists(rows: list[list[int]]) -> list[int]:
    out: list[int] = []
    for row in rows:
        for each in row:
            out.append(each)
    return out


@case("for over lists", ([(1, "a"), (2, "b")],))
def of_tuples(pairs: list[tuple[int, str]]) -> dict[str, int]:
    out: dict[str, int] = {}
    for n, s in pairs:
        out[s] = n
    return out


@case("for over dicts", ({"a": 1, "b": 2},))
def keys(d: dict[str, int]) -> int:
    total = 0
    for key in d:
        total += d[key] * len(key)
    return total


@case("for over dicts", ({1: torch.ones(2), 2: torch.zeros(2)},))
def items(d: dict[int, Tensor]) -> Tensor:
    out = torch.zeros(2)
    for key, value in d.items():
        out = out * key + value
    return out


@case("for over dicts", ({"b": 1.5, "a": 2.5},))
def values(d: dict[str, float]) -> float:
    total = 0.0
    for each in d.values():
        total += each
    return total + sum([len(key) for key in d.keys()])


@case("for over tuples", ((1, 2, 3),))
def unrolled(values: tuple[int, int, int]) -> int:
    total = 0
    for each in values:
        total = total * 10 + each
    return total


@case("for over tuples", (torch.ones(2), torch.zeros(2)))
def of_tensors(x: Tensor, y: Tensor) -> Tensor:
    out = torch.zeros(2)
    for at, each in enumerate((x, y, x + y)):
        out = out + each * at
    return out


@case("for over tuples", (3,))
def zipped_tuples(n: int) -> int:
    total = n
    for a, b in zip((1, 2), (3, 4)):
        total += a * b
    return total


@case("for over texts", ("abc",), ("",))
def characters(s: str) -> list[str]:
    out: list[str] = []
    for c in s:
        out.append(c + c)
    return out


@case("for over tensors", (torch.arange(6.0).reshape(3, 2),))
def rows(x: Tensor) -> Tensor:
    out = torch.zeros(2)
    for row in x:
        out = out * 2 + row
    return out


@case("for over tensors", (torch.tensor([4, 5, 6]),))
def row_numbers(x: Tensor) -> list[int]:
    return [int(each) + at for at, each in enumerate(x)]


@case("comprehensions", ([1, 2, 3],))
def of_a_list(values: list[int]) -> list[float]:
    return [each / 2 for each in values]


@case("comprehensions", ([1, 2],))
def of_a_dict(values: list[int]) -> dict[int, str]:
    return {each: str(each) for each in values}


@case("comprehensions", (2, 3))
def nested(n: int, m: int) -> list[list[int]]:
    return [[a * b for a in range(n)] for b in range(m)]


@case("comprehensions", ([torch.ones(2), torch.ones(2) * 2],))
def of_tensors_in_a_list(parts: list[Tensor]) -> Tensor:
    return torch.stack([part.sum() for part in parts])


@case("comprehensions", ([1, 0], [True, False]))
def all_and_any(values: list[int], flags: list[bool]) -> tuple[bool, bool, bool, bool]:
    return all([v > 0 for v in values]), any([v > 0 for v in values]), all(flags), any(flags)


@case("for over ModuleList", (torch.ones(1, 3),))
class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 2)])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


@case("for over ModuleList", (torch.ones(1, 3),))
class NumberedLayers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])

    def forward(self, x: Tensor) -> list[Tensor]:
        out: list[Tensor] = []
        for at, layer in enumerate(self.layers):
            x = layer(x) + at
            out.append(x)
        return out[: len(self.layers) - 1] + [self.layers[-1](x), self.layers[0](x)]


@case("for over ModuleList", (torch.ones(1, 3),))
class TwoLists(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])
        self.second = nn.ModuleList([nn.ReLU(), nn.Sigmoid()])

    def forward(self, x: Tensor) -> Tensor:
        for a, b in zip(self.first, self.second):
            x = b(a(x))
        return x


@case("for over ModuleDict", (torch.ones(1, 3),))
class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleDict({"up": nn.Linear(3, 4), "act": nn.ReLU(), "down": nn.Linear(4, 3)})

    def forward(self, x: Tensor):
        names = ""
        for name, part in self.parts.items():
            x = part(x)
            names += name
        for part in self.parts.values():
            x = part(x)
        return x, names, "up" in self.parts, len(self.parts), self.parts["act"](x)


@case("for over Sequential", (torch.ones(1, 3),))
class Chain(nn.Module):
    def __init__(self):
        super().__init__()
        self.chain = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))

    def forward(self, x: Tensor):
        y = self.chain(x)
        for part in self.chain:
            x = part(x)
        return x - y, len(self.chain), self.chain[0](torch.ones(1, 3))

"""Lists, dictionaries and tuples: their methods, operators and conversions."""

import torch
from torch import Tensor

from ._case import case


@case("lists", ([3, 1, 2],))
def changed(values: list[int]) -> list[int]:
    values.append(5)
    values.extend([7, 8])
    values.insert(1, 9)
    values[0] = values[-1] + 1
    values.remove(7)
    values.reverse()
    return values


@case("lists", ([3, 1, 2, 1],))
def asked(values: list[int]):
    return values.index(1), values.count(1), 2 in values, 9 in values, len(values), max(values), min(values)


@case("lists", ([3, 1, 2],))
def popped(values: list[int]):
    return values.pop(), values.pop(0), values.pop(-1), values


@case("lists", ([3, 1, 2],))
def copied(values: list[int]):
    other = values.copy()
    third = list(values)
    values.clear()
    other.append(1)
    return values, other, third


@case("lists", ([3, 1, 2], [2.5, -1.0], ["b", "a"]))
def ordered(a: list[int], b: list[float], c: list[str]):
    a.sort()
    b.sort(reverse=True)
    c.sort()
    return a, b, c, sorted(a), sorted(c)


@case("lists", ([1, 2],))
def operators(values: list[int]):
    return values + [3], values * 2, 2 * values, values == [1, 2], values != [1, 2], [0] * 4


@case("lists", ([1, 2],))
def in_place(values: list[int]):
    other = values
    values += [3]
    values *= 2
    return other


@case("lists", ([0, 1, 2, 3, 4, 5],))
def sliced(values: list[int]):
    return values[1:3], values[:2], values[-2:], values[::2], values[:], values[4:1], values[1:100]


@case("lists", ([0, 1, 2, 3],))
def deleted(values: list[int]) -> list[int]:
    del values[0]
    del values[-1]
    return values


@case("lists", ([torch.ones(2), torch.zeros(2)],))
def of_tensors(parts: list[Tensor]):
    parts.append(parts[0] + 1)
    parts[0] = parts[1] - 1
    a, b, c = parts
    return torch.stack(parts), torch.cat(parts), a, b, c, len(parts)


@case("lists", ([1, 2, 3],))
def sums(values: list[int]):
    return sum(values), sum([0.5, 1.5]), sum([True, True]), max([1.5, 2.5]), min(values)


@case("lists", (2,))
def of_lists(n: int) -> list[list[int]]:
    grid = [[0, 0] for _ in range(n)]
    grid[0][1] = 5
    grid[1] = [7]
    grid[1].append(n)
    return grid


@case("lists", ([1, 2],))
def empty_ones(values: list[int]):
    out: list[Tensor] = []
    words = torch.jit.annotate(list[str], [])
    other = [torch.ones(1)][1:]
    words.append("a")
    return out, words, other


@case("lists", ([1, 2, 3], [1, 2, 4]), ([], []))
def compared(a: list[int], b: list[int]):
    return a == b, a != b, [1.5] == [1.5], ["a"] != ["b"]


@case("dicts", ({"a": 1, "b": 2},))
def read(d: dict[str, int]):
    return (
        d["a"], d.get("b"), d.get("c"), d.get("c", 5), "a" in d, "c" not in d, len(d), list(d.keys()),
        list(d),
    )  # fmt: skip


@case("dicts", ({"a": 1, "b": 2},))
def written(d: dict[str, int]):
    d["c"] = 3
    d["a"] += 10
    d.update({"z": 0})
    del d["b"]
    return d, d.setdefault("q", 4), d.setdefault("a", 4), d.pop("z"), d.pop("none", 9)


@case("dicts", ({1: "a", 2: "b"},))
def copied_and_cleared(d: dict[int, str]):
    other = d.copy()
    third = dict(d)
    d.clear()
    return d, other, third


@case("dicts", ({1: 2.5, 3: 4.5},))
def views(d: dict[int, float]):
    return list(d.items()), list(d.values()), list(d.keys())


@case("dicts", ({1: 2.5},))
def last_item(d: dict[int, float]):
    return d.popitem(), d


@case("dicts", (torch.ones(2),))
def of_tensors_by_name(x: Tensor) -> dict[str, Tensor]:
    d = {"x": x, "double": x * 2}
    d["sum"] = d["x"] + d["double"]
    return d


@case("dicts", (3,))
def of_lists_by_number(n: int) -> dict[int, list[int]]:
    out: dict[int, list[int]] = {}
    for k in range(n):
        empty: list[int] = []
        out.setdefault(k // 2, empty).append(k)
    return out


@case("dicts", ([("a", 1), ("b", 2)],))
def from_pairs(pairs: list[tuple[str, int]]):
    return dict(pairs), dict([("c", 3)]), {k: v for k, v in pairs}, dict(a=1, b=2)


@case("dicts", ({"a": torch.ones(1)}, {True: 1}, {2.5: "x"}))
def keys_of_other_kinds(a: dict[str, Tensor], b: dict[bool, int], c: dict[float, str]):
    return a["a"], b[True], c[2.5], False in b


@case("tuples", ((1, "a", 2.5),))
def parts(t: tuple[int, str, float]):
    a, b, c = t
    return t[0], t[-1], t[1:], t[:2], len(t), (a, b), c, t + (1,)


@case("tuples", ((1, 2), (1, 3)))
def compared_tuples(a: tuple[int, int], b: tuple[int, int]):
    return a == b, a != b, a[0] == b[0]


@case("tuples", (torch.ones(2),))
def nested(x: Tensor):
    t = ((x, 1), [x], "a")
    (y, n), z, word = t
    return t, y + n, z[0], word, t[0][0]


@case("tuples", (5,))
def one_part(n: int):
    return (n,), (n,)[0], ((n,),), ()


@case("tuples", ([1, 2, 3],))
def of_a_list(values: list[int]):
    a, b, c = values
    return (a, b, c), list((a, b))


@case("tuples", ((1, 2, 3),))
def by_a_variable(t: tuple[int, int, int]) -> int:
    out = 0
    for k in range(3):
        out += t[k] * k
    return out


@case("conversions of tensors", (torch.arange(4).reshape(2, 2),))
def to_a_list(x: Tensor):
    a: list[list[int]] = x.tolist()
    b: list[int] = x[0].tolist()
    c: int = x[0, 0].tolist()
    d: list[float] = x.float()[1].tolist()
    return a, b, c, d


@case("conversions of tensors", (3,))
def from_lists(n: int):
    return (
        torch.tensor([n, 2]), torch.tensor([[1.5], [2.5]]), torch.tensor(n), torch.tensor(2.5),
        torch.tensor([True, False]), torch.tensor([1, 2], dtype=torch.float64), torch.as_tensor([1, n]),
        torch.tensor([1.0], requires_grad=True), torch.tensor(True),
    )  # fmt: skip

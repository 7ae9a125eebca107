"""Optional and its refinement, unions, NamedTuple, enum, Any, annotate, isinstance, default arguments."""

from enum import Enum
from typing import Any, List, NamedTuple, Optional, Union

import torch
from torch import Tensor, nn

from ._case import case, raises


class Colour(Enum):
    RED = 1
    GREEN = 2


class Word(Enum):
    YES = "yes"
    NO = "no"


class Point(NamedTuple):
    x: Tensor
    n: int
    word: str = "none"


class Pair(NamedTuple):
    left: Point
    right: Optional[int]


@case("Optional", (None,), (3,))
def refined(n: Optional[int]) -> int:
    if n is None:
        return -1
    return n + 1


@case("Optional", (torch.ones(2), None), (torch.ones(2), torch.ones(2)))
def of_a_tensor(x: Tensor, y: Optional[Tensor]) -> Tensor:
    if y is not None and y.dim() == 1:
        x = x + y
    return x


@case("Optional", (None,), (2,))
def replaced(n: Optional[int]) -> int:
    if n is None:
        n = 7
    return n * 2


@case("Optional", (1,), raises("", None))
def by_assert(n: Optional[int]) -> int:
    assert n is not None
    return n + 1


@case("Optional", (1,), raises("", None))
def unwrapped(n: Optional[int]) -> int:
    return torch.jit._unwrap_optional(n) + 1


@case("Optional", (None, 2), (1, None), (1, 2))
def two(a: Optional[int], b: Optional[int]) -> int:
    if a is not None and b is not None:
        return a + b
    elif a is None and b is not None:
        return b
    return 0 if a is None else a


@case("Optional", ([1, None, 3],))
def in_a_list(values: List[Optional[int]]) -> int:
    total = 0
    for each in values:
        if each is not None:
            total += each
        else:
            total += 100
    return total


@case("Optional", (True,), (False,))
def made(flag: bool) -> Optional[Tensor]:
    out: Optional[Tensor] = None
    if flag:
        out = torch.ones(2)
    return out


@case("Optional", (None,), ([1, 2],))
def of_lists(values: Optional[List[int]]):
    found = values if values is not None else [0]
    return found, values is None


@case("unions", (1,), (2.5,), ("a",))
def of_numbers_and_text(x: Union[int, float, str]) -> str:
    if isinstance(x, str):
        return "text " + x
    elif isinstance(x, int):
        return "int " + str(x + 1)
    else:
        return "float " + str(x / 2)


@case("unions", (torch.ones(2),), ([torch.ones(2)],))
def of_a_tensor_and_a_list(x: Union[Tensor, List[Tensor]]) -> Tensor:
    if isinstance(x, Tensor):
        return x + 1
    return x[0] * 2


@case("unions", (1,), ("a",), (None,))
def with_none(x: Union[int, str, None]) -> int:
    if x is None:
        return 0
    if isinstance(x, int):
        return x
    return len(x)


@case("unions", (True,), (False,))
def given_back(flag: bool) -> Union[int, str]:
    if flag:
        x: Union[int, str] = 1
    else:
        x = "a"
    return x


@case("NamedTuple", (torch.ones(2), 3))
def fields(x: Tensor, n: int):
    p = Point(x, n)
    q = Point(x=x * 2, n=n + 1, word="q")
    return p, q, p.x + q.x, p.n * q.n, p.word + q.word, p[1], len(p)


@case("NamedTuple", (Point(torch.ones(2), 3, "w"),))
def taken(p: Point):
    a, b, word = p
    return a + b, word, p.n


@case("NamedTuple", (torch.ones(1),))
def within_another(x: Tensor):
    pair = Pair(Point(x, 1), None)
    other = Pair(left=pair.left, right=5)
    n = other.right
    assert n is not None
    return pair, other.left.x + n, pair.right is None


@case("NamedTuple", (2,))
def in_lists(n: int) -> List[Point]:
    return [Point(torch.full([1], float(k)), k) for k in range(n)]


@case("enums", (1,), (2,))
def compared(n: int):
    colour = Colour.RED if n == 1 else Colour.GREEN
    return colour == Colour.RED, colour != Colour.RED, colour.name, colour.value


@case("enums", (True,))
def of_texts(flag: bool) -> str:
    word = Word.YES if flag else Word.NO
    return word.value + word.name


@case("enums", (1,))
def in_containers(n: int):
    d = {"a": Colour.RED}
    return d["a"] == Colour.RED, [Colour.GREEN][0].value + n, [each.name for each in Colour]


@case("isinstance", (1, 2.5, "a", [1], torch.ones(1)))
def of_all_kinds(a: int, b: float, c: str, d: List[int], e: Tensor):
    return (
        isinstance(a, int), isinstance(b, int), isinstance(c, (int, str)), isinstance(d, list),
        isinstance(e, torch.Tensor), isinstance((a, b), tuple),
    )  # fmt: skip


@case(
    "isinstance",
    (1,),
    (2.5,),
    ("a",),
    (torch.ones(1),),
    ([1],),
    ([torch.ones(1)],),
    ({"a": 1},),
    ((1, 2),),
    (None,),
)
def of_any(x: Any) -> str:
    if isinstance(x, int):
        return "int" + str(x)
    if isinstance(x, float):
        return "float"
    if isinstance(x, str):
        return "str" + x
    if isinstance(x, Tensor):
        return "Tensor"
    if torch.jit.isinstance(x, List[int]):
        return "ints" + str(len(x))
    if torch.jit.isinstance(x, List[Tensor]):
        return "tensors"
    if torch.jit.isinstance(x, dict[str, int]):
        return "dict" + str(x["a"])
    if isinstance(x, tuple):
        return "tuple"
    return "other"


@case("isinstance", (None,), (torch.ones(1),))
def of_an_optional(x: Optional[Tensor]) -> int:
    if isinstance(x, Tensor):
        return x.size(0)
    return -1


@case("annotate and cast", (1,))
def annotated(n: int):
    a = torch.jit.annotate(Optional[int], None)
    b = torch.jit.annotate(List[float], [])
    c: dict[str, Optional[Tensor]] = {"a": None}
    b.append(1.5)
    return a, b, c, n


@case("annotate and cast", (5,))
def of_an_any(x: Any) -> int:
    assert isinstance(x, int)
    return x + 1


@case("uninitialized", (5,), (-5,))
def in_one_branch(n: int) -> Tensor:
    while n < 10:
        if n == 7:
            return torch.zeros(n)
        x = torch.ones(3)
        n += 2
        if n > 8:
            break
        x.add_(n)
    return torch.ones(1)


@case("default arguments", (1,), (1, 5), (1, 5, "b", None))
class OfAllKinds(nn.Module):
    def forward(self, a: int, b: int = 2, word: str = "w", values: Optional[List[int]] = None):
        return a + b, word, values


@case("default arguments", raises("", 1))
def lost_by_a_function(a: int, b: int = 2) -> int:
    return a + b


@case("default arguments", (torch.ones(2),))
class Defaults(nn.Module):
    def scaled(self, x: Tensor, by: float = 2.0, flag: bool = True) -> Tensor:
        return x * by if flag else x

    def forward(self, x: Tensor, n: int = -3, f: float = float("inf"), t: tuple[int, int] = (1, 2)):
        return self.scaled(x), self.scaled(x, flag=False), self.scaled(x, 3.0), n, f, t


@case("default arguments", (torch.ones(2), 1))
def keywords(x: Tensor, n: int):
    return torch.sum(x, dim=0, keepdim=True) + n, torch.full(size=(2,), fill_value=n)

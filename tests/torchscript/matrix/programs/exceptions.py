"""``raise``, ``assert``, and what operators raise themselves."""

import torch
from torch import Tensor, nn

from ._case import case, raises


class OwnError(Exception):
    pass


@case("exceptions", (1,), raises("n is -1", -1))
def value_error(n: int) -> int:
    if n < 0:
        raise ValueError(f"n is {n}")
    return n


@case("exceptions", (1,), raises("no", 0))
def in_both_branches(n: int) -> int:
    if n == 0:
        raise RuntimeError("no")
    else:
        m = n + 1
    return m


@case("exceptions", raises("never", 1))
def always(n: int) -> int:
    raise NotImplementedError("never")


@case("exceptions", (1,), raises("of my own", 9))
def of_an_own_class(n: int) -> int:
    if n > 5:
        raise OwnError("of my own")
    return n


@case("exceptions", ([1, 2],), raises("ends at 3", [1, 2, 3]))
def in_a_loop(values: list[int]) -> int:
    for each in values:
        if each == 3:
            raise IndexError("ends at {}".format(each))
    return len(values)


@case("exceptions", (1,), raises("", 0))
def without_arguments(n: int) -> int:
    if n == 0:
        raise RuntimeError
    return n


@case("exceptions", (torch.ones(2),), raises("negative", -torch.ones(2)))
class OnAValue(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if bool((x < 0).any()):
            raise ValueError("negative")
        return x.sqrt()


@case("assert", (1,), raises("not above zero: 0", 0))
def with_a_message(n: int) -> int:
    assert n > 0, f"not above zero: {n}"
    return n


@case("assert", (1,), raises("", 0))
def without_a_message(n: int) -> int:
    assert n > 0
    return n


@case("assert", (torch.ones(2), 2), raises("size", torch.ones(3), 2))
def of_a_shape(x: Tensor, n: int) -> Tensor:
    assert x.size(0) == n and x.dim() == 1, "size"
    return x * n


@case("assert", (None,), raises("there", 1))
def of_none(n: int | None) -> str:
    assert n is None, "there"
    return "none"


@case("exceptions of operators", raises("index out of range", [1], 4))
def a_list_index(values: list[int], at: int) -> int:
    return values[at]


@case("exceptions of operators", raises("", {"a": 1}, "b"))
def a_key(d: dict[str, int], key: str) -> int:
    return d[key]


@case("exceptions of operators", raises("", torch.ones(2), torch.ones(3)))
def shapes(x: Tensor, y: Tensor) -> Tensor:
    return x + y


@case("exceptions of operators", raises("", 3, 0))
def floor_division_by_zero(a: int, b: int) -> int:
    return a // b


@case("exceptions of operators", raises("", "x1"))
def number_of_a_text(s: str) -> int:
    return int(s)


@case("exceptions of operators", raises("", []))
def pop_of_nothing(values: list[int]) -> int:
    return values.pop()


@case("exceptions of operators", raises("", [1, 2]))
def unpacking_too_few(values: list[int]) -> int:
    a, b, c = values
    return a + b + c

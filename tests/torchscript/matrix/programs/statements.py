"""Assignments, conditions, ``while``, ``break``, ``continue``, early ``return``."""

import math

import torch
from torch import Tensor

from ._case import case


@case("assignment", (3,), (-2,))
def chained(n: int) -> tuple[int, int]:
    a = b = n + 1
    a += 2
    return a, b


@case("assignment", (2, 5))
def swapped(a: int, b: int) -> tuple[int, int]:
    a, b = b, a
    a, (b, c) = b, (a, a * b)
    return a + c, b


@case("assignment", ([1, 2, 3],))
def unpacked(values: list[int]) -> int:
    a, b, c = values
    return a * 100 + b * 10 + c


@case("assignment", (6, 2.5))
def augmented(a: int, f: float):
    b = a
    b += 3
    b -= 1
    b *= 2
    f /= 2.0
    b %= 4
    f **= 2.0
    c = a
    c |= 8
    c &= 12
    c ^= 5
    c <<= 2
    c >>= 1
    return a, b, c, f


@case("assignment", (4,))
def constants_of_the_module(n: int):
    return n * int(math.pi), torch.int64, math.inf


@case("assignment", (4,))
def ignored_targets(n: int) -> int:
    _, a = n, n + 1
    _ = a
    pass
    return a


@case("conditions", (-1,), (0,), (5,))
def three_ways(n: int) -> str:
    if n < 0:
        return "below"
    elif n == 0:
        return "zero"
    else:
        return "above"


@case("conditions", (1, 2), (2, 1), (0, 0))
def logic(a: int, b: int) -> tuple[bool, bool, bool, bool, bool]:
    return a > 0 and b > 1, a > 1 or b > 1, not a > b, a < b < 3, (a != b) is True


@case("conditions", (3,), (-3,))
def expression(n: int) -> int:
    return n * 2 if n > 0 else (n - 1 if n < -2 else 0)


@case("conditions", (0, [1]), (1, [0]))
def short_circuit(at: int, values: list[int]) -> bool:
    return at < len(values) and values[at] > 0


@case("conditions", (torch.ones(2),), (-torch.ones(2),))
def on_a_tensor(x: Tensor) -> Tensor:
    if x.sum() > 0:
        y = x + 1
    else:
        y = x - 1
    return y * 2


@case("conditions", (torch.ones(2), True), (torch.ones(2), False))
def nested(x: Tensor, flag: bool) -> Tensor:
    if flag:
        if bool(x[0] > 0):
            y = x.neg()
        else:
            y = x
        if x.dim() == 1:
            y = y.unsqueeze(0)
    else:
        y = x * 3
    return y


@case("conditions", (2,), (3,))
def defined_in_both(n: int):
    if n % 2 == 0:
        word, size = "even", 1.5
    else:
        word, size = "odd", 2.5
    return word, size


@case("conditions", ([], ""), ([1], "a"))
def truth_of_lengths(values: list[int], text: str) -> int:
    found = 0
    if len(values) > 0:
        found += 1
    if len(text) != 0:
        found += 2
    return found


@case("while", (27,), (1,))
def collatz(n: int) -> int:
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@case("while", (48, 36))
def greatest_divisor(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return a


@case("while", (torch.tensor(1.0),), (torch.tensor(100.0),))
def doubled_on_a_value(x: Tensor) -> Tensor:
    while bool(x < 50):
        x = x * 2
    return x


@case("while", (5,))
def two_tests(n: int) -> tuple[int, int]:
    total = 0
    while n > 0 and total < 8:
        total += n
        n -= 1
    return n, total


@case("while", (4,))
def within_another(n: int) -> int:
    total = 0
    while n > 0:
        k = n
        while k > 0:
            total += k
            k -= 2
        n -= 1
    return total


@case("while", ([3, 1, 2],))
def sorted_by_hand(values: list[int]) -> list[int]:
    at = 1
    while at < len(values):
        k = at
        while k > 0 and values[k - 1] > values[k]:
            values[k - 1], values[k] = values[k], values[k - 1]
            k -= 1
        at += 1
    return values


@case("break", (10,), (2,))
def first_multiple(n: int) -> int:
    found = -1
    for k in range(1, n):
        if k * k > n:
            found = k
            break
    return found


@case("break", (3,))
def endless(n: int) -> int:
    while True:
        n += 3
        if n > 20:
            break
    return n


@case("break", ([[1, 2], [0, 5], [7]],))
def out_of_the_inner(rows: list[list[int]]) -> int:
    total = 0
    for row in rows:
        for each in row:
            if each == 0:
                break
            total += each
    return total


@case("break", (torch.tensor([1.0, 2.0, -1.0, 4.0]),))
def on_an_element(x: Tensor) -> Tensor:
    total = torch.zeros(())
    for k in range(x.size(0)):
        if bool(x[k] < 0):
            break
        total = total + x[k]
    return total


@case("continue", (10,))
def odd_ones(n: int) -> int:
    total = 0
    for k in range(n):
        if k % 2 == 0:
            continue
        total += k
    return total


@case("continue", (9,))
def with_a_break(n: int) -> list[int]:
    out: list[int] = []
    k = 0
    while k < n:
        k += 1
        if k == 3:
            continue
        elif k == 7:
            break
        out.append(k)
    return out


@case("continue", (["a", "", "bc"],))
def empty_ones(words: list[str]) -> str:
    out = ""
    for word in words:
        if len(word) == 0:
            continue
        out = out + word
    return out


@case("early return", (5,), (-5,))
def at_the_top(n: int) -> int:
    if n < 0:
        return 0
    return n + 1


@case("early return", ([1, 5, 9], 5), ([1], 5))
def out_of_a_loop(values: list[int], wanted: int) -> int:
    for at, each in enumerate(values):
        if each == wanted:
            return at
    return -1


@case("early return", (0,), (3,), (12,))
def out_of_two_loops(n: int) -> int:
    for a in range(n):
        for b in range(a):
            if a * b > 5:
                return a * 10 + b
        if a > 8:
            return -2
    return -1


@case("early return", (torch.ones(3),), (torch.zeros(3),))
def by_the_value(x: Tensor) -> Tensor:
    if bool(x.any()):
        return x.cumsum(0)
    y = x + 1
    if y.size(0) > 2:
        return y
    return y * 2


@case("early return", (6,))
def out_of_a_while(n: int) -> int:
    while True:
        n += 1
        if n % 5 == 0:
            return n
    return 0


@case("early return", ([], 0), ([1], 1))
def without_a_value(out: list[int], n: int) -> None:
    if n == 0:
        return
    out.append(n)

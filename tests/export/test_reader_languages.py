"""The two languages of a file's texts: sizes as expressions, and guards. What is neither is refused."""

import pytest

from ostinato.export._vet import Bad
from ostinato.export._vet._expressions import expression, guard


@pytest.mark.parametrize(
    "text",
    [
        "s0",
        "2*s0 + u1 // 3",
        "Symbol('s12', positive=True, integer=True)",
        "Mul(Integer(2), Symbol('s0', integer=True))",
        "Max(1, Mod(s0, 8))",
        "Pow(Symbol('s0'), Integer(2))",
        "s0**2 <= 5",
        "Float('0.5', precision=53)",
        "Equality(Symbol('u0'), Integer(-1))",
    ],
)
def test_expressions_that_are_arithmetic(text):
    expression(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "s0 s1",
        "f'x'",
        "'a'",
        "s0[0]",
        "s0(1)",
        "Max(1)(2)",
        "LShift(1, 99)",
        "(s0 + 1)**2",
        "s0**9",
        "x",
        "-" * 3999 + "1",
    ]
    + [
        "(" * 399 + "1" + ")" * 399,
        "9" * 30,
        "Integer('1')",
        "Float('x')",
        "s0 if s0 else s0",
        "é",
        "s0 := 1",
    ],
)
def test_expressions_that_are_not(text):
    with pytest.raises(Bad):
        expression(text)


@pytest.mark.parametrize(
    "text",
    [
        "L['x'].size()[0] >= 2",
        "L['y']['a'][1].stride()[0] == 4",
        "Eq(Mod(L['x'].size()[0], 2), 0)",
        "math.isnan(L['x'])",
    ]
    + ["not L['flag']", "(L['x'].size()[0] // 2) <= 3*L['x'].size()[0]"],
)
def test_guards_that_are_comparisons(text):
    guard(text)


@pytest.mark.parametrize(
    "text",
    [
        "L['x'].size(1)",
        "open('f')",
        "L",
        "x",
        "L['x'].evil()",
        "math.exp(1)",
        'L["a\'b"]',
        "M['x'].size()[0]",
    ],
)
def test_guards_that_are_not(text):
    with pytest.raises(Bad):
        guard(text)

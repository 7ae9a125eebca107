"""torch.cond inside a capture: a node that each replay decides."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from ostinato.accelerator import CaptureError, Graph, ReplayError

from .control_flow import PYTHON, check, flip
from .support import capture, refuses

BOTH = (True, False, False, True)


@pytest.fixture(autouse=True)
def _no_grad():
    with torch.no_grad():
        yield


@pytest.fixture
def pred():
    return torch.tensor(True)


@pytest.fixture
def x():
    return torch.randn(3, 4)


@pytest.mark.parametrize("numerics", ["exact", "fast"])
def test_each_replay_decides(pred, x, numerics):
    graph, _ = check(
        lambda t: t.cond(pred, lambda x: x.sin() + 1, lambda x: x.cos() * 2, (x,)) + 1,
        [x],
        flip(pred, *BOTH),
        numerics,
        assert_same=torch.testing.assert_close,
    )
    assert graph.stats()["steps"]["control"] == 1
    assert graph.stats()["steps"]["python"] == 0


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
@pytest.mark.parametrize("dtype", [torch.bool, torch.float32, torch.int64])
def test_predicates_are_tensors_of_one_element(x, shape, dtype):
    pred = torch.ones(shape, dtype=dtype)
    check(lambda t: t.cond(pred, torch.sin, torch.cos, (x,)), [x], flip(pred, 1, 0, 1))


def test_a_predicate_is_computed_in_the_graph(x):
    check(
        lambda t: t.cond(x.sum() > 0, lambda: x.exp(), lambda: -x),
        [x],
        [lambda: x.fill_(1), lambda: x.fill_(-1), lambda: x.fill_(float("nan"))],
    )


@pytest.mark.parametrize("value", [True, False, 1, 0.0])
def test_python_predicates_are_folded(x, value):
    graph, _ = check(lambda t: t.cond(value, torch.sin, torch.cos, (x,)), [x], [lambda: None])
    assert [node.op for node in graph.nodes] == ["aten.sin.default" if value else "aten.cos.default"]


def test_a_predicate_that_is_written_between_is_read_when_it_is_due(pred, x):
    def f(t):
        first = t.cond(pred, torch.sin, torch.cos, (x,))
        pred.logical_not_()
        return first, t.cond(pred, torch.sin, torch.cos, (x,))

    check(f, [x, pred], flip(pred, *BOTH))


def test_nested_to_any_depth(x):
    preds = [torch.tensor(True) for _ in range(4)]

    def f(t):
        def at(depth, y):
            if depth == len(preds):
                return y * 2
            return t.cond(
                preds[depth], lambda y: at(depth + 1, y + depth), lambda y: at(depth + 1, y.tanh()), (y,)
            )

        return at(0, x)

    settings = [
        lambda n=n: [p.fill_(bool(n >> i & 1)) for i, p in enumerate(preds)] for n in range(2 ** len(preds))
    ]
    check(f, [x, *preds], settings)


def test_results_in_any_structure(pred, x):
    check(
        lambda t: t.cond(
            pred,
            lambda x, y: {"a": [x + y, x - y], "b": (x.sum(),), "n": 3, "none": None},
            lambda x, y: {"a": [x * y, x / y], "b": (x.max(),), "n": 3, "none": None},
            (x, x.abs() + 1),
        ),
        [x],
        flip(pred, *BOTH),
    )


def test_operands_are_views_and_keep_their_strides(pred, x):
    _graph, out = check(
        lambda t: t.cond(pred, lambda a: a * 2, lambda a: a + 1, (x.t()[1:, ::2],)), [x], flip(pred, *BOTH)
    )
    assert out.stride() == (x.t()[1:, ::2] * 2).stride()


@pytest.mark.parametrize(
    "view",
    [lambda x: x.t(), lambda x: x[1], lambda x: x[:, :1].expand(3, 4), lambda x: x.unfold(1, 2, 1)],
    ids=["transposed", "row", "expanded", "overlapping"],
)
def test_results_may_be_views_of_operands(pred, x, view):
    other = torch.randn(3, 4)
    check(lambda t: t.cond(pred, lambda: view(x), lambda: view(other)) * 1, [x, other], flip(pred, *BOTH))


def test_what_both_return_is_returned_itself(pred, x):
    _graph, out = capture(lambda: torch.cond(pred, lambda: (x, x.sin()), lambda: (x, x.cos())))
    assert out[0] is x
    assert out[1] is not x


def test_one_side_returns_its_operand(pred, x):
    check(lambda t: t.cond(pred, lambda x: x, lambda x: x.neg(), (x,)) + 0, [x], flip(pred, *BOTH))


def test_buffers_are_written_in_place(pred, x):
    count, total = torch.zeros((), dtype=torch.int64), torch.zeros(4)

    def f(t):
        def taken():
            count.add_(1)
            total[1:].add_(x[0, 1:])
            return total.sum()

        return t.cond(pred, taken, lambda: x.sum())

    check(f, [x, count, total], flip(pred, *BOTH))
    assert count == 2  # of four replays


def test_what_the_capture_made_is_written_in_place(pred, x):
    def f(t):
        y = x.exp()
        t.cond(pred, lambda: (y.mul_(2), None)[1], lambda: (y[0].zero_(), None)[1])
        return y + 1

    check(f, [x], flip(pred, *BOTH))


def test_the_version_of_what_a_branch_writes_moves(pred, x):
    graph, _ = capture(lambda: torch.cond(pred, lambda: x.add_(1).sum(), lambda: x.sum()))
    version = x._version
    graph.replay()
    assert x._version > version


def test_the_two_sides_share_memory(pred):
    x = torch.randn(1 << 14)

    def chain(x, depth):
        for _ in range(depth):
            x = x.sin()
        return x.sum()

    def pool(function):
        return capture(function)[0].stats()["pool_bytes"]

    one = pool(lambda: chain(x, 3))
    both = pool(lambda: torch.cond(pred, lambda: chain(x, 3), lambda: chain(x, 3)))
    assert both < one + x.nbytes


@pytest.mark.parametrize("taken", [True, False])
def test_a_branch_may_fail_on_the_values_of_the_capture(taken):
    table, index = torch.arange(4.0), torch.tensor([1, 9])
    safe = torch.tensor(not taken)

    def f(t):
        return t.cond(safe, lambda: table * 1, lambda: table.index_select(0, index).repeat(2).exp())

    safe.fill_(True)
    graph, out = capture(lambda: f(torch))
    graph.replay()
    assert torch.equal(out, table)
    safe.fill_(False)
    error = refuses(graph.replay, ReplayError, "step_failed")
    assert "index_select" in str(error)
    assert "test_control_flow.py" in str(error)
    index.copy_(torch.tensor([2, 3]))
    graph.replay()
    assert torch.equal(out, f(PYTHON))


def test_a_division_by_zero_waits_for_its_replay():
    number, zero = torch.tensor([6, 8]), torch.tensor(0)
    graph, out = capture(
        lambda: torch.cond(zero > 0, lambda: number.div(zero, rounding_mode="floor"), lambda: -number)
    )
    graph.replay()
    assert out.tolist() == [-6, -8]
    zero.fill_(2)
    graph.replay()
    assert out.tolist() == [3, 4]


def test_shapes_that_never_fit_are_refused_at_capture(x):
    with pytest.raises(RuntimeError, match="must match"), Graph():
        torch.cond(x.sum() > 1e9, lambda: x + torch.zeros(5), lambda: x)


@pytest.mark.parametrize("numerics", ["exact", "fast"])
@pytest.mark.parametrize(
    "draws",
    [
        (lambda x: x + torch.rand(4), lambda x: x * 2),
        (lambda x: torch.nn.functional.dropout(x, 0.5), lambda x: torch.randn_like(x) + torch.rand(4)),
    ],
)
def test_the_generator_moves_as_in_eager(pred, numerics, draws):
    x = torch.randn(2, 4)
    check(
        lambda t: (torch.rand(3), t.cond(pred, *draws, (x,)), torch.rand(3)),
        [x],
        flip(pred, *BOTH),
        numerics,
        assert_same=torch.testing.assert_close,
    )


def test_a_seed_in_a_branch(pred, x):
    def seeded():
        torch.manual_seed(7)
        return torch.rand(3)

    check(lambda t: (t.cond(pred, seeded, lambda: torch.rand(3)), torch.rand(2)), [x], flip(pred, *BOTH))


def test_generators_of_the_callers_own(pred):
    generator = torch.Generator().manual_seed(3)

    def f(t):
        return t.cond(pred, lambda: torch.rand(3, generator=generator), lambda: torch.zeros(3)), torch.rand(
            2, generator=generator
        )

    graph, out = capture(lambda: f(torch))
    want = torch.Generator().manual_seed(3)
    for value in BOTH:
        pred.fill_(value)
        graph.replay()
        first = torch.rand(3, generator=want) if value else torch.zeros(3)
        assert torch.equal(out[0], first)
        assert torch.equal(out[1], torch.rand(2, generator=want))


def test_python_steps_in_a_branch(pred, x):
    graph, _ = check(
        lambda t: (
            t.cond(
                pred,
                lambda: torch.histc(x.sin(), 4, -1.0, 1.0) * 2,
                lambda: x.sum(0),
            )
            + 1
        ),
        [x],
        flip(pred, *BOTH),
    )
    assert graph.stats()["steps"]["python"] > 0


def test_an_empty_branch(pred, x):
    def bump():
        x.add_(1)

    check(lambda t: (t.cond(pred, bump, lambda: None), x * 2)[1], [x], flip(pred, *BOTH))
    check(lambda t: (t.cond(pred, lambda: None, bump), x * 2)[1], [x], flip(pred, *BOTH))


def test_literals_in_branches(pred, x):
    def f(t):
        def counted():
            n = torch.tensor([1.0, 2.0, 3.0, 4.0])
            n += 1
            return x + n

        return t.cond(pred, counted, lambda: x * torch.tensor(3.0))

    check(f, [x], flip(pred, *BOTH))


def test_in_inference_mode(pred, x):
    with torch.inference_mode():
        check(
            lambda t: t.cond(pred, lambda x: x @ x.t(), lambda x: x @ x.t() + 1, (x,)), [x], flip(pred, 1, 0)
        )


def test_the_predicate_may_move(x):
    pred = torch.tensor([True])
    graph, out = capture(lambda: torch.cond(pred, torch.sin, torch.cos, (x,)))
    pred.untyped_storage().resize_(4096).fill_(0)
    graph.replay()
    assert torch.equal(out, x.cos())


class TestRefused:
    def test_more_than_one_element(self, x):
        refuses(
            lambda: capture(lambda: torch.cond(x > 0, torch.sin, torch.cos, (x,))), CaptureError, "predicate"
        )

    @pytest.mark.parametrize(
        ("what", "first", "second"),
        [
            ("structure", lambda x: (x, x), lambda x: (x,)),
            ("tensors", lambda x: x + 1, lambda x: x[0] + 1),
            ("tensors", lambda x: x + 1, lambda x: x.double()),
            ("strides", lambda x: x.clone(), lambda x: x.t().contiguous().t()),
            ("values", lambda x: (x + 1, 1), lambda x: (x + 1, 2)),
        ],
    )
    def test_branches_that_differ(self, pred, x, what, first, second):
        error = refuses(
            lambda: capture(lambda: torch.cond(pred, first, second, (x,))), CaptureError, "branches_differ"
        )
        assert f"different {what}" in error.message

    def test_a_tensor_that_leaves_its_branch_unreturned(self, pred, x):
        kept = []

        def f():
            torch.cond(pred, lambda: kept.append(x.sin()), lambda: None)
            return kept[0] + 1

        refuses(lambda: capture(f), CaptureError, "left_body")

    def test_reading_back_in_a_branch(self, pred, x):
        f = lambda: torch.cond(pred, lambda: x * x.sum().item(), lambda: x)  # noqa: E731
        refuses(lambda: capture(f), CaptureError, "synchronises")

    def test_a_refused_capture_changes_nothing(self, pred, x):
        before, state = x.clone(), torch.get_rng_state()

        def f():
            torch.cond(pred, lambda: x.add_(torch.rand(4)).sum(), lambda: x.zero_())

        refuses(lambda: capture(f), CaptureError, "branches_differ")
        assert torch.equal(x, before)
        assert torch.equal(torch.get_rng_state(), state)


_AFTER = """
import sys, torch
from ostinato.accelerator import CaptureError, Graph
x, pred = torch.ones(3), torch.tensor(True)
with torch.no_grad(), Graph():
    torch.cond(pred, torch.sin, torch.cos, (x,))
assert "torch._dynamo" not in sys.modules
try:
    with torch.no_grad(), Graph():
        torch.cond(pred, torch.sin, torch.sum, (x,))
except CaptureError:
    pass
for value in (True, False):
    pred.fill_(value)
    assert torch.equal(torch.cond(pred, torch.sin, torch.cos, (x,)), x.sin() if value else x.cos())
    with torch.no_grad(), Graph() as graph:
        out = torch.cond(pred, torch.sin, torch.cos, (x,))
    graph.replay()
    assert torch.equal(out, x.sin() if value else x.cos())
"""


def test_captures_need_no_dynamo_and_leave_torch_as_it_was():
    subprocess.run([sys.executable, "-c", _AFTER], check=True)


def test_every_step_of_a_graph_with_bodies_can_be_timed():
    x, flag = torch.randn(8), torch.tensor(True)
    graph = Graph()
    with graph:
        out = torch.cond(flag, lambda t: t.sin() * 2, lambda t: t.cos(), (x,))
    times = graph._profile(2)
    assert {record.bodies for record, _ in times} == {(), ("if",), ("else",)}
    graph.replay()
    assert torch.equal(out, x.sin() * 2)

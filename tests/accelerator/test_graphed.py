"""graphed and make_graphed_callables against the eager callables they hold."""

from __future__ import annotations

import copy

import pytest
import torch

import ostinato as ost

from .support import assert_identical

graphed = ost.accelerator.graphed


def net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))


def test_one_graph_a_signature():
    call = graphed(lambda x, scale: {"y": x.sin() * scale, "n": (x + scale,)}, numerics="exact")
    for shape in ((3,), (3,), (2, 3), (3,)):
        x = torch.randn(shape)
        out = call(x, 2.0)
        assert torch.equal(out["y"], x.sin() * 2.0)
        assert torch.equal(out["n"][0], x + 2.0)
    assert call.graphs == 2
    call(torch.randn(3), 2)  # an int is not a float
    call(torch.randn(3, dtype=torch.float64), 2.0)
    call(torch.randn(6)[::2], 2.0)  # other strides
    call(torch.randn(3), scale=2.0)  # by keyword
    assert call.graphs == 6
    call.clear()
    assert call.graphs == 0


def test_the_least_recently_used_graph_goes_first():
    call = graphed(lambda x: x + 1, max_graphs=2)
    for n in (1, 2, 1, 3):
        call(torch.ones(n))
    assert call.graphs == 2
    captured = set(call._captured)
    call(torch.ones(1))
    assert set(call._captured) == captured  # 2 went, 1 stayed


def test_outputs_are_fresh_unless_asked_otherwise():
    fresh = graphed(lambda x: x * 2)
    first = fresh(torch.ones(2))
    fresh(torch.zeros(2))
    assert torch.equal(first, torch.full((2,), 2.0))
    shared = graphed(lambda x: x * 2, copy_outputs=False)
    first = shared(torch.ones(2))
    assert shared(torch.zeros(2)) is first
    assert torch.equal(first, torch.zeros(2))


def test_a_module_in_evaluation_and_in_training_has_two_graphs():
    module = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5))
    call = graphed(module, numerics="exact")
    x = torch.randn(64, 4)
    with torch.no_grad():
        module.eval()
        assert torch.equal(call(x), module(x))
        module.train()
        torch.manual_seed(3)
        got = call(x)
        torch.manual_seed(3)
        assert torch.equal(got, module(x))
    assert call.graphs == 2


def test_changed_parameters_are_seen():
    module = net()
    call = graphed(module)
    x = torch.randn(2, 6)
    with torch.no_grad():
        call(x)
        for parameter in module.parameters():
            parameter.add_(0.5)
        torch.testing.assert_close(call(x), module(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("closes_over", [False, True])
def test_gradients_flow_to_inputs_and_parameters(closes_over):
    module, eager = net(), net()
    call = graphed((lambda x: module(x)) if closes_over else module, numerics="exact")
    for _ in range(3):
        x = torch.randn(5, 6, requires_grad=True)
        same = x.detach().clone().requires_grad_()
        call(x).square().sum().backward()
        eager(same).square().sum().backward()
        assert torch.equal(x.grad, same.grad)
        for mine, its in zip(module.parameters(), eager.parameters(), strict=True):
            assert torch.equal(mine.grad, its.grad)


def test_training_with_a_graphed_module_equals_eager_training():
    module, eager = net(), net()
    call = graphed(module, numerics="exact")
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9) for m in (module, eager)]
    for _ in range(8):
        x, target = torch.randn(16, 6), torch.randn(16, 3)
        for run, optimizer in zip((call, eager), optimizers, strict=True):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(run(x), target).backward()
            optimizer.step()
    for mine, its in zip(module.parameters(), eager.parameters(), strict=True):
        assert torch.equal(mine, its)


def test_as_a_decorator_on_a_function_and_on_a_method():
    @graphed
    def double(x):
        """Twice x."""
        return x * 2

    assert double.__doc__ == "Twice x."
    assert torch.equal(double(torch.ones(2)), torch.full((2,), 2.0))

    class Model(torch.nn.Module):
        def __init__(self, offset):
            super().__init__()
            self.register_buffer("offset", torch.tensor(offset))

        @graphed(numerics="exact")
        def shifted(self, x):
            return x + self.offset

    for model in (Model(1.0), Model(5.0)):
        assert torch.equal(model.shifted(torch.zeros(2)), model.offset.expand(2))


def test_an_argument_without_a_signature_is_refused():
    with pytest.raises(ost.UsageError, match="type set"):
        graphed(lambda x, s: x)(torch.ones(1), {1})


def test_modes_are_part_of_the_signature():
    call = graphed(lambda x: x @ x, numerics="exact")
    x = torch.randn(4, 4)
    plain = call(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        low = call(x)
        assert torch.equal(low, x @ x)
    assert (plain.dtype, low.dtype) == (torch.float32, torch.bfloat16)
    with torch.inference_mode():
        assert torch.equal(call(x), x @ x)


def test_make_graphed_callables_of_a_function_and_a_module():
    module, eager = net(), net()

    def function(x, pair):
        return x * pair[0] + pair[1], x.sum()

    samples = ((torch.randn(5, 6),), (torch.randn(3, requires_grad=True), (torch.randn(3), torch.randn(3))))
    graphed_module, graphed_function = ost.accelerator.make_graphed_callables((module, function), samples)
    assert graphed_module is module
    for _ in range(3):
        x = torch.randn(5, 6)
        assert torch.equal(graphed_module(x), eager(x))
        args = (torch.randn(3, requires_grad=True), (torch.randn(3), torch.randn(3)))
        first, second = graphed_function(*args)
        want = function(*args)
        assert torch.equal(first, want[0])
        assert torch.equal(second, want[1])
        (grad,) = torch.autograd.grad(first.sum() + 2 * second, args[0])
        assert torch.equal(grad, torch.autograd.grad(want[0].sum() + 2 * want[1], args[0])[0])
    module.eval()
    assert torch.equal(module(torch.ones(2, 6)), eager(torch.ones(2, 6)))  # another mode: eager again


def test_make_graphed_callables_of_what_needs_no_gradient():
    """No input and no parameter wants one, or the outputs are integers: there is no backward graph."""
    x = torch.randn(4)
    double = ost.accelerator.make_graphed_callables(lambda t: t * 2, (torch.zeros(4),))
    assert_identical(double(x), x * 2)
    largest = ost.accelerator.make_graphed_callables(torch.argmax, (torch.zeros(4, requires_grad=True),))
    assert_identical(largest(x), x.argmax())


def test_make_graphed_callables_refuses_other_shapes_and_structures():
    call = ost.accelerator.make_graphed_callables(lambda x: x * 2, (torch.ones(4, 3, requires_grad=True),))
    with pytest.raises(ost.UsageError, match=r"float32\[1, 3\]"):
        call(torch.ones(1, 3))
    with pytest.raises(ost.UsageError, match="structure"):
        call((torch.ones(4, 3),))
    with pytest.raises(ost.UsageError, match="not all tensors"):
        ost.accelerator.make_graphed_callables(lambda x, n: x * n, (torch.ones(2), 3))
    with pytest.raises(ost.UsageError, match="2 entries for 1"):
        ost.accelerator.make_graphed_callables((lambda x: x,), ((torch.ones(2),), (torch.ones(2),)))


def test_a_graphed_module_can_be_copied_before_it_is_graphed_and_after():
    module = net()
    call = graphed(copy.deepcopy(module))
    x = torch.randn(2, 6)
    with torch.no_grad():
        torch.testing.assert_close(call(x), module(x), rtol=1e-4, atol=1e-5)

import copy
import dataclasses

import pytest
import torch
from torch import nn

from ostinato._errors import ExportError, UsageError
from ostinato.export import Session, trace_stateful, verify

from .models import Affine, ByShape, Carry, Detector, Pair, Policy, Started, Swap, detector_calls


@pytest.fixture(scope="module")
def detector():
    module = Detector().eval()
    audio = [((torch.zeros(1, 128), 8000), {}), ((torch.zeros(1, 256), 16000), {})]
    calls = {"forward": detector_calls(), "audio_forward": audio}
    return module, trace_stateful(module, calls, reset="reset_states")


def test_two_rates_agree_bit_for_bit_with_the_eager_module(detector):
    module, methods = detector
    report = verify(module, methods, seed=7)
    assert report.max_abs == 0.0
    assert report.agrees
    assert report.calls >= 24


def test_a_change_of_rate_resets_the_state_as_the_module_does(detector):
    _, methods = detector
    assert [each.on_variant_change for each in methods["forward"]] == ["reset", "reset"]
    assert methods["reset_states"][0].resets


def test_the_mode_says_what_the_module_remembers(detector):
    _, methods = detector
    modes = [f"_last_batch_size=1, _last_sr={rate}" for rate in (16000, 8000)]
    assert [each.mode for each in methods["forward"]] == modes
    assert [each.mode for each in methods["audio_forward"]] == modes[::-1]


def test_another_method_of_another_mode_resets_too(detector):
    module, methods = detector
    x = torch.randn(1, 64)
    plan = [("forward", (x, 16000), {}), ("audio_forward", (torch.randn(1, 128), 8000), {})]
    assert verify(module, methods, [plan * 3]).max_abs == 0.0
    carried = {
        name: [dataclasses.replace(each, on_variant_change="carry") for each in variants]
        for name, variants in methods.items()
    }
    assert not verify(module, carried, [plan * 3]).agrees


def test_a_change_that_no_number_remembers_is_told_by_the_variant():
    calls = [((torch.randn(1, width),), {}) for width in (3, 4)]
    methods = trace_stateful(ByShape(), {"forward": calls})
    assert [each.on_variant_change for each in methods["forward"]] == ["reset", "reset"]
    assert [each.mode for each in methods["forward"]] == ["forward 0", "forward 1"]
    assert set(methods["forward"][1].program.state_dict) == {"last__1x4"}


def test_state_of_two_shapes_is_kept_apart_and_weights_keep_their_names(detector):
    module, methods = detector
    first, second = (set(each.program.state_dict) for each in methods["forward"])
    assert {"_state", "_context"} <= first
    assert {"_state", "_context__1x16"} <= second
    weights = (first | second) - {"_state", "_context", "_context__1x16"}
    assert weights == set(module.state_dict())


def test_the_module_is_not_changed(detector):
    module, _ = detector
    assert module._last_sr == 0
    assert module._state.numel() == 0


def test_argument_names_survive(detector):
    _, methods = detector
    names = [node.name for node in methods["forward"][0].program.graph.nodes if node.op == "placeholder"]
    assert names[-2:] == ["x", "sr"]


def test_the_programs_given_to_a_session_are_not_changed(detector):
    _, methods = detector
    session = Session(methods)
    session.call("forward", torch.randn(1, 64), 16000)
    assert session.state["_context"].any()
    assert not methods["forward"][0].program.state_dict["_context"].any()


def test_a_call_that_no_variant_takes_names_those_there_are(detector):
    _, methods = detector
    with pytest.raises(UsageError, match=r"float32\[1, 64\], 16000") as error:
        Session(methods).call("forward", torch.zeros(1, 64), 8000)
    assert error.value.code == "export.no_variant"


def test_a_sequence_of_ones_own(detector):
    module, methods = detector
    x, y = torch.randn(1, 64), torch.randn(1, 32)
    plan = [("forward", (x, 16000), {}), ("forward", (y, 8000), {}), ("reset_states", (), {})]
    assert verify(module, methods, [plan * 3]).max_abs == 0.0


def test_verify_reports_a_difference_instead_of_raising(detector):
    module, methods = detector
    other = copy.deepcopy(module)
    with torch.no_grad():
        other.net16.out.bias += 0.5
    report = verify(other, methods)
    assert not report.agrees
    assert report.max_abs > 0.01
    assert "16000" in report.first


def test_buffers_written_in_place_and_one_that_is_not_persistent():
    module = Policy()
    methods = trace_stateful(module, {"forward": [((torch.randn(1, 5),), {})]}, reset="reset_memory")
    assert set(methods["reset_memory"][0].program.state_dict) == {"hidden_state", "cell_state"}
    assert verify(module, methods).max_abs == 0.0


def test_a_tuple_from_none_becomes_state_and_a_table_that_settles_does_not():
    methods = trace_stateful(Pair(), {"forward": [((torch.randn(2, 3),), {})]})
    program = methods["forward"][0].program
    assert set(program.state_dict) >= {"hidden.0", "hidden.1"}
    assert not any("table" in name for name in program.state_dict)
    assert verify(Pair(), methods).max_abs == 0.0


def test_variants_that_carry_their_state():
    calls = [((torch.randn(2, 2), 1), {}), ((torch.randn(2, 2), 3), {})]
    methods = trace_stateful(Carry(), {"forward": calls})
    assert {each.on_variant_change for each in methods["forward"]} == {"carry"}


def test_a_start_that_is_not_zero_is_kept():
    methods = trace_stateful(Started(), {"forward": [((torch.randn(3),), {})]}, reset="reset")
    assert methods["forward"][0].program.state_dict["level"].tolist() == [2.0, 2.0, 2.0]
    assert verify(Started(), methods).max_abs == 0.0


def test_states_that_change_places():
    methods = trace_stateful(Swap(), {"forward": [((torch.zeros(2),), {})]})
    assert verify(Swap(), methods).max_abs == 0.0


def test_no_state_is_no_hindrance():
    calls = [((torch.randn(2, 4),), {}), ((torch.randn(2, 4),), {"mode": "bare"})]
    methods = trace_stateful(Affine(), {"forward": calls})
    assert methods["forward"][0].on_variant_change is None
    assert set(methods["forward"][0].program.state_dict) == {"linear.weight", "linear.bias"}


def test_dynamic_shapes_go_through():
    shapes = {"forward": {"x": {0: torch.export.Dim("batch", min=2, max=64)}, "mode": None}}
    calls = [((torch.randn(3, 4),), {"mode": "bare"})]
    methods = trace_stateful(Affine(), {"forward": calls}, dynamic_shapes=shapes)
    x = torch.randn(17, 4)
    assert torch.equal(Session(methods).call("forward", x, mode="bare"), Affine()(x, mode="bare"))


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Module()
        self.inner.steps = 0

    def forward(self, x):
        self.inner.steps += 1
        return x * self.inner.steps


class Grows(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("past", torch.zeros(0, 2))

    def forward(self, x):
        self.past = torch.cat([self.past, x])
        return self.past.sum(0)


class ListGrows(nn.Module):
    def __init__(self):
        super().__init__()
        self.past = []

    def forward(self, x):
        self.past = [*self.past, x]
        return sum(self.past)


class FirstIsSpecial(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = None

    def forward(self, x):
        self.mean = x if self.mean is None else 0.9 * self.mean + 0.1 * x
        return self.mean * 1.0


class Measures(nn.Module):
    def __init__(self):
        super().__init__()
        self.peak = 0.0

    def forward(self, x):
        self.peak = float(x.max())
        return x


class Box:
    pass


class Replaces(nn.Module):
    def __init__(self):
        super().__init__()
        self.box = Box()

    def forward(self, x):
        self.box = Box()
        return x


class Halves(nn.Module):
    """On a change of variant it halves its state: neither a reset nor a carry."""

    def __init__(self):
        super().__init__()
        self.total = torch.zeros(2)
        self.last = 0

    def forward(self, x, which: int):
        if self.last and self.last != which:
            self.total = self.total * 0.5
        self.last = which
        self.total = self.total + x
        return self.total * 1.0


class HalfReset(Started):
    def __init__(self):
        super().__init__()
        self.other = torch.zeros(3)

    def forward(self, x):
        self.other = self.other + x
        return super().forward(x) + self.other


X = torch.arange(4.0).reshape(2, 2) + 1


@pytest.mark.parametrize(
    ("module", "code", "names"),
    [
        (Counter(), "export.counter", "inner.steps"),
        (Measures(), "export.counter", "peak"),
        (Grows(), "export.shape", "past"),
        (ListGrows(), "export.structure", "past"),
        (FirstIsSpecial(), "export.start", "mean"),
        (Replaces(), "export.opaque", "box"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else None,
)
def test_state_that_would_be_lost_is_refused_by_name(module, code, names):
    with pytest.raises(ExportError) as error:
        trace_stateful(module, {"forward": [((X,), {})]})
    assert error.value.code == code
    assert names in error.value.message
    assert error.value.hint


def test_a_change_of_variant_that_neither_resets_nor_carries_is_refused():
    x = torch.ones(2)
    with pytest.raises(ExportError) as error:
        trace_stateful(Halves(), {"forward": [((x, 1), {}), ((x, 2), {})]})
    assert error.value.code == "export.variant_change"


def test_a_reset_that_forgets_a_part_is_refused():
    with pytest.raises(ExportError) as error:
        trace_stateful(HalfReset(), {"forward": [((torch.ones(3),), {})]}, reset="reset")
    assert error.value.code == "export.disagrees"


def test_chance_is_no_state_but_must_agree():
    module = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5))
    methods = trace_stateful(module.eval(), {"forward": [((X,), {})]})
    assert verify(module, methods).agrees


def test_a_branch_on_values_says_what_to_use_instead():
    class Branch(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    with pytest.raises(ExportError, match=r"torch\.cond") as error:
        trace_stateful(Branch(), {"forward": [((X,), {})]})
    assert error.value.code == "export.untraceable"


@pytest.mark.parametrize(
    ("calls", "reset", "code"),
    [
        ({}, None, "export.no_methods"),
        ({"forward": []}, None, "export.no_methods"),
        ({"backwards": [((), {})]}, None, "export.no_attribute"),
        ({"forward": [((X,), {})]}, "nothing", "export.no_attribute"),
    ],
)
def test_arguments_that_make_no_sense(calls, reset, code):
    with pytest.raises(UsageError) as error:
        trace_stateful(Affine(), calls, reset)
    assert error.value.code == code


def test_an_eager_call_that_fails_is_named():
    with pytest.raises(ExportError, match="forward fails") as error:
        trace_stateful(Affine(), {"forward": [((torch.zeros(3, 3),), {})]})
    assert error.value.code == "export.eager"

"""Real archives give what they were recorded to give, and bit for bit what torch.jit gives here."""

from __future__ import annotations

import pytest
import torch

import ostinato as ost

from .archives import FOLDER, needs_archives

pytestmark = needs_archives

NAMES = [
    "silero_vad.jit",
    "unitree_g1_motion.pt",
    "anydrive_v3_lstm.pt",
    "unitree_go1_actuator.pt",
    "walk_adaptation.jit",
    "openmm_central.pt",
    "openmm_forces.pt",
    "reddit_byte_lstm_v1.pt",
]


def calls_of(name):
    return torch.load(FOLDER / (name.rpartition(".")[0] + ".golden.pt"), weights_only=True)


def run(module, call):
    method = module if call["method"] == "forward" else getattr(module, call["method"])
    args = [each.clone() if torch.is_tensor(each) else each for each in call["args"]]
    return method(*args, **call["kwargs"])


@pytest.mark.parametrize("name", NAMES)
def test_recorded_outputs(name):
    module = ost.torchscript.load(FOLDER / name)
    for at, call in enumerate(calls_of(name)):
        got = run(module, call)
        if isinstance(call["out"], (torch.Tensor, tuple)):
            torch.testing.assert_close(
                got, call["out"], rtol=1e-4, atol=1e-5, msg=lambda m, at=at: f"call {at}: {m}"
            )
        else:
            assert got == call["out"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_bit_for_bit_what_torch_jit_gives(name):
    jit = pytest.importorskip("torch.jit", reason="this torch has no torch.jit")
    theirs, ours = jit.load(FOLDER / name, map_location="cpu"), ost.torchscript.load(FOLDER / name)
    for call in calls_of(name)[:8]:  # torch.jit compiles for seconds where there are more
        got, wanted = run(ours, call), run(theirs, call)
        if isinstance(wanted, list):
            assert got == wanted
        else:
            torch.testing.assert_close(got, wanted, rtol=0, atol=0)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_state_dicts_agree_with_torch_jit(name):
    jit = pytest.importorskip("torch.jit", reason="this torch has no torch.jit")
    theirs = jit.load(FOLDER / name, map_location="cpu").state_dict()
    ours = ost.torchscript.load(FOLDER / name).state_dict()
    assert set(ours) == set(theirs)
    for key, value in theirs.items():
        assert torch.equal(ours[key], value), key


@pytest.mark.parametrize("name", ["walk_adaptation.jit", "unitree_g1_motion.pt", "anydrive_v3_lstm.pt"])
def test_torch_export_traces_a_loaded_module(name):
    module = ost.torchscript.load(FOLDER / name).eval()
    call = next(each for each in calls_of(name) if each["method"] == "forward")
    program = torch.export.export(module, tuple(call["args"]), call["kwargs"])
    fresh = ost.torchscript.load(FOLDER / name).eval()
    torch.testing.assert_close(program.module()(*call["args"]), fresh(*call["args"]))

"""The native library: what it says, what it refuses, and that every instruction set computes the same."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

import ostinato as ost
from ostinato import _native
from ostinato._errors import NativeError

CASES = sorted(str(path) for path in pathlib.Path(__file__).parent.glob("isa_*.py"))
RUN_ALL = "import runpy, sys; [runpy.run_path(path, run_name='__main__') for path in sys.argv[1:]]"


def _run(isa, *command):
    env = {**os.environ, "OSTINATO_ISA": isa}
    return subprocess.run([sys.executable, *command], env=env, capture_output=True, text=True, timeout=300)


def test_info_says_what_was_chosen():
    info = _native.info()
    assert info["isa"] in ("baseline", "avx2", "avx512")
    assert info["vector_bytes"] in (16, 32, 64)
    assert pathlib.Path(info["library"]).name == "_C.so"


def test_unknown_instruction_set_is_refused_with_a_hint():
    done = _run("sse9", "-c", "from ostinato import _native; _native.ops()")
    assert done.returncode != 0
    assert "sse9 is not one of baseline, avx2, avx512" in done.stderr
    assert "hint: unset OSTINATO_ISA" in done.stderr


@pytest.mark.parametrize("isa", ["baseline", "avx2", "avx512"])
def test_every_instruction_set_agrees_with_its_oracle(isa):
    done = _run(isa, "-c", RUN_ALL, *CASES)
    if "is not supported by this processor" in done.stderr or "is not in this build" in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[-2])
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [isa] * len(CASES)


def test_malformed_steps_are_errors_and_not_crashes():
    import torch

    native = _native.ops()
    plan = native.plan_new()
    native.plan_values(plan, [torch.zeros(3)])
    for code in ([1, 7], [1, -1], [6, 3, 1], [6, -2], [3, 0], [99], [7] * 50):
        with pytest.raises(RuntimeError):
            native.plan_add(plan, "dispatcher", "aten::relu", "", code, [], [], [-1])
    assert _native.plan_run()(plan, 0, 5, 0) == -2
    assert _native.plan_run()(10**9, 0, 0, 0) == -2
    _native.plan_free()(plan)


def test_errors_carry_a_code_and_survive_pickling():
    import pickle

    with pytest.raises(ost.accelerator.ReplayError) as caught:
        ost.accelerator.Graph().replay()
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.code, again.hint, str(again)) == (caught.value.code, caught.value.hint, str(caught.value))
    assert isinstance(caught.value, RuntimeError)
    assert issubclass(NativeError, RuntimeError)

"""Lets most tests of deployments do without the fresh process, which spends its time on starting torch."""

from __future__ import annotations

import contextlib
import json

import pytest
import torch

from ostinato.deployment import _trial


@pytest.fixture(autouse=True)
def trials_in_this_process(request, monkeypatch):
    """Runs what the process runs, in this one; tests marked ``fresh_process`` start the real one."""
    if request.node.get_closest_marker("fresh_process"):
        return

    monkeypatch.setattr(_trial, "_process", _here)


@contextlib.contextmanager
def in_this_process():
    """The same for a fixture of a whole module, which comes before those of a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_trial, "_process", _here)
        yield


def _here(job):
    try:
        with torch.random.fork_rng(devices=[]):
            _trial.main(json.dumps(job))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""

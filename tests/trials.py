"""Lets most tests of deployments do without the fresh process, which spends its time on starting torch."""

from __future__ import annotations

import json

import pytest
import torch

from ostinato.deployment import _trial


@pytest.fixture(autouse=True)
def trials_in_this_process(request, monkeypatch):
    """Runs what the process runs, in this one; tests marked ``fresh_process`` start the real one."""
    if request.node.get_closest_marker("fresh_process"):
        return

    def process(job):
        try:
            with torch.random.fork_rng(devices=[]):
                _trial.main(json.dumps(job))
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return ""

    monkeypatch.setattr(_trial, "_process", process)

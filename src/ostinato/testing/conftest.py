"""Fixtures of the suite, and the table that it prints."""

from __future__ import annotations

import collections
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
import torch

pytest.register_assert_rewrite("ostinato.testing._backend")

from ..accelerator import is_capturing  # noqa: E402 - after the line above
from ._backend import Backend  # noqa: E402

# The groups, in the order of the table: the last part of a file's name is the group's.
_GROUPS = ("life_cycle", "errors", "memory", "random", "streams", "control_flow", "training", "threads")
_LACKING = "lacking: "
_outcomes: dict[str, collections.Counter[str]] = {group: collections.Counter() for group in _GROUPS}
_lacking: set[str] = set()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs(capability): lacking where the device does not name it")


@pytest.fixture(scope="session")
def backend(request: pytest.FixtureRequest) -> Backend:
    option = request.config.getoption
    return Backend(torch.device(option("--device")), option("--numerics"))


@pytest.fixture(autouse=True)
def _around(request: pytest.FixtureRequest, backend: Backend) -> Iterator[None]:
    """Skips what the device says it lacks; afterwards no check has left a capture under way."""
    for marker in request.node.iter_markers("needs"):
        if not backend.supports(marker.args[0]):
            pytest.skip(_LACKING + marker.args[0])
    torch.manual_seed(0)
    yield
    assert not is_capturing()


# ---- the table ----------------------------------------------------------------
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    group = pathlib.PurePath(report.nodeid.partition("::")[0]).stem.removeprefix("test_")
    if group not in _outcomes:
        return
    if report.failed:
        _outcomes[group]["fails"] += 1
    elif report.skipped and isinstance(report.longrepr, tuple):
        what = report.longrepr[2].removeprefix("Skipped: ")
        if what.startswith(_LACKING):
            _outcomes[group]["lacking"] += 1
            _lacking.add(what.removeprefix(_LACKING))
    elif report.when == "call" and report.passed:
        _outcomes[group]["holds"] += 1


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    write = terminalreporter.write_line
    columns = ("holds", "fails", "lacking")
    write("")
    write(f"ostinato.testing on {config.getoption('--device')}, {config.getoption('--numerics')} numerics")
    write(f"  {'group':14}" + "".join(f"{c:>9}" for c in columns))
    total: collections.Counter[str] = collections.Counter()
    for group, counts in _outcomes.items():
        total += counts
        write(f"  {group.replace('_', ' '):14}" + "".join(f"{counts[c]:9}" for c in columns))
    write(f"  {'all':14}" + "".join(f"{total[c]:9}" for c in columns))
    if _lacking:
        write(f"  lacking: {', '.join(sorted(_lacking))}")

"""What the round trips share: archives of programs and layers, one thread, and the count at the end."""

from __future__ import annotations

import collections

import pytest
import torch

_KEY = pytest.StashKey[dict[str, collections.Counter]]()


def pytest_configure(config):
    config.stash[_KEY] = collections.defaultdict(collections.Counter)


@pytest.fixture
def tally(request):
    """Counts what holds: a table's name, and its line."""
    counts = request.config.stash[_KEY]

    def count(table: str, line: str) -> None:
        counts[table][line] += 1

    return count


@pytest.fixture(autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the tensors are small
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def archives(tmp_path_factory):
    """``archives(name, make)``: the archive of what torch.jit compiles, made once."""
    folder = tmp_path_factory.mktemp("matrix")
    made = {}

    def archive(name, make):
        if name not in made:
            torch.manual_seed(0)
            path = folder / f"{len(made)}.pt"
            with torch.no_grad():
                make().save(str(path))
            made[name] = path
        return made[name]

    return archive


def pytest_terminal_summary(terminalreporter, config):
    for table, counts in sorted(config.stash[_KEY].items()):
        terminalreporter.section(f"torchscript: {table}, {counts.total()}")
        line = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
        terminalreporter.write_line(line)

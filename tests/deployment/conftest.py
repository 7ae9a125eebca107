"""Where the real archives are, if they are anywhere; and trials without a process of their own."""

import os
import pathlib

import pytest

from tests.trials import trials_in_this_process as trials_in_this_process

_BESIDE = pathlib.Path(__file__).parents[3] / "shared" / "archives"


@pytest.fixture
def archive():
    """A function from the name of a real archive to its path; skips where there is none."""
    folder = pathlib.Path(os.environ.get("OSTINATO_ARCHIVES", _BESIDE))

    def path(name):
        if not (folder / name).is_file():
            pytest.skip(f"no {name}: OSTINATO_ARCHIVES names no folder that has it")
        return folder / name

    return path

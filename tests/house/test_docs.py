"""Every block of Python in the documentation runs."""

from __future__ import annotations

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"])
FENCE = re.compile(r"^( *)```python[ ]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)

# What a page supposes the reader to have.
SUPPOSED = {
    "docs/guides/export.md": """
import torch

class MyDetector(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)
        self.reset_states()

    def reset_states(self):
        self._state = torch.zeros(1, 8)
        self._last_sr = 0

    def forward(self, x, sr):
        if self._last_sr != sr:
            self.reset_states()
        self._last_sr = sr
        self._state = torch.tanh(self._state + x.reshape(1, 8, -1).mean(-1))
        return self.layer(self._state)

chunk = torch.zeros(1, 512)
""",
}


def blocks(text):
    """The code of each block with the number of the line before it; blocks marked `no-run` are left out."""
    for match in FENCE.finditer(text):
        indent = match.group(1)
        code = "".join(line.removeprefix(indent) for line in match.group(2).splitlines(keepends=True))
        yield text.count("\n", 0, match.start(2)), code


def _name(page):
    return str(page.relative_to(ROOT))


RUNNING = [page for page in PAGES if any(blocks(page.read_text(encoding="utf-8")))]


@pytest.fixture
def devices():
    """What a page registers lasts as long as its test."""
    from ostinato.accelerator import _registry

    before = set(_registry._registered)
    yield
    for device in set(_registry._registered) - before - set(_registry._BUILT_IN):
        del _registry._registered[device]


@pytest.mark.parametrize("page", RUNNING, ids=_name)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("devices")
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    import torch

    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    namespace = {"__name__": "__main__"}
    exec(SUPPOSED.get(_name(page), ""), namespace)
    for line, code in blocks(page.read_text(encoding="utf-8")):
        # Padded, so that a traceback shows the line of the page.
        exec(compile("\n" * line + code, str(page), "exec"), namespace)


def test_few_blocks_are_left_out():
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    left_out = text.count("```python no-run")
    assert left_out * 10 <= len(FENCE.findall(text)) + left_out

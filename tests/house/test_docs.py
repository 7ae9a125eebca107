"""Every block of Python in the documentation runs."""

from __future__ import annotations

import pathlib
import re

import pytest
import torch

ROOT = pathlib.Path(__file__).parents[2]
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"])
FENCE = re.compile(r"^( *)```python[ ]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)


class MyDetector(torch.nn.Module):
    """What the pages deploy and export: a detector at two sample rates that remembers what it heard."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)
        self._state = torch.zeros(1, 8)
        self._last_sr = 0

    @torch.jit.export
    def reset_states(self):
        self._state = torch.zeros(1, 8)
        self._last_sr = 0

    def forward(self, x, sr: int):
        if sr != 16000 and sr != 8000:
            raise ValueError("the sample rate must be 16000 or 8000")
        if x.shape[-1] != (512 if sr == 16000 else 256):
            raise ValueError("a chunk has 512 samples at 16000 Hz and 256 at 8000 Hz")
        if self._last_sr != sr:
            self.reset_states()
        self._last_sr = sr
        self._state = torch.tanh(self._state + x.reshape(1, 8, -1).mean(-1))
        return self.layer(self._state)


def _has_a_detector(namespace):
    namespace.update(torch=torch, MyDetector=MyDetector, chunk=torch.zeros(1, 512))


def _has_an_archive(namespace):
    model = MyDetector().eval()
    torch.jit.script(model).save("silero_vad.jit")
    namespace.update(torch=torch, model=model, chunk=torch.zeros(1, 512))


# What a page supposes its reader to have.
SUPPOSED = {"docs/guides/export.md": _has_a_detector, "docs/guides/deploy.md": _has_an_archive}


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
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    namespace = {"__name__": "__main__"}
    SUPPOSED.get(_name(page), lambda _: None)(namespace)
    for line, code in blocks(page.read_text(encoding="utf-8")):
        # Padded, so that a traceback shows the line of the page.
        exec(compile("\n" * line + code, str(page), "exec"), namespace)


def test_few_blocks_are_left_out():
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    left_out = text.count("```python no-run")
    assert left_out * 10 <= len(FENCE.findall(text)) + left_out

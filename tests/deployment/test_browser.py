"""The report in a real browser: narrow and wide, light and dark."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess

import pytest
import torch

import ostinato as ost
from tests.trials import in_this_process

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium or chrome is on PATH")
WIDTHS = (360, 1400)
# Frames, for a window has a least width; what each of them says goes into the outer page, which is dumped.
OUTER = """<!doctype html><meta charset="utf-8">{frames}<pre id="found"></pre><script>
addEventListener("load", () => {{
  found.textContent = JSON.stringify([...document.querySelectorAll("iframe")].map(frame => {{
    const page = frame.contentDocument, inner = frame.contentWindow;
    const verdict = page.querySelector(".verdict").getBoundingClientRect();
    return {{
      width: inner.innerWidth,
      content: page.documentElement.scrollWidth,
      beyond: [...page.querySelectorAll("body > *, section > *")]
        .filter(each => each.getBoundingClientRect().right > inner.innerWidth).map(each => each.className),
      verdict: [verdict.top, verdict.bottom, page.querySelector(".verdict").innerText],
      requests: inner.performance.getEntriesByType("resource").map(each => each.name),
      dark: inner.matchMedia("(prefers-color-scheme: dark)").matches,
      colors: [inner.getComputedStyle(page.body).color, inner.getComputedStyle(page.body).backgroundColor],
    }};
  }}));
}});
</script>"""


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a_rather_long_name_of_a_layer = torch.nn.Sequential(
            *(torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh()) for _ in range(3))
        )
        self.register_buffer("state", torch.zeros(2, 64))

    def forward(self, x):
        self.state.copy_(self.a_rather_long_name_of_a_layer(x + self.state))
        return self.state.softmax(-1)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    with in_this_process():
        report = ost.deploy(Net(), (torch.randn(2, 64),), out=folder / f"{'long-' * 12}name.pt2", mx="mxfp4")
    report.save(folder / "report.html")
    return report, folder / "report.html"


def _luminance(color):
    return sum(map(int, re.findall(r"\d+", color)[:3]))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_page_fits_loads_nothing_and_says_the_verdict(page, tmp_path, dark):
    report, path = page
    text = html.escape(path.read_text(encoding="utf-8"))
    frames = "".join(
        f'<iframe width="{w}" height="900" style="border:0" srcdoc="{text}"></iframe>' for w in WIDTHS
    )
    (tmp_path / "outer.html").write_text(OUTER.format(frames=frames), encoding="utf-8")
    command = [
        BROWSER,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path / 'profile'}",
    ]
    command += ["--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", "--window-size=1900,1000"]
    command += [f"--blink-settings=preferredColorScheme={0 if dark else 1}", "--dump-dom"]
    done = subprocess.run(
        [*command, (tmp_path / "outer.html").as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "CONSOLE" not in done.stderr
    found = json.loads(html.unescape(re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)[1]))
    assert [each["width"] for each in found] == list(WIDTHS)
    for each in found:
        assert each["content"] <= each["width"]
        assert each["beyond"] == []
        top, bottom, said = each["verdict"]
        assert 0 <= top < bottom <= 900
        assert report.verdict in said
        assert each["requests"] == []
        assert each["dark"] is dark
        ink, paper = map(_luminance, each["colors"])
        assert (ink > paper) is dark
        assert abs(ink - paper) > 400

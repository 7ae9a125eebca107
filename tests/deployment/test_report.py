"""The report as a page, as Markdown and as JSON."""

from __future__ import annotations

import dataclasses
import html.parser
import json
import re

import pytest
import torch

import ostinato as ost
from ostinato import _errors
from ostinato.deployment._picture import _places, picture

HOSTILE = "<b>|x&y`*"  # a name as no reader of ours lets through, and which others might


class Named(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(32, 64)
        self.out = torch.nn.Linear(64, 4)

    def forward(self, x):
        return self.out(self.first(x).relu())


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    made = ost.deploy(Named(), (torch.randn(2, 32),), out=folder / "net.pt2", mx="mxfp8_e4m3")
    first, second = made.quantization.weights
    hostile = dataclasses.replace(
        made.quantization, weights=(dataclasses.replace(first, name=HOSTILE), second)
    )
    return dataclasses.replace(made, source=HOSTILE, quantization=hostile)


class _Strict(html.parser.HTMLParser):
    """Every element that is opened is closed in its order; nothing is loaded from anywhere."""

    VOID = ("meta", "br", "img", "input", "link")

    def __init__(self):
        super().__init__()
        self.open, self.texts, self.outside = [], [], []

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)
        self.outside += [value for key, value in attrs if key in ("src", "href")]

    def handle_startendtag(self, tag, attrs):
        self.outside += [value for key, value in attrs if key in ("src", "href")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_the_page_is_whole_and_loads_nothing(report, tmp_path):
    report.save(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    page = _Strict()
    page.feed(text)
    assert page.open == []
    assert page.outside == []
    assert "url(" not in text
    assert "@import" not in text
    shown = "".join(page.texts)
    assert report.verdict in shown
    assert shown.count(HOSTILE) >= 2  # as a text, since escaped in the source
    assert HOSTILE not in text
    for each in report.quantization.weights:
        assert f"{each.error:.2g}" in shown
    assert text.count('<rect class="box"') == len(report.profile)


def test_markdown_has_tables_whose_rows_are_whole(report, tmp_path):
    report.save(tmp_path / "report.md")
    lines = (tmp_path / "report.md").read_text(encoding="utf-8").splitlines()
    assert report.verdict in "".join(lines)
    tables = re.split(r"\n(?!\|)", "\n".join(lines))
    widths = [
        {len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines() if row.startswith("|")}
        for table in tables
    ]
    assert all(len(width) <= 1 for width in widths)


def test_json_is_the_report(report, tmp_path):
    report.save(tmp_path / "report.json")
    document = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert document == json.loads(json.dumps(report.to_json()))
    assert document["verdict"] == report.verdict
    assert [each["format"] for each in document["quantization"]["weights"]] == ["mxfp8_e4m3"] * 2


def test_another_suffix_and_another_place_are_refused(report, tmp_path):
    with pytest.raises(_errors.UsageError, match=r"report\.pdf"):
        report.save(tmp_path / "report.pdf")
    with pytest.raises(_errors.DeployError, match="missing"):
        report.save(tmp_path / "missing" / "report.html")
    assert not list(tmp_path.iterdir())


def test_times_and_steps_are_of_a_fresh_process(report):
    assert list(report.times) == ["Ostinato, fast", "torch, operator by operator"]
    assert all(0 < each.least <= each.median for each in report.times.values())
    assert report.load_ms > 0
    assert report.first_ms > 0
    assert sum(report.steps.values()) == len(report.profile)


def _step(number, *inputs):
    return {
        "op": "o",
        "sources": [],
        "kind": "kernel",
        "inputs": list(inputs),
        "outputs": [f"t{number}"],
        "us": 1.0,
    }


def test_no_two_steps_lie_on_each_other_and_all_are_below_what_they_need():
    parents = [[], [], [0], [0], [0, 1], [2, 3, 4], [5], [0]]
    places = _places(parents)
    for i, (x, y) in enumerate(places):
        assert all(y > places[p][1] for p in parents[i])
        assert all(y != v or abs(x - u) >= 190 for u, v in places[:i])
    steps = [_step(i, *(f"t{p}" for p in found)) for i, found in enumerate(parents)]
    assert picture(steps).count('class="edge"') == sum(map(len, parents))

"""The generated pages are those of this tree, and the site builds without a warning or a foreign resource."""

from __future__ import annotations

import pathlib
import re
import runpy
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"


def test_the_page_of_errors_is_that_of_the_tables():
    render = runpy.run_path(str(ROOT / "scripts" / "errors.py"))["render"]
    page = (REFERENCE / "errors.md").read_text(encoding="utf-8")
    assert page == render(), "docs/reference/errors.md is out of date: run `make errors`"


def test_the_page_of_rules_is_that_of_the_table():
    render = runpy.run_path(str(ROOT / "scripts" / "lint_rules.py"))["render"]
    page = (REFERENCE / "lint.md").read_text(encoding="utf-8")
    assert page == render(), "docs/reference/lint.md is out of date: run `make lint-rules`"


def test_the_page_of_operators_promises_no_less_than_the_suite():
    page = (REFERENCE / "operators.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([a-zA-Z ]+) \|(?: \d+ \|)+ (\d+) \|$", page, re.MULTILINE)
    totals = {kind: int(count) for kind, count in rows}
    suite = (ROOT / "tests" / "accelerator" / "test_opinfo.py").read_text(encoding="utf-8")
    least = {name: int(count) for name, count in re.findall(r"assert len\((\w+)\) >= (\d+)", suite)}
    most = {name: int(count) for name, count in re.findall(r"assert len\((\w+)\) <= (\d+)", suite)}
    assert totals["equal"] >= least["equal"]
    assert totals["without a Python step"] >= least["native"]
    assert totals["refused"] <= most["refused"]
    assert totals["entries"] == totals["equal"] + totals["refused"] + totals["not run"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("mkdocs")
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return out


def test_the_site_fetches_nothing_from_elsewhere(site):
    foreign = re.compile(
        r"<(?:script|img|iframe)[^>]+src=[\"']?(?:https?:)?//|<link[^>]+href=[\"']?(?:https?:)?//"
    )
    for page in site.rglob("*.html"):
        found = foreign.search(page.read_text(encoding="utf-8"))
        assert found is None, f"{page.relative_to(site)}: {found.group()}"


def test_every_page_is_in_the_navigation(site):
    index = (site / "index.html").read_text(encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        address = str(page.relative_to(ROOT / "docs").with_suffix(".html"))
        assert f'href="{address}"' in index, f"{address} is not linked"

"""The table of facts: nothing missing, nothing against itself, and the few facts that everybody knows."""

from __future__ import annotations

import copy
import json
import pathlib
import runpy

import pytest

from ostinato.doctor._table import table
from ostinato.doctor._versions import Range, at_least, numbers, python_tag

ROOT = pathlib.Path(__file__).parents[2]
CHECKER = runpy.run_path(str(ROOT / "scripts" / "doctor_table.py"))


def test_nothing_is_wrong_with_the_table():
    assert list(CHECKER["problems"](table().document)) == []


def damaged(change):
    document = copy.deepcopy(table().document)
    change(document)
    return list(CHECKER["problems"](document))


@pytest.mark.parametrize(
    "change",
    [
        lambda each: each["builds"].append(dict(each["builds"][0])),
        lambda each: each["builds"][0].update(architectures=["12.0"]),
        lambda each: each["builds"][0].update(source="hearsay"),
        lambda each: each["drivers"].pop(),
        lambda each: each["torch"][0]["default"].update({"linux-x86_64": "cu999"}),
        lambda each: each["torch"][0]["python"].update({"linux-riscv64": ["cp312"]}),
        lambda each: each["gpus"][0]["names"].append(each["gpus"][1]["names"][0]),
        lambda each: each["gpus"][0].update(capability="99.0"),
        lambda each: each["sources"]["pypi"].update(date="yesterday"),
        lambda each: each["builds"].append(
            {"torch": ["2.15.0"], "variant": "cu126", "platforms": ["linux-x86_64"], "source": "pypi"}
        ),
        lambda each: each["torch"][0].pop("source"),
    ],
)
def test_the_checker_sees_what_is_wrong(change):
    assert damaged(change)


def test_differences_from_the_registry_are_seen():
    facts = table()
    same = {
        version: {platform: set(tags) for platform, tags in facts.release(version)["python"].items()}
        for version in facts.versions
    }
    assert list(CHECKER["differences"](facts, same)) == []
    same["2.15.0"]["linux-x86_64"].add("cp316")
    same["2.16.0"] = {}
    del same["2.9.0"]
    assert len(list(CHECKER["differences"](facts, same))) == 3


def test_every_source_has_a_date_and_an_address():
    document = table().document
    assert len(document["sources"]) >= 20
    assert json.dumps(document).isascii()
    assert document["torch"][-1]["version"] == "1.13.0"


# From the commands on https://pytorch.org/get-started/previous-versions/
@pytest.mark.parametrize(
    ("torch", "torchvision", "torchaudio"),
    [
        ("2.6.0", "0.21.0", "2.6.0"),
        ("2.5.1", "0.20.1", "2.5.1"),
        ("2.3.1", "0.18.1", "2.3.1"),
        ("2.0.1", "0.15.2", "2.0.2"),
        ("1.13.1", "0.14.1", "0.13.1"),
    ],
)
def test_companions_are_those_of_the_official_commands(torch, torchvision, torchaudio):
    assert table().companion_for("torchvision", torch) == torchvision
    assert table().companion_for("torchaudio", torch) == torchaudio


@pytest.mark.parametrize(
    ("tests", "inside", "outside"),
    [
        ("==2.9", ["2.9.0", "2.9.1"], ["2.8.0", "2.10.0"]),
        ("==2.9.*", ["2.9.0"], ["2.10.0"]),
        (">=2.8,<2.10", ["2.8.0", "2.9.1"], ["2.7.1", "2.10.0"]),
        ("~=2.9.0", ["2.9.1"], ["2.10.0"]),
        ("!=2.9.0", ["2.9.1"], ["2.9.0"]),
        (">2.9", ["2.10.0"], ["2.9.1"]),
        ("<=2.9", ["2.9.1", "2.8.0"], ["2.10.0"]),
        ("", ["2.9.0"], []),
    ],
)
def test_versions_that_a_user_asks_for(tests, inside, outside):
    assert all(version in Range(tests) for version in inside)
    assert not any(version in Range(tests) for version in outside)


def test_versions_are_compared_as_numbers():
    assert at_least("2.10", "2.9.1")
    assert at_least("525.60.13", "525.60.13")
    assert not at_least("525.60", "525.60.13")
    assert numbers("2.13.0+cpu") == (2, 13, 0)
    assert python_tag("3.13.1", free_threaded=True) == "cp313t"

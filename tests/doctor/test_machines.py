"""What the doctor says of machines from public reports and from rows of the table.

Each file of ``machines/`` has one machine a line: where it comes from, its
record as ``ostinato doctor --machine`` reads it, and the answer that the report
or the row gives: the exit status, the names of all problems, and the build to
install (``version+variant``).
"""

from __future__ import annotations

import json
import pathlib
import random

import pytest

from ostinato.doctor import diagnose

FOLDER = pathlib.Path(__file__).parent / "machines"


def machines():
    """All machines, each with its file and name as the id."""
    for path in sorted(FOLDER.glob("*.json")):
        for entry in json.loads(path.read_text(encoding="utf-8")):
            yield pytest.param(entry, id=f"{path.stem}-{entry['name']}")


ALL = list(machines())


@pytest.mark.parametrize("entry", ALL)
def test_machine(entry):
    diagnosis = diagnose(entry["machine"], want=entry.get("want"))
    expected = entry["expect"]
    problems = {each.rule for each in diagnosis.findings if each.level == "problem"}
    assert problems == set(expected.get("problems", ())), diagnosis.summary
    rules = {each.rule for each in diagnosis.findings}
    assert set(expected.get("also", ())) <= rules
    assert not set(expected.get("never", ())) & rules
    assert diagnosis.exit_status == expected["exit"]
    if "install" in expected:
        install = diagnosis.install
        assert (f"{install.version}+{install.variant}" if install else None) == expected["install"]
    page = str(diagnosis)
    for words in expected.get("says", ()):
        assert words in page, page
    assert page.count("\n") < 60


def test_there_are_enough_and_each_names_its_source():
    entries = [each.values[0] for each in ALL]
    assert len(entries) >= 120
    assert len({each["name"] for each in entries}) == len(entries)
    for entry in entries:
        assert entry["source"].startswith(("https://", "table: ")), entry["name"]
    reports = {each["source"] for each in entries if each["source"].startswith("https://")}
    assert len(reports) >= 30


def test_the_answer_is_the_same_from_a_file_and_as_json(tmp_path):
    entry = ALL[0].values[0]
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(entry["machine"]), encoding="utf-8")
    from_file = diagnose(str(path), want=entry.get("want"))
    assert from_file == diagnose(entry["machine"], want=entry.get("want"))
    document = json.loads(json.dumps(from_file.to_json()))
    assert document["status"] == from_file.status
    assert diagnose(document["machine"], want=entry.get("want")).findings == from_file.findings


def test_a_mixture_of_machines_has_an_answer():
    chance = random.Random(10)
    entries = [each.values[0] for each in ALL]
    wants = [None, *{each["want"] for each in entries if "want" in each}]
    for _ in range(400):
        parts = {name for each in entries for name in each["machine"]}
        picked = {name: chance.choice(entries)["machine"].get(name) for name in sorted(parts)}
        machine = {name: value for name, value in picked.items() if value is not None}
        diagnosis = diagnose(machine, want=chance.choice(wants))
        assert diagnosis.summary in str(diagnosis)
        assert diagnosis.exit_status == 0 or diagnosis.findings

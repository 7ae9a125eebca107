"""What the doctor says of error messages: texts from public reports, each recognised as itself."""

from __future__ import annotations

import json
import pathlib
import re

import pytest

from ostinato import doctor

TEXTS = json.loads((pathlib.Path(__file__).parent / "messages.json").read_text(encoding="utf-8"))
TABLE = json.loads((pathlib.Path(doctor.__file__).parent / "messages.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("entry", TEXTS, ids=lambda entry: entry["name"])
def test_a_message_is_recognised(entry):
    noise = "INFO starting\n" * 50 + "Traceback (most recent call last):\n"
    found = doctor.explain(noise + entry["text"] + "\nINFO done\n")
    assert [each.name for each in found] == [entry["name"]]
    (explanation,) = found
    assert explanation.fix
    assert explanation.line in entry["text"]
    assert not re.search(r"\{\w+\}", explanation.message + explanation.why)


def test_there_are_enough_and_each_names_a_public_report():
    assert len(TEXTS) >= 40
    assert {each["name"] for each in TEXTS} == {each["name"] for each in TABLE}
    assert all(each["source"].startswith("https://") for each in TABLE)


def test_ordinary_text_is_no_message():
    assert doctor.explain("epoch 3 loss 0.25\nCUDA 12.6, torch 2.13.0, 4 GPUs\nall done\n") == ()


def test_two_messages_of_a_log_come_in_its_order():
    by_name = {each["name"]: each["text"] for each in TEXTS}
    found = doctor.explain(by_name["nms"] + "\n" + by_name["not-compiled"])
    assert [each.name for each in found] == ["nms", "not-compiled"]


def test_colours_of_a_terminal_do_not_hide_a_message():
    coloured = "\x1b[31mRuntimeError: No CUDA \x1b[0mGPUs are available"
    assert [each.name for each in doctor.explain(coloured)] == ["no-gpus"]

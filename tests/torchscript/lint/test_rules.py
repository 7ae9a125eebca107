"""The table of rules: complete, without contradiction, and about names that torch has."""

from __future__ import annotations

import importlib
import re

import pytest

from ostinato.torchscript._lint import RULES
from ostinato.torchscript._lint._fixes import FIXERS
from ostinato.torchscript._lint._match import BY_ID, match
from ostinato.torchscript._lint._python import may_use_torchscript


def test_ids_are_unique_and_in_order():
    ids = [rule.id for rule in RULES]
    assert ids == sorted(set(ids))
    assert all(re.fullmatch("OST1[0-9]{2}", each) for each in ids)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_says_all(rule):
    assert rule.severity in ("error", "warning", "note")
    assert all((rule.title, rule.replacement, rule.explanation))
    assert not rule.title.endswith(".")


def test_every_fix_is_described_and_made():
    described = {rule.id for rule in RULES if rule.fix}
    assert described == {*FIXERS, "OST100", "OST123"}


def test_no_name_has_two_rules():
    names = [name for rule in RULES for name in rule.names]
    assert len(names) == len(set(names))


PYTHON = [name for rule in RULES for name in rule.names if name.startswith("torch.") and "(" not in name]


@pytest.mark.parametrize("name", PYTHON)
def test_torch_has_what_a_rule_names(name):
    """A misspelt name would find nothing; what older releases had is told apart."""
    gone = (
        "torch.jit._wait",
        "torch.jit._load_for_lite_interpreter",
        "torch._C._set_tracing_state",
        "torch.jit._script_if_tracing",
        "torch.jit._drop",
    )
    if name in gone or "::" in name:
        pytest.skip("of older releases")
    path = name.rstrip("*")
    path, _, beginning = path.rpartition(".") if name.endswith("*") else (path, "", "")
    parts = path.split(".")
    at = len(parts)
    while True:
        try:
            value = importlib.import_module(".".join(parts[:at]))
            break
        except ImportError:
            at -= 1
    for part in parts[at:]:
        value = getattr(value, part)
    if beginning:
        try:
            importlib.import_module(f"{path}.{beginning}")
        except ImportError:
            assert any(each.startswith(beginning) for each in dir(value)), name


@pytest.mark.parametrize("name", PYTHON)
def test_a_file_that_uses_a_name_is_parsed(name):
    used = name.rstrip("*")
    assert used == "torch.onnx.export" or may_use_torchscript(f"import torch\n{used}".encode())


@pytest.mark.parametrize(
    ("path", "rule", "symbol"),
    [
        ("torch.jit", "OST119", "torch.jit"),
        ("torch.jit.script", "OST101", "torch.jit.script"),
        ("torch.jit.script.__doc__", "OST101", "torch.jit.script"),
        ("torch.jit.scripted", "OST119", "torch.jit.scripted"),
        ("torch.jit._state.disable", "OST120", "torch.jit._state.disable"),
        ("torch.jitter", None, None),
        ("jax.jit", None, None),
    ],
)
def test_the_longest_name_decides(path, rule, symbol):
    hit = match(path)
    assert hit == (None if rule is None else (BY_ID[rule], symbol))

"""Writes docs/reference/lint.md from the table in torchscript/_lint/_rules.py: `make lint-rules`."""

from __future__ import annotations

import pathlib

from ostinato.torchscript._lint import RULES, Rule

PAGE = pathlib.Path(__file__).parents[1] / "docs" / "reference" / "lint.md"

HEAD = """# Rules of `ostinato lint`

<!-- Written by scripts/lint_rules.py from torchscript/_lint/_rules.py: run `make lint-rules`. -->

What [`ostinato lint`](../guides/lint.md) finds. An *error* makes, reads or is TorchScript; a *warning*
needs it; a *note* is a leftover that does nothing in plain Python. Names are those of torch, however a
file imports them; `*` stands for any rest, `?` for any object, and `ScriptModule()` for what
`torch.jit.script`, `trace`, `load` and the like return.

| rule | severity | what it | fix |
| --- | --- | --- | --- |
"""


def _row(rule: Rule) -> str:
    fix = "" if not rule.fix else "only with `--unsafe-fixes`" if "only with" in rule.fix else "yes"
    return f"| [{rule.id}](#{rule.id.lower()}) | {rule.severity} | {rule.title} | {fix} |"


def _section(rule: Rule) -> list[str]:
    lines = [
        "",
        f"## {rule.id}",
        "",
        f"{_sentence(rule.title)} {rule.explanation}",
        "",
        f"Instead: {rule.replacement}.",
    ]
    if rule.fix:
        lines += ["", f"Fix: {rule.fix}."]
    if rule.names:
        names = ", ".join(
            f"`{name.replace('torch.jit.ScriptModule()', 'ScriptModule()')}`" for name in rule.names
        )
        lines += ["", f"Names: {names}"]
    return lines


def _sentence(title: str) -> str:
    return f"{title[0].upper()}{title[1:]}."


def render() -> str:
    """The page."""
    lines = [HEAD + "\n".join(_row(rule) for rule in RULES)]
    for rule in RULES:
        lines += _section(rule)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")

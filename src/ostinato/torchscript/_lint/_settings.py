"""What is looked for and where: options of a call, over ``[tool.ostinato.lint]`` of a pyproject.toml."""

from __future__ import annotations

import dataclasses
import fnmatch
import os
import pathlib
import sys
from collections.abc import Iterable
from typing import Any

from ..._errors import fail
from ._match import BY_ID

_KEYS = ("select", "ignore", "exclude", "per-file-ignores")


@dataclasses.dataclass(frozen=True)
class Settings:
    """Rules by their ids or beginnings of them, and patterns of paths relative to ``root``."""

    select: tuple[str, ...] = ("OST",)
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    per_file: tuple[tuple[str, tuple[str, ...]], ...] = ()
    root: str = "."

    def reports(self, rule: str, path: str) -> bool:
        """Whether findings of a rule are wanted for a file."""
        if not rule.startswith(self.select) or rule.startswith(self.ignore):
            return False
        return not any(
            rule.startswith(rules) and self._fits(path, pattern) for pattern, rules in self.per_file
        )

    def excludes(self, path: str) -> bool:
        """Whether a file or folder is left out."""
        return any(self._fits(path, pattern) for pattern in self.exclude)

    def _fits(self, path: str, pattern: str) -> bool:
        """A pattern without a slash is that of a name, else of the path from the root."""
        if "/" not in pattern.rstrip("/"):
            return fnmatch.fnmatch(os.path.basename(path), pattern.rstrip("/"))
        inside = os.path.relpath(path, self.root).replace(os.sep, "/")
        return fnmatch.fnmatch(inside, pattern.strip("/"))


def settings(
    paths: Iterable[str],
    *,
    select: Iterable[str] | None = None,
    ignore: Iterable[str] | None = None,
    exclude: Iterable[str] = (),
) -> Settings:
    """The settings for a run over ``paths``; what is given wins, and ``exclude`` is added."""
    file, table = _table(paths)
    root = os.path.dirname(file) if file else "."
    per_file = table.get("per-file-ignores", {})
    if not isinstance(per_file, dict):
        raise fail("torchscript.lint_config", path=file, what="per-file-ignores must be a table")
    return Settings(
        _rules(table.get("select", ("OST",)) if select is None else tuple(select), file),
        _rules(table.get("ignore", ()) if ignore is None else tuple(ignore), file),
        (*_texts(table.get("exclude", ()), "exclude", file), *exclude),
        tuple((pattern, _rules(rules, file)) for pattern, rules in per_file.items()),
        root,
    )


def _texts(value: Any, key: str, file: str) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(each, str) for each in value):
        raise fail("torchscript.lint_config", path=file, what=f"{key} must be a list of texts")
    return tuple(value)


def _rules(value: Any, file: str) -> tuple[str, ...]:
    rules = _texts(value, "a list of rules", file)
    for rule in rules:
        if not any(each.startswith(rule) for each in BY_ID):
            raise fail("torchscript.lint_rule", rule=rule)
    return rules


def _table(paths: Iterable[str]) -> tuple[str, dict[str, Any]]:
    """The nearest pyproject.toml that has the table, upwards from what all paths have in common."""
    real = [os.path.abspath(path) for path in paths if path != "-"] or [os.getcwd()]
    common = pathlib.Path(os.path.commonpath(real))
    for folder in (common, *common.parents):
        file = folder / "pyproject.toml"
        if file.is_file():
            table = _read(file).get("tool", {}).get("ostinato", {}).get("lint")
            if table is not None and not isinstance(table, dict):
                raise fail("torchscript.lint_config", path=file, what="it must be a table")
            if table is not None:
                unknown = sorted(set(table) - set(_KEYS))
                if unknown:
                    what = f"it has {', '.join(unknown)}, and known are {', '.join(_KEYS)}"
                    raise fail("torchscript.lint_config", path=file, what=what)
                return str(file), table
    return "", {}


def _read(file: pathlib.Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise fail("torchscript.lint_config", path=file, what=str(error)) from None

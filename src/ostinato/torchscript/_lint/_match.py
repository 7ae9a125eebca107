"""From a dotted name to its rule: the longest name of the table that it begins with."""

from __future__ import annotations

import functools

from ._rules import RULES, Rule

BY_ID = {rule.id: rule for rule in RULES}
# Where torch defines what torch.jit shows under its own name.
_HOMES = tuple(
    f"torch.jit.{name}." for name in ("_script", "_trace", "_serialization", "_freeze", "_async", "_fuser")
)

_EXACT: dict[str, Rule] = {}
_PREFIX: dict[str, Rule] = {}
for _rule in RULES:
    for _name in _rule.names:
        if _name.endswith("*"):
            _PREFIX[_name[:-1]] = _rule
        else:
            _EXACT[_name] = _rule


@functools.lru_cache(maxsize=4096)
def match(path: str, separator: str = ".") -> tuple[Rule, str] | None:
    """The rule of a path and as much of the path as it is about; None where no rule knows it."""
    best: tuple[int, Rule, str] | None = None
    parts = path.split(separator)
    for count in range(len(parts), 0, -1):
        name = separator.join(parts[:count])
        if name in _EXACT:
            best = (len(name), _EXACT[name], name)
            break
    for prefix, rule in _PREFIX.items():
        if path.startswith(prefix) and (best is None or len(prefix) > best[0]):
            best = (len(prefix), rule, path)
    return None if best is None else best[1:]


def canonical(path: str) -> str:
    """The name under which torch.jit shows what ``path`` names."""
    if not path.startswith("torch.jit._"):
        return path
    for home in _HOMES:
        if path.startswith(home) and "torch.jit." + path[len(home) :] in _EXACT:
            return "torch.jit." + path[len(home) :]
    return path


def shown_by_star() -> frozenset[str]:
    """The names that ``from torch.jit import *`` may bring."""
    return frozenset(
        name.removeprefix("torch.jit.")
        for name in _EXACT
        if name.startswith("torch.jit.") and name.count(".") == 2 and "(" not in name and "._" not in name
    )

"""How the arguments and results of a call nest, as torch writes it down.

torch imports modules by name while it reads some of these (enumerations,
default dictionaries), so only plain containers are let through.
"""

from __future__ import annotations

from typing import Any

from ._names import qualified_name, quotable
from ._types import Bad, parse_json, shown

_PLAIN = ("builtins.tuple", "builtins.list", "torch.Size")
_KEYED = ("builtins.dict", "collections.OrderedDict")


def treespec(value: Any) -> None:
    """The text of a tree: leaves, tuples, lists, dictionaries with plain keys, named tuples."""
    if not isinstance(value, str):
        raise Bad(f"{shown(value)} is not a text")
    tree = parse_json(value.encode("utf-8", "surrogatepass"))
    if not isinstance(tree, list) or len(tree) != 2 or type(tree[0]) is not int or tree[0] != 1:
        raise Bad("not a tree of version 1")
    waiting = [tree[1]]
    while waiting:
        waiting.extend(_node(waiting.pop()))


def _node(node: Any) -> list[Any]:
    if not isinstance(node, dict) or set(node) != {"type", "context", "children_spec"}:
        raise Bad(f"{shown(node)} is not a node of a tree")
    kind, context, children = node["type"], node["context"], node["children_spec"]
    if not isinstance(children, list):
        raise Bad("the children of a node are not a list")
    if kind is None:
        if context is not None or children:
            raise Bad("a leaf with a context or children")
    elif kind in _KEYED:
        _keys(context, len(children))
    elif kind in _PLAIN:
        if context != "null":
            raise Bad(f"a {kind} with the context {shown(context)}")
    elif kind == "collections.namedtuple":
        qualified_name(context)
    else:
        raise Bad(
            f"containers of type {shown(kind)} are not read from files",
            hint="let the method take and return tuples, lists and dictionaries",
        )
    return children


def _keys(context: Any, count: int) -> None:
    keys = parse_json(context.encode("utf-8", "surrogatepass")) if isinstance(context, str) else None
    if not isinstance(keys, list) or len(keys) != count:
        raise Bad("a dictionary whose keys do not match its values")
    for key in keys:
        if type(key) is not int:
            quotable(key)

"""The fixes of single expressions: by rule, a function from the expression to a `Fix` or None."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from ._branches import keep_branch
from ._finding import Edit, Fix
from ._module import Module
from ._names import Scope

_MARK = re.compile(rb"[ \t\f]*@[ \t]*")
# Comments that are about the decorator, and go with it.
_ABOUT_IT = re.compile(rb"#\s*(noqa|type:|pragma|pylint|nosec)", re.IGNORECASE)
_BRANCHES = (ast.If, ast.For, ast.While, ast.IfExp)
_SCRIPT_ONLY = frozenset(("save", "save_to_buffer", "graph", "inlined_graph", "graph_for", "code", "schema"))


def _drop_decorator(module: Module, node: ast.expr, *, safe: bool = True, unless: str = "") -> Fix | None:
    """Remove the decorator that ``node`` is or calls; a comment behind it stays."""
    edit = _without_decorator(module, node)
    return None if edit is None else Fix("remove the decorator", (edit,), safe=safe, unless=unless)


def _without_decorator(module: Module, node: ast.expr) -> Edit | None:
    decorator = module.call(node) or node
    owner = module.parent(decorator)
    if decorator not in getattr(owner, "decorator_list", ()):
        return None
    source, line = module.source, decorator.lineno
    start = source.offset(line, 0)
    if not _MARK.fullmatch(source.data[start : source.start(decorator)]):
        return None
    end = source.offset((decorator.end_lineno or line) + 1, 0)
    rest = source.data[source.end(decorator) : end].strip()
    if not rest or _ABOUT_IT.match(rest):
        return Edit(start, end)
    if not rest.startswith(b"#"):
        return None
    return Edit(start + len(module.indent(line)), end, rest.decode() + source.newline.decode())


def _marker(module: Module, node: ast.expr, scope: Scope) -> Fix | None:
    return _drop_decorator(module, node, unless="scripting")


def _script(module: Module, node: ast.expr, scope: Scope) -> Fix | None:
    owner = module.parent(node)
    if module.call(node) is not None or _asks_for_scripting(owner):
        return None
    if isinstance(owner, ast.ClassDef):
        return _drop_decorator(module, node)
    if not isinstance(owner, ast.FunctionDef) or _is_used_as_script(module, owner.name):
        return None
    # A trace keeps the branches of a compiled function, and would take one for good of a plain one.
    branches = any(isinstance(each, _BRANCHES) for each in ast.walk(owner))
    return _drop_decorator(module, node, unless="tracing" if branches else "")


def _asks_for_scripting(owner: ast.AST | None) -> bool:
    return owner is not None and any(
        "is_scripting" in (getattr(each, "attr", ""), getattr(each, "id", "")) for each in ast.walk(owner)
    )


def _is_used_as_script(module: Module, name: str) -> bool:
    return any(
        isinstance(each, ast.Attribute)
        and each.attr in _SCRIPT_ONLY
        and isinstance(each.value, ast.Name)
        and each.value.id == name
        for each in ast.walk(module.tree)
    )


def _if_tracing(module: Module, node: ast.expr, scope: Scope) -> Fix | None:
    return _drop_decorator(module, node, unless="tracing")


def _script_method(module: Module, node: ast.expr, scope: Scope) -> Fix | None:
    return _drop_decorator(module, node, safe=False)


def _base_class(module: Module, node: ast.expr, scope: Scope) -> Fix | None:
    owner = module.parent(node)
    torch = module.reference("torch", "torch", "import torch", scope)
    if not isinstance(owner, ast.ClassDef) or node not in owner.bases or torch is None:
        return None
    edit = Edit(module.source.start(node), module.source.end(node), f"{torch[0]}.nn.Module")
    return Fix("derive from torch.nn.Module", (edit,), safe=False, imports=torch[1])


def _annotate(module: Module, node: ast.expr, scope: Scope) -> Fix | None:
    call = module.call(node)
    if call is None or len(call.args) != 2 or call.keywords or isinstance(call.args[1], ast.Starred):
        return None
    kind, value = call.args
    statement, source = module.parent(call), module.source
    end = source.end(call)
    if (
        isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Name)
        and len(statement.targets) == 1
        and source.end(statement) == end
        and not scope.is_class
        and statement.targets[0].id not in scope.elsewhere
    ):
        text = f": {ast.unparse(kind)} = {module.operand(value, alone=True)}"
        return Fix("annotate the variable", (Edit(source.end(statement.targets[0]), end, text),))
    alone = isinstance(statement, (ast.Return, ast.Assign, ast.AnnAssign, ast.Expr))
    edit = Edit(source.start(call), end, module.operand(value, alone))
    return Fix("leave the value alone", (edit,), unless="scripting")


def _final(module: Module, node: ast.expr, scope: Scope) -> Fix | None:
    for name, places in module.names.module.bindings.items():
        imported = any(each.path == "typing.Final" for each in places)
        if imported and module.names.stands_for(name, "typing.Final", scope):
            return Fix("use typing.Final", (_instead(module, node, name),))
    typing = module.reference("typing", "typing", "import typing", scope)
    if typing is None:
        return None
    return Fix("use typing.Final", (_instead(module, node, f"{typing[0]}.Final"),), imports=typing[1])


def _instead(module: Module, node: ast.expr, text: str) -> Edit:
    return Edit(module.source.start(node), module.source.end(node), text)


def _load(module: Module, node: ast.expr, scope: Scope) -> Fix | None:
    call = module.call(node)
    ost = module.reference("ostinato", "ost", "import ostinato as ost", scope)
    if call is None or ost is None or not 1 <= len(call.args) + len(call.keywords) <= 2:
        return None
    path, *more = [*call.args, *(each.value for each in call.keywords)]
    named = [each.arg for each in call.keywords]
    if isinstance(path, ast.Starred) or not all(_is_cpu(module, each, scope) for each in more):
        return None
    if named not in ([], ["f"], ["map_location"], ["f", "map_location"]) or (
        named == ["map_location"] and not call.args
    ):
        return None
    text = f"{ost[0]}.torchscript.load({module.operand(path, alone=True)})"
    edit = Edit(module.source.start(call), module.source.end(call), text)
    return Fix("load it with ost.torchscript.load", (edit,), safe=False, imports=ost[1])


def _is_cpu(module: Module, node: ast.expr, scope: Scope) -> bool:
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        meaning = module.names.meaning(node.func, scope)
        return meaning is not None and meaning.path == "torch.device" and _is_cpu(module, node.args[0], scope)
    return isinstance(node, ast.Constant) and node.value == "cpu"


def _dynamo(module: Module, node: ast.expr, scope: Scope) -> Fix | None:
    keyword = without_dynamo(module.call(node))
    if keyword is None:
        return None
    return Fix("export through torch.export", (_instead(module, keyword, "True"),), safe=False)


def without_dynamo(call: ast.Call | None) -> ast.expr | None:
    """The ``False`` in ``dynamo=False`` of a call."""
    for each in call.keywords if call else ():
        if each.arg == "dynamo" and isinstance(each.value, ast.Constant) and each.value.value is False:
            return each.value
    return None


FIXERS: dict[str, Callable[[Module, ast.expr, Scope], Fix | None]] = {
    "OST101": _script,
    "OST103": _load,
    "OST106": _base_class,
    "OST107": _script_method,
    "OST109": _if_tracing,
    "OST110": _marker,
    "OST111": _marker,
    "OST112": _annotate,
    "OST113": _final,
    "OST115": _marker,
    "OST116": keep_branch,
    "OST141": _dynamo,
}

"""What the names of a module stand for: imports and aliases, through Python's scopes, by one walk."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ._match import canonical, shown_by_star
from ._rules import MADE, MAKERS

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Binding(NamedTuple):
    """One place that gives a name a value: the path of an import, or an expression; else unknown."""

    line: int
    path: str | None = None
    value: ast.expr | None = None


class Import(NamedTuple):
    """One name of an import statement."""

    statement: ast.Import | ast.ImportFrom
    alias: ast.alias
    path: str
    bound: str
    scope: Scope


class Scope:
    """A module, class, function or comprehension, and what its own names are bound to."""

    def __init__(self, parent: Scope | None, node: ast.AST) -> None:
        self.parent = parent
        self.node = node
        self.is_class = isinstance(node, ast.ClassDef)
        self.is_comprehension = isinstance(node, _COMPREHENSIONS)
        self.bindings: dict[str, list[Binding]] = {}
        self.elsewhere: dict[str, Scope] = {}  # names declared global or nonlocal
        self.stars: list[str] = []

    @property
    def module(self) -> Scope:
        """The outermost scope."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def bind(self, name: str, binding: Binding) -> None:
        """One more value of ``name``, here or where it is declared to live."""
        self.elsewhere.get(name, self).bindings.setdefault(name, []).append(binding)

    def find(self, name: str) -> Scope | None:
        """The scope in which Python finds ``name``, None where it is bound nowhere."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.elsewhere:
                return scope.elsewhere[name]
            # The names of a class are not seen by the functions inside it.
            if name in scope.bindings and (scope is self or not scope.is_class):
                return scope
            scope = scope.parent
        return None


class Meaning(NamedTuple):
    """What an expression stands for; ``certain`` where nothing else is possible."""

    path: str
    certain: bool


_NOTHING = Meaning("", True)  # a constant, as None where torch is not installed


class Use(NamedTuple):
    """An expression that may name something: an attribute of anything, or a name that is not its own."""

    node: ast.expr
    scope: Scope
    at: ast.expr | None = None  # the string in which it stands, for an annotation in quotes


class Names:
    """The scopes, imports and uses of a module."""

    def __init__(self, tree: ast.Module) -> None:
        self.module = Scope(None, tree)
        self.imports: list[Import] = []
        self.functions: list[ast.FunctionDef | ast.AsyncFunctionDef] = []
        self._candidates: list[Use] = []
        self._known: dict[tuple[Scope, str], list[tuple[int, Meaning | None]]] = {}
        for statement in tree.body:
            self._walk(statement, self.module)

    def uses(self) -> Iterator[tuple[Use, Meaning]]:
        """Every use that stands for something, in no particular order."""
        for use in self._candidates:
            meaning = self.meaning(use.node, use.scope)
            if meaning is not None:
                yield use, meaning

    # ---- what an expression means ----

    def meaning(self, node: ast.expr, scope: Scope) -> Meaning | None:
        """What ``node`` stands for in ``scope``; None where that cannot be told."""
        if isinstance(node, ast.Name):
            return self._of_name(node, scope)
        if isinstance(node, ast.Attribute):
            base = self.meaning(node.value, scope)
            if base is None or base.path.startswith("?"):
                # A method of any object: rules know some by their names alone.
                return Meaning("?." + node.attr, True)
            return Meaning(canonical(f"{base.path}.{node.attr}"), base.certain)
        if isinstance(node, ast.Call):
            base = self.meaning(node.func, scope)
            if base is not None and base.path in MAKERS:
                return Meaning(MADE, base.certain)
        return None

    def _of_name(self, node: ast.Name, scope: Scope) -> Meaning | None:
        home = scope.find(node.id)
        if home is None:
            return self._unbound(node.id)
        values = self._values(home, node.id)
        paths = {meaning.path for _, meaning in values if meaning is not None} - {_NOTHING.path}
        if not paths:
            return None
        certain = len(paths) == 1 and all(meaning is not None and meaning.certain for _, meaning in values)
        if MADE in paths:  # what it is depends on where one asks
            before = [meaning for line, meaning in values if line <= node.lineno] if home is scope else []
            if (before[-1] is None or before[-1].path != MADE) if before else not certain:
                return None
            return Meaning(MADE, certain)
        # An alias of two things is reported as the one that is torch's.
        return Meaning(min(paths, key=lambda path: (not path.startswith("torch"), path)), certain)

    def _values(self, home: Scope, name: str) -> list[tuple[int, Meaning | None]]:
        """What each binding of a name stands for, with its line, in the order of the file."""
        key = (home, name)
        if key not in self._known:
            self._known[key] = []  # what is bound to itself stands for nothing
            found = []
            for binding in home.bindings.get(name, ()):
                found.append((binding.line, self._of_binding(binding, home)))
            self._known[key] = found
        return self._known[key]

    def _of_binding(self, binding: Binding, home: Scope) -> Meaning | None:
        if binding.path is not None:
            return Meaning(canonical(binding.path), True)
        if isinstance(binding.value, ast.Constant):
            return _NOTHING
        meaning = None if binding.value is None else self.meaning(binding.value, home)
        return None if meaning is None or meaning.path.startswith("?") else meaning

    def _unbound(self, name: str) -> Meaning | None:
        if name == "torch":  # from a star, or from the cell of a notebook that cannot be read
            return Meaning("torch", False)
        if "torch.jit" in self.module.stars and name in shown_by_star():
            return Meaning("torch.jit." + name, False)
        return None

    def stands_for(self, name: str, path: str, scope: Scope) -> bool:
        """Whether the plain name ``name`` means ``path`` there, for certain."""
        meaning = self.meaning(ast.Name(name, lineno=1 << 30), scope)
        return meaning is not None and meaning.certain and meaning.path == path

    # ---- the walk ----

    def _walk(self, node: ast.AST, scope: Scope) -> None:
        walker = _WALKERS.get(type(node))
        if walker is not None:
            walker(self, node, scope)
        else:
            self._children(node, scope)

    def _children(self, node: ast.AST, scope: Scope) -> None:
        for child in children(node):
            self._walk(child, scope)

    def _name(self, node: ast.Name, scope: Scope) -> None:
        if isinstance(node.ctx, ast.Load):
            self._candidates.append(Use(node, scope))
        else:
            scope.bind(node.id, Binding(node.lineno))

    def _attribute_of_class(self, node: ast.Name, scope: Scope) -> None:
        """Rules know some attributes of a class by the name alone, as they know methods."""
        if scope.is_class and node.id.startswith("__"):
            attribute = ast.Attribute(ast.Constant(None), node.id)
            self._candidates.append(Use(ast.copy_location(attribute, node), scope))

    def _attribute(self, node: ast.Attribute, scope: Scope) -> None:
        self._candidates.append(Use(node, scope))
        base: ast.expr = node
        while isinstance(base, ast.Attribute):
            base = base.value
        if not isinstance(base, ast.Name):
            self._walk(base, scope)

    def _operation(self, node: ast.BinOp, scope: Scope) -> None:
        inner: ast.expr = node
        while isinstance(inner, ast.BinOp):  # no recursion: sums of a thousand texts do occur
            self._walk(inner.right, scope)
            inner = inner.left
        self._walk(inner, scope)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> None:
        scope.bind(node.name, Binding(node.lineno))
        self.functions.append(node)
        for decorator in node.decorator_list:
            self._walk(decorator, scope)
        self._annotation(node.returns, scope)
        self._body(node, node.args, node.body, scope)

    def _lambda(self, node: ast.Lambda, scope: Scope) -> None:
        self._body(node, node.args, [node.body], scope)

    def _body(self, node: ast.AST, args: ast.arguments, body: list[Any], scope: Scope) -> None:
        for default in (*args.defaults, *args.kw_defaults):
            if default is not None:
                self._walk(default, scope)
        inner = Scope(scope, node)
        every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
        for arg in every:
            if arg is not None:
                self._annotation(arg.annotation, scope)
                inner.bind(arg.arg, Binding(arg.lineno))
        for each in body:
            self._walk(each, inner)

    def _class(self, node: ast.ClassDef, scope: Scope) -> None:
        scope.bind(node.name, Binding(node.lineno))
        for each in (*node.decorator_list, *node.bases, *node.keywords):
            self._walk(each, scope)
        inner = Scope(scope, node)
        for statement in node.body:
            self._walk(statement, inner)

    def _comprehension(self, node: Any, scope: Scope) -> None:
        inner = Scope(scope, node)
        for at, generator in enumerate(node.generators):
            self._walk(generator.iter, inner if at else scope)
            self._walk(generator.target, inner)
            for each in generator.ifs:
                self._walk(each, inner)
        for each in [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]:
            self._walk(each, inner)

    def _declaration(self, node: ast.Global | ast.Nonlocal, scope: Scope) -> None:
        for name in node.names:
            if isinstance(node, ast.Global):
                scope.elsewhere[name] = scope.module
            elif scope.parent is not None:
                scope.elsewhere[name] = scope.parent.find(name) or scope.module

    def _import(self, node: ast.Import, scope: Scope) -> None:
        for alias in node.names:
            bound = alias.asname or alias.name.split(".")[0]
            scope.bind(bound, Binding(node.lineno, alias.name if alias.asname else bound))
            self.imports.append(Import(node, alias, alias.name, bound, scope))

    def _import_from(self, node: ast.ImportFrom, scope: Scope) -> None:
        package = "." * node.level + (node.module or "")
        for alias in node.names:
            bound = alias.asname or alias.name
            path = f"{package}.{alias.name}"
            if alias.name == "*":
                scope.stars.append(package)
                path = package
            else:
                scope.bind(bound, Binding(node.lineno, path))
            self.imports.append(Import(node, alias, canonical(path), bound, scope))

    def _assign(self, node: ast.Assign, scope: Scope) -> None:
        self._walk(node.value, scope)
        for target in node.targets:
            self._target(target, node.value, scope)

    def _target(self, target: ast.expr, value: ast.expr, scope: Scope) -> None:
        if isinstance(target, ast.Name):
            scope.bind(target.id, Binding(target.lineno, value=value))
            self._attribute_of_class(target, scope)
        elif (
            isinstance(target, (ast.Tuple, ast.List))
            and isinstance(value, (ast.Tuple, ast.List))
            and len(target.elts) == len(value.elts)
            and not any(isinstance(each, ast.Starred) for each in (*target.elts, *value.elts))
        ):
            for one, of in zip(target.elts, value.elts, strict=True):
                self._target(one, of, scope)
        else:
            self._walk(target, scope)

    def _annotated(self, node: ast.AnnAssign, scope: Scope) -> None:
        self._annotation(node.annotation, scope)
        if node.value is None:
            if not isinstance(node.target, ast.Name):
                self._walk(node.target, scope)
            return
        self._walk(node.value, scope)
        self._target(node.target, node.value, scope)

    def _annotation(self, node: ast.expr | None, scope: Scope) -> None:
        if node is None:
            return
        self._walk(node, scope)
        for each in _texts(node):
            self._quoted(each, str(each.value), scope)

    def _quoted(self, node: ast.Constant, text: str, scope: Scope) -> None:
        """An annotation in quotes is code, too."""
        if "." not in text and not text.isidentifier():
            return
        try:
            inside = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        before = len(self._candidates)
        self._walk(inside, scope)
        self._candidates[before:] = [Use(use.node, scope, node) for use in self._candidates[before:]]

    def _walrus(self, node: ast.NamedExpr, scope: Scope) -> None:
        self._walk(node.value, scope)
        while scope.is_comprehension and scope.parent is not None:
            scope = scope.parent
        scope.bind(node.target.id, Binding(node.lineno, value=node.value))

    def _handler(self, node: ast.ExceptHandler, scope: Scope) -> None:
        if node.name:
            scope.bind(node.name, Binding(node.lineno))
        self._children(node, scope)

    def _pattern(self, node: ast.MatchAs | ast.MatchStar, scope: Scope) -> None:
        if node.name:
            scope.bind(node.name, Binding(node.lineno))
        self._children(node, scope)

    def _mapping(self, node: ast.MatchMapping, scope: Scope) -> None:
        if node.rest:
            scope.bind(node.rest, Binding(node.lineno))
        self._children(node, scope)


# Beside the class, not in its objects: without cycles a module is freed at once, its tree with it.
_WALKERS: dict[type, Callable[[Names, Any, Scope], None]] = {
    **dict.fromkeys((ast.FunctionDef, ast.AsyncFunctionDef), Names._function),
    **dict.fromkeys(_COMPREHENSIONS, Names._comprehension),
    **dict.fromkeys((ast.Global, ast.Nonlocal), Names._declaration),
    ast.Lambda: Names._lambda,
    ast.ClassDef: Names._class,
    ast.Name: Names._name,
    ast.Attribute: Names._attribute,
    ast.Import: Names._import,
    ast.ImportFrom: Names._import_from,
    ast.Assign: Names._assign,
    ast.AnnAssign: Names._annotated,
    ast.NamedExpr: Names._walrus,
    ast.BinOp: Names._operation,
    ast.ExceptHandler: Names._handler,
    **dict.fromkeys((ast.MatchAs, ast.MatchStar), Names._pattern),
    ast.MatchMapping: Names._mapping,
}


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes directly below ``node``; ast.iter_child_nodes takes three times as long."""
    found: list[ast.AST] = []
    for field in node._fields:
        value = getattr(node, field, None)
        if value.__class__ is list:
            found += [each for each in value if isinstance(each, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def _texts(node: ast.AST) -> Iterator[ast.Constant]:
    """The texts in an annotation that are code: not those of Literal and Annotated."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            yield node
        return
    if isinstance(node, ast.Subscript):
        head = node.value
        name = head.attr if isinstance(head, ast.Attribute) else getattr(head, "id", "")
        if name in ("Literal", "Annotated"):
            return
    for child in children(node):
        yield from _texts(child)

"""A run over files: what each holds, what of it is reported, and which fixes are safe beside the rest."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Iterable, Iterator

from . import _cpp, _python
from ._apply import fixed
from ._files import CPP, NOTEBOOK, files, suffix
from ._finding import Finding, Fix, Note
from ._noqa import is_suppressed
from ._notebook import Unreadable, check_notebook
from ._settings import Settings, settings
from ._source import Source, Undecodable

MAX_BYTES = 32 << 20
_TRACES = ("torch.jit.trace", "torch.jit.trace_module", ".to_torchscript", "torch.onnx.export")


@dataclasses.dataclass
class Checked:
    """One file: everything found, what of it is hidden, its source where it can be fixed."""

    path: str
    findings: list[Finding] = dataclasses.field(default_factory=list)
    hidden: set[Finding] = dataclasses.field(default_factory=set)
    notes: list[Note] = dataclasses.field(default_factory=list)
    source: Source | None = None

    @property
    def shown(self) -> list[Finding]:
        """What is reported."""
        return [each for each in self.findings if each not in self.hidden]


class Run:
    """The files of one run."""

    def __init__(self, rules: Settings) -> None:
        self.settings = rules
        self.checked: list[Checked] = []
        self.count = 0
        self._conditions: frozenset[str] = frozenset()

    def add(self, path: str, raw: bytes | None = None) -> None:
        """Look at one file; ``raw`` is its content, where it is not on the disk."""
        self.count += 1
        checked = self._check(path, raw)
        if checked.findings or checked.notes:
            self.checked.append(checked)

    def settle(self) -> None:
        """When all files are there: see which fixes the rest of the code makes unsafe."""
        every = [each for checked in self.checked for each in checked.findings]
        shown = {each for checked in self.checked for each in checked.shown}
        found = {"tracing"} if any(each.symbol in _TRACES for each in every) else set()
        self._conditions = frozenset(found)
        if any(self._compiles(each, each in shown) for each in every):
            found.add("scripting")
        self._conditions = frozenset(found)
        for checked in self.checked:
            hidden = {self._settled(each) for each in checked.hidden}
            checked.findings = [self._settled(each) for each in checked.findings]
            checked.hidden = hidden

    def _compiles(self, each: Finding, shown: bool) -> bool:
        """Whether code is still compiled to TorchScript there when the safe fixes are made."""
        if each.rule in ("OST107", "OST140") or (each.rule == "OST106" and each.fix is not None):
            return True
        fix = self._settled(each).fix
        return each.rule == "OST101" and not (shown and fix is not None and fix.safe)

    def _settled(self, each: Finding) -> Finding:
        if each.fix is None or each.fix.unless not in self._conditions:
            return each
        return dataclasses.replace(each, fix=dataclasses.replace(each.fix, safe=False))

    @property
    def findings(self) -> list[Finding]:
        """What is reported, in the order of the files."""
        return [each for checked in self.checked for each in checked.shown]

    @property
    def notes(self) -> list[Note]:
        """What could not be looked at."""
        return [each for checked in self.checked for each in checked.notes]

    # ---- fixes ----

    def fixed(self, *, unsafe: bool = False) -> Iterator[tuple[Checked, Source, int]]:
        """The files that fixes change, with their new source and the number of fixes."""
        for checked in self.checked:
            if checked.source is not None and any(self._is_wanted(each, unsafe) for each in checked.shown):
                wanted = functools.partial(self._wanted, checked.path, unsafe)
                source, count = fixed(checked.source, wanted)
                if count:
                    yield checked, source, count

    def _wanted(self, path: str, unsafe: bool, source: Source) -> list[Fix]:
        shown = self._python(path, source).shown
        settled = (self._settled(each) for each in shown)
        return [each.fix for each in settled if each.fix is not None and self._is_wanted(each, unsafe)]

    def _is_wanted(self, each: Finding, unsafe: bool) -> bool:
        return each.fix is not None and (unsafe or each.fix.safe)

    def recheck(self, checked: Checked, source: Source) -> None:
        """Take the findings of a file that was fixed from its new source."""
        after = self._python(checked.path, source)
        checked.findings = [self._settled(each) for each in after.findings]
        checked.hidden = {self._settled(each) for each in after.hidden}
        checked.source = source

    # ---- one file ----

    def _check(self, path: str, raw: bytes | None) -> Checked:
        try:
            if raw is None:
                raw = _read(path)
            kind = suffix(path)
            if kind in CPP:
                return self._cpp(path, raw) if _cpp.may_use_torchscript(raw) else Checked(path)
            if not _python.may_use_torchscript(raw):
                return Checked(path)
            if kind in NOTEBOOK:
                return self._notebook(path, raw)
            return self._python(path, Source.decode(raw))
        except OSError as error:
            return Checked(path, notes=[Note(path, f"it cannot be read: {error.strerror or error}")])
        except (Undecodable, Unreadable) as error:
            return Checked(path, notes=[Note(path, str(error))])
        except SyntaxError as error:
            where = f"line {error.lineno}: " if error.lineno else ""
            return Checked(path, notes=[Note(path, f"it is not Python 3: {where}{error.msg}")])
        except (ValueError, RecursionError, MemoryError) as error:
            return Checked(path, notes=[Note(path, f"it cannot be parsed: {error or type(error).__name__}")])

    def _python(self, path: str, source: Source) -> Checked:
        checked = Checked(path, _python.check_python(path, source), source=source)
        for each in checked.findings:
            self._hide(checked, each, [source.line(n) for n in range(each.line, each.end_line + 1)])
        return checked

    def _notebook(self, path: str, raw: bytes) -> Checked:
        found, notes = check_notebook(path, raw)
        checked = Checked(path, found, notes=notes)
        for each in found:
            self._hide(checked, each, [each.source])
        return checked

    def _cpp(self, path: str, raw: bytes) -> Checked:
        checked = Checked(path, _cpp.check_cpp(path, raw.decode("utf-8", "replace")))
        for each in checked.findings:
            self._hide(checked, each, [each.source])
        return checked

    def _hide(self, checked: Checked, each: Finding, lines: list[str]) -> None:
        if not self.settings.reports(each.rule, each.path) or is_suppressed(each.rule, lines):
            checked.hidden.add(each)


def _read(path: str) -> bytes:
    size = os.path.getsize(path)
    if size > MAX_BYTES:
        raise Undecodable(f"it has {size} bytes, and files of up to {MAX_BYTES} are looked at")
    with open(path, "rb") as stream:
        return stream.read(MAX_BYTES + 1)


def run(paths: Iterable[str], rules: Settings) -> Run:
    """Look at all files below ``paths``."""
    found = Run(rules)
    for path in files(paths, rules):
        found.add(path)
    found.settle()
    return found


def lint(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    select: Iterable[str] | None = None,
    ignore: Iterable[str] | None = None,
    exclude: Iterable[str] = (),
) -> list[Finding]:
    """The uses of TorchScript in Python, notebooks and C++ below ``paths``, in the order of the files.

    ``select`` and ``ignore`` take ids of rules or beginnings of them, and win over ``[tool.ostinato.lint]``
    of the nearest pyproject.toml; ``exclude`` takes patterns of paths beside those that stand there.
    Nothing is run, imported or changed. Files that cannot be read or parsed are left out.

    Raises UsageError for a path that does not exist, a rule that is unknown, or a configuration that
    cannot be read.
    """
    every = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    given = [os.fspath(path) for path in every]
    return run(given, settings(given, select=select, ignore=ignore, exclude=exclude)).findings

"""What is to be deployed: an archive, a file of exported programs, a module, or where to import one from."""

from __future__ import annotations

import copy
import hashlib
import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from .._errors import fail
from ..export import Variant
from ._kind import file_kind
from ._load import programs_of

_IMPORTABLE = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.]*")


@dataclass(frozen=True)
class Source:
    """A source that has been read.

    ``module`` is in evaluation mode and belongs to the deployment;
    ``programs`` are there instead where the source has been exported already.
    """

    name: str
    kind: str  # "torchscript", "pt2" or "module"
    path: Path | None = None
    module: torch.nn.Module | None = None
    programs: Mapping[str, list[Variant]] = field(default_factory=dict)

    @property
    def nbytes(self) -> int | None:
        """The size of the file; None for a module."""
        return self.path.stat().st_size if self.path else None

    @property
    def archive(self) -> Path | None:
        """The file, where it is a TorchScript archive."""
        return self.path if self.kind == "torchscript" else None

    def traceable(self) -> torch.nn.Module:
        """The module to trace: of an archive, one of which conditions on tensors become part of a program."""
        assert self.module is not None
        if self.archive is None:
            return self.module
        from ..torchscript._traced import load_for_tracing

        return load_for_tracing(self.archive).eval()

    def described(self) -> dict[str, Any]:
        """For the metadata of the deployed file. The folder of the source is nobody's business."""
        described: dict[str, Any] = {"name": self.name, "kind": self.kind}
        if self.path:
            described["bytes"] = self.nbytes
            described["sha256"] = _sha256(self.path)
        return described

    def reset_methods(self) -> list[str]:
        """Methods without required arguments whose name says that they reset; the likeliest first."""
        found = [name for name in self.methods() if name.startswith("reset") and self._callable_bare(name)]
        return sorted(found, key=lambda name: ("state" not in name and "memory" not in name, len(name), name))

    def methods(self) -> list[str]:
        """The module's own public methods, ``forward`` first."""
        if self.module is None:
            return list(self.programs)
        own: dict[str, None] = {"forward": None}
        if self.kind == "torchscript":
            from ..torchscript import inspect as inspect_archive

            assert self.path is not None
            own.update(dict.fromkeys(inspect_archive(self.path).methods))
        else:
            for cls in type(self.module).__mro__:
                if cls.__module__.startswith("torch.nn."):
                    break
                own.update(
                    dict.fromkeys(name for name, each in vars(cls).items() if inspect.isfunction(each))
                )
        return [
            name for name in own if not name.startswith("_") and callable(getattr(self.module, name, None))
        ]

    def _callable_bare(self, name: str) -> bool:
        try:
            inspect.signature(getattr(self.module, name)).bind()
        except (TypeError, ValueError):
            return False
        return True


def read_source(source: Any) -> Source:
    """Read what `deploy` was given.

    Raises ArchiveError for a file that cannot or may not be read, UsageError
    for a name that cannot be imported or is no module.
    """
    if isinstance(source, torch.nn.Module):
        return Source(type(source).__name__, "module", module=_own(source))
    if not isinstance(source, (str, os.PathLike)):
        raise fail("deployment.source", kind=type(source).__name__)
    text = os.fspath(source)
    if not os.path.exists(text) and _IMPORTABLE.fullmatch(text):
        return Source(text, "module", module=_own(_imported(text)))
    path = Path(text)
    if file_kind(path) == "pt2":
        return Source(path.name, "pt2", path, programs=programs_of(path)[0])
    return archive(path)


def archive(path: Path) -> Source:
    """A TorchScript archive that has been read. Raises ArchiveError."""
    from ..torchscript import load

    return Source(path.name, "torchscript", path, module=load(path).eval())


def _own(module: torch.nn.Module) -> torch.nn.Module:
    """A copy for evaluation: the caller's module keeps its mode and its state."""
    try:
        return copy.deepcopy(module).eval()
    except Exception as error:
        raise fail("export.uncopyable", kind=type(module).__name__, reason=error) from error


def _imported(text: str) -> torch.nn.Module:
    place, _, name = text.partition(":")
    here = os.getcwd()
    if here not in sys.path:  # as `python -m` does, and a console script does not
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(place)
        for part in name.split("."):
            found = getattr(found, part)
    except ImportError as error:
        raise fail("deployment.import", name=text, reason=error) from error
    except AttributeError as error:
        raise fail("deployment.import", name=text, reason=error) from error
    if isinstance(found, torch.nn.Module):
        return found
    return _made(text, found)


def _made(text: str, factory: Callable[[], Any]) -> torch.nn.Module:
    if not callable(factory):
        raise fail("deployment.no_module", name=text, kind=type(factory).__name__)
    try:
        made = factory()
    except Exception as error:
        raise fail("deployment.factory", name=text, reason=f"{type(error).__name__}: {error}") from error
    if not isinstance(made, torch.nn.Module):
        raise fail("deployment.no_module", name=text, kind=f"what makes a {type(made).__name__}")
    return made


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()

"""The torches on the path, read from their files: nothing of them is imported or run."""

from __future__ import annotations

import functools
import os
import re
import sys

from .._machine import Torch
from ._files import home_hidden, names, text
from ._python import virtual_prefix
from ._whole import damage

_FIELD = re.compile(
    r"^(__version__|cuda|hip|xpu)\s*(?::[^=]*)?=\s*(?:'([^']*)'|\"([^\"]*)\"|None)", re.MULTILINE
)
_MODULE = re.compile(r"^_C\.(?:cpython-|cp)(\d+t?)[-.]")
_DISTRIBUTION = re.compile(r"^(?P<name>[A-Za-z0-9_.]+)-(?P<version>[^-]+)\.(?:dist-info|egg-info)$")
_COMPANIONS = re.compile(r"^(torchvision|torchaudio|triton|pytorch-triton.*|numpy|nvidia-.*|cuda-toolkit)$")


@functools.lru_cache(maxsize=None)
def _path() -> tuple[str, ...]:
    """Where Python looks for packages; site-packages too where -S left it out."""
    folders = [os.path.abspath(each or os.getcwd()) for each in sys.path]
    if sys.flags.no_site:
        prefix = virtual_prefix() or sys.prefix
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        parts = ("Lib", "site-packages") if sys.platform == "win32" else ("lib", version, "site-packages")
        folders.append(os.path.join(prefix, *parts))
    return tuple(dict.fromkeys(folders))


def torches() -> tuple[Torch, ...]:
    """Each torch on the path, in order; the first is the one that `import torch` takes."""
    return tuple(found for folder in _path() for found in _in(folder))


def _in(folder: str) -> list[Torch]:
    package = os.path.join(folder, "torch")
    shown = home_hidden(package)
    if os.path.isfile(os.path.join(package, "version.py")):
        return [_torch(folder, package)]
    if os.path.isfile(os.path.join(package, "__init__.py")):
        # torch without version.py is either a strange package or an unfinished one.
        unfinished = _distributions(folder, "torch") or os.path.isdir(os.path.join(package, "nn"))
        return [
            Torch(path=shown, broken="version.py is missing" if unfinished else "shadowed: another package")
        ]
    if os.path.isfile(package + ".py"):
        return [Torch(path=shown + ".py", broken="shadowed: a file of that name")]
    left = _distributions(folder, "torch")
    return [Torch(left[0], shown, broken="its folder is missing or empty")] if left else []


def _torch(folder: str, package: str) -> Torch:
    matches = _FIELD.finditer(text(os.path.join(package, "version.py")))
    fields = {match.group(1): match.group(2) or match.group(3) or "" for match in matches}
    versions = _distributions(folder, "torch")
    modules = [match.group(1) for name in names(package) if (match := _MODULE.match(name))]
    return Torch(
        fields.get("__version__", ""),
        home_hidden(package),
        fields.get("cuda", ""),
        fields.get("hip", ""),
        fields.get("xpu", ""),
        _installer(folder),
        f"cp{modules[0]}" if len(modules) == 1 else "",
        _broken(folder, package, fields, versions),
    )


def _broken(folder: str, package: str, fields: dict[str, str], versions: list[str]) -> str:
    if len(versions) > 1:
        return f"{' and '.join(versions)} lie over each other"
    if (
        versions
        and fields.get("__version__")
        and versions[0].split("+")[0] != fields["__version__"].split("+")[0]
    ):
        return f"its metadata says {versions[0]}"
    record = os.path.join(folder, f"torch-{versions[0]}.dist-info", "RECORD") if versions else ""
    return damage(package, record, bool(fields.get("cuda")))


def _distributions(folder: str, package: str) -> list[str]:
    found = []
    for name in names(folder):
        match = _DISTRIBUTION.match(name)
        if match and _normal(match.group("name")) == package:
            found.append(match.group("version"))
    return found


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _installer(folder: str) -> str:
    for name in names(folder):
        match = _DISTRIBUTION.match(name)
        if match and _normal(match.group("name")) == "torch":
            return text(os.path.join(folder, name, "INSTALLER")).strip().split(" ")[0][:20]
    return ""


def packages() -> dict[str, str]:
    """The versions of torch's companions, the first of each on the path."""
    found: dict[str, str] = {}
    for folder in _path():
        for name in names(folder):
            match = _DISTRIBUTION.match(name)
            if match and _COMPANIONS.match(_normal(match.group("name"))):
                found.setdefault(_normal(match.group("name")), match.group("version"))
    return found

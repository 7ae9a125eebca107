"""The torch that is installed: is there one, is it whole, is it the one that is imported."""

from __future__ import annotations

from collections.abc import Iterator

from .._case import Case
from .._choose import Choice
from .._machine import Torch
from .._versions import is_development, minor, numbers, release
from ._finding import NOTE, PROBLEM, UNKNOWN, WARNING, Finding


def missing(case: Case, choice: Choice) -> Iterator[Finding]:
    """No torch on the path."""
    if case.wanted.text or case.machine.torches:
        return
    if "torches" in case.machine.failed:
        yield Finding("torch-unseen", UNKNOWN, "Whether torch is installed could not be seen.")
        return
    yield Finding("torch-missing", PROBLEM, "torch is not installed in this environment.", reinstall=True)


def broken(case: Case, choice: Choice) -> Iterator[Finding]:
    """Files are missing, cut short, or of another Python."""
    torch = case.machine.torch
    if case.wanted.text or torch is None:
        return
    if torch.broken.startswith("shadowed"):
        yield Finding(
            "torch-shadowed",
            PROBLEM,
            f"`import torch` takes {torch.path}, which is not PyTorch.",
            "a file or folder named torch that comes first on the path hides the package",
            "https://github.com/pytorch/pytorch/issues/7575",
            (f"rename {torch.path}, or run from another folder",),
        )
    elif torch.broken:
        yield Finding(
            "torch-broken",
            PROBLEM,
            f"The files of torch {torch.version or 'at ' + torch.path} are damaged: {torch.broken}.",
            "an installation was interrupted, the disk was full, or two installations were mixed",
            reinstall=True,
        )
    elif torch.python and case.python_tag and torch.python != case.python_tag:
        yield Finding(
            "torch-python",
            PROBLEM,
            f"torch {torch.version} was installed for {torch.python}, and this Python is {case.python_tag}.",
            "the extension module of one Python cannot be imported by another",
            "https://github.com/pytorch/pytorch/issues/574",
            reinstall=True,
        )


def several(case: Case, choice: Choice) -> Iterator[Finding]:
    """More than one torch: the first on the path wins."""
    torches = case.machine.torches
    if case.wanted.text or len(torches) < 2:
        return
    others = ", ".join(f"{_name(each)} in {each.path}" for each in torches[1:])
    differ = len({(each.version, each.path) for each in torches}) > 1
    if differ:
        yield Finding(
            "several-torches",
            WARNING,
            f"More than one torch is on the path: {_name(torches[0])} in {torches[0].path} is imported, "
            f"not {others}.",
            "Python takes the first on sys.path; pip and conda each see their own",
            "",
            ("uninstall those that are not meant: pip uninstall torch, conda remove pytorch",),
        )


def _name(torch: Torch) -> str:
    return f"torch {torch.version or '(version unknown)'}"


def unknown_version(case: Case, choice: Choice) -> Iterator[Finding]:
    """A version that the table does not have."""
    torch = case.machine.torch
    if case.wanted.text or torch is None or torch.broken or not case.platform:
        return
    if not torch.version:
        yield Finding(
            "version-unknown", UNKNOWN, f"The version of the torch in {torch.path} could not be read."
        )
    elif is_development(torch.version):
        yield Finding(
            "development",
            UNKNOWN,
            f"torch {torch.version} is no release: what it was built for is not in the table.",
        )
    elif case.table.release(release(torch.version)) is None:
        newer = numbers(torch.version) > numbers(case.table.newest)
        what = "is newer than the table" if newer else "is not in the table"
        yield Finding(
            "version-unknown",
            UNKNOWN,
            f"torch {torch.version} {what}, which was made on {case.table.made} and goes from "
            f"{case.table.versions[-1]} to {case.table.newest}.",
        )
    elif case.installed is None:
        yield Finding(
            "build-unknown",
            UNKNOWN,
            f"The table has no torch {release(torch.version)} with {torch.variant} for {case.platform}.",
            "it may come from conda-forge, a distribution or NVIDIA, whose builds differ from PyTorch's own",
        )


def ostinato(case: Case, choice: Choice) -> Iterator[Finding]:
    """Ostinato itself needs torch 2.11."""
    torch = case.machine.torch
    if case.wanted.text or torch is None or not torch.version or torch.broken:
        return
    if numbers(torch.version) < (2, 11):
        yield Finding(
            "ostinato",
            NOTE,
            f"Ostinato needs torch 2.11 or later, and this is {minor(torch.version)}: of Ostinato, only the "
            "doctor and `ostinato inspect` work here.",
        )

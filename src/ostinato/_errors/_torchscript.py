"""Messages of ``torchscript``: what: (class, message, hint)."""

from ._base import ArchiveError, DeployError, ExportError, OstinatoError, UsageError

MESSAGES = {
    # ---- the container ----
    "unreadable": (
        ArchiveError,
        "{path} cannot be read: {reason}.",
        "check the path and its permissions",
    ),
    "damaged": (
        ArchiveError,
        "{path} is no TorchScript archive that may be read: {what}.",
        "get the file again from its source",
    ),
    "not_torchscript": (
        ArchiveError,
        "{path} is a zip file, but no TorchScript archive: it has no data.pkl.",
        "TorchScript archives are written by torch.jit.save; a .pt2 file is read by ost.export.load",
    ),
    "no_code": (
        ArchiveError,
        "{path} holds no code: torch.save wrote it, not torch.jit.save.",
        "read it with torch.load(path, weights_only=True)",
    ),
    "too_old": (
        ArchiveError,
        "{path} has the layout of 2018 (model.json), which is not supported.",
        "load and save it once more with torch.jit of torch 1.4 to 2.11",
    ),
    "pickle": (
        ArchiveError,
        "{path}: {entry} may not be read: {what}.",
        "an archive holds plain data; do not use this file unless you trust its source",
    ),
    # ---- the code ----
    "syntax": (
        ArchiveError,
        "{path}: {file}, line {line}: {what}.",
        "archives hold only what torch.jit.save writes; get the file again from its source",
    ),
    "operator": (
        ArchiveError,
        "{path}: {file}, line {line}: the operator {operator} is not supported.",
        "{hint}",
    ),
    "missing_code": (
        ArchiveError,
        "{path}: the archive refers to {name}, and its code does not define it.",
        "get the file again from its source",
    ),
    "too_deep": (
        ArchiveError,
        "{path} is nested more deeply than any model: {what}.",
        "get the file again from its source",
    ),
    # ---- the objects ----
    "foreign_class": (
        ArchiveError,
        "{path} holds an object of {what}, a class of C++ code that is not part of the archive.",
        "export the original model with torch.export instead",
    ),
    "data": (
        ArchiveError,
        "{path}: the attribute {name} {what}.",
        "get the file again from its source",
    ),
    # ---- conversion ----
    "branches": (
        ExportError,
        "{file}, line {line}: {what}.",
        "a condition or loop on a tensor needs tensors of one dtype and shape whichever way it goes: change "
        "that in what ost.torchscript.source gives, or keep this part in Python",
    ),
    # ---- written modules ----
    "unwritten": (
        ArchiveError,
        "{path}: {name} is a {kind}, which has no form in a module over torch alone.",
        "run it with ost.torchscript.load, or write it as a .pt2: ostinato convert {path} -o model.pt2",
    ),
    "unwritable": (
        DeployError,
        "{path} cannot be written: {reason}.",
        "give a path in a folder that exists and is yours to write in",
    ),
    # ---- calls ----
    "not_loaded": (
        UsageError,
        "{kind} was not made by ost.torchscript.load.",
        "pass the module that load returned, or one of its submodules",
    ),
    "no_method": (
        UsageError,
        "{kind} has no method {method!r}; it has: {known}.",
        "pass one of these",
    ),
    # ---- lint ----
    "lint_path": (
        UsageError,
        "There is no file or folder {path}.",
        "pass files and folders that exist, or - for standard input",
    ),
    "lint_rule": (
        UsageError,
        "No rule is called {rule!r}, and none begins so.",
        "docs/reference/lint.md lists the rules; OST1 stands for all that begin with it",
    ),
    "lint_config": (
        UsageError,
        "The table [tool.ostinato.lint] of {path} cannot be used: {what}.",
        "docs/guides/lint.md shows one with every key",
    ),
    "lint_unwritable": (
        OstinatoError,
        "The fixes of {path} cannot be written: {reason}.",
        "make the file writable, or see the changes with --diff",
    ),
}

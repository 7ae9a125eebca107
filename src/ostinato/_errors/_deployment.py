"""Messages of ``deployment``: what: (class, message, hint)."""

from __future__ import annotations

from ._base import ArchiveError, DeployError, ExportError, MissingDependencyError, OstinatoError, UsageError

MESSAGES: dict[str, tuple[type[OstinatoError], str, str]] = {
    # ---- files ----
    "unreadable": (
        ArchiveError,
        "{path} cannot be read: {reason}.",
        "check the path and its permissions",
    ),
    "folder": (
        ArchiveError,
        "{path} is a folder, not a file.",
        "give the path of a TorchScript archive or of a .pt2",
    ),
    "no_archive": (
        ArchiveError,
        "{path} is neither a TorchScript archive nor a .pt2: {reason}.",
        "get the file again; torch.jit.save, torch.export.save and ost.deploy write such files",
    ),
    "weights_alone": (
        ArchiveError,
        "{path} was written by torch.save: it holds weights and no program.",
        'load the weights into the module that they belong to, and deploy that: "package.module:name"',
    ),
    "not_deployed": (
        ArchiveError,
        "{path} is a TorchScript archive, which is not run as it is.",
        "make a file of it that is: ostinato deploy {path} -o model.pt2",
    ),
    "unwritable": (
        DeployError,
        "{path} cannot be written: {reason}.",
        "give a path in a folder that exists and is yours to write in",
    ),
    # ---- loading and calling ----
    "no_variant": (
        UsageError,
        "No variant takes {call}; there are: {known}.",
        "pass tensors of these dtypes and shapes and these values, or deploy the model with such --args",
    ),
    "input_kind": (
        ArchiveError,
        "{method} has the input or output {name} of kind {kind}, which a graph does not hold.",
        "export the model with tensors, numbers and texts alone",
    ),
    # ---- deploying ----
    "source": (
        UsageError,
        "deploy takes a path, a module or 'package.module:name', not {kind}.",
        "wrap a function in a torch.nn.Module whose forward calls it",
    ),
    "import": (
        UsageError,
        "{name} cannot be imported: {reason}.",
        "write package.module:name, and start where `import package.module` works",
    ),
    "no_module": (
        UsageError,
        "{name} is no torch.nn.Module, but {kind}.",
        "name a module, or a class or function that makes one when called without arguments",
    ),
    "factory": (
        UsageError,
        "{name} cannot be called without arguments: {reason}",
        "name a function that makes the module with the arguments it needs",
    ),
    "mx": (
        UsageError,
        "mx={value!r} is no block format; there are: {known}.",
        "name one of them, or a dict from the names of weights (with * and ?) to one of them or None",
    ),
    "mx_glob": (
        UsageError,
        "mx: no weight that may be quantized is called {glob}; there are: {known}.",
        "correct the name; * stands for any characters",
    ),
    "max_error": (
        UsageError,
        "max_error={value!r} is taken with mx alone, and is a number above 0.",
        'write mx="mxfp4", max_error=0.01 (--mx mxfp4 --max-error 0.01)',
    ),
    "args": (
        UsageError,
        "args is a {kind}, and not a tuple of example inputs or a list of such tuples.",
        "write args=(x,), or args=[(x, 16000), (y, 8000)] for two variants",
    ),
    "args_of_program": (
        UsageError,
        "{name} holds exported programs, whose inputs are fixed.",
        "leave args out, or deploy the module that the file was exported from",
    ),
    "named_args": (
        UsageError,
        "The arguments by name do not fit forward({known}): {name} is missing or unknown.",
        "name the first of them without a gap, or give all by position",
    ),
    # ---- data ----
    "data": (
        UsageError,
        "{path} cannot be used as input: {reason}.",
        "write arrays as .npz, tensors with torch.save, sound as PCM .wav, pictures as .png, tables as .csv",
    ),
    "no_data": (
        UsageError,
        "The folder {path} has no file that ends in {endings}.",
        "give a folder with inputs, or one file",
    ),
    "data_names": (
        UsageError,
        "{path} has an array {name}, and the model takes: {known}.",
        "give the arrays the names of the arguments, or none (arr_0, arr_1, … go by position)",
    ),
    "misfit": (
        UsageError,
        "{path}: input {name} is {got}, and the model takes {wanted}.",
        "convert the file, or deploy the model for such inputs: --args",
    ),
    "many_variants": (
        UsageError,
        "{path} and what lies beside it have inputs of {count} signatures; at most {most} become variants.",
        "say with --args for which the file is to be made",
    ),
    "pillow": (
        MissingDependencyError,
        "Reading pictures needs the package Pillow, which is not installed.",
        "pip install 'ostinato[images]'",
    ),
    "no_inputs": (
        DeployError,
        "No inputs for forward({signature}) of {name} were found in {trials} trials.",
        'say what it takes: --args "float32[1,512], 16000" on the command line, args=(x, 16000) in Python',
    ),
    "fresh_process": (
        DeployError,
        "{path} was written, but does not run in a process of its own: {reason}.",
        "nothing was put in place; report it with the model",
    ),
    "report_suffix": (
        UsageError,
        "{path} does not say what kind of report is wanted.",
        "let its name end in .html, .md or .json",
    ),
    "dynamic": (
        UsageError,
        "The open size {key}:{name} fits no tensor among the inputs ({known}).",
        'write a dimension of every tensor, "0:batch", or of one argument by name or number, "x.1:time"',
    ),
    "open_branches": (
        ExportError,
        "A condition or loop on the values of tensors cannot be exported with open sizes.",
        "give an example for each size, which becomes a program of its own; or replace the condition by "
        "torch.where in what ost.torchscript.source(path) gives",
    ),
    "line": (
        ExportError,
        "{name} cannot be traced at {file}, line {line} of the archive: {reason}",
        "look at that line in ost.torchscript.source(path); rewrite it there with operators on tensors, and "
        "export the module that it gives",
    ),
    "open_size": (
        ExportError,
        "{name} cannot be traced at {file}, line {line} of the archive, where a size or a step of Python "
        "depends on the values in a tensor: {reason}",
        "rewrite that line with a size that is fixed (a mask, torch.where, padding) in what "
        "ost.torchscript.source(path) gives, and export that; or keep this part in Python",
    ),
    "disagrees": (
        DeployError,
        "The deployed model differs from {peer}, by {max_abs:.3g} at most, first in {where}.",
        'nothing was written; try numerics="exact" (--numerics exact), and report it if that differs too',
    ),
}

"""Messages of ``cli``: what: (class, message, hint)."""

from __future__ import annotations

from ._base import MissingDependencyError, OstinatoError, UsageError

MESSAGES: dict[str, tuple[type[OstinatoError], str, str]] = {
    "usage": (
        UsageError,
        "{message}.",
        "{command} --help shows what it takes",
    ),
    "unexpected": (
        OstinatoError,
        "It stopped with an unexpected {kind}: {message}",
        "run it again with --debug for the traceback, and report it",
    ),
    "args": (
        UsageError,
        "The arguments {text!r} cannot be understood: {what}.",
        "write them as {grammar}",
    ),
    "one_array": (
        UsageError,
        "{path} is one value of --args, and has the arrays: {names}.",
        "give a file with one array, or the whole file as the input: ostinato run FILE {path}",
    ),
    "result_ending": (
        UsageError,
        "{path} does not say how the result is to be written.",
        "let its name end in one of {endings}",
    ),
    "ending": (
        UsageError,
        "{option} is for a {ending}, and {out} is none.",
        "give -o a name that ends in {ending}, or leave {option} out",
    ),
    "unwritable": (
        OstinatoError,
        "{path} cannot be written: {reason}.",
        "give a path in a folder that exists and is yours to write in",
    ),
    "method": (
        UsageError,
        "{path} has no method {method!r}; it has: {known}.",
        "pass one of these as --method",
    ),
    "quantize_source": (
        UsageError,
        "{path} is no safetensors file, no index of several, and no folder of a model.",
        "a program is quantized before it is exported: ost.mx.quantize_(module, ost.mx.{format})",
    ),
    "peer": (
        UsageError,
        "--against knows no {name!r}.",
        "name some of eager, compile, jit, onnxruntime, openvino, or a file: jit=path, onnx=path…",
    ),
    "peer_path": (
        UsageError,
        "--against {name} needs the path of a file.",
        "write --against {name}=path",
    ),
    "peer_failed": (
        UsageError,
        "{name} cannot run here: {reason}.",
        "leave it out of --against, or give arguments that it takes with --args",
    ),
    "peer_takes_no_path": (
        UsageError,
        "--against {name} takes no path: it runs the program of the file that is timed.",
        "write --against {name}",
    ),
    "peer_package": (
        MissingDependencyError,
        "Comparing with {runtime} needs the package {package}, which is not installed.",
        "pip install {package}, or all that ostinato bench can use: pip install 'ostinato[bench]'",
    ),
}

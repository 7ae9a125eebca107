"""``ost.deploy``: from a model to a proven file."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import PurePath
from typing import Any

import torch

from .._errors import fail
from ..export import Metadata, Variant, save_methods, shown
from . import _data, _examples, _proof
from ._candidate import candidate, check_target
from ._difference import Difference
from ._files import read_all
from ._quantize import Quantization, Quantizer
from ._report import DeployReport
from ._source import Source, read_source
from ._tracing import Tell, located, traced
from ._trial import Trial, tried

_SMALL = 10_000_000


def deploy(
    source: str | os.PathLike[str] | torch.nn.Module,
    args: _examples.Example | Sequence[_examples.Example] | None = None,
    *,
    out: str | os.PathLike[str],
    data: str | os.PathLike[str] | None = None,
    mx: Any = None,
    max_error: float | None = None,
    numerics: str = "fast",
    verify: bool = True,
    tell: Tell | None = None,
) -> DeployReport:
    """Make one portable file of a model, and prove that it does what the model does.

    Args:
        source: the path of a TorchScript archive or of a ``.pt2``, an nn.Module,
            or ``"package.module:name"`` of a module, or of a class or function
            that makes one when called without arguments.
        args: example inputs, a tuple, or a dict by name; or a list of them, each
            of which becomes a variant of ``forward``. By default they are those
            of ``data``, or guessed from the signature, the weights and the
            numbers in the code.
        out: the path of the file, ending in ``.pt2``.
        data: inputs to compare on, and to measure the error of ``mx`` on: a file
            or a folder of them, .npz, .pt, .wav, .png or .csv. The calls of a
            file are made in a row. Without it, random values of the examples' kind.
        mx: the block format that weights are kept in: an `ost.mx.MXFormat`, its
            name, or a dict from glob to either (or None), of which the last that
            fits a weight's name counts: ``{"*": "mxfp4", "head.*": "mxint8"}``.
            Weights of linear layers, embeddings, convolutions and recurrent
            layers are quantized. By default none is.
        max_error: with ``mx``: what the results may differ from the source's, as
            ``|got - expected| / |expected|`` in Euclidean norms over all calls
            that are compared; weights that cost the most get a wider format,
            or stay as they are, until it holds.
        numerics: "fast" or "exact", as for `ost.accelerator.Graph`.
        verify: compare the file with the source, over at least three calls in a
            row of each variant, changes of variant and resets; and an archive
            also with ``torch.jit`` where this torch has it. With ``mx`` the file
            must do what the source does with its weights rounded.
        tell: called with a line for each step of the work.

    State in attributes and buffers goes into the file, and so does a reset
    method. The file is loaded and run in a process of its own, and appears when
    all has succeeded: until then an older one at ``out`` stays as it is.

    Raises:
        ArchiveError: the source cannot be read.
        ExportError: the model cannot be exported without losing something.
        DeployError: no example inputs were found, the results differ, or
            ``out`` cannot be written.
        UsageError: an argument has a value that is not taken, or ``data`` does not
            fit the model: the message names the file, the input, and what it takes.
    """
    began = time.monotonic()
    tell = tell or _silent
    if numerics not in _proof.TOLERANCES:
        raise fail("accelerator.numerics", value=numerics)
    if max_error is not None and (mx is None or not max_error > 0):
        raise fail("deployment.max_error", value=max_error)
    check_target(out)
    tell(f"reading {source if isinstance(source, (str, os.PathLike)) else type(source).__name__}")
    read = read_source(source)
    contents = read_all(data) if data is not None else []
    bytes_before = read.nbytes
    left_out: dict[str, str] = {}
    if read.module is None:
        if args is not None:
            raise fail("deployment.args_of_program", name=read.name)
        methods, guessed = dict(read.programs), False
    else:
        with _few_threads(read.module.parameters()):
            calls, guessed = _examples.find(read, args, tell, contents)
            with located(read.name):
                methods = traced(read, calls, left_out, tell)
    given = _data.plans(contents, methods, tell) if contents else []
    plans = _proof.plans_for(methods, given)
    quantizer, quantization = None, None
    if mx is not None:
        tell("choosing block formats")
        with _few_threads(_weights(methods)):
            quantizer = Quantizer(methods, mx, given or plans)
            quantization = quantizer.choose(max_error, tell)
    tell(f"writing {os.fspath(out)}")
    with candidate(out) as path:
        metadata = {
            "source": read.described(),
            "verification": _promise(verify, numerics),
            "tolerances": dict(zip(("rtol", "atol"), _proof.TOLERANCES[numerics], strict=True)),
            "user": {"numerics": numerics},
        }
        described = save_methods(path, quantizer.programs() if quantizer else methods, metadata=metadata)
        tell("running the file in a fresh process" + (" and comparing it with its source" if verify else ""))
        trial = tried(path, read.archive if verify else None, plans if verify else plans[:1])
        eager, torchscript = None, None
        if verify:
            with quantizer.rounded(read.module) if quantizer else nullcontext():
                eager = _compared(read, methods, plans, trial, numerics)
            torchscript = _beside_torchscript(plans, trial, quantization)
        bytes_after = path.stat().st_size
    return DeployReport(
        source=read.name,
        kind=read.kind,
        out=os.fspath(out),
        bytes_before=bytes_before,
        bytes_after=bytes_after,
        numerics=numerics,
        methods={name: [shown(each.args, each.kwargs) for each in found] for name, found in methods.items()},
        left_out=left_out,
        state=_state(described),
        guessed=guessed,
        data=[PurePath(each.name).name for each in contents],
        quantization=quantization,
        eager=eager,
        torchscript=torchscript,
        not_compared="" if torchscript else f"not compared with TorchScript: {_why(verify, trial)}",
        **_figures(trial),
        times=trial.times,
        load_ms=trial.load_ms,
        first_ms=trial.first_ms,
        profile=trial.steps,
        seconds=round(time.monotonic() - began, 3),
        warnings=_warnings(eager, numerics, quantization),
    )


def _silent(line: str) -> None:
    pass


@contextmanager
def _few_threads(weights: Iterable[torch.Tensor]) -> Iterator[None]:
    """One thread while a small model is looked at in hundreds of tiny calls, which others would only delay.

    The comparison afterwards runs on all of them.
    """
    before = torch.get_num_threads()
    if sum(each.numel() for each in weights) <= _SMALL:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _weights(methods: Mapping[str, list[Variant]]) -> Iterator[torch.Tensor]:
    """Those of the first variant of each method."""
    return (tensor for variants in methods.values() for tensor in variants[0].program.state_dict.values())


def _promise(verify: bool, numerics: str) -> dict[str, Any] | None:
    """For the file, which takes its place only when this has been found to hold."""
    if not verify:
        return None
    rtol, atol = _proof.TOLERANCES[numerics]
    return {"rtol": rtol, "atol": atol}


def _compared(
    source: Source, methods: Mapping[str, list[Variant]], plans: _proof.Plans, trial: Trial, numerics: str
) -> Difference:
    """The file beside what it was made from; DeployError where they differ by more than a rounding."""
    programs = _proof.of_programs(methods)
    reference = programs if source.module is None else _proof.of_module(source.module)
    tolerance = _proof.TOLERANCES[numerics]
    eager = _proof.difference(plans, _proof.results(plans, reference), trial.rows, tolerance)
    _agree(eager, "the source in eager mode")
    if numerics == "exact" and not eager.exact and source.module is not None:
        steps = _proof.difference(plans, _proof.results(plans, programs), trial.rows, (0.0, 0.0))
        _agree(steps, "the exported program")
    return eager


def _beside_torchscript(
    plans: _proof.Plans, trial: Trial, quantization: Quantization | None
) -> Difference | None:
    """How far the file is from ``torch.jit``; with rounded weights that is no fault, and only told."""
    if trial.torchscript is None:
        return None
    tolerance = (float("inf"), float("inf")) if quantization else _proof.TOLERANCES["fast"]
    found = _proof.difference(plans, trial.torchscript, trial.rows, tolerance)
    if not quantization:
        _agree(found, "TorchScript")
    return found


def _agree(found: Difference, peer: str) -> None:
    if found.disagreement:
        raise fail("deployment.disagrees", peer=peer, where=found.disagreement, max_abs=found.max_abs)


def _why(verify: bool, trial: Trial) -> str:
    return trial.why if verify else "verify=False"


def _state(metadata: Metadata) -> dict[str, str]:
    return {name: f"{info.dtype}{info.shape}" for name, info in metadata.state.items()}


def _figures(trial: Trial) -> dict[str, Any]:
    every = [each for variants in trial.stats.values() for each in variants if each["captured"]]
    steps: dict[str, int] = {}
    for each in every:
        for kind, count in each["steps"].items():
            steps[kind] = steps.get(kind, 0) + count
    return {"nodes": sum(each["nodes"] for each in every), "steps": steps}


def _warnings(eager: Difference | None, numerics: str, quantization: Quantization | None) -> list[str]:
    found = []
    if quantization and not quantization.weights:
        found.append("no weight was quantized")
    if eager is None:
        found.append("nothing was compared: the file may differ from its source")
    elif numerics == "exact" and not eager.exact:
        found.append(
            f"exact steps, but tracing itself rounds differently than the source: {eager.max_abs:.2g}"
        )
    return found

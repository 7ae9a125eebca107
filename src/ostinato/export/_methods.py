"""Several methods and variants in one file, sharing weights and state by name."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind

from .._atomic import replacing
from .._errors import ArchiveError, fail
from .._lowering import expanded
from ._attributes import as_bytes, same
from ._examples import packed
from ._metadata import Metadata, MethodInfo, StateInfo, VariantInfo, metadata_of
from ._portable import check_portable
from ._signature import describe, dtype_name, matches
from ._stand_ins import stand_in
from ._subclasses import decomposed, has_parts
from ._vet import VettedArchive
from ._write import write_archive

MAIN = "model"


@dataclass(frozen=True)
class Variant:
    """One program of a method, for one signature of its arguments.

    ``args`` and ``kwargs`` are an example call: on a variant that was loaded
    from a file it is the one that was given when the file was written, or, with
    ``made_up``, tensors of zeros. The others are set by `trace_stateful` and end
    up in the file, as `MethodInfo` and `VariantInfo` describe them.
    """

    program: ExportedProgram
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    on_variant_change: str | None = None
    resets: bool = False
    mode: str | None = None
    made_up: bool = False


def save_methods(
    path: str | os.PathLike[str],
    methods: Mapping[str, list[Variant]],
    *,
    metadata: Mapping[str, Any] | None = None,
    portable: bool = True,
) -> Metadata:
    """Write all variants of all methods to one ``.pt2`` file and return what the file says about itself.

    The first variant of ``forward`` (of the first method, where there is no
    ``forward``) is the program that stock ``torch.export.load(path)`` gives.
    ``metadata`` may hold ``"source"`` (a dict, such as ``{"name": "vad.jit",
    "sha256": "…"}``), ``"verification"`` (a dict, such as the report of
    `verify`), ``"tolerances"`` (``{"rtol": 1e-4, "atol": 1e-5}``), and ``"user"``
    (a dict of anything that JSON can hold). The example call of each variant goes
    into the file where its tensors have at most 1 MiB.

    The file appears whole or not at all: an older one at ``path`` stays intact
    until the new one is complete and has passed the strict reader.

    Raises ExportError where a program cannot be written: an operator or device
    that is not portable (with ``portable=True``), weights that are no plain
    tensors, a state that differs between the programs.
    """
    given = dict(metadata or {})
    unknown = sorted(set(given) - {"source", "verification", "tolerances", "user"})
    if unknown:
        raise fail("export.metadata_key", keys=", ".join(unknown))
    if not os.fspath(path).endswith(".pt2"):
        raise fail("export.suffix", path=os.fspath(path))
    plan = _plan(methods, portable)
    if portable:
        for method, name, variant in plan:
            check_portable(variant.program, method if name == MAIN else name)
    examples: dict[str, bytes] = {}
    described = _describe(plan, portable, given, examples)
    programs = {}
    for method, name, variant in plan:
        where = method if name == MAIN else name
        programs[name], values = stand_in(variant.program, where, portable)
        if values:
            described.dtypes[name] = values
    with replacing(path) as part:
        try:
            write_archive(part, programs, described.to_json(), examples)
        except (TypeError, ValueError) as error:
            raise fail("export.unwritable", path=os.fspath(path), reason=error) from error
        _reread(part)
    return described


def _plan(methods: Mapping[str, list[Variant]], portable: bool) -> list[tuple[str, str, Variant]]:
    """``(method, name in the archive, variant)``, the main program first."""
    if not methods or not all(methods.values()):
        raise fail("export.no_methods")
    main = "forward" if "forward" in methods else next(iter(methods))
    plan = []
    for method in sorted(methods, key=lambda name: name != main):
        if not method.isidentifier() or not method.isascii():
            raise fail("export.method_name", method=method)
        for i, variant in enumerate(methods[method]):
            name = MAIN if (method, i) == (main, 0) else f"{method}.{i}"
            variant = _functional(variant)
            if portable:
                variant = replace(variant, program=expanded(variant.program))
            plan.append((method, name, variant))
    return plan


def _functional(variant: Variant) -> Variant:
    """The variant with its changes of buffers in the signature, and with weights that are plain tensors."""
    targets = (node.target for node in variant.program.graph.nodes)
    in_place = any(isinstance(each, torch._ops.OpOverload) and each._schema.is_mutable for each in targets)
    if not in_place and not has_parts(variant.program):
        return variant
    return replace(variant, program=decomposed(variant.program))


def _describe(
    plan: list[tuple[str, str, Variant]], portable: bool, given: dict[str, Any], examples: dict[str, bytes]
) -> Metadata:
    """What the file will say; the tensors of example calls are added to ``examples``."""
    mutated = {name for _, _, variant in plan for name in mutated_buffers(variant.program)}
    state: dict[str, StateInfo] = {}
    values: dict[str, torch.Tensor] = {}
    methods: dict[str, MethodInfo] = {}
    for method, name, variant in plan:
        used = [each for each in buffers(variant.program) if each in mutated]
        for each in used:
            value = tensor_of(variant.program, each)
            _agree(each, values.setdefault(each, value), value)
            initial = "value" if bool(as_bytes(value).any()) else "zeros"
            state[each] = StateInfo(dtype_name(value.dtype), list(value.shape), initial)
        inputs, outputs = describe(variant.program)
        info = methods.setdefault(method, MethodInfo([], variant.on_variant_change, variant.resets))
        call = (tuple(variant.args), dict(variant.kwargs))
        example = packed(call, name) if not variant.made_up and matches(inputs, *call) else None
        examples.update(example.entries if example else {})
        tree = example.tree if example else None
        info.variants.append(VariantInfo(name, inputs, outputs, used, variant.mode, tree))
    return Metadata(methods=methods, state=state, portable=portable, torch=torch.__version__, **given)


def _agree(name: str, first: torch.Tensor, second: torch.Tensor) -> None:
    if not same(first, second):
        raise fail("export.state_conflict", name=name)


def _reread(path: os.PathLike[str]) -> None:
    """Nothing is put in place that the reader would refuse."""
    try:
        with VettedArchive(path) as archive:
            archive.vet_models()
            metadata_of(archive)
    except ArchiveError as error:
        raise fail("export.not_readable_back", reason=error.message) from None


def buffers(program: ExportedProgram) -> list[str]:
    """The names of all buffers that a program takes."""
    specs = program.graph_signature.input_specs
    return [str(spec.target) for spec in specs if spec.kind == InputKind.BUFFER]


def mutated_buffers(program: ExportedProgram) -> list[str]:
    """The names of the buffers that a program changes."""
    specs = program.graph_signature.output_specs
    return [str(spec.target) for spec in specs if spec.kind == OutputKind.BUFFER_MUTATION]


def tensor_of(program: ExportedProgram, name: str) -> torch.Tensor:
    """The parameter or buffer of that name, persistent or not."""
    tensor: torch.Tensor | None = program.state_dict.get(name)
    if tensor is None:
        tensor = program.constants[name]
    return tensor


def save(
    program_or_module: ExportedProgram | torch.nn.Module,
    path: str | os.PathLike[str],
    args: tuple[Any, ...] | None = None,
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    portable: bool = True,
) -> None:
    """Write a program, or a module traced on example arguments, to a ``.pt2`` file.

    A module is traced with `trace_stateful`, so state that it keeps in Python
    attributes between calls is exported as buffers, or refused by name; it is
    never lost. With ``portable=True`` the file holds operators of torch alone
    (aten and prims) on the CPU, and any torch 2.11 or later runs it.

    Raises ExportError where the module cannot be traced or the program cannot
    be written, UsageError where the arguments do not go together.
    """
    if isinstance(program_or_module, ExportedProgram):
        if args is not None or kwargs is not None or dynamic_shapes is not None:
            raise fail("export.program_with_args")
        given: Any = program_or_module.example_inputs or ((), {})
        variant = Variant(copy.copy(program_or_module), *given)
        save_methods(path, {"forward": [variant]}, portable=portable)
        return
    if not isinstance(program_or_module, torch.nn.Module):
        raise fail("export.not_a_module", kind=type(program_or_module).__name__)
    if args is None and kwargs is None:
        raise fail("export.no_args")
    if isinstance(args, (torch.Tensor, str)):
        raise fail("export.args_not_tuple", kind=type(args).__name__)
    from ._stateful import trace_stateful

    calls = [(tuple(args or ()), dict(kwargs or {}))]
    methods = trace_stateful(
        program_or_module, {"forward": calls}, dynamic_shapes={"forward": dynamic_shapes}
    )
    save_methods(path, methods, portable=portable)

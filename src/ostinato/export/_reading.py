"""From a file to its programs, all of it checked before torch sees any."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass

import torch
from torch.export import ExportedProgram

from .._errors import ExportError, fail
from ._build import Builder
from ._examples import Call, example_of
from ._metadata import Metadata, VariantInfo, metadata_of
from ._methods import MAIN, Variant, buffers, tensor_of
from ._signature import describe, example
from ._vet import VettedArchive


@dataclass(frozen=True)
class Loaded:
    """The programs of a file: method → variants. Tensors of one name are one object in all of them."""

    methods: dict[str, list[Variant]]
    metadata: Metadata
    state: dict[str, torch.Tensor]


def load_methods(path: str | os.PathLike[str]) -> Loaded:
    """All programs of a file, checked by the strict reader before torch sees any of it.

    Parameters and state of one name, dtype, shape and value are one tensor
    object in all programs, so a state that one method writes is the state that
    another reads. ``state`` maps the names of the state to these tensors, which
    hold the initial values.

    Raises ArchiveError for a file that is damaged, malicious, or was not
    written by Ostinato (`load` also reads files of stock torch).
    """
    with VettedArchive(path) as archive:
        metadata = metadata_of(archive)
        models = archive.vet_models()
        builder = Builder(archive)
        methods: dict[str, list[Variant]] = {}
        state: dict[str, torch.Tensor] = {}
        for method, info in metadata.methods.items():
            for each in info.variants:
                model = models.pop(each.model, None)
                if model is None:
                    what = f"the program {each.model} is missing, or named twice"
                    raise fail("export.bad_metadata", path=archive.path, what=what)
                program = builder.build(model, metadata.dtypes.get(each.model))
                _check_described(archive.path, program, each)
                call = example_of(archive, each)
                _set_example(program, call)
                args, kwargs = call or example(each.inputs)
                about = info.on_variant_change, info.resets, each.mode, call is None
                methods.setdefault(method, []).append(Variant(program, args, kwargs, *about))
                for name in each.state:
                    state[name] = tensor_of(program, name)
    return Loaded(methods, metadata, state)


def _check_described(path: str, program: ExportedProgram, info: VariantInfo) -> None:
    try:
        same = describe(program) == (info.inputs, info.outputs)
    except ExportError as error:
        raise fail("export.bad_metadata", path=path, what=f"{info.model}: {error.message}") from None
    if not same or not set(info.state) <= set(buffers(program)):
        raise fail("export.bad_metadata", path=path, what=f"the signature or state of {info.model} differs")


def load(path: str | os.PathLike[str], method: str = "forward") -> ExportedProgram:
    """One program of a file: the first variant of ``method``.

    Reads files of `save`, of `save_methods`, and of stock
    ``torch.export.save`` (then ``method`` must be ``"forward"``). The strict
    reader checks the file before torch sees any of it: nothing in it is
    unpickled, and sample inputs of stock torch are left out; an example of
    ours becomes the program's ``example_inputs``. Use `load_methods` where
    several methods must share their state.

    Raises ArchiveError for a damaged or malicious file, for operators that are
    not registered, and for a method that the file does not hold.
    """
    with VettedArchive(path) as archive:
        models = archive.vet_models()
        metadata = metadata_of(archive) if archive.metadata is not None else None
        if metadata is None:
            known = {"forward": MAIN if MAIN in models else next(iter(models))}
        else:
            known = {name: info.variants[0].model for name, info in metadata.methods.items() if info.variants}
        if method not in known or known[method] not in models:
            raise fail("export.no_such_method", path=archive.path, method=method, known=", ".join(known))
        model, builder = models[known[method]], Builder(archive)
        if metadata is None:
            return builder.build(model)
        program = builder.build(model, metadata.dtypes.get(model.name))
        _set_example(program, example_of(archive, metadata.methods[method].variants[0]))
        return program


def _set_example(program: ExportedProgram, call: Call | None) -> None:
    with suppress(ValueError):  # a named tuple, which metadata know as a tuple
        program.example_inputs = call

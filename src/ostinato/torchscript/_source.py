"""``source``: an archive as one readable Python module over torch alone."""

from __future__ import annotations

import os

from ._archive import Archive
from ._program import Program


def source(path: str | os.PathLike[str], *, weights: str | os.PathLike[str] | None = None) -> str:
    """The model of a TorchScript archive as the text of one Python module that needs nothing but torch.

    The module has a class for each class of the archive (the model's own is also called ``Model``), with the
    methods as the archive has them, and ``load(path)``, which builds the model and fills it with the tensors
    of a safetensors file. ``weights`` is where to write that file: parameters, buffers, tensors in attributes
    and in the code, by their full names. It is written beside its place and renamed.

    The text holds only what was translated from the archive's language and functions of Ostinato that it
    uses. It is laid out for lines of 110.

    Raises ArchiveError where the file is damaged, unsafe, or uses what is not supported, or where a tensor or
    an object has no form in such a module, and DeployError where ``weights`` cannot be written.
    """
    from ._written import write_weights, written  # needs torch, which the package does not

    with Archive(path) as archive:
        text, tensors = written(Program(archive))
        if weights is not None:
            write_weights(weights, tensors)
    return text

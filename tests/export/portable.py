"""Files for `alone.py`, of every dtype in every place, every MX format and all kinds of programs.

``python -m tests.export.portable FOLDER`` writes them; `make check-portable` runs them under other torches.
"""

import pathlib
import sys

import torch
from torch import nn
from torch.utils import _pytree as pytree

import ostinato as ost
from ostinato.export import save

from .models import Affine, Detector, Policy
from .mx_models import FORMATS, MODELS, quantized
from .test_dtypes import PLACES, WHOLE, case, dtype_of, plain


class Flow(nn.Module):
    def forward(self, x):
        y = torch.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, (x,))
        i, a = torch.while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, a * 1.5), (torch.tensor(0), y))
        return a + i


def write(folder, dtypes=WHOLE, models=tuple(MODELS)):
    """All of them, or those of some dtypes and MX models; returns their number."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    for name in dtypes:
        for place in PLACES:
            module, x = case(place, dtype_of(name))
            _write(folder / f"{place}-{name}.pt2", module, [(x,)], save_program=place != "state")
    for format in FORMATS:
        for name in models:
            module, args = quantized(name, format)
            _write(folder / f"{name}-{format}.pt2", module, [args])
    _write(folder / "detector.pt2", Detector().eval(), [(torch.randn(1, 64), 16000)] * 3)
    _write(folder / "policy.pt2", Policy(), [(torch.randn(1, 5),) for _ in range(3)])
    _write(folder / "flow.pt2", Flow(), [(torch.ones(3),), (-torch.ones(3),)])
    batch = torch.export.Dim("batch", min=2, max=64)
    calls = [(torch.randn(rows, 4),) for rows in (3, 17)]
    _write(folder / "dynamic.pt2", Affine(), calls, dynamic_shapes=({0: batch},))
    return len(list(folder.glob("*.pt2")))


def _write(path, module, calls, save_program=False, dynamic_shapes=None):
    subject = module
    if save_program:
        subject = torch.export.export(module, calls[0])
        save(subject, path)
    else:
        save(module, path, calls[0], dynamic_shapes=dynamic_shapes)
    with torch.no_grad():
        done = [(plain(args), pytree.tree_leaves(plain(_result(module, args)))) for args in calls]
    torch.save(done, path.with_suffix(".pt"))


def _result(module, args):
    # A clone, so that neither a view nor its whole storage is written, nor state that the next call changes.
    return pytree.tree_map(
        lambda leaf: plain(leaf).clone() if isinstance(leaf, torch.Tensor) else leaf, module(*args)
    )


if __name__ == "__main__":
    print(write(sys.argv[1]), "programs, torch", torch.__version__, "ostinato", ost.__version__)

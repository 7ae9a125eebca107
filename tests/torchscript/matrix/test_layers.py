"""The module classes of ``torch.nn``, scripted and traced, give the same when Ostinato loads them."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

import ostinato as ost

from .layers import LAYERS
from .same import same

pytest.importorskip("torch.jit", reason="this torch has no torch.jit")
pytestmark = pytest.mark.filterwarnings("ignore")

# What torch.jit itself refuses, by form.
REFUSED = {
    "script": {
        "TripletMarginWithDistanceLoss", "GaussianNLLLoss", "AdaptiveLogSoftmaxWithLoss", "CrossMapLRN2d",
        "LinearCrossEntropyLoss", "SyncBatchNorm", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d",
    },
    "trace": {"CrossMapLRN2d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d"},
}  # fmt: skip
# Bases and containers without a ``forward``.
ABSTRACT = {"Container", "DataParallel", "Module", "RNNBase", "RNNCellBase"}


def compiled(form, make, inputs):
    module = make().eval()
    return (
        torch.jit.script(module) if form == "script" else torch.jit.trace(module, inputs, check_trace=False)
    )


def results(module, inputs):
    torch.manual_seed(7)
    with torch.no_grad():
        return module(*copy.deepcopy(inputs))


@pytest.mark.parametrize("form", ["script", "trace"])
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_gives_what_torch_jit_gives(name, form, archives, tally):
    make, inputs = LAYERS[name]
    if name in REFUSED[form]:
        with pytest.raises(Exception):  # noqa: B017
            archives(f"{name} {form}", lambda: compiled(form, make, inputs))
        return
    path = archives(f"{name} {form}", lambda: compiled(form, make, inputs))
    theirs, ours = torch.jit.load(path), ost.torchscript.load(path)
    same(results(ours, inputs), results(theirs, inputs))
    assert list(ours.state_dict()) == list(theirs.state_dict())
    tally("layers of torch.nn", form)


def test_every_layer_of_torch_is_among_them():
    public = {name for name in dir(nn) if isinstance(getattr(nn, name), type)}
    classes = {name for name in public if issubclass(getattr(nn, name), nn.Module)}
    assert classes - ABSTRACT <= LAYERS.keys()
    assert len(LAYERS) - len(REFUSED["script"] & REFUSED["trace"]) >= 150

"""Programs made of real archives give what was recorded."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch.utils import _pytree as pytree

import ostinato as ost
from ostinato._errors import ExportError

from .archives import FOLDER, needs_archives
from .test_golden import NAMES, calls_of

pytestmark = needs_archives


def shapes(args):
    return [tuple(each.shape) if torch.is_tensor(each) else each for each in pytree.tree_leaves(args)]


@pytest.mark.parametrize("name", [each for each in NAMES if not each.startswith("reddit")])
def test_recorded_outputs(name):
    calls = list(itertools.dropwhile(lambda call: call["method"] != "forward", calls_of(name)))
    first = tuple(calls[0]["args"])
    module = ost.torchscript.convert(FOLDER / name, first).module()
    # The program is for these sizes and numbers, and has no other method.
    for call in itertools.takewhile(
        lambda call: call["method"] == "forward" and shapes(call["args"]) == shapes(first), calls
    ):
        torch.testing.assert_close(module(*call["args"]), call["out"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("mobilenet_quantized.pt", (torch.zeros(1, 3, 224, 224),)),
        ("vit4mnist.ptl", (torch.zeros(1, 1, 28, 28),)),
    ],
)
def test_quantized_archives_are_refused(name, args):
    with pytest.raises(ExportError, match="cannot be traced"):
        ost.torchscript.convert(FOLDER / name, args)

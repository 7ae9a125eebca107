"""The models of torchvision, where it is installed, are the same when Ostinato loads them."""

from __future__ import annotations

import pytest
import torch

import ostinato as ost

from .same import same

models = pytest.importorskip("torchvision.models", reason="torchvision is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")

# Small ones of each family; the sizes of the images where 64 is too few.
SIZES = {"inception_v3": 96, "vit_b_32": 224, "maxvit_t": 224, "googlenet": 96}
NAMES = [
    "alexnet",
    "convnext_tiny",
    "densenet121",
    "densenet169",
    "efficientnet_b0",
    "efficientnet_b1",
    "efficientnet_v2_s",
    "googlenet",
    "inception_v3",
    "maxvit_t",
    "mnasnet0_5",
    "mnasnet0_75",
    "mnasnet1_0",
    "mnasnet1_3",
    "mobilenet_v2",
    "mobilenet_v3_large",
    "mobilenet_v3_small",
    "regnet_x_400mf",
    "regnet_x_800mf",
    "regnet_y_400mf",
    "regnet_y_800mf",
    "regnet_y_1_6gf",
    "resnet18",
    "resnet34",
    "resnet50",
    "resnext50_32x4d",
    "shufflenet_v2_x0_5",
    "shufflenet_v2_x1_0",
    "shufflenet_v2_x1_5",
    "shufflenet_v2_x2_0",
    "squeezenet1_0",
    "squeezenet1_1",
    "swin_t",
    "swin_v2_t",
    "vit_b_32",
    "vgg11",
    "wide_resnet50_2",
    "segmentation.lraspp_mobilenet_v3_large",
    "segmentation.deeplabv3_mobilenet_v3_large",
    "segmentation.fcn_resnet50",
    "video.r3d_18",
    "video.mc3_18",
    "video.r2plus1d_18",
    "video.s3d",
]


def model(name):
    found = models
    for part in name.split("."):
        found = getattr(found, part)
    torch.manual_seed(0)
    given = {"weights_backbone": None} if name.startswith("segmentation") else {}
    if name in ("googlenet", "inception_v3"):
        given["init_weights"] = False
    return found(weights=None, num_classes=10, **given).eval()


@pytest.mark.parametrize("form", ["script", "trace"])
@pytest.mark.parametrize("name", NAMES)
def test_a_model_gives_what_torch_jit_gives(name, form, tmp_path, tally):
    module, size = model(name), SIZES.get(name, 64)
    x = torch.randn(1, 3, 16, size, size) if name.startswith("video") else torch.randn(1, 3, size, size)
    if form == "script":
        compiled = torch.jit.script(module)
    else:
        compiled = torch.jit.trace(module, x, check_trace=False, strict=False)
    compiled.save(str(tmp_path / "m.pt"))
    theirs, ours = torch.jit.load(tmp_path / "m.pt"), ost.torchscript.load(tmp_path / "m.pt")
    with torch.no_grad():
        same(ours(x), theirs(x))
    tally("models of torchvision", form)

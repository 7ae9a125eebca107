"""``ostinato.mx``: tensors in the formats of the OCP Microscaling specification 1.0."""

from ._conversion import quantize_safetensors as quantize_safetensors
from ._fake import fake_quantize as fake_quantize
from ._formats import (
    MXFormat as MXFormat,
    mxfp4 as mxfp4,
    mxfp6_e2m3 as mxfp6_e2m3,
    mxfp6_e3m2 as mxfp6_e3m2,
    mxfp8_e4m3 as mxfp8_e4m3,
    mxfp8_e5m2 as mxfp8_e5m2,
    mxint8 as mxint8,
)
from ._modules import quantize_ as quantize_
from ._quantize import quantize as quantize
from ._report import LeftWeight as LeftWeight, QuantizedWeight as QuantizedWeight, Report as Report
from ._safetensors import load_safetensors as load_safetensors, save_safetensors as save_safetensors
from ._tensor import MXTensor as MXTensor

"""inspect tells what an archive holds, without torch."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import ostinato as ost
from ostinato._errors import ArchiveError

from .archives import FOLDER, module_pickle, needs_archives, number, tensor, text, write

CODE = """class M(Module):
  __parameters__ = ["w", ]
  __buffers__ = ["b", ]
  w : Tensor
  b : Tensor
  state : Tensor
  training : bool
  rates : List[int]
  name : str
  width : Final[int] = 48
  def forward(self: __torch__.M,
    x: Tensor,
    n: int=512) -> Tensor:
    return torch.relu(torch.mul(x, n))
  def reset(self: __torch__.M) -> NoneType:
    _0 = ops.mine.special(self.state)
    return None
"""


@pytest.fixture
def archive(tmp_path):
    rates = b"ctorch.jit._pickle\nbuild_intlist\n(](" + number(8000) + number(16000) + b"etR"
    state = {
        "w": tensor(shape=(1, 2), stride=(2, 1)),
        "b": tensor(),
        "state": tensor(),
        "training": b"\x89",
        "rates": rates,
        "name": text("speech"),
    }
    data = module_pickle("M", state)
    return write(tmp_path / "a.pt", CODE, data, {"data/0": bytes(8)})


def test_what_inspect_tells(archive):
    info = ost.torchscript.inspect(archive)
    assert (info.path, info.format, info.archive) == (str(archive), 3, "scripted")
    assert info.root == "__torch__.M"
    assert list(info.methods) == ["forward", "reset"]
    assert info.methods["forward"] == "(x: Tensor, n: int=512) -> Tensor"
    assert {name: (t.kind, t.dtype, t.shape) for name, t in info.tensors.items()} == {
        "w": ("parameter", "float32", (1, 2)),
        "b": ("buffer", "float32", (2,)),
        "state": ("attribute", "float32", (2,)),
    }
    assert info.attributes == {
        "training": "False",
        "rates": "[8000, 16000]",
        "name": "'speech'",
        "width": "48",
    }
    assert info.operators == {"aten::mul": 1, "aten::relu": 1, "mine::special": 1}
    assert list(info.unsupported) == ["mine::special"]
    assert (info.parameters, info.code_bytes, info.classes) == (2, len(CODE), 1)
    json.dumps(info.to_json())


def test_load_refuses_what_inspect_calls_unsupported(archive):
    with pytest.raises(ArchiveError) as error:
        ost.torchscript.load(archive)
    assert error.value.code == "torchscript.operator"
    for part in ("mine::special", "code/__torch__.py", "line 16"):
        assert part in error.value.message


def test_no_torch_is_imported(tmp_path):
    path = write(tmp_path / "a.pt")
    code = (
        "import sys, ostinato.torchscript as ts, ostinato.torchscript._archive\n"
        f"ts.inspect({str(path)!r})\n"
        "print(sorted({'torch', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@needs_archives
@pytest.mark.parametrize(
    ("name", "kind", "version"),
    [
        ("silero_vad.jit", "scripted", 3),
        ("mobilenet_quantized.pt", "traced", 3),
        ("vit4mnist.ptl", "lite", 4),
        ("reddit_byte_lstm_v1.pt", "scripted", 1),
    ],
)
def test_real_archives(name, kind, version):
    info = ost.torchscript.inspect(FOLDER / name)
    assert (info.archive, info.format) == (kind, version)
    assert not info.unsupported
    json.dumps(info.to_json())


@needs_archives
def test_signature_and_constants_of_a_real_archive():
    module = ost.torchscript.load(FOLDER / "silero_vad.jit")
    assert ost.torchscript.signature(module) == [("x", "Tensor", ...), ("sr", "int", ...)]
    inner = ost.torchscript.signature(module._model)
    assert inner[1][:2] == ("state", "Tensor")
    assert inner[1][2].shape == (0,)
    assert {256, 512, 8000, 16000} <= set(ost.torchscript.constants(module))
    assert ost.torchscript.constants(module) == sorted(ost.torchscript.constants(module))

"""What a name stands for: aliases are followed, and other things of the same name are left alone."""

from __future__ import annotations

import pytest

from .support import findings, rules

SCRIPT = "OST101"


@pytest.mark.parametrize(
    "code",
    [
        "import torch\ntorch.jit.script(f)",
        "import torch.jit\ntorch.jit.script(f)",
        "import torch as th\nth.jit.script(f)",
        "import torch.jit as J\nJ.script(f)",
        "from torch import jit\njit.script(f)",
        "from torch import jit as j\nj.script(f)",
        "from torch.jit import script\nscript(f)",
        "from torch.jit import script as s\ns(f)",
        "from torch.jit import *\nscript(f)",
        "from torch.jit._script import script\nscript(f)",
        "import torch\ncompile_ = torch.jit.script\n",
        "import torch\n@torch.jit.script\ndef f(x): return x",
        "import torch\n@torch.jit.script\nclass C: pass",
        "import torch\nclass C:\n  @staticmethod\n  @torch.jit.script\n  def f(x): return x",
        "import torch\ndef f(g=torch.jit.script): pass",
        "import torch\nx = [torch.jit.script(m) for m in ms]",
        "import torch\nx = lambda m: torch.jit.script(m)",
        "import torch\nclass torch_:\n  def torch(self): return torch.jit.script(self)",
        "import torch\nclass C:\n  torch = 1\n  def f(self): return torch.jit.script(self)",
        "def f():\n  import torch\n  return torch.jit.script(f)",
        "def f():\n  global torch\n  import torch\ndef g(): torch.jit.script(f)",
        "try:\n  import torch\nexcept ImportError:\n  torch = None\ntorch.jit.script(f)",
        "from everything import *\ntorch.jit.script(f)",
        "import torch\nx = f'{torch.jit.script(m)}'",
        "import torch\nmatch x:\n  case 1: torch.jit.script(x)",
        "import torch\nx = (y := torch.jit.script)(f)",
        "import torch\nx = " + " + ".join(["'a'"] * 900) + " + torch.jit.script(f)",
    ],
)
def test_one_use_is_found(code):
    assert rules(code) == [SCRIPT]


def test_aliases_are_followed_through_assignments():
    code = "import torch\njit = torch.jit\ns = jit.script\nt, u = s, 1\nt(f)"
    assert findings(code) == [(2, 7, "OST119"), (3, 5, SCRIPT), (4, 8, SCRIPT), (5, 1, SCRIPT)]


@pytest.mark.parametrize(
    "code",
    [
        "import torch, jax\njax.jit(f)",
        "import torch\nfrom numba import jit\n@jit\ndef f(): pass",
        "import torch, numba\nnumba.jit.script(f)",
        "import torch\nfrom .torch import jit\njit.script(f)",
        "import torch\nfrom mine import jit\njit.script(f)",
        "import torch\ndef f(torch): torch.jit.script(f)",
        "import torch\nx = [torch.jit for torch in y]",
        "import torch\nlambda torch: torch.jit",
        "def f():\n  for torch in x:\n    torch.jit.script(f)",
        "import torch\n'torch.jit.script(f)'\n# torch.jit.script(f)",
        "import torch\nself.torch.jit.script(f)",
        "import torch\nmine.jit.script(f)\nx.script()\nload('x')",
        "import torch\nx = {'jit': torch.jitter}",
        "import torch\nfrom typing import Literal\ndef f(x: Literal['torch.jit']): pass",
        "from mine import to_torchscript, torch_tools\nto_torchscript(x)\ntorch_tools.to_torchscript(x)",
        "import torch\nclass M(torch.nn.Module):\n  def to_torchscript(self): pass",
        "import torch\ntorch.onnx.export(m, x, 'f', dynamo=True)\ntorch.onnx.export(m, x, 'f')",
        "import torch\nm = torch.jit_of_mine\nm.save(1)",
        "import torch\ndef f(model): model.save('x')",
        "import torch\n__constants__ = 1",
    ],
)
def test_nothing_is_found(code):
    assert rules(code) == []


def test_where_a_use_stands_is_told_in_characters():
    code = "import torch\né = 'ü'; ñ = torch.jit.script\n\tx"
    assert findings("import torch\nif 1:\n\té = 'ü𝄞'; ñ = torch.jit.script") == [(3, 16, SCRIPT)]
    assert findings(code.replace("\n\tx", "")) == [(2, 14, SCRIPT)]


def test_annotations_in_quotes_are_code():
    code = """
        from torch import jit
        def f(x: 'jit.ScriptModule', y: 'list[jit.Future]' = 1) -> 'jit.Final[int]': pass
    """
    assert rules(code) == ["OST106", "OST108", "OST113"]


def test_what_torch_jit_returns_is_known_where_it_is_used():
    code = """
        import torch
        torch.jit.script(f).save("a")
        m = torch.jit.load("a")
        m.save("b")
        print(m.graph, m.code)
        m = 1
        m.save("c")
    """
    found = [(line, rule) for line, _, rule in findings(code)]
    saves = [(3, SCRIPT), (3, "OST104"), (4, "OST103"), (5, "OST104")]
    assert sorted(found) == sorted([*saves, (6, "OST124"), (6, "OST124")])


def test_a_name_with_two_meanings_is_reported_and_not_fixed():
    from .support import run

    code = """
        try:
            from torch.jit import script
        except ImportError:
            from mine import script
        @script
        def f(x): return x
    """
    (found,) = run(code).findings
    assert (found.rule, found.fix) == (SCRIPT, None)


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("torch.jit.trace(m, x)", "OST102"),
        ("torch.jit.trace_module(m, x)", "OST102"),
        ("torch.jit.save(m, p)", "OST104"),
        ("torch.jit.freeze(m)", "OST105"),
        ("with torch.jit.fuser('fuser2'): pass", "OST105"),
        ("class M(torch.jit.ScriptModule): pass", "OST106"),
        ("isinstance(m, torch.ScriptModule)", "OST106"),
        ("torch.jit.wait(torch.jit._fork(f))", "OST108"),
        ("@torch.jit.script_if_tracing\ndef f(x): pass", "OST109"),
        ("torch._C._get_tracing_state()", "OST117"),
        ("torch.jit._trace.is_tracing()", "OST117"),
        ("torch.jit.isinstance(x, list[int])", "OST118"),
        ("torch.jit.TracerWarning", "OST119"),
        ("torch.jit._state.disable()", "OST120"),
        ("torch.jit._overload(f)", "OST120"),
        ("torch._jit_internal.Future", "OST121"),
        ("from torch.jit.annotations import List\nx: List", "OST121"),
        ("torch._C._jit_set_profiling_mode(True)", "OST122"),
        ("from torch.utils.mobile_optimizer import optimize_for_mobile as o\no(m)", "OST130"),
        ("m._save_for_lite_interpreter(p)", "OST131"),
        ("torch.jit.mobile._load_for_lite_interpreter(p)", "OST131"),
        ("import torch.utils.bundled_inputs as b\nb.augment_model_with_bundled_inputs(m)", "OST132"),
        ("torch.ao.quantization.quantize_jit(m)", "OST133"),
        ("from torch.utils.model_dump import get_model_info\nget_model_info(p)", "OST134"),
        ("model.to_torchscript()", "OST140"),
        ("Net.load(p).to_torchscript('m.pt', method='trace')", "OST140"),
        ("torch.onnx.export(m, x, 'm.onnx', dynamo=False)", "OST141"),
        ("torch.onnx.register_custom_op_symbolic('a::b', f, 9)", "OST141"),
        ("class M(torch.nn.Module):\n  __constants__ = ['a']", "OST113"),
        ("class M(torch.nn.Module):\n  __jit_unused_properties__: list = ['a']", "OST111"),
    ],
)
def test_what_rule_a_use_falls_under(code, rule):
    assert set(rules("import torch\n" + code)) == {rule}


def test_an_import_is_reported_only_where_nothing_uses_it():
    assert rules("import torch.jit\nprint(torch)") == ["OST100"]
    assert rules("from torch.jit import script, trace\ntrace(m, x)") == ["OST100", "OST102"]
    assert rules("import torch.jit as J\nfrom torch import jit\njit.script(f)") == ["OST100", SCRIPT]

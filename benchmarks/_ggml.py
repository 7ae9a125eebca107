"""llama.cpp's product with a matrix in MXFP4, through the ggml that llama-cpp-python brings, by ctypes.

Its inputs are rounded to int8 in blocks of 32, with scales in float16.
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from pathlib import Path
from typing import Any

import torch

INSTALL = "pip install llama-cpp-python"  # builds llama.cpp, for the CPU that it runs on
_F32, _MXFP4 = 0, 39  # of enum ggml_type
_POINTER, _SIZE = ctypes.c_void_p, ctypes.c_size_t
_REPACK = "_Z35ggml_backend_cpu_repack_buffer_typev"  # of C++


class _InitParams(ctypes.Structure):
    _fields_ = (("mem_size", _SIZE), ("mem_buffer", ctypes.c_void_p), ("no_alloc", ctypes.c_bool))


def is_installed() -> bool:
    return importlib.util.find_spec("llama_cpp") is not None


def _library(name: str) -> ctypes.CDLL:
    spec = importlib.util.find_spec("llama_cpp")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent / "lib"
    path = folder / f"lib{name}{'.dylib' if sys.platform == 'darwin' else '.so'}"
    return ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)


class Product:
    """``x @ w.t()`` of ``x [batch, k]`` and a weight in mxfp4, as often as ``run`` is called.

    ``packed`` lets ggml lay the weight out anew for its kernels, as llama.cpp does with a model.
    What is made stays until the process ends.
    """

    def __init__(self, qdata: torch.Tensor, scale: torch.Tensor, x: torch.Tensor, threads: int, packed: bool):
        base, cpu = _library("ggml-base"), _library("ggml-cpu")
        for (library, name), (result, *arguments) in _functions(base, cpu).items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        self._base, self._cpu = base, cpu
        (batch, k), n = x.shape, len(scale)
        backend = cpu.ggml_backend_cpu_init()
        cpu.ggml_backend_cpu_set_n_threads(backend, threads)
        context = base.ggml_init(_InitParams(1 << 20, None, True))
        weight = base.ggml_new_tensor_2d(context, _MXFP4, k, n)
        given = base.ggml_new_tensor_2d(context, _F32, k, batch)
        self._out = base.ggml_mul_mat(context, weight, given)
        self._result = torch.zeros(batch, n)
        plain = base.ggml_backend_cpu_buffer_type()
        self._place(weight, getattr(cpu, _REPACK)() if packed else plain, blocks(qdata, scale))
        self._place(given, plain, x)
        self._place(self._out, plain, self._result)
        graph = base.ggml_new_graph(context)
        base.ggml_build_forward_expand(graph, self._out)
        self.run = lambda: base.ggml_backend_graph_compute(backend, graph)

    def result(self) -> torch.Tensor:
        self.run()
        self._base.ggml_backend_tensor_get(self._out, self._result.data_ptr(), 0, self._result.nbytes)
        return self._result

    def _place(self, tensor: int, kind: int, contents: torch.Tensor) -> None:
        base = self._base
        buffer = base.ggml_backend_buft_alloc_buffer(
            kind, base.ggml_backend_buft_get_alloc_size(kind, tensor)
        )
        base.ggml_backend_tensor_alloc(buffer, tensor, base.ggml_backend_buffer_get_base(buffer))
        base.ggml_backend_tensor_set(tensor, contents.contiguous().data_ptr(), 0, contents.nbytes)


def _functions(base: ctypes.CDLL, cpu: ctypes.CDLL) -> dict[tuple[ctypes.CDLL, str], tuple[Any, ...]]:
    """What each returns and takes."""
    return {
        (cpu, "ggml_backend_cpu_init"): (_POINTER,),
        (cpu, "ggml_backend_cpu_set_n_threads"): (None, _POINTER, ctypes.c_int),
        (cpu, _REPACK): (_POINTER,),
        (base, "ggml_init"): (_POINTER, _InitParams),
        (base, "ggml_new_tensor_2d"): (_POINTER, _POINTER, ctypes.c_int, ctypes.c_int64, ctypes.c_int64),
        (base, "ggml_mul_mat"): (_POINTER, _POINTER, _POINTER, _POINTER),
        (base, "ggml_new_graph"): (_POINTER, _POINTER),
        (base, "ggml_build_forward_expand"): (None, _POINTER, _POINTER),
        (base, "ggml_backend_cpu_buffer_type"): (_POINTER,),
        (base, "ggml_backend_buft_get_alloc_size"): (_SIZE, _POINTER, _POINTER),
        (base, "ggml_backend_buft_alloc_buffer"): (_POINTER, _POINTER, _SIZE),
        (base, "ggml_backend_buffer_get_base"): (_POINTER, _POINTER),
        (base, "ggml_backend_tensor_alloc"): (ctypes.c_int, _POINTER, _POINTER, _POINTER),
        (base, "ggml_backend_tensor_set"): (None, _POINTER, _POINTER, _SIZE, _SIZE),
        (base, "ggml_backend_tensor_get"): (None, _POINTER, _POINTER, _SIZE, _SIZE),
        (base, "ggml_backend_graph_compute"): (ctypes.c_int, _POINTER, _POINTER),
    }


def blocks(qdata: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Bytes as ggml keeps them: a scale, then sixteen bytes with a number and the one that is 16 further."""
    codes = qdata.view(torch.uint8).view(*scale.shape, 16)
    numbers = torch.stack((codes & 15, codes >> 4), -1).flatten(-2)
    data = numbers[..., :16] | numbers[..., 16:] << 4
    return torch.cat((scale.view(torch.uint8).unsqueeze(-1), data), -1)

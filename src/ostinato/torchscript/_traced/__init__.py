"""Archives for tracing: what hangs on a tensor becomes ``torch.cond`` and ``while_loop``."""

from ._load import load_for_tracing as load_for_tracing

__all__ = ["load_for_tracing"]

"""Capture once, replay many times: the names of ``torch.accelerator``, on every device."""

from .._errors import (
    CaptureError as CaptureError,
    ReplayError as ReplayError,
)
from ._graph import (
    Graph as Graph,
    graph_pool_handle as graph_pool_handle,
    is_capturing as is_capturing,
)
from ._graphed import graphed as graphed
from ._make_graphed import make_graphed_callables as make_graphed_callables
from ._registry import (
    GraphImplInterface as GraphImplInterface,
    register_graph_impl as register_graph_impl,
)

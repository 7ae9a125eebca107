"""A plan on the Python side: runs of native steps, and the Python steps between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._errors import fail
from ._program import Node
from ._source import text

Step = Callable[[], None]


class Plan:
    """The steps of one graph, in order."""

    def __init__(self, number: int, native: Any) -> None:
        self._number = number
        self._run = native.plan_run.default
        self._free = native.plan_free.default
        self._nodes: list[tuple[Node, Callable[[Node], Step]]] = []
        self._segments: list[tuple[int, int] | Step] = []

    def append_native(self, node: Node, again: Callable[[Node], Step]) -> None:
        """The next native step does ``node``; ``again(node)`` makes a Python step that does the same."""
        index = len(self._nodes)
        self._nodes.append((node, again))
        last = self._segments[-1] if self._segments else None
        if isinstance(last, tuple):
            self._segments[-1] = (last[0], index + 1)
        else:
            self._segments.append((index, index + 1))

    def append_python(self, step: Step) -> None:
        self._segments.append(step)

    def run(self) -> None:
        """One replay. ReplayError names the node that failed."""
        for segment in self._segments:
            if isinstance(segment, tuple):
                at, last = segment
                while (stopped := self._run(self._number, at, last)) != last:
                    self._again(stopped)
                    at = stopped + 1
            else:
                segment()

    def _again(self, index: int) -> None:
        """Does a failed step in Python: for torch's message, which the C interface keeps to itself."""
        node, again = self._nodes[index]
        try:
            again(node)()
        except Exception as error:
            where = text(node.where)
            raise fail("accelerator.step_failed", op=node.op, where=where, reason=error) from error

    def __del__(self) -> None:
        self._free(self._number)

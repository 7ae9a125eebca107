"""Random programs as hypothesis draws them, and as a person runs them again."""

from __future__ import annotations

import dataclasses

from hypothesis import strategies as st

from .random_blocks import BLOCKS
from .random_writer import Writer


@dataclasses.dataclass(frozen=True)
class RandomGraph:
    """What exists before the capture, what is captured, and what happens between replays, as Python."""

    setup: tuple[str, ...]
    body: tuple[str, ...]
    outputs: tuple[str, ...]
    between: tuple[str, ...]
    mode: str = "no_grad"  # or "inference_mode"
    threads: tuple[int, ...] = (1, 1)  # at each replay, the first's also at the capture

    def __repr__(self):
        """Runs the case again when it is saved as a file and started in the root of the repository."""
        fields = ",\n".join(_field(n, getattr(self, n)) for n in ("setup", "body", "between"))
        rest = f"    outputs={self.outputs!r}, mode={self.mode!r}, threads={self.threads!r}"
        return (
            "from tests.accelerator.random_graphs import RandomGraph\n"
            "from tests.accelerator.random_check import check\n\n"
            f"check(RandomGraph(\n{fields},\n{rest},\n))\n"
        )


def _field(name, lines):
    return f"    {name}=(\n{''.join(f'        {line!r},{chr(10)}' for line in lines)}    )"


@st.composite
def random_graphs(draw):
    w = Writer(draw)
    w.special = w.chance(25)
    rows, columns = w.choose([3, 1, 2, 8, 5]), w.choose([4, 8, 16, 7, 33, 1, 64, 130])
    if w.chance(3):
        rows = 0
    shapes = [(rows, columns), (columns,), (rows, 1), (2, rows, columns), (), (rows, columns)]
    if w.chance(10):
        shapes.append((40, 3, 67))  # more than a thread takes alone
    for _ in range(w.number(1, 3)):
        w.tensor(w.choose(shapes), layout=w.choose(["contiguous", "transposed", "strided", "offset"]))
    if w.chance(20):
        w.given(
            w.choose(["{0}[..., 1:]", "{0}.t()", "{0}[0]", "{0}.expand(2, *{0}.shape)"]).format(w.tensors[0]),
            "v",
        )
    given = len(w.tensors)
    for _ in range(w.number(1, 4)):
        w.choose(BLOCKS)(w)
    made = w.tensors[given:]
    if not made:
        made = [w.emit(f"{w.tensors[0]}.sign()")]
    outputs = [made[-1], *[w.choose(made[::-1]) for _ in range(w.choose([0, 0, 1, 3]))]]
    between = [f"{n}.mul_(0.9)" for n in w.weights if w.chance(15)]
    return RandomGraph(
        tuple(w.setup),
        tuple(w.body),
        tuple(dict.fromkeys(outputs)),
        tuple(between),
        w.choose(["no_grad", "no_grad", "inference_mode"]),
        w.choose([(1, 1), (1, 1), (2, 2), (1, 2, 2), (2, 1, 2), (1, 1, 1)]),
    )

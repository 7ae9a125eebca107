"""Modules: methods, exported and ignored ones, submodules, functions, fork and wait, Final, hooks."""

from typing import Dict, Final, List, Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ._case import case


def doubled(x: Tensor) -> Tensor:
    return x * 2


def fibonacci(n: int) -> int:
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


@torch.jit.script
def scripted(x: Tensor, n: int = 3) -> Tensor:
    return x + n


@case("functions", (torch.ones(2), 6))
def of_functions(x: Tensor, n: int):
    return doubled(x), fibonacci(n), scripted(x), scripted(x, n=1), doubled(doubled(x))


@case("methods", (torch.ones(2),))
class Methods(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)

    def helper(self, x: Tensor, by: int) -> Tensor:
        return self.other(x) * by

    def other(self, x: Tensor) -> Tensor:
        return self.lin(x)

    def forward(self, x: Tensor) -> Tensor:
        return self.helper(x, 2) + self.helper(x, by=3)


@case("methods", [("forward", torch.ones(2)), ("more", torch.ones(2), 2), ("count",)])
class Exported(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return self.more(x, 1)

    @torch.jit.export
    def more(self, x: Tensor, n: int) -> Tensor:
        return x + n

    @torch.jit.export
    def count(self) -> int:
        return 4


@case("methods", (torch.ones(2),))
class Unused(nn.Module):
    def __init__(self):
        super().__init__()
        self.debug = False

    @torch.jit.unused
    def shown(self, x: Tensor) -> Tensor:
        return x.numpy()

    def forward(self, x: Tensor) -> Tensor:
        if self.debug:
            x = self.shown(x)
        if not torch.jit.is_scripting():
            x = x * 100
        return x + 1


@case("methods", (torch.ones(2),))
class Inherited(Methods):
    def other(self, x: Tensor) -> Tensor:
        return x - 1


@case("properties", (torch.ones(2),))
class Properties(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 3

    @property
    def twice(self) -> int:
        return self.n * 2

    def forward(self, x: Tensor) -> Tensor:
        return x * self.twice


@case("constants", (torch.ones(2),))
class Constants(nn.Module):
    size: Final[int]
    __constants__ = ["word", "flag"]

    def __init__(self):
        super().__init__()
        self.size = 4
        self.word = "w"
        self.flag = True
        self.scales = (1.5, 2.5)
        self.dims = [1, 2]

    def forward(self, x: Tensor):
        if self.flag:
            x = x + self.size
        return x * self.scales[1], self.word, self.dims


@case("submodules", (torch.ones(1, 4),))
class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 2)))
        self.b = self.a[1]
        self.none = None

    def forward(self, x: Tensor) -> Tensor:
        y = self.a(x) + self.b(x)
        if self.none is not None:
            y = y + 1
        return y


@case("submodules", (torch.ones(1, 4),))
class SameClassTwice(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 3, bias=False)
        self.tied = nn.Linear(4, 4)
        self.tied.weight = self.first.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.tied(self.first(x))) + self.first.weight.sum() + self.second.in_features


@case("submodules", (torch.ones(2),))
class Parameters(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = nn.ParameterList([nn.Parameter(torch.ones(2) * k) for k in range(3)])
        self.scale = nn.Parameter(torch.tensor(2.0))
        self.register_parameter("none", None)

    def forward(self, x: Tensor) -> Tensor:
        for weight in self.weights:
            x = x + weight
        none: Optional[Tensor] = self.none
        return x * self.scale if none is None else x


@case("fork and wait", (torch.ones(2),))
class Forked(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)

    def forward(self, x: Tensor) -> Tensor:
        a = torch.jit.fork(self.lin, x)
        b = torch.jit.fork(doubled, x)
        return torch.jit.wait(a) + torch.jit.wait(b)


@case("fork and wait", (torch.ones(2), 3))
def forked_in_a_loop(x: Tensor, n: int) -> Tensor:
    futures: List[torch.jit.Future[Tensor]] = []
    for k in range(n):
        futures.append(torch.jit.fork(scripted, x, k))
    out = x
    for each in futures:
        out = out * 2 + torch.jit.wait(each)
    return out


@case("fork and wait", (torch.ones(2),))
def the_future_itself(x: Tensor) -> Tensor:
    return torch.jit.fork(doubled, x).wait() + 1


@case("hooks", (torch.ones(2),))
class Hooked(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Identity()
        self.register_forward_hook(after)
        self.register_forward_pre_hook(before)

    def forward(self, x: Tensor) -> Tensor:
        return self.lin(x) * 3


def before(self, given: tuple[Tensor]) -> tuple[Tensor]:
    return (given[0] + 1,)


def after(self, given: tuple[Tensor], out: Tensor) -> Tensor:
    return out - given[0]


@case("submodules", (torch.ones(2, 3),))
class Functional(nn.Module):
    def forward(self, x: Tensor) -> Dict[str, Tensor]:
        return {
            "relu": F.relu(x), "norm": F.normalize(x, dim=1), "soft": F.softmax(x, -1), "drop": F.dropout(x,
            0.5, False), "gelu": F.gelu(x, approximate="tanh"), "pad": F.pad(x, (1, 2), "constant", 1.0),
            "hot": F.one_hot(x.long(), 3), "glu": F.glu(torch.cat([x, x], -1)), "up": F.interpolate(x[None],
            scale_factor=2.0, mode="linear"),
        }  # fmt: skip


@case("submodules", (torch.arange(6).reshape(2, 3),))
class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(6, 4)
        self.lstm = nn.LSTM(4, 3, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(6, 2, 2, batch_first=True)

    def forward(self, x: Tensor, state: Optional[tuple[Tensor, Tensor]] = None):
        y, (h, c) = self.lstm(self.embed(x), state)
        z, g = self.gru(y)
        packed = nn.utils.rnn.pack_padded_sequence(y, torch.tensor([3, 2]), batch_first=True)
        w, sizes = nn.utils.rnn.pad_packed_sequence(self.gru(packed)[0], batch_first=True)
        return y, h, c, z, g, w, sizes

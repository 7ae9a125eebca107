"""State: buffers and attributes that calls change, ``__getstate__`` and ``__setstate__``, training mode."""

from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn

from ._case import case

X = torch.tensor([1.0, 2.0])


@case("state", [("forward", X), ("forward", X), ("reset",), ("forward", X)])
class Buffers(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(2))
        self.register_buffer("hidden", torch.ones(2), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        self.total += x
        self.hidden = self.hidden * 0.5
        return self.total * self.hidden

    @torch.jit.export
    def reset(self) -> None:
        self.total.zero_()
        self.hidden.fill_(1.0)


@case("state", [("forward", X), ("forward", X), ("forward", X)])
class Numbers(nn.Module):
    def __init__(self):
        super().__init__()
        self.count = 0
        self.rate = 0.5
        self.on = True
        self.word = "a"

    def forward(self, x: Tensor):
        self.count += 1
        self.rate *= 0.5
        self.on = not self.on
        self.word += "b"
        return x * self.rate, self.count, self.on, self.word


@case("state", [("forward", X), ("forward", X)])
class Containers(nn.Module):
    seen: List[Tensor]
    named: Dict[str, int]
    pair: Tuple[int, str]

    def __init__(self):
        super().__init__()
        self.seen = []
        self.named = {"a": 1}
        self.pair = (1, "x")
        self.words = ["p", "q"]

    def forward(self, x: Tensor):
        self.seen.append(x * len(self.seen))
        self.named["n"] = len(self.seen)
        self.pair = (self.pair[0] + 1, self.pair[1] + "y")
        self.words[0] = self.words[1]
        return torch.stack(self.seen), self.named, self.pair, self.words


@case("state", [("forward", X), ("forward", X)])
class MaybeThere(nn.Module):
    last: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.last = None

    def forward(self, x: Tensor) -> Tensor:
        last = self.last
        if last is not None:
            x = x + last
        self.last = x
        return x


@case("state", [("forward", X), ("forward", X)])
class OfASubmodule(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Numbers()
        self.buffers_too = Buffers()

    def forward(self, x: Tensor):
        self.inner.count += 10
        out = self.inner(x)
        self.buffers_too(x)
        return out, self.buffers_too.total


@case("state", [("forward", X), ("forward", X)])
class DeviceAndType(nn.Module):
    def __init__(self):
        super().__init__()
        self.dtype = torch.float64
        self.device = torch.device("cpu")

    def forward(self, x: Tensor):
        y = x.to(self.device).to(self.dtype)
        return y, self.dtype == torch.float64, torch.zeros([2], dtype=self.dtype, device=self.device)


@case("state", [("forward", torch.arange(6.0).reshape(2, 3)), ("forward", torch.ones(2, 3))])
class Normalised(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3)
        self.norm.train()

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            x = x * 100
        return self.norm(x)


@case("getstate and setstate", (X,))
class Packed(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.ones(2)
        self.n = 3

    @torch.jit.export
    def __getstate__(self) -> Tuple[Tensor, int, bool]:
        return self.weight * 2, self.n + 1, self.training

    @torch.jit.export
    def __setstate__(self, state: Tuple[Tensor, int, bool]) -> None:
        self.weight = state[0] + 1
        self.n = state[1] * 10
        self.training = state[2]

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight + self.n


@case("getstate and setstate", (X,))
class HoldsPacked(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Packed()
        self.b = nn.Sequential(Packed(), nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        return self.a(x) - self.b(x)


@case("getstate and setstate", [("forward", X), ("forward", X)])
class ByADictionary(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.arange(2.0)
        self.steps = 0

    @torch.jit.export
    def __getstate__(self) -> Tuple[Dict[str, Tensor], bool]:
        return {"w": self.w}, self.training

    @torch.jit.export
    def __setstate__(self, state: Tuple[Dict[str, Tensor], bool]) -> None:
        self.w = state[0]["w"]
        self.training = state[1]
        self.steps = 5

    def forward(self, x: Tensor) -> Tensor:
        self.steps += 1
        return x + self.w * self.steps


@case("contexts", (X.requires_grad_(False),))
def without_gradients(x: Tensor):
    with torch.no_grad():
        y = x * 2
    return y, y.requires_grad, torch.is_grad_enabled()


@case("contexts", (X,))
def of_the_profiler(x: Tensor) -> Tensor:
    with torch.autograd.profiler.record_function("part"):
        y = x * 2
    return y

"""Models for torch.jit.script that use its language widely; imported only where torch has torch.jit."""

import math
from enum import Enum
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn


class Color(Enum):
    RED = 1
    GREEN = 2


class Point(NamedTuple):
    x: Tensor
    y: int


@torch.jit.script
class Counter:
    def __init__(self, n: int):
        self.n = n
        self.items: list[int] = []

    def add(self, k: int) -> None:
        self.items.append(k)
        self.n += k

    @property
    def total(self) -> int:
        return self.n

    def __len__(self) -> int:
        return len(self.items)


class Numbers(nn.Module):
    def forward(self, a: int, b: int, f: float):
        return (
            (
                a // b,
                a % b,
                a / b,
                a**b,
                a << 2,
                a >> 1,
                a ^ b,
                a | b,
                a & b,
                -a,
                abs(a),
                min(a, b),
                max(a, b),
            ),
            (
                round(f),
                math.floor(f),
                math.ceil(f),
                int(f),
                float(a),
                bool(a),
                f % 3.0,
                f // 2.0,
                f / 4.0,
                f**2,
            ),
            (
                math.sqrt(abs(f)),
                math.exp(f),
                math.fmod(f, 2.0),
                math.pi,
                math.inf,
                divmod(a, b),
                math.gcd(a, b),
            ),
        )

    @torch.jit.export
    def divided(self, a: int, b: int) -> float:
        return a / b


class Texts(nn.Module):
    def forward(self, s: str, n: int, f: float, flag: bool) -> list[str]:
        out: list[str] = []
        out.append("{} and {}, {}".format(s, n, f))  # noqa: UP032
        out.append("{} {} {}".format([f, 1.0], (n, s), {"k": n}))
        out.append(s.upper() + s[0] + s[1:] + s[-1])
        out.extend(s.split(","))
        out.append("%d %s %f" % (n, s, f))  # noqa: UP031
        out.append(str(f) + str(n) + str(flag))
        out.append(",".join(out))
        out.append(s.replace("a", "ä").strip("x"))
        if s.startswith("a") and s.find("b") >= 0:
            out.append("y")
        return out


class Lists(nn.Module):
    def forward(self, n: int) -> tuple[list[int], list[int], int]:
        values = [1, 2, 3]
        values.append(n)
        values.extend([4, 5])
        values.insert(0, 9)
        values[1] = 7
        last = values.pop()
        values.remove(2)
        values.reverse()
        values.sort()
        doubled = [i * 2 for i in values]
        both = values[1:3] + doubled
        del both[0]
        total = values.index(3) + values.count(3)
        kept = values.copy()
        values.clear()
        a = 0
        while a < 10:
            a += 1
            if a == 3:
                continue
            if a > 5:
                break
        for i, v in enumerate(doubled):
            a += i * v
        for u, v in zip(doubled, both):  # noqa: B905
            a += u - v
        for v in range(10, 2, -3):
            a += v
        return both, kept, a + last + total + (1 if 3 in doubled else 0) + sum(doubled)


class Dicts(nn.Module):
    def forward(self, d: dict[str, int]) -> tuple[list[str], dict[str, int], int]:
        e = dict(d)
        e["z"] = 5
        if "a" in e:
            e["a"] += 1
        found = e.get("q", 7) + e.pop("z")
        maybe = e.get("a")
        e.update({"r": 1})
        for value in e.values():
            found += value
        for key in e:
            found += len(key)
        del e["r"]
        assert maybe is not None
        return list(e.keys()), e, found + maybe


class Tensors(nn.Module):
    def forward(self, x: Tensor, m: Tensor | None = None, k: int = 2):
        if m is not None:
            x = x + m
        y = x[:, 1:]
        x = x.clone()
        x[0] = 1.0
        x[:, 1] += 2
        y = y.to(torch.float64).to(x.dtype)
        if x.sum() > 0:
            y = y * k
        most, where = x.max(dim=1)
        ordered, _ = torch.sort(x, dim=-1, descending=True)
        a, b = x.chunk(2, 1)
        c, d = torch.split(x, [1, 3], dim=1)
        parts = [a, b, c, d]
        parts.append(torch.cat([c, d], 1))
        made = torch.zeros(2, 3, dtype=x.dtype, device=x.device), torch.arange(3), torch.tensor([1.0, 2.0])
        made2 = torch.full([2], 1.5), torch.ones_like(x, dtype=torch.int64), torch.empty([0])
        views = x[..., None], x[0, -1], x[x > 0], x[::2], x.T, x[:, -2:], x[torch.tensor([0, 2])]
        nets = (
            torch.einsum("ij,kj->ik", x, x),
            nn.functional.gelu(x),
            torch.softmax(x, dim=-1),
            torch.softmax(x, dim=-1, dtype=torch.float64),
            nn.functional.layer_norm(x, [x.size(-1)]),
            nn.functional.interpolate(x[None, None], scale_factor=2.0, mode="nearest"),
            nn.functional.pad(x, [1, 1], value=2.0),
            nn.functional.scaled_dot_product_attention(x[None, None], x[None, None], x[None, None]),
        )
        numbers = (
            bool(x.sum() > 0),
            float(x.sum()),
            int(x.sum()),
            x.shape[0] + x.size(1) + x.numel() + x.dim(),
        )
        return y, most, where, ordered, parts, made, made2, views, nets, numbers, x.is_floating_point()


class Linear2(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.lin(x)


class Stateful(nn.Module):
    names: dict[str, int]
    steps: list[int]
    last: Tensor | None

    def __init__(self):
        super().__init__()
        self.sub = Linear2()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])
        self.net = nn.Sequential(nn.Conv1d(1, 2, 3, padding=1), nn.BatchNorm1d(2), nn.ReLU(), nn.Dropout(0.5))
        self.register_buffer("h", torch.zeros(4))
        self.names = {"a": 1}
        self.steps = [1, 2]
        self.last = None
        self.color = Color.RED
        self.dtype = torch.float64
        self.free = torch.ones(4)

    def forward(self, x: Tensor) -> Tensor:
        self.h += x.sum(0)
        self.steps.append(len(self.steps))
        self.names["c"] = x.size(0)
        last = self.last
        if last is not None:
            x = x + last
        self.last = x
        for layer in self.layers:
            x = layer(x)
        future = torch.jit.fork(self.sub, x)
        y = self.net(x[:, None])
        self.h[:] = self.h * 0.5
        self.free = self.free + 1
        return torch.jit.wait(future) + y.sum(1) + self.h + self.free

    @torch.jit.export
    def report(self) -> tuple[list[int], dict[str, int], int, int]:
        return self.steps, self.names, self.dtype, 1 if self.color == Color.RED else 2

    @torch.jit.export
    def reset(self) -> None:
        self.h.zero_()
        self.last = None
        self.steps = [1, 2]


class Kinds(nn.Module):
    def forward(self, x: int | str | Tensor, a: Any) -> int:
        if isinstance(x, int):
            return x
        if isinstance(x, str):
            return len(x)
        if isinstance(a, (int, float)):
            return 99
        return x.size(0)

    @torch.jit.export
    def objects(self, n: int) -> tuple[int, int]:
        counter = Counter(n)
        counter.add(4)
        counter.add(5)
        return counter.total, len(counter)

    @torch.jit.export
    def points(self, x: Tensor) -> tuple[Point, int, Tensor]:
        p = Point(x * 2, 3)
        return p, p.y, p.x

    @torch.jit.export
    def quiet(self, x: Tensor, n: int) -> Tensor:
        with torch.no_grad():
            y = x * 2
        if n > 0:
            raise ValueError(f"bad {n}")
        return y

"""Small models whose control flow hangs on the values of tensors, for torch.jit.script."""

import torch
from torch import Tensor, nn


class Branch(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            y = x * 2
        else:
            y = x - 1
        return y


class BranchWithLayers(nn.Module):
    def __init__(self):
        super().__init__()
        self.small, self.large = nn.Linear(3, 3), nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 3))

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.mean() > 0):
            return self.small(x)
        return self.large(x)


class OneSided(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if bool((x > 1).any()):
            x = x.clamp(max=1.0)
        return x + 1


class IntegerOfABranch(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            k = 2
        else:
            k = 3
        return x * k


class FloatOfABranch(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        k = 0.25
        if bool(x.sum() > 0):
            k = float(x.max())
        return x * k


class BoolOfABranch(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        flag = bool(x.sum() > 0)
        if flag:
            x = x + 1
        if not flag:
            x = x - 1
        return x


class Elif(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        total = x.sum()
        if bool(total > 3):
            return x * 2
        elif bool(total > 0):
            return x * 3
        elif bool(total > -3):
            return x * 4
        else:
            return x * 5


class Nested(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            if bool(x.max() > 2):
                y = x / 2
            else:
                y = x * 2
        else:
            if bool(x.min() < -2):
                y = x / 3
            else:
                y = x * 3
        return y


class AndOrNot(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if (bool(x.sum() > 0) and bool(x.max() < 2)) or not bool(x.min() > -2):
            return x + 10
        return x - 10


class Ternary(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.exp() if bool(x.sum() > 0) else x.sin()


class EarlyReturn(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 2):
            return x
        y = x * x
        if bool(y.sum() > 30):
            return y
        return y + x


class TwoResults(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        if bool(x.sum() > 0):
            a, b = x, x * 2
        else:
            a, b = x * 3, x
        return b, a


class TupleOfABranch(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            pair = (x, 1)
        else:
            pair = (x * 2, 4)
        return pair[0] * pair[1]


class ListOfABranch(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        out = [x]
        if bool(x.sum() > 0):
            out.append(x * 2)
        else:
            out.append(x * 3)
        return torch.cat(out)


class DictionaryOfABranch(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        found = {"a": x}
        if bool(x.sum() > 0):
            found["a"] = x + 5
        return found["a"]


class InPlace(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = x.clone()
        if bool(x.sum() > 0):
            y.add_(1)
            y[0] = 7.0
        return y


class InPlaceView(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = x.clone()
        if bool(x.sum() < 0):
            y[:, 1] *= 2
            y[1:, :2] = 0.5
        return y


class SameInBoth(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        n = 1
        if bool(x.sum() > 0):
            n = 2
            y = x
        else:
            n = 2
            y = -x
        return y.reshape(-1)[:n]


class Raises(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if bool(torch.isnan(x).any()):
            raise ValueError("nan")
        return x + 1


class Asserts(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        assert bool(x.abs().max() < 1000), "too large"
        return x / 2


class Counting(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        n = 0
        while bool(x.abs().sum() < 50):
            x = x * 1.5
            n += 1
        return x + n


class CountingOnly(nn.Module):
    def forward(self, x: Tensor) -> int:
        n = 0
        while bool(x.abs().sum() < 50):
            x = x * 1.5
            n += 1
        return n


class Newton(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        guess = torch.ones_like(x)
        square = x.abs() + 1
        while bool((guess * guess - square).abs().max() > 1e-4):
            guess = (guess + square / guess) / 2
        return guess


class WhileOfTwo(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        a, b = x, x.abs() + 1
        while bool(a.sum() < 20):
            a, b = a + b, b * 1.1
        return a - b


class WhileWithABranch(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        steps = 0
        while bool(x.abs().max() > 0.5):
            if bool(x.sum() > 0):
                x = x * 0.5
            else:
                x = -x * 0.75
            steps = steps + 1
        return x + steps


class WhileInABranch(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            while bool(x.sum() < 30):
                x = x * 2
        return x


class WhileInAWhile(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = x.abs() + 0.1
        while bool(y.sum() < 100):
            z = y
            while bool(z.max() < 10):
                z = z * 2
            y = y + z
        return y


class WhileWithABound(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        i = 0
        while i < 4 and bool(x.abs().sum() < 20):
            x = x * 2
            i += 1
        return x * i


class WhileWithLayers(nn.Module):
    def __init__(self):
        super().__init__()
        self.step = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        n = 0
        while bool(x.abs().sum() > 0.5) and n < 6:
            x = torch.tanh(self.step(x)) * 0.7
            n += 1
        return x


class Break(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = torch.zeros_like(x[0])
        for i in range(x.size(0)):
            y = y + x[i]
            if bool(y.sum() > 1):
                break
        return y


class Continue(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = torch.zeros_like(x[0])
        for i in range(x.size(0)):
            if bool(x[i].sum() < 0):
                continue
            y = y + x[i]
        return y


class BreakOfAWhile(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        while True:
            x = x * 2
            if bool(x.abs().sum() > 40):
                break
        return x


class ForOverLayers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            y = layer(x)
            if bool(y.sum() > 0):
                x = y
        return x


class ForWithBranch(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        count = 0
        for i in range(3):
            if bool(x[:, i].sum() > 0):
                count += 1
        return x * count


class ForOverAList(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        total = torch.zeros([])
        for each in [x, x * 2, -x]:
            if bool(each.sum() > 0):
                total = total + each.sum()
        return total


class NumberOfATensor(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        n = int(x.sum())
        f = float(x.max())
        if n > 1:
            x = x + n
        if f > 0.5:
            x = x * f
        return x


class NumbersOut(nn.Module):
    def forward(self, x: Tensor) -> tuple[int, float, bool]:
        return int(x.sum()), float(x.max()), bool(x.sum() > 0)


class ItemArithmetic(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        a = x.sum().item()
        b = float(x.abs().max()) + 1.0
        return x * (float(a) / b)


class IndexOfATensor(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            at = 0
        else:
            at = -1
        return x[at]


class BestOf(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        best, where = x[0], 0
        for i in range(1, x.size(0)):
            if bool(x[i].sum() > best.sum()):
                best, where = x[i], i
        return best + where


class Clipped(nn.Module):
    def __init__(self):
        super().__init__()
        self.limit = nn.Parameter(torch.tensor(2.0))

    def forward(self, x: Tensor) -> Tensor:
        norm = x.norm()
        if bool(norm > self.limit):
            x = x * (self.limit / norm)
        return x


class CalledFunction(nn.Module):
    def chosen(self, x: Tensor, k: float) -> Tensor:
        if bool(x.sum() > k):
            return x * k
        return x + k

    def forward(self, x: Tensor) -> Tensor:
        return self.chosen(x, 0.5) + self.chosen(-x, 1.5)


class OptionalThere(nn.Module):
    def forward(self, x: Tensor, m: Tensor | None = None) -> Tensor:
        if m is not None:
            x = x + m
        if bool(x.sum() > 0):
            x = x * 2
        return x


class MinMaxNumbers(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        n = min(int(x.abs().sum()), 3)
        k = max(1, int(x.sum()))
        return x * n + k


# ---- with state ----


class StateInABranch(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("h", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            self.h = self.h + x.sum(0)
        return self.h * 2


class StateInPlaceInABranch(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("h", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            self.h += x.sum(0)
        else:
            self.h.zero_()
        return self.h + x


class StateInALoop(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        while bool(x.abs().sum() > 1):
            x = x * 0.5
            self.total = self.total + 1
        return x + self.total

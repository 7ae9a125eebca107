"""Small models: with and without state, with one variant and several, and some that cannot be deployed."""

import torch
from torch import nn


def plain():
    """No state; takes float32 [1, 12]."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 3))


class Detector(nn.Module):
    """Two rates, each with its own size of chunk; resets itself when the rate changes."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.wide, self.narrow = nn.Linear(64, 8), nn.Linear(32, 8)
        self.rate, self.low_rate = 16000, 8000
        self._last = 0
        self._hidden = torch.zeros(0)

    def reset_states(self, batch: int = 1):
        self._hidden = torch.zeros(0)
        self._last = 0

    def forward(self, x, sr: int):
        if sr not in (16000, 8000):
            raise ValueError("rate")
        if x.dim() != 2 or x.shape[1] != (64 if sr == 16000 else 32):
            raise ValueError("size")
        if self._last and self._last != sr:
            self.reset_states()
        if not len(self._hidden):
            self._hidden = torch.zeros(1, 8)
        self._hidden = torch.tanh((self.wide if sr == 16000 else self.narrow)(x) + self._hidden)
        self._last = sr
        return self._hidden

    def whole_file(self, x):
        return torch.cat([self(each, 16000) for each in x.split(64, 1)])


class Counter(nn.Module):
    """Counts in a Python attribute, which a program would freeze."""

    def __init__(self):
        super().__init__()
        self.steps = 0
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        self.steps += 1
        return self.linear(x) * self.steps


class Memory(nn.Module):
    """State in a tuple, changed in place, and several outputs in containers."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(2)
        self.cell = nn.LSTMCell(5, 7)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x, state: tuple[torch.Tensor, torch.Tensor]):
        self.seen.add_(1)
        hidden, memory = self.cell(x, state)
        return {"out": hidden.sum(1), "state": (hidden, memory), "seen": self.seen * 1}


class Choosy(nn.Module):
    """Takes nothing that can be guessed."""

    def forward(self, x, names: list[str]):
        if names != ["secret"]:
            raise ValueError("no")
        return x


class Branching(nn.Module):
    """Cannot be traced."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return self.linear(x) if x.sum() > 0 else x

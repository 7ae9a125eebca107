"""Small modules that keep state in the ways that trained models in the wild do."""

import torch
from torch import nn


class Detector(nn.Module):
    """Streaming detector with two rates, all state in attributes, as speech detectors keep it.

    It resets itself when the rate or the batch size changes, starts with empty
    tensors, and keeps the end of each chunk as the context of the next.
    """

    def __init__(self, seed=0):
        super().__init__()
        torch.manual_seed(seed)
        self.net16 = Net(window=64)
        self.net8 = Net(window=32)
        self.reset_states()

    def reset_states(self, batch_size: int = 1):
        self._state = torch.zeros([0])
        self._context = torch.zeros([0])
        self._last_sr = 0
        self._last_batch_size = 0

    def forward(self, x, sr: int):
        if x.dim() == 1:
            x = x.unsqueeze(0)
        if sr not in (8000, 16000):
            raise ValueError("8000 or 16000")
        size = 32 if sr == 16000 else 16
        if not self._last_batch_size:
            self.reset_states()
        if self._last_sr and self._last_sr != sr:
            self.reset_states()
        if self._last_batch_size and self._last_batch_size != x.shape[0]:
            self.reset_states()
        if not len(self._context):
            self._context = torch.zeros(x.shape[0], size)
        x = torch.cat([self._context, x], dim=1)
        if len(self._state):
            h, c = self._state[0], self._state[1]
        else:
            h = c = torch.zeros(x.shape[0], 8)
        out, h, c = (self.net16 if sr == 16000 else self.net8)(x, h, c)
        self._state = torch.stack([h, c])
        self._context = x[..., -size:]
        self._last_sr = sr
        self._last_batch_size = x.shape[0]
        return out

    def audio_forward(self, x, sr: int):
        self.reset_states()
        step = 64 if sr == 16000 else 32
        return torch.cat([self.forward(x[:, i : i + step], sr) for i in range(0, x.shape[1], step)], dim=1)


class Net(nn.Module):
    def __init__(self, window):
        super().__init__()
        self.conv = nn.Conv1d(1, 4, 8, stride=4)
        self.cell = nn.LSTMCell(4, 8)
        self.out = nn.Linear(8, 1)
        self.register_buffer("window", torch.hann_window(window))

    def forward(self, x, h, c):
        features = self.conv(x.unsqueeze(1) * self.window.sum()).relu().mean(-1)
        h, c = self.cell(features, (h, c))
        return torch.sigmoid(self.out(h)), h, c


def detector_calls():
    return [((torch.zeros(1, 64), 16000), {}), ((torch.zeros(1, 32), 8000), {})]


class Policy(nn.Module):
    """A recurrent policy: buffers that are written in place, and a method that clears them."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.memory = nn.LSTM(5, 6)
        self.head = nn.Linear(6, 2)
        self.register_buffer("hidden_state", torch.zeros(1, 1, 6))
        self.register_buffer("cell_state", torch.zeros(1, 1, 6), persistent=False)

    def forward(self, x):
        out, (h, c) = self.memory(x.unsqueeze(0), (self.hidden_state, self.cell_state))
        self.hidden_state[:] = h
        self.cell_state[:] = c
        return self.head(out.squeeze(0))

    def reset_memory(self):
        self.hidden_state[:] = 0.0
        self.cell_state[:] = 0.0


class Pair(nn.Module):
    """State in a tuple, from None; a table that is made at the first call and then stays."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(2)
        self.cell = nn.LSTMCell(3, 3)
        self.hidden = None
        self.table = None

    def forward(self, x):
        if self.table is None:
            self.table = torch.linspace(0, 1, 3)
        self.hidden = self.cell(x * self.table, self.hidden)
        return self.hidden[0]


class Carry(nn.Module):
    """Two variants that add to one sum, whichever is called."""

    def __init__(self):
        super().__init__()
        self.total = torch.zeros(2)

    def forward(self, x, scale: int):
        self.total = self.total + scale * x.sum(0)
        return self.total * 1.0


class Started(nn.Module):
    """State that starts from something else than zeros, under its final shape."""

    def __init__(self):
        super().__init__()
        self.level = torch.full((3,), 2.0)

    def forward(self, x):
        self.level = self.level * 0.5 + x
        return self.level + 0

    def reset(self):
        self.level = torch.full((3,), 2.0)


class Swap(nn.Module):
    """Two states that change places."""

    def __init__(self):
        super().__init__()
        self.a = torch.tensor([1.0, 2.0])
        self.b = torch.tensor([3.0, 5.0])

    def forward(self, x):
        self.a, self.b = self.b, self.a
        return self.a + x


class Affine(nn.Module):
    """No state at all."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.linear = nn.Linear(4, 4)
        self.scale = torch.arange(4.0)

    def forward(self, x, flag=None, *, mode="plain"):
        y = self.linear(x) * self.scale
        return {"y": y, "both": [y + 1, flag]} if mode == "plain" else y


class ByShape(nn.Module):
    """Starts anew when the width of its input changes, which no number remembers."""

    def __init__(self):
        super().__init__()
        self.last = torch.zeros(0)

    def forward(self, x):
        if self.last.shape != x.shape:
            self.last = torch.zeros_like(x)
        self.last = self.last + x
        with torch.no_grad():
            return self.last * 2.0

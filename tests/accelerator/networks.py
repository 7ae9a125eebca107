"""Small networks of every common kind, with a batch and a source of further batches."""

from __future__ import annotations

import torch

F = torch.nn.functional


class Convolutional(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.Conv2d(8, 8, 3, stride=2)
        self.norm, self.other = torch.nn.BatchNorm2d(8), torch.nn.BatchNorm2d(8, momentum=0.3)
        self.head = torch.nn.Linear(8, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.first(x))), 2)
        x = F.relu(self.other(self.second(x)), inplace=True)
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Recurrent(torch.nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.cells = kind(
            6, 7, num_layers=2, batch_first=True, bidirectional=kind is torch.nn.LSTM, dropout=0.3
        )
        self.head = torch.nn.LazyLinear(4)

    def forward(self, x):
        return self.head(self.cells(x)[0].mean(1))


class Attending(torch.nn.Module):
    def __init__(self, norm_first):
        super().__init__()
        layer = torch.nn.TransformerEncoderLayer(
            8, 2, 16, dropout=0.2, batch_first=True, norm_first=norm_first, activation="gelu"
        )
        self.layers = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.words = torch.nn.Embedding(20, 8)
        self.head = torch.nn.Linear(8, 4)

    def forward(self, words):
        return self.head(self.layers(self.words(words)).mean(1))


def mlp():
    return torch.nn.Sequential(
        torch.nn.Linear(6, 16),
        torch.nn.ReLU(),
        torch.nn.Dropout(0.4),
        torch.nn.LayerNorm(16),
        torch.nn.Linear(16, 4),
    )


NETWORKS = {
    "mlp": (mlp, (5, 6)),
    "convolutions": (Convolutional, (4, 3, 10, 10)),
    "lstm": (lambda: Recurrent(torch.nn.LSTM), (3, 5, 6)),
    "gru": (lambda: Recurrent(torch.nn.GRU), (3, 5, 6)),
    "transformer": (lambda: Attending(False), (3, 5)),
    "pre-norm transformer": (lambda: Attending(True), (3, 5)),
}


def batch(shape, generator):
    if len(shape) == 2 and shape[0] == 3:  # words
        return torch.randint(0, 20, shape, generator=generator)
    return torch.randn(shape, generator=generator)


def made(name):
    torch.manual_seed(1)
    build, shape = NETWORKS[name]
    model = build()
    generator = torch.Generator().manual_seed(2)
    x = batch(shape, generator)
    with torch.no_grad():
        model(x)  # lazy layers take their size
    return model, x, lambda: batch(shape, generator)

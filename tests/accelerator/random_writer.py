"""Writes a random program line by line, and runs each line in eager to know what it has got."""

from __future__ import annotations

import functools

import torch
from hypothesis import strategies as st

from .random_values import SCOPE, SEED

LARGEST = 20_000  # elements of a tensor that a line may make
HIGHEST = 1e4  # a program whose numbers run away compares nothing

_index = functools.lru_cache(maxsize=None)(lambda count: st.integers(0, count - 1))
_percent = st.integers(0, 99)


class Writer:
    """``setup`` makes what exists before the capture, ``body`` is what is captured, as lines of Python.

    Every choice is drawn from hypothesis, and the first option is the simplest: so it shrinks. What is
    written depends on the choices alone, or hypothesis could not make it again: numbers decide which lines
    stay, so the random weights of modules start from the seed that the programs run with.
    """

    def __init__(self, draw):
        self._draw = draw
        torch.manual_seed(SEED)
        self.setup, self.body = [], []
        self.special = False
        self.scope = {**SCOPE, "real": torch.float32, "half": torch.bfloat16}
        self.tensors = []  # names, oldest first
        self.weights = []
        self._count = 0

    # ---- choices --------------------------------------------------------------
    def choose(self, options):
        return options[self._draw(_index(len(options)))]

    def number(self, low, high):
        return low + self._draw(_index(high - low + 1))

    def chance(self, percent):
        return self._draw(_percent) >= 100 - percent

    def scalar(self):
        return self.choose([0.5, 2.0, -1.5, 1.01, 0.1, 3, -1, 0.0, 1e-3])

    # ---- what there is --------------------------------------------------------
    def __getitem__(self, name):
        return self.scope[name]

    def having(self, test):
        """The tensors that ``test`` takes, the newest first."""
        return [n for n in reversed(self.tensors) if test(self.scope[n])]

    def floating(self):
        """Some tensor of floating point, more often a new one."""
        found = self.having(lambda t: t.dtype is torch.float32) or self.having(torch.is_floating_point)
        return self.choose(found[:1] * 3 + found[:3] * 2 + found)

    def partner(self, name, test=torch.is_floating_point):
        """A tensor that broadcasts with this one and grows it only within limits."""
        shape = self.scope[name].shape

        def fits(tensor):
            try:
                both = torch.broadcast_shapes(shape, tensor.shape)
            except RuntimeError:
                return False
            return both.numel() <= LARGEST and test(tensor)

        found = self.having(fits)
        return self.choose(found) if found else None

    def shares(self, name, other):
        return self._memory(name) == self._memory(other)

    def _memory(self, name):
        return self.scope[name].untyped_storage().data_ptr()

    # ---- writing --------------------------------------------------------------
    def given(self, text, letter="x"):
        """A line of the setup. None where eager refuses."""
        name = self._name(letter)
        try:
            self._run(f"{name} = {text}")
        except Exception:
            return None
        self.setup.append(f"{name} = {text}")
        if isinstance(self.scope[name], torch.nn.Parameter):
            self.weights.append(name)
        elif isinstance(self.scope[name], torch.Tensor):
            self.tensors.append(name)
        return name

    def tensor(self, shape, **how):
        """A tensor from before the capture, which each replay finds changed."""
        how = {"seed": len(self.setup), **how}
        if self.special and "special" not in how and self.chance(30):
            how["special"] = True
        return self.given(f"values(real, {tuple(shape)}, {', '.join(f'{k}={v!r}' for k, v in how.items())})")

    def weight(self, shape):
        """A parameter of this shape: an old one, or a new one of about unit gain."""
        old = [n for n in self.weights if self.scope[n].shape == torch.Size(shape)]
        if old and self.chance(30):
            return self.choose(old)
        inputs = max(1, torch.Size(shape[1:]).numel())
        scale = round(inputs**-0.5, 3)
        text = f"values(real, {tuple(shape)}, seed={len(self.setup)}, scale={scale})"
        return self.given(f"torch.nn.Parameter({text})", "w")

    def emit(self, text, count=1):
        """``name = text`` as a line; the name, or names. None where eager refuses or numbers run away."""
        names = [self._name("t") for _ in range(count)]
        line = f"{', '.join(names)} = {text}"
        try:
            self._run(line)
            made = [self.scope[n] for n in names]
        except Exception:
            return None
        if not all(isinstance(t, torch.Tensor) and self._calm(t) for t in made):
            return None
        self.body.append(line)
        self.tensors += names
        return names[0] if count == 1 else names

    def change(self, text):
        """A line that writes to a tensor in place."""
        try:
            self._run(text)
        except Exception:
            return
        self.body.append(text)

    def _calm(self, tensor):
        if tensor.numel() > LARGEST:
            return False
        if not tensor.is_floating_point() or not tensor.numel():
            return True
        share = float((tensor.abs() < HIGHEST).double().mean())
        return share > 0.6 if self.special else share == 1

    def _name(self, letter):
        self._count += 1
        return f"{letter}{self._count}"

    def _run(self, line):
        with torch.no_grad():
            exec(line, self.scope)

"""Follows random generators through a capture.

A generator that moves while an operator runs makes that operator a random node.
One that moved between two operators was moved by other means, such as the
recomputation of ``torch.utils.checkpoint`` or ``torch.manual_seed``: such a jump
becomes a node of its own, so that a replay draws what eager would draw. What other
threads draw from the generator that all share is told apart from it.
"""

from __future__ import annotations

import itertools
import os
import threading
from typing import Any

import torch

from ._guard import below_autograd
from ._program import AnyNode, GeneratorNode
from ._seeding import drawn_elsewhere


def _state(generator: torch.Generator) -> tuple[bytes, torch.Tensor]:
    with below_autograd(), torch._C.DisableTorchFunction():  # no mode shall see it
        state = generator.get_state()
        return state.numpy().tobytes(), state


Points = dict[bytes, tuple[int, list[AnyNode], int]]
Marks = dict[int, tuple[bytes, torch.Tensor, Points]]


class _World:
    """What captures do to the generators that all threads share."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users: dict[int, int] = {}  # of each generator: how many captures follow it
        self._first: dict[int, torch.Tensor] = {}  # where it stood before the first of them
        self._made: set[bytes] = set()  # states that captures set themselves

    def begin(self, generator: torch.Generator) -> torch.Tensor:
        """The state to put back at the end. The capture itself starts from a state that nobody has seen.

        Otherwise ``manual_seed(0)`` inside a capture that began in the state of seed 0, or a state
        that was saved before, would be no jump, or a return to the beginning.
        """
        key = id(generator)
        with self._lock:
            users = self._users.get(key, 0)
            self._users[key] = users + 1
            if users == 0:
                self._first[key] = _state(generator)[1]
                generator.manual_seed(int.from_bytes(os.urandom(8), "little") >> 1)
            return self._first[key]

    def end(self, generator: torch.Generator, first: torch.Tensor) -> None:
        """Puts ``first`` back, and tells captures of other threads that this is no jump of theirs."""
        key = id(generator)
        with self._lock:
            generator.set_state(first)
            self._users[key] -= 1
            if self._users[key]:
                self._made.add(_state(generator)[0])
            else:
                del self._users[key], self._first[key]
                if not self._users:
                    self._made.clear()

    def set(self, generator: torch.Generator, state: torch.Tensor | None) -> bytes:
        """Moves a generator that a capture follows; to a state never seen before where ``state`` is None."""
        with self._lock:
            if state is None:
                generator.manual_seed(int.from_bytes(os.urandom(8), "little") >> 1)
            else:
                generator.set_state(state)
            now = _state(generator)[0]
            if self._users.get(id(generator), 0) > 1:
                self._made.add(now)
            return now

    def made(self, state: bytes) -> bool:
        return state in self._made


_world = _World()


class _Track:
    """One generator: where it stood at each point of the capture."""

    def __init__(self, generator: torch.Generator, point: int, nodes: list[AnyNode]) -> None:
        self.generator = generator
        self.first = _world.begin(generator)
        self.now, _ = _state(generator)
        # state -> (point, the nodes and the index of the one before which it can be saved)
        self.points: Points = {self.now: (point, nodes, len(nodes))}
        self.saved: set[int] = set()


class RandomTracker:
    """The generators that a capture has met."""

    def __init__(self, nodes: list[AnyNode]) -> None:
        self._tracks: dict[int, _Track] = {}
        self._numbers = itertools.count()
        self._inserts: list[tuple[list[AnyNode], int, GeneratorNode]] = []
        self.follow(torch.default_generator, nodes)

    def follow(self, generator: torch.Generator, nodes: list[AnyNode]) -> None:
        if id(generator) not in self._tracks:
            self._tracks[id(generator)] = _Track(generator, next(self._numbers), nodes)

    def before(self, nodes: list[AnyNode], where: tuple[str, int]) -> None:
        """Notes every generator that moved since the last operator."""
        for track in self._tracks.values():
            now, state = _state(track.generator)
            if now != track.now:
                if _world.made(now):
                    track.now = now
                elif drawn_elsewhere(track.generator, track.now, now):
                    track.now = now
                    track.points[now] = (next(self._numbers), nodes, len(nodes))
                else:
                    self._jump(track, now, state, nodes, where)

    def after(self, nodes: list[AnyNode]) -> bool:
        """Whether the operator that is about to be appended to ``nodes`` moved a generator."""
        moved = False
        for track in self._tracks.values():
            now, _ = _state(track.generator)
            if now != track.now:
                track.now = now
                if not _world.made(now):
                    track.points[now] = (next(self._numbers), nodes, len(nodes) + 1)
                    moved = True
        return moved

    def _jump(
        self, track: _Track, now: bytes, state: torch.Tensor, nodes: list[AnyNode], where: tuple[str, int]
    ) -> None:
        known = track.points.get(now)
        if known is None:
            nodes.append(GeneratorNode(track.generator, 0, "set", state, where))
        else:
            point, place, index = known
            if point not in track.saved:
                track.saved.add(point)
                save = GeneratorNode(track.generator, point, "save", None, where)
                self._inserts.append((place, index, save))
            nodes.append(GeneratorNode(track.generator, point, "restore", None, where))
        track.now = now

    # ---- bodies ---------------------------------------------------------------
    def mark(self) -> Marks:
        """Where all generators stand, to come back to."""
        return {key: (t.now, _state(t.generator)[1], dict(t.points)) for key, t in self._tracks.items()}

    def points(self) -> dict[int, Points]:
        return {key: dict(track.points) for key, track in self._tracks.items()}

    def know(self, points: dict[int, Points]) -> None:
        """Lets jumps lead to these states as well."""
        for key, more in points.items():
            if key in self._tracks:
                self._tracks[key].points.update(more)

    def rewind(self, marks: Marks) -> bool:
        """Goes back to where ``marks`` were made; whether a generator had moved."""
        moved = False
        for key, track in self._tracks.items():
            now, state, points = marks.get(key, (b"", track.first, {}))
            moved = moved or track.now != now
            track.now = now if track.now == now else _world.set(track.generator, state)
            track.points = dict(points)
        return moved

    def lose(self, nodes: list[AnyNode]) -> None:
        """From here on, the end of ``nodes``, the state is one that the capture does not know."""
        for track in self._tracks.values():
            track.now = _world.set(track.generator, None)
            track.points[track.now] = (next(self._numbers), nodes, len(nodes))

    # ---- the end --------------------------------------------------------------
    def finish(self, nodes: list[AnyNode], where: tuple[str, int]) -> None:
        """Puts every ``save`` where its state is current."""
        self.before(nodes, where)
        for place, index, save in sorted(self._inserts, key=lambda item: item[1], reverse=True):
            place.insert(index, save)

    def put_back(self) -> None:
        """Sets every generator to where the capture found it."""
        for track in self._tracks.values():
            _world.end(track.generator, track.first)


def generators(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.Generator]:
    """The generators among an operator's arguments."""
    found = [value for value in kwargs.values() if isinstance(value, torch.Generator)]
    found += [value for value in args if isinstance(value, torch.Generator)]
    return found

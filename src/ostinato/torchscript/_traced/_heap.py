"""What a branch can reach and change: the variables' objects, their attributes and their lists."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any

import torch

from .._modules import ScriptModule, ScriptObject

Place = Any  # a list or dict


class Reach:
    """All lists, dictionaries, tensors and symbolic sizes that functions reach through their variables."""

    def __init__(self, functions: Iterable[Callable[..., Any]]) -> None:
        self.places: list[Place] = []
        self.tensors: list[torch.Tensor] = []
        self.symbols: list[Any] = []
        self.cells: list[types.CellType] = []
        self._seen: set[int] = set()
        self._alive: list[Any] = []
        for each in functions:
            self._visit(each)

    def _visit(self, value: Any) -> None:
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            self.symbols.append(value)
            return
        known = (
            torch.Tensor,
            list,
            dict,
            tuple,
            ScriptModule,
            ScriptObject,
            types.FunctionType,
            types.CellType,
        )
        if not isinstance(value, (*known, types.MethodType)) or id(value) in self._seen:
            return
        self._seen.add(id(value))
        self._alive.append(value)
        if isinstance(value, torch.Tensor):
            self.tensors.append(value)
        elif isinstance(value, (list, dict)):
            self.places.append(value)
            for each in value if isinstance(value, list) else list(value.values()):
                self._visit(each)
        elif isinstance(value, tuple):
            for each in value:
                self._visit(each)
        elif isinstance(value, types.MethodType):
            self._visit(value.__self__)
        elif isinstance(value, types.FunctionType):
            for cell in value.__closure__ or ():
                self._cell(cell)
        else:
            self._visit(vars(value))  # of a module also its tables of parameters, buffers and submodules

    def _cell(self, cell: types.CellType) -> None:
        if id(cell) in self._seen:
            return
        self._seen.add(id(cell))
        self.cells.append(cell)
        try:
            self._visit(cell.cell_contents)
        except ValueError:  # not assigned yet
            return

    def replace(self, old: torch.Tensor, new: torch.Tensor) -> None:
        """Puts another tensor wherever ``old`` is held."""
        for place in self.places:
            for key, each in list(place.items() if isinstance(place, dict) else enumerate(place)):
                if each is old:
                    place[key] = new
        for cell in self.cells:
            try:
                if cell.cell_contents is old:
                    cell.cell_contents = new
            except ValueError:
                continue


class Kept:
    """The contents of all places and variables at one moment; ``back`` restores them."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._contents = [content(each) for each in reach.places]
        self._cells = [(cell, cell.cell_contents) for cell in reach.cells if _assigned(cell)]

    def changed(self) -> list[int]:
        """The numbers of the places whose content is another now."""
        return [
            at
            for at, (place, before) in enumerate(zip(self._reach.places, self._contents, strict=True))
            if not _identical(content(place), before)
        ]

    def back(self) -> None:
        """Restores everything."""
        for place, before in zip(self._reach.places, self._contents, strict=True):
            put(place, before)
        for cell, value in self._cells:
            cell.cell_contents = value


def content(place: Place) -> Any:
    """A copy of a list or dictionary."""
    return dict(place) if isinstance(place, dict) else list(place)


def put(place: Place, new: Any) -> None:
    """Gives a list or dictionary another content."""
    if isinstance(place, dict):
        if not _identical(place, new):
            place.clear()
            place.update(new)
    else:
        place[:] = new


def _assigned(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _identical(first: Any, second: Any) -> bool:
    if len(first) != len(second):
        return False
    if isinstance(first, dict):
        return all(key in second and second[key] is value for key, value in first.items())
    return all(a is b for a, b in zip(first, second, strict=True))

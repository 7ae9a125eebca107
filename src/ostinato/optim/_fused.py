"""The step that the optimizers share: update what a kernel takes, and leave torch the rest."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import torch
from torch.utils._python_dispatch import _get_current_dispatch_mode

from .._errors import fail
from ._batch import Batch, takes
from ._cache import Cache
from ._clip import clip_factor, total_norm
from ._master import SHORT, Masters, restore
from ._spread import part, parted_alike
from ._table import Table

# Of a learning rate that kernels read where it lies.
_RATES = (torch.float32, torch.float64)

# How an optimizer works, not what it computes: a loaded state must not change them.
_OWN = ("foreach", "fused", "capturable", "differentiable", "master_weights")


class Fused(torch.optim.Optimizer):
    """What turns an optimizer of torch's into a fused one; it comes before torch's class among the bases."""

    _stock: ClassVar[type[torch.optim.Optimizer]]
    _step_supports_amp_scaling = True

    def __init__(self, *args: Any, master_weights: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if master_weights:  # else an optimizer has no entry that torch's has not
            self.defaults["master_weights"] = True
            for group in self.param_groups:
                group.setdefault("master_weights", True)

    # ---- what an optimizer says of itself --------------------------------------
    def _new_state(self, group: dict[str, Any], param: torch.Tensor) -> dict[str, torch.Tensor]:
        """The entries that ``self.state[param]`` needs and may lack."""
        raise NotImplementedError

    def _state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        """The entries that have the parameter's shape, as the native call wants them."""
        raise NotImplementedError

    _operator: ClassVar[str]
    _native_states: ClassVar[int]  # for how many states the operator has lists

    def _numbers(self, group: dict[str, Any], lr: float) -> list[float]:
        """The numbers that the operator takes after the tensors, in its order."""
        raise NotImplementedError

    def _flags(self, group: dict[str, Any], first: bool) -> list[bool]:
        """The flags after them; ``first`` says that the states were made just now."""
        raise NotImplementedError

    # ---- the step ---------------------------------------------------------------
    grad_norm: torch.Tensor | None = None
    """The norm of all gradients at the last step, if that had a ``max_norm``."""

    def step(  # type: ignore[override]
        self,
        closure: Callable[[], Any] | None = None,
        *,
        max_norm: float | torch.Tensor | None = None,
        zero_grad: bool = False,
    ) -> Any:
        """One step of the optimizer; ``closure`` computes the loss anew and returns it.

        With ``max_norm`` the update is that of gradients clipped to this norm; it is
        the norm of all of them, and is read at ``grad_norm``. With ``zero_grad`` the
        gradients are zero afterwards.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        if self._skips():
            self._skip(max_norm is not None, zero_grad)
            return loss
        with torch.set_grad_enabled(bool(self.defaults["differentiable"])):
            self._step(max_norm, zero_grad)
        return loss

    def _skips(self) -> bool:
        """Whether a scaler has found a gradient that is not finite; no state is made then."""
        found = getattr(self, "found_inf", None)
        if found is None or not found.is_cpu or _get_current_dispatch_mode() is not None:
            return False  # the kernel looks at it itself
        return bool(found.item() != 0)

    def _skip(self, with_norm: bool, clear: bool) -> None:
        self.grad_norm = None
        if with_norm:
            grads = [p.grad for g in self.param_groups for p in g["params"] if p.grad is not None]
            self._measure([], grads)
        if clear:
            super().zero_grad(set_to_none=False)

    def _step(self, max_norm: float | torch.Tensor | None, clear: bool) -> None:
        watched = _get_current_dispatch_mode() is not None
        caches = self.__dict__.setdefault("_caches", {})
        known = []
        for index, group in enumerate(self.param_groups):
            known.append(index in caches and not watched and self._renew(group, caches[index]))
            if not known[-1]:
                caches[index] = self._sorted(group)
        self.grad_norm = factor = None
        if max_norm is not None:
            factor = clip_factor(self._norm(caches, known), max_norm)
        for index, group in enumerate(self.param_groups):
            problem = self._run(group, caches[index], factor, clear)
            if problem and known[index]:  # a tensor lies elsewhere than before; nothing has been written
                caches[index] = self._sorted(group)
                problem = self._run(group, caches[index], factor, clear)
            if problem:
                raise fail("optim.refused", optimizer=type(self).__name__, reason=problem)
        left = [(g, caches[i].left) for i, g in enumerate(self.param_groups) if caches[i].left]
        if left:
            self._leave(left, factor, clear)

    def _renew(self, group: dict[str, Any], cache: Cache) -> bool:
        return cache.renew(group, self._state_names(group), self._state_given)

    def _norm(self, caches: dict[int, Cache], known: list[bool]) -> torch.Tensor:
        for index, group in enumerate(self.param_groups):
            if known[index] and not caches[index].lies():  # a gradient has gaps, and needs a copy
                caches[index], known[index] = self._sorted(group), False
        sorts = [caches[index] for index in range(len(known))]
        batches = [batch for cache in sorts for batch in cache.batches]
        ours = [grad for batch in batches for grad in batch.undivided()]
        others = [grad for batch in batches for grad in batch.spread.values()]
        return self._measure(ours, [*others, *(p.grad for cache in sorts for p in cache.left)])

    @torch.no_grad()
    def _measure(self, ours: list[torch.Tensor], others: list[Any]) -> torch.Tensor:
        norm = total_norm(ours, others, getattr(self, "grad_scale", None))
        wide = any(g.dtype in (torch.float64, torch.complex128) for g in (*ours, *others))
        self.grad_norm = norm if wide else norm.float()
        return norm

    def _run(self, group: dict[str, Any], cache: Cache, factor: torch.Tensor | None, clear: bool) -> str:
        """Updates what kernels take. Empty, or why nothing was done."""
        lr = group["lr"]
        tensor = lr if isinstance(lr, torch.Tensor) and lr.is_cpu and lr.dtype in _RATES else None
        rate = float(lr) if tensor is None else 0.0
        scaling = (tensor, getattr(self, "grad_scale", None), getattr(self, "found_inf", None), factor)
        watched = _get_current_dispatch_mode() is not None
        for batch in cache.batches:
            numbers, flags = self._numbers(group, rate), [*self._flags(group, batch.first), clear]
            if watched or cache.once:
                batch.update(self._operator, self._native_states, (*scaling, *numbers, *flags))
            else:
                cache.table = cache.table or Table(self._operator, batch)
                if problem := cache.table.run(batch.grads, scaling, numbers, flags, self._state_given):
                    return problem
            if batch.masters:
                params, masters = map(list, zip(*batch.masters, strict=True))
                self._masters.write(params, masters)
            if clear:
                for grad in batch.copied:
                    grad.zero_()
            if not watched:  # a capture changes nothing
                torch.autograd.graph.increment_version(batch.params)
        cache.release()
        return ""

    def zero_grad(self, set_to_none: bool = True) -> None:
        """As torch's; no gradient is kept anywhere after it."""
        super().zero_grad(set_to_none)
        if set_to_none:
            for cache in self.__dict__.get("_caches", {}).values():
                cache.forget()

    def _sorted(self, group: dict[str, Any]) -> Cache:
        names = self._state_names(group)
        cache = Cache(group, names)
        batches: dict[bool, Batch] = {}
        seen: set[int] = set()  # a parameter that a group has twice is updated twice, one after the other
        native = not group["differentiable"] and not torch.compiler.is_compiling()
        for param in group["params"]:
            grad = param.grad
            if grad is None:
                continue
            short = group.get("master_weights", False) and param.dtype in SHORT
            divided = short and part(param) is not param
            if not native or divided or id(param) in seen or not self._takes(param, grad):
                if short:
                    raise fail("optim.no_master", optimizer=type(self).__name__)
                cache.left.append(param)
                continue
            seen.add(id(param))
            state = self._states[param] if names or self._keeps_state or short else {}
            made = self._new_state(group, param)
            state.update(made)
            batch = batches.setdefault(bool(made) and self._first_differs, Batch(names, bool(made)))
            if short:
                cache.once = batch.add_master(param, self._masters.of(param, state), grad, state)
            else:
                cache.once = batch.add(param, grad, state) or cache.once
            cache.states.append(state)
        cache.seal(batches.values())
        return cache

    @staticmethod
    def _takes(param: torch.Tensor, grad: torch.Tensor) -> bool:
        return parted_alike(param, grad) and takes(part(param), part(grad))

    _keeps_state: ClassVar[bool] = True
    _first_differs: ClassVar[bool] = False

    # ---- what no kernel takes ---------------------------------------------------
    def _leave(
        self, left: list[tuple[dict[str, Any], list[torch.Tensor]]], factor: torch.Tensor | None, clear: bool
    ) -> None:
        """torch's own step, for some of the parameters."""
        groups = self.param_groups
        params = [p for _, some in left for p in some]
        grads: list[Any] = [p.grad for p in params]
        scaling: dict[str, Any] = {}
        try:
            self.param_groups = [dict(self._as_stock(g, some)) for g, some in left]
            if not any(g["fused"] for g in self.param_groups):
                scaling = {k: self.__dict__.pop(k) for k in ("grad_scale", "found_inf") if k in self.__dict__}
                if (scale := scaling.get("grad_scale")) is not None:
                    for grad in grads:
                        grad.div_(scale)
            if factor is not None:
                for param, grad in zip(params, grads, strict=True):
                    param.grad = grad * factor.to(grad.device)
            inspect.unwrap(self._stock.step)(self)
        finally:
            self.param_groups = groups
            self.__dict__.update(scaling)
            if factor is not None:
                for param, grad in zip(params, grads, strict=True):
                    param.grad = grad
        for param, grad in zip(params, grads, strict=True):
            _widen_step(self._states.get(param, {}))
            if clear:
                grad.zero_()

    def _as_stock(self, group: dict[str, Any], params: list[torch.Tensor]) -> Iterator[tuple[str, Any]]:
        yield from group.items()
        yield "params", params
        if any(p.is_cpu for p in params):
            yield "fused", None

    # ---- the state ----------------------------------------------------------------
    @property
    def _masters(self) -> Any:
        return self.__dict__.setdefault("_written", Masters())

    @property
    def state(self) -> Any:  # type: ignore[override]
        """The state by parameter. Once it was asked for, each step looks whether entries were replaced."""
        self.__dict__["_state_given"] = True
        return self.__dict__["state"]

    @state.setter
    def state(self, state: Any) -> None:
        self.__dict__["_state_given"] = "state" in self.__dict__  # the first is made by torch's constructor
        self.__dict__["state"] = state
        self.__dict__.pop("_caches", None)

    @property
    def _states(self) -> Any:
        """The same for the optimizer's own use."""
        return self.__dict__["state"]

    _state_given = True

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """As torch's, but the flags that say how to compute stay, and no step count is rounded."""
        plain = [{**g, "fused": False, "capturable": False} for g in state_dict["param_groups"]]
        super().load_state_dict({**state_dict, "param_groups": plain})
        if any(group.get("master_weights") for group in self.param_groups):
            restore(state_dict, [p for g in self.param_groups for p in g["params"]], self._states)

    def __setstate__(self, state: dict[str, Any]) -> None:
        before = self.__dict__.get("param_groups", [])
        super().__setstate__(state)
        for group, own in zip(self.param_groups, before, strict=False):
            group.update({k: own[k] for k in _OWN if k in own})
            for flag in set(_OWN) - set(own):
                group.pop(flag, None)
        for entry in self._states.values():
            _widen_step(entry)
        self.__dict__.pop("_caches", None)
        self.__dict__.pop("_written", None)


def _widen_step(state: dict[str, Any]) -> None:
    """A float32 would count to 2^24 and stay there."""
    step = state.get("step")
    if isinstance(step, torch.Tensor) and step.is_cpu and type(step) is torch.Tensor:
        state["step"] = torch.tensor(float(step), dtype=torch.float64)

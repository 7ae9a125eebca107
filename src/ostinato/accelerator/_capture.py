"""Records what torch runs, below autograd, as a Program."""

from __future__ import annotations

import contextlib
import functools
import math
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

from .._errors import fail
from ._program import AnyNode, ConstantNode, Node, Program, Storage, Value, leaves, map_tensors
from ._random import RandomTracker, generators
from ._restore import Snapshots, as_bytes
from ._schema import OpOverload, has_dynamic_shape, is_composite, rule, written
from ._scopes import Scope, stand_in
from ._source import stepping_optimizer, text, user_line
from ._watch import GradientWatch, hide_from_dynamo

# Makes a tensor of a literal; what it holds is part of the program, not of the world before it.
_LITERAL = ("aten::lift_fresh", "aten::lift_fresh_copy", "aten::lift")
_RESIZES = ("aten::resize_", "aten::resize_as_")
_COMPOSITE = torch._C.DispatchKey.CompositeImplicitAutograd
_PLAIN_DISPATCH = torch.Tensor.__torch_dispatch__


# Checks what a graph has fixed anyway; other operators without a result check values, at every replay.
_CHECKS_SHAPES = ("aten::_assert_tensor_metadata", "aten::sym_constrain_range")


class Recorder:
    """Turns the calls of a capture into nodes."""

    def __init__(self, device: torch.device, gradients: GradientWatch) -> None:
        self.device = device
        self.gradients = gradients
        self.nodes: list[AnyNode] = []
        self.storages: list[Storage] = []
        self.snapshots = Snapshots()
        self.random = RandomTracker(self.nodes)
        self.calls = 0
        self.real = True  # whether the values are those that eager would have here
        self._scopes: list[Scope] = []
        self._made_in: dict[int, Scope] = {}  # storage -> the innermost body that made it
        self._numbers: dict[int, int] = {}  # address of the StorageImpl -> number of the storage

    # ---- one call -------------------------------------------------------------
    def call(self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs one operator and records it."""
        where = user_line()
        self.calls += 1
        law = rule(op)
        if law.refusal is not None:
            stepping = stepping_optimizer()
            if stepping is not None and law.refusal == "accelerator.synchronises":
                raise fail("accelerator.optimizer_reads", optimizer=stepping, where=text(where))
            raise fail(law.refusal, op=op, where=text(where))
        if has_dynamic_shape(law, args, kwargs):
            raise fail("accelerator.data_dependent_shape", op=op, where=text(where))
        inputs = leaves(args) + leaves(list(kwargs.values()))
        for tensor in inputs:
            if not self._made_meta(tensor):
                self._check(op, tensor, where)
        for generator in generators(args, kwargs):
            self.random.follow(generator, self.nodes)
        known = {self.number(tensor) for tensor in inputs}
        if self._made_in:
            self._check_scopes(op, known, where)
        self.gradients.note([t for t in inputs if t.requires_grad and self.storages[self.number(t)].external])
        for scope in self._scopes:
            scope.note_sources(inputs)
        changed = [t for t in leaves(written(law, args, kwargs)) if t.device == self.device]
        if law.name in _RESIZES:
            self._check_size(op, args, where)
        written_numbers = frozenset(self.number(tensor) for tensor in changed)
        if not law.metadata_only:
            for tensor in changed:
                self._about_to_change(tensor)
        sizes = {n: self.storages[n].nbytes for n in written_numbers}
        recorded_args = map_tensors(args, self.value)
        recorded_kwargs = {name: map_tensors(v, self.value) for name, v in kwargs.items()}
        self.random.before(self.nodes, where)

        out = self._run(op, args, kwargs)

        random = self.random.after(self.nodes)
        if changed:
            self._after_change(op, changed, sizes, where)
        if law.metadata_only:
            return out
        if changed:
            # An output may have been given its size by the operator: record how it looks now.
            recorded_args = map_tensors(args, self.value)
            recorded_kwargs = {name: map_tensors(v, self.value) for name, v in kwargs.items()}
        if not random and not written_numbers and self._literal(law.name, out, where):
            return out
        outputs = leaves(out)
        if not written_numbers and not random and all(t.is_meta for t in outputs):
            for tensor in outputs:  # forward-mode differentiation asks for shapes so: nothing to replay
                self.number(tensor, fresh=True)
            return out
        for tensor in [*outputs, *(t for t in inputs if t.is_meta)]:
            self._check(op, tensor, where)
        fresh = frozenset(n for n in (self.number(t, fresh=True) for t in outputs) if n not in known)
        if self._scopes:
            self._made_in.update(dict.fromkeys(fresh, self._scopes[-1]))
        checks = not op._schema.returns and law.name not in _CHECKS_SHAPES
        if fresh or written_numbers or random or checks:
            self.nodes.append(
                Node(
                    op=op,
                    args=recorded_args,
                    kwargs=recorded_kwargs,
                    outputs=map_tensors(out, self.value),
                    fresh=fresh,
                    written=written_numbers,
                    where=where,
                    random=random,
                    grad=torch.is_grad_enabled(),
                )
            )
        return out

    def _run(self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.real:
            return op(*args, **kwargs)
        try:
            return op(*args, **kwargs)
        except Exception as error:
            try:
                return stand_in(op, args, kwargs)
            except Exception:
                raise error from None

    # ---- bodies of conditions and loops ---------------------------------------
    def scope(self, real: bool, continues: Iterable[Scope] = ()) -> Scope:
        return Scope(weakref.ref(self), len(self.storages), real, continues)

    @contextlib.contextmanager
    def inside(self, scope: Scope) -> Iterator[None]:
        """Records into ``scope``, from its end on."""
        outer, self.nodes = self.nodes, scope.nodes
        was_real, self.real = self.real, self.real and scope.real
        self._scopes.append(scope)
        scope.opened(1)
        for before in scope.continues:
            if before.recorder() is self:
                self.random.know(before.points)
        try:
            yield
        finally:
            scope.opened(-1)
            self._scopes.pop()
            # Where eager would have gone on from values that are not real, they are not real either.
            self.nodes, self.real = outer, was_real and (self.real or not scope.real)

    def made_in_body(self, tensor: torch.Tensor) -> bool:
        """Whether ``tensor`` was made in a body that is not under way."""
        scope = self._made_in.get(self.number(tensor))
        return scope is not None and not scope.open

    def _check_scopes(self, op: OpOverload, numbers: set[int], where: tuple[str, int]) -> None:
        for number in numbers:
            scope = self._made_in.get(number)
            if scope is not None and not scope.open:
                raise fail("accelerator.left_body", op=op, where=text(where))

    # ---- storages and values --------------------------------------------------
    def number(self, tensor: torch.Tensor, fresh: bool = False) -> int:
        """The number of the tensor's storage; ``fresh`` where an operator has just returned it."""
        storage = tensor.untyped_storage()
        number = self._numbers.get(storage._cdata)
        if number is None:
            number = len(self.storages)
            self._numbers[storage._cdata] = number
            made = Storage(number, storage.nbytes(), StorageWeakRef(storage))
            if not fresh:
                made.owner, made.seen = storage, tensor
            self.storages.append(made)
        return number

    def value(self, tensor: torch.Tensor) -> Value:
        return Value(
            self.number(tensor),
            tensor.dtype,
            tuple(tensor.shape),
            tensor.stride(),
            int(tensor.storage_offset()),
            tensor.is_conj(),
            tensor.is_neg(),
        )

    def _check(self, op: OpOverload, tensor: torch.Tensor, where: tuple[str, int]) -> None:
        if tensor.layout is not torch.strided:
            raise fail("accelerator.layout", op=op, where=text(where), layout=tensor.layout)
        if tensor.is_quantized:
            raise fail("accelerator.quantized", op=op, where=text(where), dtype=tensor.dtype)
        if tensor.device != self.device:
            raise fail("accelerator.device", op=op, where=text(where), device=str(tensor.device))
        if not torch._C._has_storage(tensor) or torch._C._functorch.is_functorch_wrapped_tensor(tensor):
            raise fail("accelerator.no_storage", op=op, where=text(where), kind=type(tensor).__name__)

    def unseen(self, op: OpOverload, out: Any) -> bool:
        """Whether a call that ran nothing recorded has changed or made memory all the same."""
        if rule(op).writes and not rule(op).metadata_only:
            return True
        storages = [t.untyped_storage() for t in leaves(out) if torch._C._has_storage(t)]
        return any(s._cdata not in self._numbers and s.nbytes() and _address(s) for s in storages)

    def _made_meta(self, tensor: torch.Tensor) -> bool:
        return tensor.is_meta and tensor.untyped_storage()._cdata in self._numbers

    # ---- changes --------------------------------------------------------------
    def _about_to_change(self, tensor: torch.Tensor) -> None:
        storage = self.storages[self.number(tensor)]
        if storage.owner is not None:
            self.snapshots.keep(storage.number, storage.owner, tensor)
        for scope in self._scopes:
            if storage.owner is not None or storage.number < scope.first:
                scope.snapshots.keep(storage.number, tensor.untyped_storage(), tensor)

    def _check_size(self, op: OpOverload, args: tuple[Any, ...], where: tuple[str, int]) -> None:
        tensor, wanted = args[0], args[1]
        sizes = wanted.shape if isinstance(wanted, torch.Tensor) else wanted
        elements = math.prod(sizes) + int(tensor.storage_offset())
        storage = self.storages[self.number(tensor)]
        if storage.owner is not None and elements * tensor.itemsize > storage.nbytes:
            raise fail("accelerator.resizes", op=op, where=text(where))

    def _after_change(
        self, op: OpOverload, changed: list[torch.Tensor], sizes: dict[int, int], where: tuple[str, int]
    ) -> None:
        for tensor in changed:
            storage = self.storages[self.number(tensor)]
            nbytes = tensor.untyped_storage().nbytes()
            if nbytes == sizes[storage.number]:
                continue
            if storage.owner is not None:
                raise fail("accelerator.resizes", op=op, where=text(where))
            storage.nbytes = max(storage.nbytes, nbytes)

    def _literal(self, name: str, out: Any, where: tuple[str, int]) -> bool:
        """Notes memory that holds a literal: ``torch.tensor([1., 2.])`` inside the capture."""
        if name not in _LITERAL or not isinstance(out, torch.Tensor):
            return False
        storage = self.storages[self.number(out)]
        if storage.owner is not None and not storage.constant:
            storage.constant = True
            self.nodes.append(ConstantNode(storage.number, as_bytes(storage.owner).clone(), where))
        return True

    # ---- the end --------------------------------------------------------------
    def finish(self) -> Program:
        self.random.finish(self.nodes, user_line())
        program = Program(self.nodes, self.storages)
        changed = program.written()

        def drop_literals(block: Program) -> None:
            # One that nothing writes to keeps its content: no node need bring it back.
            block.nodes = [n for n in block.nodes if not isinstance(n, ConstantNode) or n.storage in changed]

        program.each_block(drop_literals)
        return program

    def put_back(self) -> None:
        self.snapshots.put_back()
        self.random.put_back()


@functools.cache
def _makes_views(op: OpOverload) -> bool:
    """Whether torch, above the mode, makes the results views of the argument: ``narrow``, ``chunk``."""
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), "ADInplaceOrView"))


def _without_view(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory as no view of anything, so that it can be made one."""
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.ADInplaceOrView).add(torch._C.DispatchKey.Python)
    with torch._C._ExcludeDispatchKeyGuard(keys):
        return torch.ops.aten.alias.default(tensor)  # type: ignore[no-any-return]


class CaptureMode(TorchDispatchMode):
    """Hands every operator below autograd to a Recorder."""

    # For torch: give this mode the operators that take functions.
    supports_higher_order_operators = True

    def __init__(self, recorder: Recorder, control_flow: Mapping[Any, Callable[..., Any]]) -> None:
        super().__init__()
        self.recorder = recorder
        self._control_flow = control_flow

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if isinstance(func, torch._ops.HigherOrderOperator):
            return self._higher_order(func, args, kwargs or {})
        # A subclass first says what its operators mean; what it then runs comes here.
        own = [t for t in types if t.__torch_dispatch__ is not _PLAIN_DISPATCH]
        if own:
            return self._unwrap(own, func, types, args, kwargs or {})
        # In inference mode composites arrive whole, and could do what must be seen: take their parts.
        if torch.is_inference_mode_enabled() and is_composite(func):
            # Not func.decompose(), which may be Python's version with other last bits; and views are made as
            # in eager, for `matmul` asks whether they require a gradient.
            with self, torch._C._SetExcludeDispatchKeyGuard(torch._C.DispatchKey.ADInplaceOrView, False):
                out = func._op_dk(_COMPOSITE, *args, **(kwargs or {}))
            return map_tensors(out, _without_view) if _makes_views(func) else out
        # A legacy constructor comes here with the function mode on, which watches the user and not us.
        with torch._C.DisableTorchFunction():
            return self.recorder.call(func, args, kwargs or {})

    def _higher_order(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An operator that takes functions and that the function mode has not seen."""
        known = self._control_flow.get(func)
        with self:
            if known is not None:
                return known(self.recorder, *args, **kwargs)
            kernel = func.py_kernels.get(torch._C.DispatchKey.CompositeExplicitAutograd)
            if kernel is not None:
                with contextlib.suppress(AssertionError):  # that no mode watches: some insist on it
                    return kernel(*args, **kwargs)
        raise fail("accelerator.higher_order", op=func.name(), where=text(user_line()))

    def _unwrap(self, own: list[Any], func: Any, types: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Asks the subclasses in turn, recording what they run; refuses what they run out of sight."""
        calls = self.recorder.calls
        for subclass in own:
            with self:
                out = subclass.__torch_dispatch__(func, types, args, kwargs)
            if out is not NotImplemented:
                if self.recorder.calls == calls and self.recorder.unseen(func, out):
                    where = text(user_line())
                    raise fail("accelerator.hidden", op=func, where=where, type=subclass.__name__)
                return out
        # None of them knows it: a fake tensor, for one, which leaves its operators to its mode.
        raise fail("accelerator.no_storage", op=func, where=text(user_line()), kind=own[0].__name__)

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """False keeps torch from importing dynamo (seconds) for the first capture of a process."""
        return False


def current_recorder() -> Recorder | None:
    """Where the calling thread's capture records, if one is under way."""
    modes = _get_current_dispatch_mode_stack()
    return next((mode.recorder for mode in reversed(modes) if isinstance(mode, CaptureMode)), None)


hide_from_dynamo(CaptureMode.__torch_dispatch__)


def _address(storage: torch.UntypedStorage) -> int:
    """0 where there is no memory: a subclass that wraps others has a storage in name only."""
    try:
        return storage.data_ptr()
    except RuntimeError:
        return 0

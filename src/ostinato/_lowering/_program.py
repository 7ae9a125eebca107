"""Exported programs, looked into and changed as a whole: graph, signature and tensors."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec, TensorArgument
from torch.fx import Node

_WEIGHTS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


def every_node(module: torch.nn.Module) -> Iterator[tuple[str, Node]]:
    """All nodes, also of graphs inside, each after the way to its graph (``""``, ``"true_graph_0/"``)."""
    for path, each in module.named_modules():
        if isinstance(each, torch.fx.GraphModule):
            way = path.replace(".", "/") + "/" if path else ""
            for node in each.graph.nodes:
                yield way, node


def copied(program: ExportedProgram) -> ExportedProgram:
    """A program of its own graph, signature and tables of tensors; the tensors are the same.

    Its nodes have the names of the original's: fx would give nodes that are called as
    functions of Python are another.
    """
    made = copy.copy(program)
    made._graph_module = copy.deepcopy(program.graph_module)
    for (_, node), (_, twin) in zip(
        every_node(program.graph_module), every_node(made.graph_module), strict=True
    ):
        twin.name = node.name
    made._graph_signature = copy.deepcopy(program.graph_signature)
    made._state_dict, made._constants = dict(program.state_dict), dict(program.constants)
    return made


def weights_of(program: ExportedProgram) -> dict[Node, torch.Tensor]:
    """The inputs that are parameters, buffers and constants, with their tensors."""
    nodes = _inputs(program)
    found = {}
    for spec in program.graph_signature.input_specs:
        if spec.kind in _WEIGHTS:
            name = str(spec.target)
            tensor = program.state_dict.get(name)
            found[nodes[spec.arg.name]] = program.constants[name] if tensor is None else tensor
    return found


def placeholder_of(program: ExportedProgram, constant: str) -> Node | None:
    """The input that is the constant of that name; None where there is none."""
    for spec in program.graph_signature.input_specs:
        if spec.kind is InputKind.CONSTANT_TENSOR and spec.target == constant:
            return _inputs(program)[spec.arg.name]
    return None


def add_constant(program: ExportedProgram, name: str, value: torch.Tensor) -> Node:
    """An input that is ``value``, a constant called ``name`` or, where that is another, ``name_1``…"""
    names = {str(spec.target) for spec in program.graph_signature.input_specs} | {*program.constants}
    wanted, count = name, 0
    while wanted in names:
        known = placeholder_of(program, wanted)
        if known is not None and _equal(program.constants[wanted], value):
            return known
        count += 1
        wanted = f"{name}_{count}"
    specs = program.graph_signature.input_specs
    place = next((i for i, spec in enumerate(specs) if spec.kind not in _WEIGHTS), len(specs))
    following = [*program.graph.nodes][place]  # inputs come first, in the order of the signature
    with program.graph.inserting_before(following):
        node: Node = program.graph.placeholder(f"c_{wanted}")
    node.meta["val"] = _fake_mode(program).from_tensor(value, static_shapes=True)
    specs.insert(place, InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(name=node.name), wanted, None))
    program.constants[wanted] = value
    return node


def drop_constant(program: ExportedProgram, node: Node) -> None:
    """Remove an input that is a constant and that nobody uses."""
    specs = program.graph_signature.input_specs
    place = next(i for i, spec in enumerate(specs) if spec.arg.name == node.name)
    del program.constants[str(specs.pop(place).target)]
    program.graph.erase_node(node)


def _inputs(program: ExportedProgram) -> dict[str, Node]:
    return {node.name: node for node in program.graph.find_nodes(op="placeholder")}


def substitute(program: ExportedProgram, old: Node, new: Node) -> None:
    """Give the users of ``old`` what ``new`` gives, the program's results among them."""
    old.replace_all_uses_with(new)
    program.graph_signature.replace_all_uses(old.name, new.name)


def erase(nodes: Iterable[Node]) -> None:
    """Remove those of ``nodes`` that nobody uses, users first, as long as there are any."""
    waiting = set(nodes)
    while idle := [node for node in waiting if not node.users]:
        for node in idle:
            waiting.discard(node)
            node.graph.erase_node(node)


def _fake_mode(program: ExportedProgram) -> torch._subclasses.FakeTensorMode:
    values = (node.meta.get("val") for _, node in every_node(program.graph_module))
    modes = (each.fake_mode for each in values if isinstance(each, torch._subclasses.FakeTensor))
    return next(modes)


def _equal(a: torch.Tensor, b: torch.Tensor) -> bool:
    same = a.dtype is b.dtype and a.shape == b.shape
    return same and torch.equal(a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8))


__all__ = [
    "add_constant",
    "copied",
    "drop_constant",
    "erase",
    "every_node",
    "placeholder_of",
    "substitute",
    "weights_of",
]

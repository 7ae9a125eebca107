"""The description of ``models/*.json``: the graph, its signature, and all that goes with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ._dtypes import DTYPES
from ._expressions import expression, guard
from ._names import identifier, identifier_or_empty, qualified_name, quotable
from ._operators import operator
from ._treespec import treespec
from ._types import (
    Bad,
    Check,
    boolean,
    dict_of,
    integer,
    list_of,
    matching,
    nullable,
    number,
    one_of,
    record,
    text,
    union,
)

STRIDED = 7
SCHEMA_MAJOR = 8

any_int = integer()
_dtype = one_of(*DTYPES)
device = record(
    {"type": matching("cpu|cuda|xpu|mps|meta|hpu|xla", "the type of a device")},
    {"index": nullable(integer(0, 4095))},
)
_symbolic = record(
    {"expr_str": expression},
    {"hint": nullable(union({"as_int": any_int, "as_bool": boolean, "as_float": number}))},
)
sym_int = union({"as_expr": _symbolic, "as_int": any_int})
_sym_float = union({"as_expr": _symbolic, "as_float": number})
_sym_bool = union({"as_expr": _symbolic, "as_bool": boolean})
tensor_meta = record(
    {
        "dtype": _dtype,
        "sizes": list_of(sym_int),
        "requires_grad": boolean,
        "device": device,
        "strides": list_of(sym_int),
        "storage_offset": sym_int,
        "layout": one_of(STRIDED),
    }
)

_tensor = record({"name": identifier})
_int_argument = union({"as_name": identifier, "as_int": any_int})
_float_argument = union({"as_name": identifier, "as_float": number})
_bool_argument = union({"as_name": identifier, "as_bool": boolean})
_optional_tensor = union({"as_tensor": _tensor, "as_none": boolean})


def _argument(value: Any) -> None:
    _ARGUMENT(value)


def _graph(value: Any) -> None:
    _GRAPH(value)


_PLAIN_ARGUMENTS: dict[str, Check] = {
    "as_none": boolean,
    "as_tensor": _tensor,
    "as_int": any_int,
    "as_float": number,
    "as_bool": boolean,
    "as_string": quotable,
    "as_sym_int": _int_argument,
    "as_sym_float": _float_argument,
    "as_sym_bool": _bool_argument,
}
# What a call takes and gives: texts are compared between quotes, so they are the narrow kind.
_call_argument = union(_PLAIN_ARGUMENTS)
_ARGUMENT = union(
    {
        **_PLAIN_ARGUMENTS,
        "as_string": text,
        "as_tensors": list_of(_tensor),
        "as_ints": list_of(any_int),
        "as_floats": list_of(number),
        "as_strings": list_of(text),
        "as_bools": list_of(boolean),
        "as_sym_ints": list_of(_int_argument),
        "as_sym_floats": list_of(_float_argument),
        "as_sym_bools": list_of(_bool_argument),
        "as_scalar_type": _dtype,
        "as_memory_format": integer(1, 4),
        "as_layout": integer(1, 7),
        "as_device": device,
        "as_graph": record({"name": identifier, "graph": _graph}),
        "as_optional_tensor": _optional_tensor,
        "as_optional_tensors": list_of(_optional_tensor),
        "as_operator": operator,
        "as_complex": record({"real": number, "imag": number}),
        "as_nested_tensors": list_of(list_of(_tensor)),
        "as_int_lists": list_of(list_of(any_int)),
        "as_float_lists": list_of(list_of(number)),
        "as_string_to_argument": dict_of(quotable, _argument),
    }
)
# What torch can read back at the end of a graph; texts are not among it.
_graph_output = union({kind: check for kind, check in _PLAIN_ARGUMENTS.items() if kind != "as_string"})
_node = record(
    {
        "target": operator,
        "inputs": list_of(
            record({"name": identifier_or_empty, "arg": _argument}, {"kind": nullable(integer(0, 2))})
        ),
        "outputs": list_of(_argument),
        "metadata": dict_of(text, text),
    },
    {"is_hop_single_tensor_return": nullable(boolean), "name": nullable(identifier)},
)
_none_but_empty = dict_of(text, lambda value: _refuse("custom objects are not read from files"))
_GRAPH = record(
    {
        "inputs": list_of(_call_argument),
        "outputs": list_of(_graph_output),
        "nodes": list_of(_node),
        "tensor_values": dict_of(identifier, tensor_meta),
        "sym_int_values": dict_of(identifier, sym_int),
        "sym_bool_values": dict_of(identifier, _sym_bool),
    },
    {
        "is_single_tensor_return": boolean,
        "custom_obj_values": _none_but_empty,
        "sym_float_values": dict_of(identifier, _sym_float),
    },
)

_constant = union(
    {"as_none": boolean, "as_int": any_int, "as_float": number, "as_string": quotable, "as_bool": boolean}
)
_input_spec = union(
    {
        "user_input": record({"arg": _call_argument}),
        "parameter": record({"arg": _tensor, "parameter_name": qualified_name}),
        "buffer": record({"arg": _tensor, "buffer_name": qualified_name, "persistent": boolean}),
        "tensor_constant": record({"arg": _tensor, "tensor_constant_name": qualified_name}),
        "constant_input": record({"name": identifier, "value": _constant}),
    }
)
_output_spec = union(
    {
        "user_output": record({"arg": _call_argument}),
        "loss_output": record({"arg": _tensor}),
        "buffer_mutation": record({"arg": _tensor, "buffer_name": qualified_name}),
        "parameter_mutation": record({"arg": _tensor, "parameter_name": qualified_name}),
        "user_input_mutation": record({"arg": _tensor, "user_input_name": identifier}),
    }
)
_call_signature = record(
    {
        "inputs": list_of(_call_argument),
        "outputs": list_of(_call_argument),
        "in_spec": treespec,
        "out_spec": treespec,
    },
    {"forward_arg_names": nullable(list_of(identifier))},
)


def _submodule(value: Any) -> None:
    if value != "":
        qualified_name(value)


program = record(
    {
        "graph_module": record(
            {
                "graph": _graph,
                "signature": record(
                    {"input_specs": list_of(_input_spec), "output_specs": list_of(_output_spec)}
                ),
                "module_call_graph": list_of(
                    record({"fqn": _submodule}, {"signature": nullable(_call_signature)})
                ),
            },
            {
                "metadata": dict_of(text, text),
                "treespec_namedtuple_fields": dict_of(
                    qualified_name, record({"field_names": list_of(identifier)})
                ),
            },
        ),
        "opset_version": dict_of(matching(r"\w{1,64}", "a namespace"), integer(0, 1 << 31)),
        "range_constraints": dict_of(
            expression, record({"min_val": nullable(any_int), "max_val": nullable(any_int)})
        ),
        "schema_version": record({"major": one_of(SCHEMA_MAJOR), "minor": integer(0, 1 << 31)}),
    },
    {
        "verifiers": list_of(one_of("ATEN", "TRAINING")),
        "torch_version": matching(r"[\w.+\-<=]{0,64}", "a version"),
        "guards_code": list_of(guard),
    },
)


def _refuse(why: str) -> None:
    raise Bad(why)


def trim(document: dict[str, Any]) -> dict[str, Any]:
    """The document without what names files, lines and passes of the machine that made it; in place."""
    document["graph_module"]["metadata"] = {}
    for node in every_node(document):
        stack = node["metadata"].get("nn_module_stack")
        node["metadata"] = {} if stack is None else {"nn_module_stack": stack}
    return document


def weight_dtypes(document: dict[str, Any], dtypes: Mapping[str, str]) -> dict[str, str]:
    """From the dtypes of values those of parameters, buffers and constants, by the names that these have."""
    found = {}
    for spec in document["graph_module"]["signature"]["input_specs"]:
        ((kind, item),) = spec.items()
        if f"{kind}_name" in item and item["arg"]["name"] in dtypes:
            found[item[f"{kind}_name"]] = dtypes[item["arg"]["name"]]
    return found


def every_node(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The nodes of the graph and of the graphs inside it."""
    waiting = [document["graph_module"]["graph"]]
    while waiting:
        for node in waiting.pop()["nodes"]:
            yield node
            for argument in arguments(node):
                if "as_graph" in argument:
                    waiting.append(argument["as_graph"]["graph"])


def arguments(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The arguments of a node, and those inside dictionaries among them."""
    waiting = [item["arg"] for item in node["inputs"]]
    while waiting:
        argument = waiting.pop()
        yield argument
        waiting.extend(argument.get("as_string_to_argument", {}).values())

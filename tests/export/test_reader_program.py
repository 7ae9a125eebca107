"""Graphs that would end up as code, or are none: refused before torch sees any of the file."""

import json

import pytest

from ostinato.export import load

from .hostile import EVIL, MODEL, changed, graph, refused, write


def change_target(target):
    def change(document):
        graph(document)["nodes"][0]["target"] = target

    return change


@pytest.mark.parametrize(
    "target",
    [
        "torch.load",
        "torch.hub.load",
        "torch.ops.load_library",
        "torch.ops.aten.from_file.default",
        "torch.ops.aten.save.default",
        "torch.ops.ostinato.plan_run.default",
        "torch.ops.ostinato.plan_values.default",
        "torch.ops.ostinato.optimizer_step.default",
        "torch.ops.aten.linear",
        "torch.ops.aten.__class__.default",
        "torch.ops.higher_order.call_torchbind",
        "torch.ops.inductor.accumulate_grad_.default",
        "_operator.attrgetter",
        "_operator.add.__class__",
        "math.sqrt",
        "os.system",
        "#ext:evil",
        "",
        None,
        7,
        "torch.ops.aten.add.Tensor\n",
    ],
)
def test_operators_that_are_not_on_the_list(good, tmp_path, target):
    refused(write(tmp_path / "a.pt2", changed(good, MODEL, change_target(target))))


@pytest.mark.parametrize(
    "target", ["torch.ops.aten.nothing_of_the_kind.default", "torch.ops.aten.warn.default"]
)
def test_operators_that_torch_does_not_have(good, tmp_path, target):
    error = refused(write(tmp_path / "a.pt2", changed(good, MODEL, change_target(target))))
    assert error.code == "export.unregistered"


@pytest.mark.parametrize("name", ["x\nimport os", "x)", "import", "", "a" * 600, "x.y", "é", f"x = {EVIL}"])
def test_names_that_would_end_up_in_code(good, tmp_path, name):
    def rename(document):
        text = json.dumps(document).replace('"linear"', json.dumps(name))
        document.clear()
        document.update(json.loads(text))

    refused(write(tmp_path / "a.pt2", changed(good, MODEL, rename)))


@pytest.mark.parametrize(
    "text", ["' or " + EVIL + " or '", 'a" + ' + EVIL + ' + "', "a\\", "{" + EVIL + "}", "a\nb"]
)
def test_texts_that_would_end_up_between_quotes(good, tmp_path, text):
    def constant(document):
        place = next(each for each in graph(document)["inputs"] if "as_string" in each)
        place["as_string"] = text
        for spec in document["graph_module"]["signature"]["input_specs"]:
            if "constant_input" in spec:
                spec["constant_input"]["value"] = {"as_string": text}

    refused(write(tmp_path / "a.pt2", changed(good, MODEL, constant)), "quotes")


@pytest.mark.parametrize(
    "expression",
    [EVIL, "9**9**9**9", "s0.__class__", "Symbol('s0', **{})", "Symbol('x')", "lambda: 0", "s0" * 3000],
)
def test_expressions_that_sympy_would_evaluate(good, tmp_path, expression):
    def symbolic(document):
        graph(document)["tensor_values"]["x"]["sizes"][0] = {
            "as_expr": {"expr_str": expression, "hint": None}
        }

    refused(write(tmp_path / "a.pt2", changed(good, MODEL, symbolic)))


@pytest.mark.parametrize(
    "code", [EVIL, "L['x'].__class__", "(lambda: 1)()", "True, 'x'); evil(", "L['x'] == 'a\"b'"]
)
def test_guards_that_would_become_code(good, tmp_path, code):
    def guards(document):
        document["guards_code"] = [code]

    refused(write(tmp_path / "a.pt2", changed(good, MODEL, guards)), "guards_code")


@pytest.mark.parametrize(
    "node",
    [
        {"type": "collections.defaultdict", "context": {"default_factory_module": "os"}, "children_spec": []},
        {
            "type": "builtins.dict",
            "context": '[{"__enum__": true, "fqn": "os:x", "name": "x"}]',
            "children_spec": [None],
        },
        {"type": "builtins.dict", "context": '["a\'b"]', "children_spec": [None]},
        {"type": "builtins.dict", "context": "[]", "children_spec": [None]},
        {"type": "builtins.tuple", "context": '{"__enum__": 1}', "children_spec": []},
        {"type": "my.Config", "context": "null", "children_spec": []},
        {"type": None, "context": None, "children_spec": [None]},
        [],
    ],
)
def test_containers_that_would_import_modules(good, tmp_path, node):
    def spec(document):
        document["graph_module"]["module_call_graph"][0]["signature"]["in_spec"] = json.dumps([1, node])

    refused(write(tmp_path / "a.pt2", changed(good, MODEL, spec)), "in_spec")


@pytest.mark.parametrize(
    ("way", "value"),
    [
        (["schema_version", "major"], 9),
        (["unknown"], 1),
        (["graph_module", "module_call_graph", 0, "signature"], None),
        (["graph_module", "module_call_graph"], []),
        (["graph_module", "graph", "custom_obj_values"], {"a": {"name": "a", "class_fqn": "b"}}),
        (["verifiers"], ["EVIL"]),
        (["graph_module", "module_call_graph", 0, "fqn"], 'a"); evil("'),
        (
            ["graph_module", "graph", "nodes", 0, "inputs", 0, "arg"],
            {"as_custom_obj": {"name": "a", "class_fqn": "b"}},
        ),
        (["graph_module", "graph", "nodes", 0, "inputs", 0, "arg"], {"as_operator": "torch.load"}),
        (["graph_module", "graph", "nodes", 0, "inputs", 0, "name"], "x=1); evil("),
        (["graph_module", "graph", "nodes", 0, "inputs"], {}),
        (["graph_module", "graph", "nodes"], None),
        (["graph_module", "signature", "input_specs", 0, "parameter", "parameter_name"], 'a"]; evil'),
        (["range_constraints"], {EVIL: {"min_val": 0, "max_val": 1}}),
        (["graph_module", "module_call_graph", 0, "signature", "forward_arg_names"], ["x=evil()"]),
        (["graph_module", "graph", "tensor_values", "x", "sizes", 0], {"as_int": 1 << 70}),
    ],
)
def test_fields_that_do_not_fit(good, tmp_path, way, value):
    def put(document):
        for step in way[:-1]:
            document = document[step]
        document[way[-1]] = value

    refused(write(tmp_path / "a.pt2", changed(good, MODEL, put)))


def test_documents_that_are_too_deep_too_large_or_no_json(good, tmp_path, monkeypatch):
    for content in (
        b"[" * 100_000,
        b"[" * 300 + b"]" * 300,
        b"\xff",
        b"{",
        b'{"a": NaN}',
        b'{"a": 1, "a": 2}',
        b"9" * 5000,
    ):
        refused(write(tmp_path / "a.pt2", {**good, MODEL: content}))
    monkeypatch.setattr("ostinato.export._vet._archive.MAX_DOCUMENT", 100)
    refused(write(tmp_path / "a.pt2", good), "larger than")


def test_a_node_that_refers_to_nothing(good, tmp_path):
    def dangling(document):
        graph(document)["nodes"][0]["inputs"][0]["arg"] = {"as_tensor": {"name": "nowhere"}}

    assert refused(write(tmp_path / "a.pt2", changed(good, MODEL, dangling))).code == "export.senseless"


def test_stack_traces_of_other_files_are_dropped(good, tmp_path):
    def traced(document):
        graph(document)["nodes"][0]["metadata"]["stack_trace"] = "x\n" + EVIL

    program = load(write(tmp_path / "a.pt2", changed(good, MODEL, traced)))
    assert not any("stack_trace" in node.meta for node in program.graph.nodes)

"""Files that were made to do harm: each is refused before torch sees it, and nothing in it runs."""

import copy
import json
import os
import warnings
import zipfile

import pytest
import torch

from ostinato._errors import ArchiveError
from ostinato.export import load, load_methods, read_metadata, save
from ostinato.export._vet import VettedArchive

from .models import Affine

MODEL = "models/model.json"
WEIGHTS = "data/weights/model_weights_config.json"
EVIL = "__import__('os').system('touch /tmp/ostinato-was-here')"


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("reader") / "good.pt2"
    batch = torch.export.Dim("batch", min=2, max=64)
    shapes = {"x": {0: batch}, "mode": None}
    save(Affine(), path, (torch.randn(3, 4),), {"mode": "bare"}, dynamic_shapes=shapes)
    with zipfile.ZipFile(path) as file:
        return {name.split("/", 1)[1]: file.read(name) for name in file.namelist()}


def write(path, entries, root="archive", compression=zipfile.ZIP_STORED):
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w", compression) as file:
        warnings.simplefilter("ignore")
        for name, content in entries if isinstance(entries, list) else entries.items():
            file.writestr(f"{root}/{name}" if root else name, content)
    return path


def changed(good, entry, change):
    document = json.loads(good[entry])
    change(document)
    return {**good, entry: json.dumps(document).encode()}


def refused(path, match=None):
    with pytest.raises(ArchiveError, match=match) as error:
        load(path)
    assert error.value.hint
    assert not os.path.exists("/tmp/ostinato-was-here")
    return error.value


def graph(document):
    return document["graph_module"]["graph"]


def test_the_good_file_is_good(good, tmp_path):
    program = load(write(tmp_path / "a.pt2", good))
    assert program.module()(torch.ones(5, 4), mode="bare").shape == (5, 4)


# ---- the container ----


@pytest.mark.parametrize(
    "name", ["../evil", "/evil", "models/../../evil", "models//x.json", "models\\x.json", "data/we\nird"]
)
def test_names_that_leave_the_folder(good, tmp_path, name):
    refused(write(tmp_path / "a.pt2", {**good, name: b""}))


def test_entries_outside_the_root(good, tmp_path):
    write(tmp_path / "a.pt2", good)
    with zipfile.ZipFile(tmp_path / "a.pt2", "a") as file:
        file.writestr("elsewhere/models/model.json", b"{}")
    refused(tmp_path / "a.pt2", "does not lie in the folder")


def test_an_entry_that_occurs_twice(good, tmp_path):
    refused(write(tmp_path / "a.pt2", [*good.items(), (MODEL, good[MODEL])]), "occurs twice")


def test_compressed_entries(good, tmp_path):
    bomb = {**good, "extra/zeros": bytes(10_000_000)}
    refused(write(tmp_path / "a.pt2", bomb, compression=zipfile.ZIP_DEFLATED), "compressed")


def test_overlapping_entries(good, tmp_path):
    path = write(tmp_path / "a.pt2", {**good, "extra/a": b"x" * 100, "extra/b": b"x" * 100})
    raw = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as file:
        offset = file.getinfo("archive/extra/a").header_offset
    entry = raw.rfind(b"archive/extra/b")
    raw[entry - 4 : entry] = (offset + 1).to_bytes(4, "little")
    path.write_bytes(raw)
    refused(path, "overlaps")


def test_too_many_entries(good, tmp_path, monkeypatch):
    monkeypatch.setattr("ostinato.export._vet._zip.MAX_ENTRIES", 5)
    refused(write(tmp_path / "a.pt2", good), "entries")


@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip", b"PK\x05\x06" + bytes(18)])
def test_files_that_are_no_zip(tmp_path, content):
    (tmp_path / "a.pt2").write_bytes(content)
    refused(tmp_path / "a.pt2")


@pytest.mark.parametrize(
    ("entry", "content"),
    [
        ("archive_format", b"aoti"),
        ("archive_version", b"1"),
        ("byteorder", b"big"),
        ("archive_format", b"p" * 200),
    ],
)
def test_other_formats(good, tmp_path, entry, content):
    refused(write(tmp_path / "a.pt2", {**good, entry: content}), entry)


def test_a_folder(tmp_path):
    refused(tmp_path)


def test_compiled_code(good, tmp_path):
    refused(
        write(tmp_path / "a.pt2", {**good, "data/aotinductor/model/model.so": b"\x7fELF"}), "compiled code"
    )


@pytest.mark.parametrize("entry", [MODEL, WEIGHTS, "data/weights/weight_0", "archive_format"])
def test_missing_entries(good, tmp_path, entry):
    refused(write(tmp_path / "a.pt2", {name: content for name, content in good.items() if name != entry}))


# ---- pickles ----


class Evil:
    def __reduce__(self):
        return (eval, (EVIL,))


def test_sample_inputs_are_never_read(good, tmp_path):
    import pickle

    load(write(tmp_path / "a.pt2", {**good, "data/sample_inputs/model.pt": pickle.dumps(Evil())}))
    assert not os.path.exists("/tmp/ostinato-was-here")


def test_pickled_weights(good, tmp_path):
    def use_pickle(document):
        next(iter(document["config"].values()))["use_pickle"] = True

    refused(write(tmp_path / "a.pt2", changed(good, WEIGHTS, use_pickle)), "use_pickle")
    refused(write(tmp_path / "a.pt2", {**good, "data/weights/model.pt": b"\x80"}), "pickled")


@pytest.mark.parametrize("name", ["custom_obj_0", "opaque_obj_0", "../weights/weight_0", "weight_1"])
def test_custom_objects(good, tmp_path, name):
    entry = "data/constants/model_constants_config.json"

    def custom(document):
        next(iter(document["config"].values()))["path_name"] = name

    refused(write(tmp_path / "a.pt2", changed(good, entry, custom)), "path_name")


# ---- the tables of weights ----


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("sizes", [{"as_int": 4000}, {"as_int": 4000}]),
        ("sizes", [{"as_int": -4}, {"as_int": 4}]),
        ("sizes", [{"as_int": 4}]),
        ("sizes", [{"as_int": 1 << 62}, {"as_int": 1 << 62}]),
        ("sizes", [{"as_int": True}, {"as_int": 4}]),
        ("sizes", [{"as_expr": {"expr_str": "s0"}}, {"as_int": 4}]),
        ("strides", [{"as_int": -1}, {"as_int": 1}]),
        ("strides", [{"as_int": 1 << 61}, {"as_int": 1}]),
        ("storage_offset", {"as_int": 1}),
        ("dtype", 8),
        ("dtype", 99),
        ("layout", 1),
        ("device", {"type": "cpu'); evil(", "index": None}),
    ],
)
def test_weights_that_reach_outside_their_bytes(good, tmp_path, key, value):
    def wrong(document):
        document["config"]["linear.weight"]["tensor_meta"][key] = value

    refused(write(tmp_path / "a.pt2", changed(good, WEIGHTS, wrong)))


def test_empty_entries_of_huge_tensors(good, tmp_path):
    def wrong(document):
        document["config"]["linear.weight"]["path_name"] = "weight_999"

    entries = {**changed(good, WEIGHTS, wrong), "data/weights/weight_999": b""}
    refused(write(tmp_path / "a.pt2", entries), "needs 64 bytes")


def test_weights_of_another_shape_than_the_graph_says(good, tmp_path):
    def wrong(document):
        document["config"]["linear.weight"]["tensor_meta"]["sizes"] = [{"as_int": 2}, {"as_int": 4}]

    refused(write(tmp_path / "a.pt2", changed(good, WEIGHTS, wrong)), "another dtype or shape")


# ---- the program ----


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


# ---- what the file says about itself ----


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document.update(schema=99),
        lambda document: document.update(methods={"forward": {}}),
        lambda document: document.update(more=1),
        lambda document: document["methods"]["forward"]["variants"][0].update(model="../x"),
        lambda document: document["methods"]["forward"].update(on_variant_change="explode"),
        lambda document: document["methods"]["forward"]["variants"][0]["inputs"].update(args={"value": 1}),
    ],
)
def test_wrong_metadata(good, tmp_path, change):
    path = write(tmp_path / "a.pt2", changed(good, "extra/ostinato.json", change))
    for read in (read_metadata, load_methods, load):
        with pytest.raises(ArchiveError):
            read(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda variant: variant.update(model="other"),
        lambda variant: variant.update(state=["linear.weight"]),
        lambda variant: variant["inputs"]["args"]["tuple"].pop(),
    ],
)
def test_metadata_that_does_not_go_with_the_programs(good, tmp_path, change):
    document = copy.deepcopy(json.loads(good["extra/ostinato.json"]))
    change(document["methods"]["forward"]["variants"][0])
    path = write(tmp_path / "a.pt2", {**good, "extra/ostinato.json": json.dumps(document)})
    with pytest.raises(ArchiveError):
        load_methods(path)


def test_closing_is_not_forgotten(good, tmp_path):
    with VettedArchive(write(tmp_path / "a.pt2", good)) as archive:
        archive.vet_models()
    with pytest.raises(ArchiveError):
        archive.read("archive_format")

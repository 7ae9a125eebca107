"""Weights that are pickles, or reach outside their bytes: refused before torch sees any of the file."""

import pickle

import pytest

from ostinato.export import load

from .hostile import EVIL, WEIGHTS, assert_nothing_ran, changed, refused, write


class Evil:
    def __reduce__(self):
        return (eval, (EVIL,))


def test_sample_inputs_are_never_read(good, tmp_path):
    load(write(tmp_path / "a.pt2", {**good, "data/sample_inputs/model.pt": pickle.dumps(Evil())}))
    assert_nothing_ran()


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

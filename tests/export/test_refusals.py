"""What cannot be written or read, and what is said about it; nothing is left behind."""

import os

import pytest
import torch
from torch import nn

from ostinato._errors import ArchiveError, ExportError, UsageError
from ostinato.export import (
    Variant,
    load,
    load_methods,
    read_metadata,
    save,
    save_methods,
    trace_stateful,
)

from .models import Affine, Started


@torch.library.custom_op("ostinato_test::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@twice.register_fake
def _(x):
    return torch.empty_like(x)


class Custom(nn.Module):
    def forward(self, x):
        return twice(x)


def test_an_operator_that_is_not_portable_is_named(tmp_path):
    program = torch.export.export(Custom(), (torch.ones(2, 2),))
    with pytest.raises(ExportError, match="ostinato_test") as error:
        save(program, tmp_path / "c.pt2")
    assert error.value.code == "export.unportable_operator"
    assert not os.listdir(tmp_path)


def test_what_the_reader_would_refuse_is_not_put_in_place(tmp_path):
    (tmp_path / "c.pt2").write_bytes(b"old")
    program = torch.export.export(Custom(), (torch.ones(2, 2),))
    with pytest.raises(ExportError, match="ostinato_test") as error:
        save(program, tmp_path / "c.pt2", portable=False)
    assert error.value.code == "export.not_readable_back"
    assert os.listdir(tmp_path) == ["c.pt2"]
    assert (tmp_path / "c.pt2").read_bytes() == b"old"


def test_another_device_is_not_portable(tmp_path):
    program = torch.export.export(nn.Linear(4, 4, device="meta"), (torch.ones(2, 4, device="meta"),))
    with pytest.raises(ExportError) as error:
        save(program, tmp_path / "m.pt2")
    assert error.value.code == "export.unportable_device"


def test_states_that_disagree_are_refused(tmp_path):
    def variant(start):
        module = Started()
        module.level = torch.full((3,), start)
        return trace_stateful(module, {"forward": [((torch.ones(3),), {})]})["forward"][0]

    with pytest.raises(ExportError, match="level"):
        save_methods(tmp_path / "s.pt2", {"forward": [variant(1.0), variant(2.0)]})


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda p: save(Affine(), p), "export.no_args"),
        (lambda p: save(Affine(), p, torch.ones(2, 4)), "export.args_not_tuple"),
        (lambda p: save(len, p, ()), "export.not_a_module"),
        (
            lambda p: save(torch.export.export(Affine(), (torch.ones(2, 4),)), p, ()),
            "export.program_with_args",
        ),
        (lambda p: save_methods(p, {}), "export.no_methods"),
        (lambda p: save_methods(p, {"for ward": [None]}), "export.method_name"),
        (lambda p: save_methods(p, {"forward": []}), "export.no_methods"),
        (lambda p: save_methods(p, {"forward": [None]}, metadata={"sauce": {}}), "export.metadata_key"),
        (lambda p: save(Affine(), p.with_suffix(".pt"), (torch.ones(2, 4),)), "export.suffix"),
    ],
)
def test_arguments_that_make_no_sense(tmp_path, call, code):
    with pytest.raises(UsageError) as error:
        call(tmp_path / "x.pt2")
    assert error.value.code == code
    assert error.value.hint
    assert not os.listdir(tmp_path)


def test_metadata_must_be_json(tmp_path):
    methods = trace_stateful(Affine(), {"forward": [((torch.ones(2, 4),), {})]})
    with pytest.raises(ExportError) as error:
        save_methods(tmp_path / "x.pt2", methods, metadata={"user": {"a": object()}})
    assert error.value.code == "export.unwritable"
    assert not os.listdir(tmp_path)


def test_a_subclass_is_no_plain_weight(tmp_path):
    class Odd(torch.Tensor):
        pass

    variant = trace_stateful(Affine(), {"forward": [((torch.ones(2, 4),), {})]})["forward"][0]
    variant.program.state_dict["linear.weight"] = torch.ones(4, 4).as_subclass(Odd)
    with pytest.raises(ExportError, match=r"linear\.weight is a Odd"):
        save_methods(tmp_path / "x.pt2", {"forward": [Variant(variant.program)]})


def test_a_missing_file(tmp_path):
    for read in (load, load_methods, read_metadata):
        with pytest.raises(ArchiveError) as error:
            read(tmp_path / "none.pt2")
        assert error.value.code == "export.unreadable"

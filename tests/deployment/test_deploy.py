"""`ost.deploy`: what it finds, writes, proves and refuses."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest
import torch

import ostinato as ost
from ostinato import _errors
from ostinato.deployment import _proof, _tracing, _trial

from . import models


def test_a_plain_module(tmp_path):
    model = models.plain()
    report = ost.deploy(model, out=tmp_path / "net.pt2")
    assert report.methods == {"forward": ["(float32[1, 12])"]}
    assert report.guessed
    assert report.state == {}
    assert report.eager.max_abs <= 1e-5
    assert report.bytes_after == os.path.getsize(tmp_path / "net.pt2")
    assert model.training  # the caller's module is left alone
    x = torch.randn(1, 12)
    torch.testing.assert_close(ost.load(tmp_path / "net.pt2")(x), model(x), rtol=1e-4, atol=1e-5)


def test_exact_numerics_are_bit_for_bit(tmp_path):
    report = ost.deploy(models.Detector(), out=tmp_path / "net.pt2", numerics="exact")
    assert report.eager.exact
    assert report.eager.max_abs == 0
    assert ost.load(tmp_path / "net.pt2").numerics == "exact"


def test_both_variants_of_a_detector_are_found_the_larger_first(tmp_path):
    lines = []
    report = ost.deploy(models.Detector(), out=tmp_path / "vad.pt2", tell=lines.append)
    assert report.methods["forward"] == ["(float32[1, 64], 16000)", "(float32[1, 32], 8000)"]
    assert report.methods["reset_states"] == ["()"]
    assert list(report.left_out) == ["whole_file"]
    assert report.state == {"_hidden": "float32[1, 8]"}
    assert report.eager.calls >= 3 * 3 + 1 + 3
    assert "found forward(float32[1, 64], 16000)" in lines


def test_the_report_is_json_and_text(tmp_path):
    report = ost.deploy(models.Detector(), out=tmp_path / "vad.pt2")
    document = json.loads(json.dumps(report.to_json()))
    assert document["eager"]["calls"] == report.eager.calls
    assert document["torchscript"] is None
    text = str(report)
    assert "not compared with TorchScript" in text
    assert "reset_states" in text
    assert "whole_file" in text
    assert max(map(len, text.splitlines()[1:])) <= 80


def test_given_inputs(tmp_path):
    report = ost.deploy(models.plain(), (torch.randn(5, 12),), out=tmp_path / "a.pt2")
    assert report.methods["forward"] == ["(float32[5, 12])"]
    assert not report.guessed
    variants = [(torch.randn(2, 12),), (torch.randn(3, 12),)]
    report = ost.deploy(models.plain(), variants, out=tmp_path / "b.pt2")
    assert report.methods["forward"] == ["(float32[2, 12])", "(float32[3, 12])"]


def test_nested_arguments_and_results(tmp_path):
    state = (torch.randn(1, 7), torch.randn(1, 7))
    model = models.Memory()
    report = ost.deploy(model, (torch.randn(1, 5), state), out=tmp_path / "m.pt2", numerics="exact")
    assert report.state == {"seen": "float32[]"}
    loaded = ost.load(tmp_path / "m.pt2")
    for _ in range(3):
        x = torch.randn(1, 5)
        expected, got = model(x, state), loaded(x, state)
        torch.testing.assert_close(got, expected, rtol=1e-6, atol=1e-6)
        state = got["state"]


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        (lambda: torch.nn.LSTM(4, 6), "(float32[1, 4])"),
        (lambda: torch.nn.Sequential(torch.nn.Conv1d(2, 3, 5)), "(float32[1, 2, 5])"),
        (lambda: torch.nn.Sequential(torch.nn.Embedding(9, 4), torch.nn.Linear(4, 2)), "(int64[1, 16])"),
    ],
)
def test_inputs_are_guessed_from_the_first_layer(tmp_path, layers, expected):
    assert ost.deploy(layers(), out=tmp_path / "net.pt2").methods["forward"] == [expected]


def test_a_name_to_import(tmp_path):
    report = ost.deploy(f"{models.__name__}:plain", out=tmp_path / "net.pt2")
    assert report.kind == "module"
    assert report.source.endswith(":plain")
    assert ost.deploy(f"{models.__name__}:Detector", out=tmp_path / "d.pt2").state


def test_a_program_of_stock_torch(tmp_path):
    model = models.plain().eval()
    torch.export.save(torch.export.export(model, (torch.randn(2, 12),)), tmp_path / "stock.pt2")
    report = ost.deploy(tmp_path / "stock.pt2", out=tmp_path / "net.pt2", numerics="exact")
    assert report.kind == "pt2"
    assert report.eager.exact
    x = torch.randn(2, 12)
    assert torch.equal(ost.load(tmp_path / "net.pt2")(x), model(x))


def test_a_deployed_file_is_deployed_anew_with_its_state(tmp_path):
    ost.deploy(models.Detector(), out=tmp_path / "fast.pt2")
    report = ost.deploy(tmp_path / "fast.pt2", out=tmp_path / "exact.pt2", numerics="exact")
    assert report.methods["forward"] == ["(float32[1, 64], 16000)", "(float32[1, 32], 8000)"]
    assert report.state == {"_hidden": "float32[1, 8]"}
    assert report.eager.exact


# ---- what is refused ----


def refused(tmp_path, source, code, **options):
    with pytest.raises(_errors.OstinatoError) as caught:
        ost.deploy(source, out=tmp_path / "never.pt2", **options)
    assert caught.value.code == code, caught.value
    assert caught.value.hint
    assert list(tmp_path.iterdir()) == []
    return caught.value


def test_a_counter_is_refused_by_name(tmp_path):
    assert "steps" in refused(tmp_path, models.Counter(), "export.counter").message


def test_a_branch_on_values_is_refused(tmp_path):
    refused(tmp_path, models.Branching(), "export.untraceable")


def test_inputs_that_cannot_be_guessed_say_how_to_give_them(tmp_path):
    error = refused(tmp_path, models.Choosy(), "deployment.no_inputs")
    assert "names: list[str]" in error.message
    assert "--args" in error.hint


@pytest.mark.parametrize(
    ("source", "code"),
    [
        (3, "deployment.source"),
        ("no.such.package:thing", "deployment.import"),
        ("math:nothing", "deployment.import"),
        ("math:pi", "deployment.no_module"),
        ("pathlib:Path", "deployment.no_module"),
        ("textwrap:dedent", "deployment.factory"),
        ("missing.jit", "deployment.unreadable"),
    ],
)
def test_sources_that_are_none(tmp_path, source, code):
    refused(tmp_path, source, code)


def test_arguments_of_the_wrong_form(tmp_path):
    refused(tmp_path, models.plain(), "deployment.args", args=torch.zeros(1, 12))
    refused(tmp_path, models.plain(), "accelerator.numerics", numerics="quick")


@pytest.mark.parametrize("out", ["net.bin", "missing/net.pt2"])
def test_targets_that_cannot_be_written_are_refused_before_any_work(tmp_path, out):
    lines = []
    with pytest.raises(_errors.OstinatoError):
        ost.deploy(models.plain(), out=tmp_path / out, tell=lines.append)
    assert lines == []


@pytest.mark.parametrize("lost", ["frozen", "late"])
def test_a_file_that_loses_state_is_not_put_in_place(tmp_path, monkeypatch, lost):
    """The proof is the last line of defence: here the exporter before it is made to lose the state."""
    (tmp_path / "vad.pt2").write_bytes(b"the old one")
    honest = _tracing.trace_stateful

    def careless(module, variants, *rest, **more):
        methods = honest(module, variants, *rest, **more)
        for each in methods["forward"]:
            specs = each.program.graph_signature.output_specs
            kept = each.program.graph.find_nodes(op="output")[0]
            if lost == "frozen":  # the new state is what the old one was
                old = next(n for n in each.program.graph.nodes if n.name.startswith("b_"))
                kept.args = ((old, *kept.args[0][1:]),)
                specs[0].arg = type(specs[0].arg)(name=old.name)
            else:  # the new state is doubled
                with each.program.graph.inserting_before(kept):
                    new = each.program.graph.call_function(torch.ops.aten.mul.Scalar, (kept.args[0][0], 2.0))
                    new.meta["val"] = kept.args[0][0].meta["val"]
                kept.args = ((new, *kept.args[0][1:]),)
                specs[0].arg = type(specs[0].arg)(name=new.name)
            each.program.graph_module.recompile()
        return methods

    monkeypatch.setattr(_tracing, "trace_stateful", careless)
    with pytest.raises(_errors.DeployError) as caught:
        ost.deploy(models.Detector(), out=tmp_path / "vad.pt2")
    assert caught.value.code == "deployment.disagrees"
    assert "eager" in caught.value.message
    assert [each.name for each in tmp_path.iterdir()] == ["vad.pt2"]
    assert (tmp_path / "vad.pt2").read_bytes() == b"the old one"


def test_without_verification_the_report_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(_proof, "results", None)  # nothing is run for comparison
    report = ost.deploy(models.plain(), out=tmp_path / "net.pt2", verify=False)
    assert report.eager is None
    assert report.warnings
    assert report.nodes


def test_what_a_dead_process_left_is_removed(tmp_path):
    for left in (
        ".net.pt2.999999999-candidate.pt2",
        "..net.pt2.999999999-candidate.pt2.999999999-0.part",
        ".other.pt2.999999999-candidate.pt2",
    ):
        (tmp_path / left).write_bytes(b"")
    ost.deploy(models.plain(), out=tmp_path / "net.pt2")
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        ".other.pt2.999999999-candidate.pt2",
        "net.pt2",
    ]


@pytest.mark.fresh_process
def test_a_file_is_tried_in_a_process_that_has_only_the_file(tmp_path, monkeypatch):
    seen = []
    honest = _trial._process
    monkeypatch.setattr(_trial, "_process", lambda job: seen.append(job) or honest(job))
    report = ost.deploy(models.Detector(), out=tmp_path / "vad.pt2", numerics="exact")
    assert [sorted(job) for job in seen] == [["archive", "file", "folder", "parent", "threads"]]
    assert report.eager.exact
    assert report.load_ms > 0


def test_the_folder_of_a_trial_that_was_killed_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(_trial.tempfile, "tempdir", str(tmp_path))
    (tmp_path / "ostinato-trial-999999999-abc").mkdir()
    (tmp_path / "ostinato-trial-999999999-abc" / "rows").write_bytes(b"x")
    alive = tmp_path / f"ostinato-trial-{os.getpid()}-abc"
    alive.mkdir()
    _trial._remove_stale()
    assert list(tmp_path.iterdir()) == [alive]


@pytest.mark.skipif(os.name != "posix", reason="the id of a parent stays elsewhere")
def test_the_other_process_ends_with_the_one_that_started_it(tmp_path):
    code = "import sys, time; from ostinato.deployment import _trial\n"
    code += "_trial.main = lambda text: time.sleep(60)\n_trial.start(sys.argv[1])"
    job = json.dumps({"parent": 999999999})
    assert subprocess.run([sys.executable, "-c", code, job], timeout=30, check=False).returncode == 1


@pytest.mark.fresh_process
@pytest.mark.parametrize(
    ("program", "reason"), [("false", "exit status 1"), ("missing", "could not be started")]
)
def test_a_file_that_does_not_run_elsewhere_is_not_put_in_place(tmp_path, monkeypatch, program, reason):
    monkeypatch.setattr(_trial.sys, "executable", shutil.which(program) or str(tmp_path / program))
    with pytest.raises(_errors.DeployError, match=reason) as caught:
        ost.deploy(models.plain(), out=tmp_path / "net.pt2")
    assert caught.value.code == "deployment.fresh_process"
    assert list(tmp_path.iterdir()) == []

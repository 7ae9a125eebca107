"""TorchScript archives, made here and by other people: from the file to a replayed one."""

from __future__ import annotations

import warnings
import zipfile

import pytest
import torch

import ostinato as ost
from ostinato import _errors
from ostinato.deployment import _deploy

from . import models

needs_jit = pytest.mark.skipif(
    not hasattr(getattr(torch, "jit", None), "script"), reason="this torch has no torch.jit"
)


exported = getattr(getattr(torch, "jit", None), "export", lambda function: function)


class Scripted(torch.nn.Module):
    """What a scripted model with state looks like: a buffer, an attribute, a method that resets."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.linear = torch.nn.Linear(24, 6)
        self.register_buffer("seen", torch.zeros(1, 6))
        self.last = torch.zeros(1, 6)

    def forward(self, x: torch.Tensor, scale: float = 0.5) -> tuple[torch.Tensor, torch.Tensor]:
        y = torch.tanh(self.linear(x) + scale * self.last)
        self.last = y
        self.seen.add_(y)
        return y, self.seen * 1.0

    @exported
    def reset_state(self) -> None:
        self.last = torch.zeros(1, 6)
        self.seen.zero_()

    @exported
    def labels(self) -> list[str]:
        return ["a", "b"]


@pytest.fixture
def scripted(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.script(Scripted().eval()), tmp_path / "net.pt")
    return tmp_path / "net.pt"


@needs_jit
@pytest.mark.fresh_process
def test_an_archive_is_compared_with_torchscript(scripted, tmp_path):
    report = ost.deploy(scripted, out=tmp_path / "net.pt2")
    assert report.kind == "torchscript"
    assert report.methods == {"forward": ["(float32[1, 24])"], "reset_state": ["()"]}
    assert report.left_out == {"labels": "only forward and reset methods are deployed"}
    assert report.state == {"seen": "float32[1, 6]", "last": "float32[1, 6]"}
    assert report.torchscript.calls == report.eager.calls
    assert report.torchscript.max_abs <= 1e-5
    loaded, eager = ost.load(tmp_path / "net.pt2"), Scripted().eval()
    for _ in range(4):
        x = torch.randn(1, 24)
        torch.testing.assert_close(loaded(x), eager(x), rtol=1e-4, atol=1e-5)


@needs_jit
def test_where_torchscript_is_gone_the_report_says_so(scripted, tmp_path, monkeypatch):
    monkeypatch.delattr(torch.jit, "load")
    report = ost.deploy(scripted, out=tmp_path / "net.pt2")
    assert report.torchscript is None
    assert report.not_compared == "not compared with TorchScript: this torch has no torch.jit"
    assert report.not_compared in str(report)


@needs_jit
def test_a_difference_from_torchscript_is_a_no(scripted, tmp_path, monkeypatch):
    honest = _deploy.tried

    def other(file, archive, plans):
        trial = honest(file, archive, plans)
        trial.torchscript[0][0][0].add_(1.0)
        return trial

    monkeypatch.setattr(_deploy, "tried", other)
    with pytest.raises(_errors.DeployError, match="differs from TorchScript"):
        ost.deploy(scripted, out=tmp_path / "net.pt2")
    assert [each.name for each in tmp_path.iterdir()] == ["net.pt"]


@needs_jit
def test_an_archive_is_not_loaded_as_it_is(scripted):
    with pytest.raises(_errors.ArchiveError, match="TorchScript archive") as caught:
        ost.load(scripted)
    assert "ostinato deploy" in caught.value.hint


@needs_jit
def test_an_unknown_operator_is_refused(scripted, tmp_path):
    changed = tmp_path / "changed.pt"
    with zipfile.ZipFile(scripted) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith(".py"):
                content = content.replace(b"torch.tanh(", b"ops.mine.tanh(")
            new.writestr(name, content)
    with pytest.raises(_errors.ArchiveError, match="mine::tanh") as caught:
        ost.deploy(changed, out=tmp_path / "net.pt2")
    assert caught.value.hint
    assert not (tmp_path / "net.pt2").exists()


REAL = {
    "unitree_g1_motion.pt": ["(float32[1, 47])"],
    "anydrive_v3_lstm.pt": ["(float32[1, 1, 2], [float32[2, 1, 8], float32[2, 1, 8]])"],
    "unitree_go1_actuator.pt": ["(float32[1, 6])"],
    "walk_adaptation.jit": ["(float32[1, 2100])"],
    "silero_vad.jit": ["(float32[1, 512], 16000)", "(float32[1, 256], 8000)"],
}


@pytest.fixture(scope="module")
def deployed(tmp_path_factory):
    """A function from a real archive to the report of its deployment, made once."""
    folder = tmp_path_factory.mktemp("real")
    reports = {}

    def report(path):
        if path not in reports:
            reports[path] = ost.deploy(path, out=folder / f"{path.name}.pt2")
        return reports[path]

    return report


@pytest.mark.parametrize("name", REAL)
def test_real_archives(archive, deployed, name):
    """Inputs guessed, state kept, the recorded results reached, those of all variants in one file."""
    path = archive(name)
    report = deployed(path)
    assert report.methods["forward"] == REAL[name]
    assert report.torchscript is None or not report.torchscript.disagreement
    model = ost.load(report.out)
    recorded = torch.load(path.with_suffix(".golden.pt"), weights_only=True)
    compared = 0
    for call in recorded:
        method = model.methods.get(call["method"])
        if method is None:
            continue
        try:
            got = method(*call["args"], **call["kwargs"])
        except _errors.UsageError:  # recorded for a batch that the file was not made for
            continue
        torch.testing.assert_close(got, call["out"], rtol=1e-4, atol=1e-5)
        compared += 1
    assert compared >= 1


def test_a_real_detector_has_both_rates_and_a_reset(archive, deployed):
    path = archive("silero_vad.jit")
    report = deployed(path)
    assert list(report.methods) == ["forward", "reset_states"]
    assert list(report.left_out) == ["audio_forward"]
    model, eager = ost.load(report.out, numerics="exact"), ost.torchscript.load(path).eval()
    x = torch.randn(1, 512)
    with torch.no_grad():
        for chunk, rate in [(x, 16000), (x, 16000), (x[:, :256], 8000), (x, 16000)]:
            assert torch.equal(model(chunk, rate), eager(chunk, rate))
        model.reset_states()
        eager.reset_states()
        assert torch.equal(model(x, 16000), eager(x, 16000))


def test_the_models_here_are_no_archives(tmp_path):
    torch.save(models.plain(), tmp_path / "net.pt")
    with pytest.raises(_errors.ArchiveError, match=r"torch\.save"):
        ost.deploy(tmp_path / "net.pt", out=tmp_path / "net.pt2")

"""The command line as a user or a script meets it: streams, exit status, hints, JSON."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
import zipfile

import pytest
import torch

import ostinato as ost
from ostinato.cli import main

MODULE = '''
import time
import torch

def net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(12, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))

class Slow(torch.nn.Module):
    """Its deployment takes long: every call waits."""
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.waits = True
    def forward(self, x):
        if self.waits and not torch.compiler.is_compiling():
            print("waiting", flush=True)
            time.sleep(0.3)
        return self.linear(x)

class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = 0
        self.linear = torch.nn.Linear(4, 4)
    def forward(self, x):
        self.steps += 1
        return self.linear(x) * self.steps
'''


def ostinato(*args, cwd, **environment):
    """Run the command in a process of its own."""
    command = [sys.executable, "-m", "ostinato.cli", *map(str, args)]
    return subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(cwd), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a module to import and a deployed file."""
    path = tmp_path_factory.mktemp("work")
    (path / "nets.py").write_text(MODULE)
    done = ostinato("deploy", "nets:net", "-o", "net.pt2", "--json", cwd=path)
    assert done.returncode == 0, done.stderr
    (path / "deployed.json").write_text(done.stdout)
    (path / "deployed.log").write_text(done.stderr)
    return path


def failed(done, status=2):
    """What every failure looks like: the status, a sentence, a hint, nothing on standard output."""
    assert done.returncode == status, done.stderr
    assert done.stdout == ""
    lines = done.stderr.strip().splitlines()
    assert lines[-1].startswith("hint: ")
    assert any(line.startswith("error: ") for line in lines)
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stderr
    return done.stderr


# ---- the verbs ----


def test_deploy_prints_data_on_stdout_and_the_choice_on_stderr(folder):
    report = json.loads((folder / "deployed.json").read_text())
    assert report["methods"] == {"forward": ["(float32[1, 12])"]}
    assert report["eager"]["max_abs"] <= 1e-5
    log = (folder / "deployed.log").read_text()
    assert "found forward(float32[1, 12])" in log
    assert "Warning" not in log


def test_deploy_with_given_arguments_twice(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    given = ["--args", "float32[2,12]", "--args", "float32[3,12]=0"]
    assert main(["deploy", "nets:net", "-o", "two.pt2", *given, "--numerics", "exact"]) == 0
    printed = capsys.readouterr().out
    assert "(float32[2, 12])" in printed
    assert "(float32[3, 12])" in printed
    assert "bit for bit" in printed


def test_run_describes_what_comes_out(folder, capsys):
    x = torch.randn(1, 12)
    torch.save((x,), folder / "x.pt")
    out = str(folder / "y.pt")
    arguments = ["run", str(folder / "net.pt2"), str(folder / "x.pt"), "-o", out]
    assert main([*arguments, "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["outputs"]
    expected = ost.load(folder / "net.pt2")(x)
    assert entry["shape"] == [1, 3]
    assert entry["mean"] == pytest.approx(float(expected.mean()), abs=1e-6)
    assert torch.equal(torch.load(out, weights_only=True), expected)
    assert main(arguments) == 0
    assert "float32[1, 3]" in capsys.readouterr().out
    assert main(["run", str(folder / "net.pt2"), "--args", "float32[1,12]=1", "--repeat", "3"]) == 0
    captured = capsys.readouterr()
    assert "3 calls" in captured.err
    assert "3 calls" not in captured.out


def test_inspect_needs_no_torch(folder):
    code = (
        "import sys; from ostinato.cli import main\n"
        "status = main(['inspect', sys.argv[1], '--json'])\n"
        "print(sorted({'torch', 'numpy'} & set(sys.modules)), file=sys.stderr)\n"
        "sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder / "net.pt2")], capture_output=True, text=True, check=True
    )
    assert done.stderr.strip() == "[]"
    document = json.loads(done.stdout)
    assert document["methods"] == {"forward": ["(float32[1, 12]) -> float32[1, 3]"]}
    assert document["parameters"] == 12 * 16 + 16 + 16 * 3 + 3
    assert document["operators"]["aten.linear.default"] == 2
    assert document["unsupported"] == []


def test_inspect_reads_programs_of_stock_torch(tmp_path, capsys):
    program = torch.export.export(torch.nn.Linear(3, 2), (torch.randn(1, 3),))
    torch.export.save(program, tmp_path / "stock.pt2")
    assert main(["inspect", str(tmp_path / "stock.pt2")]) == 0
    assert "aten.linear.default" in capsys.readouterr().out


def test_version_and_help_fit_one_screen(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"ostinato {ost.__version__}\n"
    for verb in ("deploy", "convert", "run", "inspect", "quantize", "bench"):
        with pytest.raises(SystemExit) as caught:
            main([verb, "--help"])
        assert caught.value.code == 0
        assert len(capsys.readouterr().out.splitlines()) <= 36


# ---- what goes wrong ----


class Attack:
    def __reduce__(self):
        return os.system, ("touch hacked",)


def make_text(path):
    path.write_text("hello")


def make_empty(path):
    path.write_bytes(b"")


def make_weights(path):
    torch.save({"weight": torch.zeros(2)}, path)


def make_truncated(path):
    make_attack(path)
    path.write_bytes(path.read_bytes()[:-40])


def make_attack(path):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("net/data.pkl", pickle.dumps(Attack()))
        file.writestr("net/constants.pkl", pickle.dumps(Attack()))
        file.writestr("net/version", "6\n")
        file.writestr(
            "net/code/__torch__.py", "class Net(Module):\n  __parameters__ = []\n  __buffers__ = []\n"
        )


def make_pickle(path):
    path.write_bytes(pickle.dumps(Attack()))


def make_folder(path):
    path.mkdir()


def make_nothing(path):
    pass


BAD = [
    make_text,
    make_empty,
    make_weights,
    make_truncated,
    make_attack,
    make_pickle,
    make_folder,
    make_nothing,
]


@pytest.mark.parametrize("make", BAD)
@pytest.mark.parametrize("verb", ["inspect", "run", "deploy", "convert", "quantize", "bench"])
def test_bad_files(tmp_path, monkeypatch, capsys, verb, make):
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "bad")
    before = sorted(each.name for each in tmp_path.iterdir())
    assert main([verb, "bad", *(["-o", "new.pt2"] if verb in ("deploy", "convert", "quantize") else [])]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    last, *earlier = reversed(captured.err.strip().splitlines())
    assert last.startswith("hint: ")
    assert earlier[0].startswith("error: ")
    assert "unexpected" not in earlier[0]
    assert sorted(each.name for each in tmp_path.iterdir()) == before


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(tmp_path, capsys):
    (tmp_path / "bad.pt2").write_bytes(b"x")
    (tmp_path / "bad.pt2").chmod(0)
    assert main(["inspect", str(tmp_path / "bad.pt2")]) == 2
    assert "ermission" in capsys.readouterr().err


def test_errors_of_the_whole_command(folder):
    failed(ostinato("bogus", cwd=folder))
    assert "steps" in failed(ostinato("deploy", "nets:Counter", "-o", "new.pt2", cwd=folder))
    assert not (folder / "new.pt2").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "net.pt2", "--args", "float32[1,12"],
        ["run", "net.pt2", "--args", "float99[1]"],
        ["run", "net.pt2", "--args", "1 2"],
        ["run", "net.pt2", "--args", "(1, 2"],
        ["run", "net.pt2", "--args", "float32[9,9]"],
        ["run", "net.pt2", "--args", "@missing.pt"],
        ["run", "net.pt2", "attack.pkl"],
        ["run", "net.pt2", "x.pt", "--args", "1"],
        ["run", "net.pt2", "--method", "nothing"],
        ["run", "net.pt2", "--repeat", "0"],
        ["run", "net.pt2", "-o", "missing/y.pt"],
        ["run", "net.pt2", "-o", "y.txt"],
        ["run", "net.pt2", "missing.npz"],
        ["run", "net.pt2", "--args", "y=float32[1,12]"],
        ["bench", "net.pt2", "--against", "torchscript=nets.py"],
        ["deploy", "nets:net", "-o", "net.bin"],
        ["deploy", "nets:net"],
    ],
)
def test_wrong_usage(folder, monkeypatch, capsys, arguments):
    monkeypatch.chdir(folder)
    make_pickle(folder / "attack.pkl")
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.strip().splitlines()[-1].startswith("hint: ")
    assert not (folder / "hacked").exists()


def test_a_failed_check_is_a_no_and_an_unexpected_error_says_so(folder, monkeypatch, capsys):
    from ostinato import _errors, deployment

    monkeypatch.chdir(folder)

    def disagrees(*args, **options):
        raise _errors.fail("deployment.disagrees", peer="eager", where="forward", max_abs=1.0)

    monkeypatch.setattr(deployment, "deploy", disagrees)
    assert main(["deploy", "nets:net", "-o", "x.pt2"]) == 1

    def breaks(*args, **options):
        raise KeyError("what")

    monkeypatch.setattr(deployment, "deploy", breaks)
    assert main(["deploy", "nets:net", "-o", "x.pt2"]) == 2
    assert "unexpected KeyError" in capsys.readouterr().err
    with pytest.raises(KeyError):
        main(["deploy", "nets:net", "-o", "x.pt2", "--debug"])


def test_no_color_and_pipes_are_plain(folder):
    done = ostinato("inspect", "net.pt2", cwd=folder, NO_COLOR="1", FORCE_COLOR="1")
    assert "\x1b[3" not in done.stdout
    assert "\x1b" not in ostinato("inspect", "net.pt2", cwd=folder).stdout


@pytest.mark.skipif(os.name != "posix", reason="kills with a signal")
def test_a_killed_deployment_leaves_the_old_file_and_the_next_run_cleans_up(folder, tmp_path):
    """Killed at several moments of the work, also while the part file is there."""
    old = b"the old file"
    (tmp_path / "nets.py").write_text(MODULE)
    (tmp_path / "x.pt2").write_bytes(old)
    command = [sys.executable, "-m", "ostinato.cli", "deploy", "nets:Slow", "-o", "x.pt2"]
    command += ["--args", "float32[1,4]"]
    parts = 0
    for wait_for_part in (False, True):
        process = subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert process.stdout.readline() == "waiting\n"
        while wait_for_part and not list(tmp_path.glob(".x.pt2.*")):
            assert process.poll() is None
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert (tmp_path / "x.pt2").read_bytes() == old
        parts = max(parts, len(list(tmp_path.glob(".*x.pt2.*"))))
    assert parts == 1
    ost.deploy(torch.nn.Linear(12, 3), out=tmp_path / "x.pt2")
    assert list(tmp_path.glob(".*x.pt2*")) == []
    assert ost.load(tmp_path / "x.pt2")(torch.zeros(1, 12)).shape == (1, 3)

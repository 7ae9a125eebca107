"""The written file in a process of its own: what it returns, how fast, and what ``torch.jit`` returns.

`tried` starts the process, `main` is what it runs. Nothing of the process that
made the file is there, so what holds here holds for whoever gets the file. What
``torch.jit`` does comes last and is written apart: it changes torch's state, a
later torch may not have it, and it may take the process down.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .._atomic import runs
from .._errors import fail
from ..export import Call
from ._timing import Call as Timed, Timing, alternating

Plans = list[list[Call]]
Rows = list[list[Any]]
_SECONDS = 600
_ROUNDS = 5
_STEP_ROUNDS = 10  # replays, of which each step's shortest time counts


@dataclass(frozen=True)
class Trial:
    """What the process found.

    ``rows`` are the results of the file, call by call; ``torchscript`` those of
    ``torch.jit``, None where ``why`` says that there are none. ``times`` are
    microseconds a call of the first variant by runtime; ``load_ms`` and
    ``first_ms`` how long loading and the first call took.
    """

    rows: Rows
    torchscript: Rows | None
    why: str
    times: dict[str, Timing]
    load_ms: float
    first_ms: float
    stats: dict[str, list[dict[str, Any]]]
    steps: list[dict[str, Any]]


def tried(file: Path, archive: Path | None, plans: Plans) -> Trial:
    """Run the plans on ``file``, and on ``archive`` with ``torch.jit``; DeployError where the file fails."""
    _remove_stale()
    with tempfile.TemporaryDirectory(prefix=f"ostinato-trial-{os.getpid()}-") as folder:
        torch.save([[(c.method, c.args, c.kwargs or {}) for c in plan] for plan in plans], f"{folder}/calls")
        job = {
            "file": str(file),
            "archive": str(archive) if archive else None,
            "folder": folder,
            "threads": torch.get_num_threads(),
            "parent": os.getpid(),
        }
        ended = _process(job)
        if not os.path.exists(f"{folder}/report.json"):
            raise fail("deployment.fresh_process", path=str(file), reason=ended)
        with open(f"{folder}/report.json", encoding="utf-8") as stream:
            report = json.load(stream)
        answers, why = _torchscript(folder, archive, ended)
        rows: Rows = torch.load(f"{folder}/rows", weights_only=True)
    times = {name: Timing(**each) for name, each in report.pop("times").items()}
    return Trial(rows=rows, torchscript=answers, why=why, times=times, **report)


def _remove_stale() -> None:
    """The folders of deployments that were killed."""
    place = Path(tempfile.gettempdir())
    for each in place.glob("ostinato-trial-*"):
        pid = each.name.split("-")[2]
        if pid.isdigit() and not runs(int(pid)):
            shutil.rmtree(each, ignore_errors=True)


def _end_with(parent: int) -> None:
    """Nobody waits for this process when the one that started it has been killed."""
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)


def _process(job: Mapping[str, Any]) -> str:
    """Run `main` on the job; why it failed, empty where it did not."""
    code = "import sys; from ostinato.deployment._trial import start; start(sys.argv[1])"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-W", "ignore", "-c", code, json.dumps(job)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS, check=False, env=environment
        )
    except subprocess.TimeoutExpired:
        return f"it took more than {_SECONDS} s"
    except OSError as error:
        return f"it could not be started: {error.strerror or error}"
    if not done.returncode:
        return ""
    last = [line for line in done.stderr.splitlines() if line.strip()][-1:]
    return "".join(last)[:200] or f"exit status {done.returncode}"


def _torchscript(folder: str, archive: Path | None, ended: str) -> tuple[Rows | None, str]:
    if archive is None:
        return None, "the source is no archive"
    if not hasattr(getattr(torch, "jit", None), "load"):
        return None, "this torch has no torch.jit"
    if not os.path.exists(f"{folder}/torchscript"):
        return None, f"torch.jit failed: {ended}"
    rows: Rows = torch.load(f"{folder}/torchscript", weights_only=True)
    return rows, ""


def start(text: str) -> None:
    """`main`, in the process that `_process` starts."""
    threading.Thread(target=_end_with, args=(json.loads(text)["parent"],), daemon=True).start()
    main(text)


def main(text: str) -> None:
    """In the process: the job is a JSON object of `tried`."""
    job = json.loads(text)
    torch.set_num_threads(job["threads"])
    folder = job["folder"]
    plans = torch.load(f"{folder}/calls", weights_only=True)
    report, rows, runtimes = _of_file(job["file"], plans)
    torch.save(rows, f"{folder}/rows")
    _write(report, runtimes, folder)  # now, in case that torch.jit ends the process
    if job["archive"] and hasattr(getattr(torch, "jit", None), "load"):
        answers, call = _of_archive(job["archive"], plans)
        torch.save(answers, f"{folder}/torchscript")
        _write(report, {**runtimes, "TorchScript": call}, folder)


def _write(report: dict[str, Any], runtimes: dict[str, Timed], folder: str) -> None:
    times = {name: vars(each) for name, each in alternating(runtimes, _ROUNDS).items()}
    with open(f"{folder}/report.part", "w", encoding="utf-8") as stream:
        json.dump({**report, "times": times}, stream)
    os.replace(f"{folder}/report.part", f"{folder}/report.json")


def _of_file(file: str, plans: list[list[Any]]) -> tuple[dict[str, Any], Rows, dict[str, Timed]]:
    from ._load import eager_program, load

    began = time.perf_counter()
    model = load(file)
    loaded = time.perf_counter()
    method, args, kwargs = plans[0][0]
    model.methods[method](*args, **kwargs)
    first = time.perf_counter() - loaded
    rows = []
    for plan in plans:
        model._reset()
        rows.append(_results(plan, lambda name: model.methods[name]))
    report = {
        "load_ms": round((loaded - began) * 1e3, 3),
        "first_ms": round(first * 1e3, 3),
        "stats": model.stats(),
        "steps": _steps(model.methods[method], args, kwargs),
    }
    eager = eager_program(file, method, args, kwargs)
    runtimes: dict[str, Timed] = {
        f"Ostinato, {model.numerics}": lambda: model.methods[method](*args, **kwargs),
        "torch, operator by operator": lambda: eager(*args, **kwargs),
    }
    return report, rows, runtimes


def _of_archive(archive: str, plans: list[list[Any]]) -> tuple[Rows, Timed]:
    rows = []
    for plan in plans:
        model = torch.jit.load(archive, map_location="cpu").eval()
        rows.append(_results(plan, lambda name, model=model: getattr(model, name)))
    method, args, kwargs = plans[0][0]
    call = getattr(torch.jit.load(archive, map_location="cpu").eval(), method)

    def timed() -> Any:
        with torch.no_grad():
            return call(*args, **kwargs)

    for _ in range(3):  # it optimises in the first calls
        timed()
    return rows, timed


def _results(plan: list[Any], method_of: Any) -> list[Any]:
    row = []
    for i, (method, args, kwargs) in enumerate(plan):
        args, kwargs = pytree.tree_map_only(torch.Tensor, torch.clone, (args, kwargs))
        torch.manual_seed(i)
        with torch.no_grad():
            # A copy: what a call returns may be state that the next one writes.
            row.append(pytree.tree_map_only(torch.Tensor, torch.clone, method_of(method)(*args, **kwargs)))
    return row


def _steps(method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[dict[str, Any]]:
    """The steps of the graph in order, for the report."""
    return [
        {
            "op": node.op,
            "sources": list(node.sources),
            "kind": node.step,
            "inputs": list(node.inputs),
            "outputs": list(node.outputs) or list(node.written),
            "us": seconds * 1e6,
        }
        for node, seconds in method._profile(args, kwargs, _STEP_ROUNDS)
    ]

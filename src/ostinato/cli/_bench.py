"""``ostinato bench``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from .._errors import fail
from ._printer import Printer
from ._values import GRAMMAR

if TYPE_CHECKING:
    from ..deployment._timing import Timing

NAME = "bench"
HELP = "time a deployed file, its steps and its peers, in microseconds a call"
EXAMPLES = (
    "ostinato bench vad.pt2 --threads 1",
    "ostinato bench vad.pt2 --against eager,compile,jit,onnxruntime,openvino",
    "ostinato bench vad.pt2 --against jit=silero_vad.jit,onnx=silero_vad.onnx",
)
_PROFILED = 50  # replays, of which each step's shortest time counts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a .pt2 of ostinato deploy or of torch.export.save")
    parser.add_argument(
        "--args",
        metavar="VALUES",
        help=f"the arguments: {GRAMMAR}; by default those in the file, or random ones",
    )
    parser.add_argument("--threads", type=int, metavar="N", help="threads of every runtime (torch's default)")
    parser.add_argument(
        "--against",
        default="",
        metavar="PEERS",
        help="eager, compile, jit, onnxruntime, openvino; jit=path, onnx=path, openvino=path; with commas",
    )
    parser.add_argument(
        "--rounds", type=int, default=9, metavar="N", help="rounds, in which all take turns (9)"
    )
    parser.add_argument("--steps", type=int, default=12, metavar="N", help="steps that are listed (12)")


def run(options: argparse.Namespace, printer: Printer) -> int:
    for name in ("threads", "rounds", "steps"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise fail("cli.usage", message=f"--{name} takes a number from 1 on", command="ostinato bench")
    import torch

    if options.threads:
        torch.set_num_threads(options.threads)
    from ..deployment import load
    from ..deployment._timing import alternating
    from . import _machine, _steps
    from ._peers import peers
    from ._run import arguments

    threads = torch.get_num_threads()
    model = load(options.file)
    method = model.methods["forward"] if "forward" in model.methods else next(iter(model.methods.values()))
    args = arguments(options.args, method)
    runtimes = {f"ostinato {model.numerics}": lambda: method(*args)}
    with printer.progress() as tell:
        tell("making the runtimes ready")
        runtimes.update(peers(options.against, options.file, method.name, args, threads))
        tell(f"timing {', '.join(runtimes)}")
        times = alternating(runtimes, options.rounds)
        tell("timing the steps, and what the machine can do")
        machine = _machine.measured(threads)
        steps = _steps.steps(method._profile(args, {}, _PROFILED), machine)
    first = times[next(iter(runtimes))].median
    entries = [_entry(name, each, first) for name, each in times.items()]
    limits = {"sgemm_gflops": machine.gflops, "copy_gbs": machine.copy_gbs}
    document = {"file": options.file, "threads": threads, "runtimes": entries, "machine": limits}
    printer.result({**document, "steps": steps})
    _show(entries, printer)
    printer.heading(
        f"\n{len(steps)} steps, {sum(each['us'] for each in steps):.1f} µs; this machine on {threads} "
        f"thread{'s' * (threads > 1)}: {machine.gflops:.0f} GFLOP/s, {machine.copy_gbs:.1f} GB/s from memory"
    )
    _steps.show(steps, options.steps, printer)
    return 0


def _entry(name: str, timing: Timing, first: float) -> dict[str, Any]:
    return {
        "runtime": name,
        "median_us": timing.median,
        "min_us": timing.least,
        "p10_us": timing.p10,
        "p90_us": timing.p90,
        "ratio": timing.median / first,
    }


def _show(entries: list[dict[str, Any]], printer: Printer) -> None:
    rows = []
    for each in entries:
        spread = (each["p90_us"] - each["p10_us"]) / 2 / each["median_us"]
        numbers = (
            f"{each['median_us']:.1f}",
            f"±{spread:.0%}",
            f"{each['min_us']:.1f}",
            f"{each['ratio']:.2f}",
        )
        rows.append([each["runtime"], *numbers])
    header = ("runtime", "median µs", "spread", "least µs", "times ostinato's")
    printer.table(rows, header=header, right=(1, 2, 3, 4))

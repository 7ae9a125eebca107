"""``ostinato bench``."""

from __future__ import annotations

import argparse

from .._errors import fail
from ._printer import Printer
from ._values import GRAMMAR

NAME = "bench"
HELP = "time a deployed file, and its peers beside it, in microseconds a call"
EXAMPLES = (
    "ostinato bench vad.pt2 --threads 1",
    "ostinato bench vad.pt2 --against eager,torchscript=silero_vad.jit,onnx=silero_vad.onnx",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a .pt2 of ostinato deploy or of torch.export.save")
    parser.add_argument("--args", metavar="VALUES", help=f"the arguments: {GRAMMAR}; random ones by default")
    parser.add_argument("--threads", type=int, metavar="N", help="threads of every runtime (torch's default)")
    parser.add_argument(
        "--against", default="", metavar="PEERS", help="eager, torchscript=path, onnx=path.onnx; with commas"
    )
    parser.add_argument(
        "--rounds", type=int, default=9, metavar="N", help="rounds, in which all take turns (9)"
    )


def run(options: argparse.Namespace, printer: Printer) -> int:
    for name in ("threads", "rounds"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise fail("cli.usage", message=f"--{name} takes a number from 1 on", command="ostinato bench")
    import torch

    if options.threads:
        torch.set_num_threads(options.threads)
    from ..deployment import load
    from ._peers import alternating, peers
    from ._run import arguments

    model = load(options.file)
    method = model.methods["forward"] if "forward" in model.methods else next(iter(model.methods.values()))
    args = arguments(options.args, None, method)
    runtimes = {f"ostinato {model.numerics}": lambda: method(*args)}
    runtimes.update(peers(options.against, options.file, method.name, args, torch.get_num_threads()))
    with printer.progress() as tell:
        tell(f"timing {', '.join(runtimes)}")
        times = alternating(runtimes, options.rounds)
    first = times[next(iter(runtimes))]
    entries = [
        {"runtime": name, "median_us": each.median, "min_us": each.least, "ratio": each.median / first.median}
        for name, each in times.items()
    ]
    printer.result({"file": options.file, "threads": torch.get_num_threads(), "runtimes": entries})
    printer.table(
        [
            [str(e["runtime"]), f"{e['median_us']:.1f}", f"{e['min_us']:.1f}", f"{e['ratio']:.2f}"]
            for e in entries
        ],
        header=("runtime", "median µs", "least µs", "times ostinato's"),
        right=(1, 2, 3),
    )
    return 0

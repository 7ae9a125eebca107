"""Damaged files by the thousand: ``python -m tests.export.mutate COUNT SEED``.

Each is loaded or refused with an ArchiveError that has a hint. Nothing else may happen: no other error, no
process, no file written, no connection, no more memory than a small multiple of the file. Where only bytes
were damaged, what loads computes what the whole file does.
"""

import collections
import json
import pathlib
import random
import sys
import tempfile
import time
import warnings
import zipfile

import torch

from ostinato._errors import ArchiveError
from ostinato.export import load, load_methods, save, save_methods, trace_stateful

from .models import Policy
from .mx_models import quantized
from .test_dtypes import Keeps
from .test_fuzz import places, replaced

_ACTS = ("os.", "subprocess.", "socket.", "shutil.", "ctypes.dlopen", "urllib.")
_HARMLESS = ("os.listdir", "os.scandir", "os.walk", "os.putenv")
_MEMORY = 256 << 20  # beyond what is in use before
_VALUES = (
    *(None, True, False, 0, 1, -1, 7, 33, 34, 255, 1 << 31, 1 << 62, 1 << 70, 0.5, "", "x", "s0", "Infinity"),
    *(
        "__import__('os').system('true')",
        "torch.ops.aten.add.Tensor",
        "../../x",
        "float4_e2m1fn_x2",
        "uint64",
    ),
    *([], {}, [[]], {"as_int": -1}, {"as_tensor": {"name": "x"}}, {"as_none": True}, [1] * 70),
)


class Watch:
    """What Python tells of the acts of a load, while it is on."""

    def __init__(self):
        self.on, self.seen = False, []
        sys.addaudithook(self._hear)

    def _hear(self, event, args):
        if not self.on:
            return
        writes = event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+")
        if writes or (event.startswith(_ACTS) and event not in _HARMLESS):
            self.seen.append(f"{event} {args}"[:200])


def originals(folder):
    """``(bytes, arguments of a call)`` of files of every kind."""
    forward = {"forward": [((torch.ones(1, 5),), {})]}
    save_methods(folder / "0.pt2", trace_stateful(Policy(), forward, reset="reset_memory"))
    x = torch.arange(8, dtype=torch.uint8).reshape(2, 4)
    keeps = trace_stateful(Keeps(torch.float8_e8m0fnu), {"forward": [((x,), {})]}, reset="clear")
    save_methods(folder / "1.pt2", keeps)
    calls = [(torch.ones(1, 5),), (x,)]
    for name, format in (("linear", "mxfp4"), ("embedding", "mxfp6_e2m3"), ("embedding", "mxfp8_e5m2")):
        module, args = quantized(name, format)
        save(torch.export.export(module, args), folder / f"{len(calls)}.pt2")
        calls.append(args)
    return [((folder / f"{i}.pt2").read_bytes(), args) for i, args in enumerate(calls)]


def bytes_changed(raw, random):
    raw, kind = bytearray(raw), random.randrange(4)
    if kind == 0:
        for _ in range(random.randint(1, 6)):
            raw[random.randrange(len(raw))] ^= random.randint(1, 255)
    elif kind == 1:
        del raw[random.randrange(len(raw)) :]
    elif kind == 2:
        start = random.randrange(len(raw))
        raw[start : start + random.randint(0, 300)] = random.randbytes(random.randint(0, 40))
    else:  # near the directory, which says where everything is
        start = max(raw.rfind(b"PK\x05\x06"), 0) if random.random() < 0.3 else max(raw.find(b"PK\x01\x02"), 0)
        raw[random.randrange(start, len(raw))] ^= random.randint(1, 255)
    return bytes(raw)


def document_changed(entries, random, path):
    """One of the documents damaged, in a file whose checksums are right."""
    entries = dict(entries)
    name = random.choice([each for each in entries if each.endswith(".json")])
    for _ in range(random.randint(1, 3)):
        document = json.loads(entries[name])
        ways = list(places(document))[1:]
        if not ways:
            break
        replaced(
            document, random.choice(ways), random.choice(("put", "delete", "twice")), random.choice(_VALUES)
        )
        entries[name] = json.dumps(document).encode()
    with zipfile.ZipFile(path, "w") as file:
        for each, content in entries.items():
            file.writestr(each, content)


def resident():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM"))


def attempt(path, args):
    """What a load came to, and the results of a call where it succeeded."""
    try:
        program = load(path)
        load_methods(path)
    except ArchiveError as error:
        if not error.hint or not error.code.startswith("export."):
            raise
        return error.code, None
    return "loaded", program if args is None else torch.utils._pytree.tree_leaves(program.module()(*args))


def main(count, seed):
    warnings.simplefilter("ignore")
    chance, watch, found = random.Random(seed), Watch(), collections.Counter()
    with tempfile.TemporaryDirectory() as name, torch.no_grad():
        folder = pathlib.Path(name)
        files = []
        for raw, args in originals(folder):
            (folder / "a.pt2").write_bytes(raw)
            with zipfile.ZipFile(folder / "a.pt2") as file:
                entries = {each: file.read(each) for each in file.namelist()}
            files.append((raw, args, entries, attempt(folder / "a.pt2", args)[1]))
        started, before = time.perf_counter(), resident()
        for i in range(count):
            raw, args, entries, expected = chance.choice(files)
            path, in_bytes = folder / "damaged.pt2", chance.random() < 0.5
            if in_bytes:
                path.write_bytes(bytes_changed(raw, chance))
            else:
                document_changed(entries, chance, path)
            watch.on = True
            try:
                what, got = attempt(path, args if in_bytes else None)
            except BaseException:
                watch.on = False
                (pathlib.Path.cwd() / "damaged.pt2").write_bytes(path.read_bytes())
                print(f"file {i} of seed {seed} is kept as damaged.pt2")
                raise
            watch.on = False
            assert not watch.seen, (i, watch.seen)
            assert not in_bytes or got is None or all(map(torch.equal, got, expected)), i
            found[what] += 1
        grown = resident() - before
    assert grown < _MEMORY, grown
    print(f"{count} files in {time.perf_counter() - started:.0f} s, {grown >> 20} MiB more memory at most")
    for what, number in found.most_common():
        print(f"{number:7}  {what}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

"""Checks the doctor's table of facts: `make doctor-table`.

Gaps (a release without builds, a CUDA without a driver), contradictions (a
build twice, code for GPUs that its CUDA does not know, a build that was dropped
and is there) and rows without a source.  With ``--registry`` also against what
the package registry has: versions, Pythons and platforms of the wheels of torch.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from ostinato.doctor._table import Table, kind_of
from ostinato.doctor._versions import numbers

PATH = pathlib.Path(__file__).parents[1] / "src" / "ostinato" / "doctor" / "table.json"
SOURCES = ("source", "driver_source", "system_source", "notice")


def problems(document: dict[str, Any]) -> Iterator[str]:
    """A sentence for each thing that is wrong with the table by itself."""
    table = Table(document)
    yield from _sources(document)
    yield from _releases(table)
    yield from _builds(table)
    yield from _devices(table)
    yield from _drops(table)


def _sources(document: dict[str, Any]) -> Iterator[str]:
    used = set()
    for part, rows in document.items():
        for row in rows if isinstance(rows, list) and part != "uv_backends" else ():
            if "source" not in row:
                yield f"{part}: a row without a source: {json.dumps(row)[:100]}"
            used |= {row[name] for name in SOURCES if name in row}
    for name in sorted(used - set(document["sources"])):
        yield f"sources: {name} is used and not there"
    for name in sorted(set(document["sources"]) - used):
        yield f"sources: {name} is not used"
    for name, row in document["sources"].items():
        if not row["url"].startswith("https://") or not re.fullmatch(r"\d{4}-\d\d-\d\d", row["date"]):
            yield f"sources: {name} needs an address and a date"
        if row["date"] > document["made"]:
            yield f"sources: {name} is later than the table"


def _releases(table: Table) -> Iterator[str]:
    for version in table.versions:
        row = table.release(version) or {}
        for platform in row["python"]:
            variants = [build.variant for build in table.builds(version, platform)]
            if "cpu" not in variants:
                yield f"torch {version}: no CPU build for {platform}"
            default = row["default"].get(platform)
            if default not in variants:
                yield f"torch {version}: its default for {platform}, {default}, is no build"
            if platform not in row["system"] and not platform.startswith("windows"):
                yield f"torch {version}: what the wheel for {platform} asks of the system is missing"
        if not any(kind_of(build.variant) == "cuda" for build in table.builds(version, "linux-x86_64")):
            yield f"torch {version}: no CUDA build"


def _builds(table: Table) -> Iterator[str]:
    seen = set()
    for row in table.document["builds"]:
        for version in row["torch"]:
            release = table.release(version)
            for platform in row["platforms"]:
                key = (version, row["variant"], platform)
                if key in seen:
                    yield f"{key}: twice"
                seen.add(key)
                if release is None or platform not in release["python"]:
                    yield f"{key}: torch has no wheel for that platform"
        if kind_of(row["variant"]) == "cuda":
            yield from _code(table, row)
        elif row["variant"] != "cpu" and row["source"] != "uv-torch" and row.get("architectures"):
            yield f"{row['variant']}: whose architectures?"


def _code(table: Table, row: dict[str, Any]) -> Iterator[str]:
    cuda = f"{row['variant'][2:-1]}.{row['variant'][-1]}"
    toolkit = table.toolkit(cuda)
    if toolkit is None:
        yield f"toolkits: nothing of CUDA {cuda}"
        return
    for system in {platform.split("-")[0] for platform in row["platforms"]}:
        if table.driver_for(cuda, system) is None:
            yield f"drivers: none for CUDA {cuda} on {system}"
    known = row.get("architectures", []) + row.get("ptx", [])
    for each in known:
        if not numbers(toolkit["oldest"]) <= numbers(each) <= numbers(toolkit["newest"]):
            yield f"{row['variant']} of {row['torch'][0]}: CUDA {cuda} has no {each}"
    if known != sorted(known, key=numbers) and not row.get("ptx"):
        yield f"{row['variant']} of {row['torch'][0]}: architectures are not in order"
    if not known and "at_most" not in row:
        print(f"note: unknown architectures: {row['variant']} of {row['torch'][0]} for {row['platforms']}")


def _devices(table: Table) -> Iterator[str]:
    names: dict[str, str] = {}
    for row in table.document["gpus"]:
        if table.generation(row["capability"]) is None:
            yield f"generations: none has {row['capability']}"
        for name in row["names"]:
            if name in names:
                yield f"gpus: {name} is {names[name]} and {row['capability']}"
            names[name] = row["capability"]


def _drops(table: Table) -> Iterator[str]:
    for row in table.drops():
        for version in table.versions:
            if numbers(version) < numbers(row["since"]):
                continue
            for build in table.builds(version, "linux-x86_64"):
                if build.variant not in row["variants"]:
                    continue
                if row.get("builds") or set(row.get("capabilities", ())) & set(build.architectures):
                    yield f"{row['what']} left in {row['since']}, and torch {version} has {build.variant}"


def registry() -> dict[str, dict[str, set[str]]]:
    """version -> platform -> Pythons, as pip sees the registry."""
    command = [sys.executable, "-m", "pip", "download", "-vvv", "--no-deps", "torch==0"]
    log = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    systems = (
        ("linux-x86_64", r"manylinux\w*_x86_64"),
        ("linux-aarch64", r"manylinux\w*_aarch64"),
        ("windows-x86_64", r"win_amd64"),
        ("macos-arm64", r"macosx_\d+_\d+_arm64"),
        ("macos-x86_64", r"macosx_\d+_\d+_x86_64"),
    )
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for version, python, abi, tags in re.findall(
        r"/torch-([\d.]+)(?:-\d+)?-(cp\d+)-(\w+)-([\w.]+)\.whl", log
    ):
        tag = python + ("t" if re.fullmatch(r"cp\d+t", abi) else "")
        for platform, pattern in systems:
            if any(re.fullmatch(pattern, each) for each in tags.split(".")):
                found[version][platform].add(tag)
    return found


def differences(table: Table, found: dict[str, dict[str, set[str]]]) -> Iterator[str]:
    """A sentence for each way in which the table and the registry differ."""
    if not found:
        yield "the registry could not be read"
    for version, platforms in found.items():
        if numbers(version) < numbers(table.versions[-1]):
            continue
        release = table.release(version)
        if release is None:
            yield f"torch {version} is on the registry, and not in the table"
            continue
        for platform, tags in platforms.items():
            have = set(release["python"].get(platform, ()))
            if have != tags:
                yield f"torch {version}, {platform}: the registry has {sorted(tags ^ have)} more or less"
    for version in table.versions:
        if found and version not in found:
            yield f"torch {version} is in the table, and not on the registry"


def main() -> int:
    """Print what is wrong; 1 where something is."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--registry", action="store_true", help="compare with the package registry too")
    document = json.loads(PATH.read_text(encoding="utf-8"))
    found = list(problems(document))
    if parser.parse_args().registry:
        found += differences(Table(document), registry())
    print("\n".join(found) or "nothing is wrong")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

"""The table of facts, ``table.json``: which builds of torch exist and what each needs.

Every row names its source.  What the table does not say is unknown.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import pkgutil
from typing import Any, Optional

from ._versions import at_least, minor, numbers


@dataclasses.dataclass(frozen=True)
class Build:
    """One build of one version of torch: what an index has under that name."""

    version: str
    variant: str  # cpu, cu126, rocm7.2, xpu
    architectures: tuple[str, ...] = ()  # that it has machine code for; () where unknown or none needed
    ptx: tuple[str, ...] = ()  # that it has portable code for
    at_most: str = ""  # the newest that its CUDA knows, where the architectures are not told
    state: str = "stable"  # stable, experimental, legacy
    system: str = ""  # what the wheel asks of the system, where it differs from the release's own
    source: str = ""

    @property
    def kind(self) -> str:
        """cuda, rocm, xpu or cpu."""
        return kind_of(self.variant)

    @property
    def cuda(self) -> str:
        """``"12.6"`` for cu126."""
        return f"{self.variant[2:-1]}.{self.variant[-1]}" if self.kind == "cuda" else ""


def kind_of(variant: str) -> str:
    """The kind of device that a variant is for."""
    for prefix, kind in (("cu", "cuda"), ("rocm", "rocm"), ("xpu", "xpu")):
        if variant.startswith(prefix):
            return kind
    return "cpu"


class Table:
    """Questions to the table."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self.made: str = document["made"]
        self._releases: dict[str, dict[str, Any]] = {row["version"]: row for row in document["torch"]}
        self.versions: tuple[str, ...] = tuple(sorted(self._releases, key=numbers, reverse=True))

    @property
    def newest(self) -> str:
        """The newest torch that the table knows."""
        return self.versions[0]

    def source(self, name: str) -> str:
        """The address of a source, or the name itself."""
        row = self.document["sources"].get(name)
        return row["url"] if row else name

    def release(self, version: str) -> Optional[dict[str, Any]]:
        """The row of a version of torch."""
        return self._releases.get(version)

    def python_tags(self, version: str, platform: str) -> tuple[str, ...]:
        """The Pythons that a version has wheels for on a platform; () where there are none."""
        return tuple(self._releases[version]["python"].get(platform, ()))

    def wheel_tag(self, version: str, platform: str) -> str:
        """``manylinux_2_28``, ``macosx_11_0``: what a system must have."""
        return str(self._releases[version]["system"].get(platform, ""))

    def default_variant(self, version: str, platform: str) -> str:
        """The variant that PyPI itself has."""
        return str(self._releases[version]["default"].get(platform, ""))

    def builds(self, version: str, platform: str) -> tuple[Build, ...]:
        """The builds of a version for a platform: the default first, experimental ones last."""
        found = []
        for row in self.document["builds"]:
            if version in row["torch"] and platform in row["platforms"]:
                found.append(
                    Build(
                        version,
                        row["variant"],
                        tuple(row.get("architectures", ())),
                        tuple(row.get("ptx", ())),
                        row.get("at_most", ""),
                        row.get("state", "stable"),
                        row.get("system", ""),
                        self.source(row["source"]),
                    )
                )
        default = self.default_variant(version, platform)
        if default == "cpu":
            # Among the CUDA builds, the one that PyPI has for Linux is the best tried.
            default = self.default_variant(version, "linux-x86_64")
        order = {"stable": 0, "legacy": 1, "experimental": 2}
        return tuple(
            sorted(
                found,
                key=lambda each: (
                    each.variant != default,
                    order[each.state],
                    [-number for number in numbers(each.cuda or each.variant[4:])],
                ),
            )
        )

    def build(self, version: str, variant: str, platform: str) -> Optional[Build]:
        """One build, or None where the table has none."""
        for each in self.builds(version, platform):
            if each.variant == variant:
                return each
        return None

    def driver_for(self, cuda: str, system: str) -> Optional[dict[str, str]]:
        """The row of the oldest driver that runs programs of a CUDA version."""
        for row in self.document["drivers"]:
            if row["system"] == system and numbers(cuda)[:1] == (row["cuda_major"],):
                return dict(row)
        return None

    def cuda_of_driver(self, driver: str, system: str) -> int:
        """The newest major CUDA that a driver runs, 0 for none."""
        rows = [row for row in self.document["drivers"] if row["system"] == system]
        return max((row["cuda_major"] for row in rows if at_least(driver, row["driver"])), default=0)

    def toolkit(self, cuda: str) -> Optional[dict[str, str]]:
        """The GPUs that the compiler of a CUDA version knows, by the newest row that is not later."""
        for row in self.document["toolkits"]:
            if at_least(cuda, row["cuda"]) and numbers(cuda)[0] == numbers(row["cuda"])[0]:
                return dict(row)
        return None

    def generation(self, capability: str) -> Optional[dict[str, Any]]:
        """The generation of NVIDIA GPUs that a compute capability belongs to."""
        for row in self.document["generations"]:
            if capability in row["capabilities"]:
                return dict(row)
        return None

    def capability_of(self, name: str) -> str:
        """The compute capability of a GPU by its name, "" where the table does not name it."""
        words = name.replace("NVIDIA ", "").replace("GeForce ", "").replace("Tesla ", "").strip()
        for row in self.document["gpus"]:
            if words in row["names"]:
                return str(row["capability"])
        return ""

    def companion_problem(self, package: str, version: str, torch: str) -> Optional[dict[str, str]]:
        """The row of a companion that does not fit a torch; None where it fits or nothing is known."""
        for row in self.document["companions"]:
            if row["package"] == package and row["version"] == version:
                return None if _fits(row["torch"], torch) else dict(row)
        return None

    def companion_for(self, package: str, torch: str) -> str:
        """The newest version of a companion that fits a torch, "" where none is known."""
        rows = [row for row in self.document["companions"] if row["package"] == package]
        fitting = [row["version"] for row in rows if _fits(row["torch"], torch)]
        return max(fitting, key=numbers, default="")

    def drops(self) -> tuple[dict[str, Any], ...]:
        """What releases stop supporting, in order."""
        return tuple(self.document["drops"])

    def same_minor(self, text: str) -> tuple[str, ...]:
        """The known versions of a minor release, the newest first."""
        return tuple(each for each in self.versions if minor(each) == minor(text))


def _fits(requirement: str, torch: str) -> bool:
    from ._versions import Range

    if requirement.startswith("==") and not requirement.endswith("*"):
        return numbers(requirement[2:]) == numbers(torch)
    return torch in Range(requirement)


@functools.lru_cache(maxsize=None)
def table() -> Table:
    """The table of this package, also where it lies in a zip file."""
    data = pkgutil.get_data(__package__, "table.json")
    assert data is not None
    return Table(json.loads(data.decode("utf-8")))

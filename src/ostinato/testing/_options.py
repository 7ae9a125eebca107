"""The options of the suite: pytest reads options before it finds a suite inside a package."""

from __future__ import annotations

from typing import Any


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("ostinato", "the conformance suite of ostinato")
    group.addoption("--device", default="cpu", help="the type of the device to check (default: cpu)")
    group.addoption(
        "--numerics", default="exact", choices=("exact", "fast"), help="the numerics of its graphs"
    )

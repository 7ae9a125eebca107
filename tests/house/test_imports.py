"""The tree is the architecture: who may import whom, and what must stay light."""

from __future__ import annotations

import ast
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2] / "src" / "ostinato"
COMMON = {"_atomic", "_errors", "_native", "_lowering", "_version"}
JOINING = {"deployment", "cli", "testing"}
FEATURES = {p.name for p in ROOT.iterdir() if p.is_dir() and not p.name.startswith("_")} - JOINING


def _imported_packages(path):
    """The packages directly below ostinato that the file at ``path`` imports."""
    inside = path.relative_to(ROOT).parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [a.name.split(".") for a in node.names]
            yield from (n[1] for n in names if n[0] == "ostinato" and len(n) > 1)
        elif isinstance(node, ast.ImportFrom):
            if node.level == 0:
                parts = (node.module or "").split(".")
                if parts[0] == "ostinato":
                    yield from parts[1:2] or [a.name for a in node.names]
                continue
            base = list(inside[: len(inside) - node.level])
            target = base + (node.module.split(".") if node.module else [])
            yield from target[:1] or [a.name for a in node.names]


@pytest.mark.parametrize("feature", sorted(FEATURES))
def test_a_feature_imports_no_other_feature(feature):
    for path in (ROOT / feature).rglob("*.py"):
        strangers = set(_imported_packages(path)) - COMMON - {feature}
        # ost.torchscript.convert needs export, so deployment has it; it is looked up there when it is used.
        strangers -= {"deployment"} if path == ROOT / "torchscript" / "__init__.py" else set()
        assert not strangers, f"{path.relative_to(ROOT)} imports {sorted(strangers)}"


def test_torchscript_brings_one_name_from_where_features_are_joined():
    from ostinato import torchscript

    assert {name for name, where in torchscript._LAZY.items() if "deployment" in where} == {"convert"}


def test_what_is_common_imports_no_feature():
    for path in [*ROOT.glob("*.py"), *(p for name in COMMON for p in (ROOT / name).rglob("*.py"))]:
        assert set(_imported_packages(path)) <= COMMON, path


def test_the_errors_the_doctor_and_the_package_itself_are_python_3_9():
    light = [path for name in ("_errors", "doctor") for path in (ROOT / name).rglob("*.py")]
    for path in [ROOT / "__init__.py", ROOT / "_version.py", *light]:
        ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))
        source = path.read_text(encoding="utf-8")
        if " | " in source:
            assert "from __future__ import annotations" in source, path


@pytest.mark.parametrize(
    "code",
    [
        "import ostinato",
        "import ostinato._errors",
        "import ostinato.cli",
        "from ostinato.torchscript import inspect, signature, source",
        "import ostinato; ostinato.doctor.diagnose()",
    ],
)
def test_a_light_import_brings_neither_torch_nor_numpy(code):
    check = f"import sys; {code}; print(sorted({{'torch', 'numpy'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_importing_ostinato_is_quick():
    """Under 30 ms on an idle machine; the best of five, since machines are seldom idle."""
    command = [sys.executable, "-X", "importtime", "-c", "import ostinato"]
    best = min(
        int(line.split("|")[1])
        for _ in range(5)
        for line in subprocess.run(command, capture_output=True, text=True, check=True).stderr.splitlines()
        if line.rstrip().endswith("| ostinato")
    )
    assert best < 30_000  # microseconds


def test_every_message_has_a_hint_and_every_code_is_used():
    from ostinato._errors import _tables

    sources = "\n".join(p.read_text(encoding="utf-8") for p in ROOT.rglob("*.py") if "_errors" not in p.parts)
    for feature, table in _tables._TABLES.items():
        for what, (_, message, hint) in table.items():
            assert message, f"{feature}.{what} has no message"
            assert hint, f"{feature}.{what} has no hint"
            assert f"{feature}.{what}" in sources, f"nothing raises {feature}.{what}"

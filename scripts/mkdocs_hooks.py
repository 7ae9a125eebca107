"""Hooks of mkdocs.yml: the navigation is the folders of docs/, and the documents at the root are pages too.

A page needs no entry anywhere: it is listed because it is there. Links are
written as they work in the repository, and turned here where the site differs.
"""

from __future__ import annotations

import pathlib
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = pathlib.Path(__file__).parents[1]

# Folder -> its title, and the pages that come first; the others follow by name.
SECTIONS = {
    "guides": (
        "Guides",
        (
            "capture",
            "control_flow",
            "training",
            "fast_inference",
            "eigh",
            "torchscript",
            "lint",
            "export",
            "deploy",
        ),
    ),
    "reference": (
        "Reference",
        ("accelerator", "linalg", "torchscript", "export", "cli", "errors", "operators"),
    ),
    "design": ("Design", ("capture", "replay", "native", "eigh", "torchscript", "export")),
    "project": ("Project", ("contributing", "changelog", "security")),
}
DOCUMENTS = ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")


def on_files(files: Files, config: Any) -> Files:
    """Adds the documents of the root, and lists every page for the navigation."""
    for name in DOCUMENTS:
        files.append(File.generated(config, f"project/{name.lower()}", abs_src_path=str(ROOT / name)))
    pages = [pathlib.PurePosixPath(file.src_uri) for file in files.documentation_pages()]
    config.nav = [{"Overview": "index.md"}]
    for folder, (title, first) in SECTIONS.items():
        inside = [page for page in pages if page.parts[0] == folder]
        rank = {name: place for place, name in enumerate(first)}
        inside.sort(key=lambda page: (rank.get(page.stem, len(rank)), page.stem))
        config.nav.append({title: [str(page) for page in inside]})
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turns links between docs/ and the root of the repository."""
    inside = page.file.src_uri.startswith("project/")
    for name in DOCUMENTS:
        at = f"]({name}" if inside else f"](../../{name}"
        to = f"]({name.lower()}" if inside else f"](../project/{name.lower()}"
        markdown = markdown.replace(at, to)
    return markdown.replace("](docs/", "](../") if inside else markdown

"""A diagnosis as a page of a terminal, with rich."""

from __future__ import annotations

from typing import Any

from ._diagnosis import BROKEN, WORKS, Diagnosis
from ._rules import NOTE
from ._text import HEADS, install_heading, machine_rows

_STYLES = {WORKS: "green", BROKEN: "red"}
_LEVELS = {"problem": "bold red", "unknown": "bold yellow", "warning": "yellow"}
_WIDTH = 100


def show(diagnosis: Diagnosis) -> None:
    """Print the page. ImportError where rich is missing."""
    from rich.console import Console
    from rich.panel import Panel
    from rich.text import Text

    console = Console(highlight=False, emoji=False)
    console.width = min(console.width, _WIDTH)
    style = _STYLES.get(diagnosis.status, "yellow")
    head = Text(diagnosis.summary, style="bold")
    console.print(
        Panel(head, title=HEADS.get(diagnosis.status, "UNKNOWN"), title_align="left", border_style=style)
    )
    console.print(_rows(machine_rows(diagnosis.machine, diagnosis.ostinato)))
    for each in diagnosis.findings:
        if each.level != NOTE:
            console.print()
            console.print(Text.assemble((each.level, _LEVELS[each.level]), "  ", each.message))
            lines = [("because", each.why), ("see", each.source), *(("do", fix) for fix in each.fix)]
            console.print(_rows([line for line in lines if line[1]]))
    _show_install(console, diagnosis)
    notes = [("•", each.message) for each in diagnosis.findings if each.level == NOTE]
    if notes:
        console.print()
        console.print(_rows(notes))
    console.print(Text(f"Facts as of {diagnosis.table_made}.", style="dim"))


def _rows(rows: list[tuple[str, str]]) -> Any:
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row("  " + name, Text(value))
    return grid


def _show_install(console: Any, diagnosis: Diagnosis) -> None:
    from rich.panel import Panel

    install = diagnosis.install
    if install is None:
        return
    console.print()
    title = f"{install_heading(diagnosis)} torch {install.version}, {install.variant}"
    rows = [*install.commands.items(), ("see", install.source)]
    border = "cyan" if install.wanted else "dim"
    console.print(Panel(_rows(rows), title=title, title_align="left", border_style=border))

"""What every command shares: the options --lake and --release, text and tables on the terminal, errors in one line."""

from __future__ import annotations

import csv
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import chain
from typing import IO, TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.box import Box
    from rich.console import JustifyMethod
    from rich.table import Table


_ENDLESS = 100_000

LakeOption = Annotated[
    str | None,
    typer.Option(
        "--lake",
        metavar="LAKE",
        help="A folder, a lake.toml, or two URLs. Default: $LOSSLAKE_LAKE, else ./lake.",
        show_default=False,
    ),
]
ReleaseOption = Annotated[
    int | None,
    typer.Option("--release", metavar="N", help="Number of the release. Default: the newest.", show_default=False),
]
EngineOption = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="URL",
        help="A Spark cluster: spark://host:port, local[*]. Default: this machine, without.",
        show_default=False,
    ),
]


def shown(text: object) -> str:
    """Text as a terminal may show it: what a log contains can't send control sequences."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in str(text))


def complain(message: str) -> None:
    """One line on standard error, red on a terminal unless NO_COLOR is set."""
    line = f"losslake: {shown(message)}"
    is_red = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    print(f"\x1b[31m{line}\x1b[0m" if is_red else line, file=sys.stderr)  # noqa: T201


def say(message: str) -> None:
    """One line on standard output."""
    print(shown(message))  # noqa: T201


def counted(count: int, noun: str) -> str:
    """A count and its noun: `1 trial`, `2,000 trials`, `3 studies`."""
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun.removesuffix('y')}ies" if noun.endswith("y") else f"{count:,} {noun}s"


def write_csv(file: IO[str], columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Rows as CSV, exactly as they are; only on a terminal, control sequences in them are made visible."""
    writer = csv.writer(file, lineterminator="\n")
    is_seen = file.isatty()
    for row in chain([columns], rows):
        writer.writerow([shown(cell) if is_seen and isinstance(cell, str) else cell for cell in row])


def show_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Rows under headings; numbers to the right, nothing for None.

    A table that is too wide for the terminal gets its headings broken at underscores; if that isn't enough, each row is
    shown as lines of name and value. So every column is always there, whole.
    """
    from rich import box
    from rich.console import Console

    kept = [list(row) for row in rows]
    out = Console(markup=False, highlight=False, emoji=False)
    space = out.width if out.is_terminal else _ENDLESS
    out.width = _ENDLESS
    headings = [shown(name) for name in columns]
    broken = [name.replace("_", "_\n") for name in headings]
    for layout in (_table(headings, kept, box.SIMPLE_HEAD), _table(broken, kept, None)):
        if out.measure(layout).maximum <= space:
            out.print(layout, soft_wrap=True)
            return
    widest = max(map(len, headings))
    for number, row in enumerate(kept, start=1):
        say(f"row {number:,}")
        for name, value in zip(headings, row, strict=True):
            say(f"  {name:{widest}}  {cell_text(value)}".rstrip())


def terminal_width() -> int | None:
    """Characters in a line of the terminal; None where standard output is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def is_number_column(values: Iterable[object]) -> bool:
    """Whether all that is there is numbers."""
    there = [value for value in values if value is not None]
    return bool(there) and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in there)


def _table(headings: Sequence[str], rows: Sequence[Sequence[object]], lines: Box | None) -> Table:
    from rich.table import Table

    table = Table(box=lines, pad_edge=False, show_edge=False, collapse_padding=lines is None)
    for at, heading in enumerate(headings):
        justify: JustifyMethod = "right" if is_number_column([row[at] for row in rows]) else "left"
        table.add_column(heading, justify=justify, no_wrap=True)
    for row in rows:
        table.add_row(*(cell_text(value) for value in row))
    return table


def cell_text(value: object) -> str:
    """A cell as tables show it: nothing for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.6g}" if isinstance(value, float) else shown(value)


class TextFormat(StrEnum):
    table = "table"
    csv = "csv"
    json = "json"


class Format(StrEnum):
    table = "table"
    csv = "csv"
    json = "json"
    parquet = "parquet"


def in_one_line(error: Exception) -> str:
    """The line for an error that no command foresaw."""
    origin = type(error).__module__.partition(".")[0]
    if isinstance(error, OSError) and error.errno is not None:
        where = f"{os.fspath(error.filename)!s}: " if isinstance(error.filename, (str, os.PathLike)) else ""
        return f"{where}{error.strerror}"
    if origin == "sqlalchemy":
        reason = first_line(getattr(error, "orig", None) or error)
        is_file = type(getattr(error, "orig", None)).__module__ == "sqlite3"
        remedy = "restore catalog.db, or make space on its disk" if is_file else "start it, and run the same again"
        return f"the lake's database can't be used ({reason}): {remedy}"
    if origin in ("duckdb", "_duckdb"):
        return f"the release can't be opened ({first_line(error)}): delete the lake's folder serving, it is made again"
    kind = type(error).__name__
    return f"internal error: {kind}: {first_line(error)}; set LOSSLAKE_DEBUG=1 to see where, and report it"


def first_line(error: object) -> str:
    """The first line of an error's text that says something."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "no reason given")

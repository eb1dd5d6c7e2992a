"""Shared parts of the commands: common options, text and tables on the terminal, errors of one line."""

from __future__ import annotations

import csv
import getpass
import os
import sys
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import IO, TYPE_CHECKING, Annotated, Literal, get_args

import typer

from losslake.extras import how_to_install, missing_extra
from losslake_cli.completion import complete_release
from losslake_schema.errors import LakeNotFound, LossLakeError

if TYPE_CHECKING:
    from losslake.lake.lake import Lake
    from losslake.library.lake import Lake as Library
    from losslake.questions.release.view import ReleaseView

Format = Literal["table", "csv", "json", "parquet"]
FORMATS: tuple[str, ...] = get_args(Format)
TextFormat = Literal["table", "csv", "json"]
MOST_LISTED = 20
LakeOption = Annotated[
    str | None,
    typer.Option(
        "--lake", metavar="LAKE", help="A folder, a lake.toml file, or two URLs. Default: $LOSSLAKE_LAKE, or ./lake."
    ),
]
ReleaseOption = Annotated[
    int | None,
    typer.Option(
        "--release", metavar="N", help="Release number. Default: the newest.", autocompletion=complete_release
    ),
]
ServiceOption = Annotated[
    str | None, typer.Option("--url", metavar="URL", help="URL of a LossLake service to query instead of a lake.")
]
NamesArgument = Annotated[
    list[str], typer.Argument(metavar="NAME...", help="Collections, studies or trials, by their full names.")
]
WideOption = Annotated[bool, typer.Option("--wide", help="Print every column, however wide the table gets.")]
EngineOption = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="URL",
        help="A Spark cluster, such as spark://host:port or local[*]. Default: run locally, without Spark.",
    ),
]


def open_lake(lake: str | None) -> Lake:
    """Open the lake that the option --lake names; imported here, since that takes time."""
    from losslake.lake.lake import Lake

    return Lake.open(lake)


def find_lake(lake: str | None) -> Lake | None:
    """Open the lake that the option --lake names; None if there is none."""
    try:
        return open_lake(lake)
    except LakeNotFound:
        return None


def open_release(lake: str | None, release: int | None) -> ReleaseView:
    """Open the release that the options --lake and --release name."""
    from losslake.questions.release.view import ReleaseView

    opened = open_lake(lake)
    return ReleaseView.open(opened, opened.release(release))


def library_of(lake: str | None, url: str | None, release: int | None) -> Library:
    """Open what the options --lake and --url name, as an object that answers questions."""
    import losslake

    check_one_source(lake, url)
    if url is not None and not url.startswith(("http://", "https://")):
        raise LossLakeError(f"--url {url} is no URL of a service: give http://… or https://…")
    return losslake.open(url if url is not None else lake, release)


def check_one_source(lake: str | None, url: str | None) -> None:
    """Raise LossLakeError if both --lake and --url are given."""
    if url is not None and lake is not None:
        raise LossLakeError("give either --lake or --url, not both")


def printable(text: object) -> str:
    """Return text with unprintable characters escaped, so that logs can't send control sequences to the terminal."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in str(text))


def print_failure(failure: LossLakeError) -> None:
    """Print the message of an error, then its notes as they are: the line of SQL and the caret below it."""
    print_error(str(failure))
    for note in getattr(failure, "__notes__", ()):
        print(printable(note.replace("\t", " ")), file=sys.stderr)  # noqa: T201


def print_error(message: str) -> None:
    """Print one line to standard error, in red on a terminal unless NO_COLOR is set."""
    line = f"losslake: {printable(message)}"
    is_red = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    print(f"\x1b[31m{line}\x1b[0m" if is_red else line, file=sys.stderr)  # noqa: T201


def user_name(remedy: str) -> str:
    """Return the name of the user of this process; raise LossLakeError, with the remedy, if it has none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise LossLakeError(f"the user of this process has no name: {remedy}") from None


def echo(message: str) -> None:
    """Print one line to standard output."""
    print(printable(message))  # noqa: T201


def echo_all(lines: Iterable[str]) -> None:
    """Print lines to standard output."""
    for line in lines:
        echo(line)


def echo_some(lines: Sequence[str], more: str = "more", most: int = MOST_LISTED) -> None:
    """Print the first lines, and how many are left out."""
    echo_all(lines[:most])
    if len(lines) > most:
        echo(f"  … and {len(lines) - most:,} {more}")


def write_csv(file: IO[str], columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write rows as CSV; on a terminal, with control sequences escaped."""
    writer = csv.writer(file, lineterminator="\n")
    is_terminal = file.isatty()
    for row in chain([columns], rows):
        writer.writerow([printable(cell) if is_terminal and isinstance(cell, str) else cell for cell in row])


def describe_error(error: Exception) -> str:
    """Return the message for an exception that no command handles."""
    origin = type(error).__module__.partition(".")[0]
    if isinstance(error, ModuleNotFoundError) and not f"{error.name}".startswith("losslake"):
        return how_to_install(" ".join(["losslake", *sys.argv[1:2]]), missing_extra(error))
    if isinstance(error, OSError) and error.errno is not None:
        where = f"{os.fspath(error.filename)!s}: " if isinstance(error.filename, (str, os.PathLike)) else ""
        return f"{where}{error.strerror}"
    if origin == "sqlalchemy":
        reason = first_line(getattr(error, "orig", None) or error)
        is_file = type(getattr(error, "orig", None)).__module__ == "sqlite3"
        remedy = (
            "restore catalog.db, or free space on its disk" if is_file else "start it and run the same command again"
        )
        return f"the lake's database can't be used ({reason}): {remedy}"
    if origin in ("duckdb", "_duckdb"):
        return (
            f"the release can't be opened ({first_line(error)}): delete the lake's folder `serving`, which is rebuilt"
        )
    kind = type(error).__name__
    return f"internal error: {kind}: {first_line(error)}; set LOSSLAKE_DEBUG=1 for a traceback, and report it"


def first_line(error: object) -> str:
    """Return the first non-empty line of an error's text."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "no reason given")

"""What went wrong, in one line that says what to do."""

from __future__ import annotations

import os


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

"""Lookup tables: a CSV beside the mapping, whose rows give further fields to the runs with the same key fields."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationInfo

from losslake_ingest.contracts.rules import shown

LARGEST_LOOKUP = 1 << 24

ReadBeside = Callable[[str], bytes | None]


@dataclass(frozen=True)
class LookupKeys:
    """A CSV beside the mapping, and its key columns, named like the fields that they are matched with."""

    file: Annotated[str, Field(strict=True)]
    keys: Annotated[list[str], Field(min_length=1)]


@dataclass(frozen=True)
class LookupTable(LookupKeys):
    """A lookup file that has been read, with its rows by key."""

    rows: Mapping[tuple[str, ...], Mapping[str, str]]


def files_beside(mapping: Path) -> ReadBeside:
    """Return a reader of files beside a mapping; it returns None for a link, and for what is no file or too large."""

    def read(name: str) -> bytes | None:
        file = mapping.parent / name
        is_readable = file.is_file() and not file.is_symlink() and file.stat().st_size <= LARGEST_LOOKUP
        return file.read_bytes() if is_readable else None

    return read


def read_lookup(keys: LookupKeys, info: ValidationInfo) -> LookupTable:
    """Read a lookup table through the `ReadBeside` in the validation context. Raises ValueError."""
    if "/" in keys.file or "\\" in keys.file or keys.file.startswith("."):
        raise ValueError(f"[[lookup]] {keys.file!r}: name a file beside the mapping, without folders")
    data = info.context(keys.file) if info.context is not None else None
    if data is None:
        raise ValueError(
            f"[[lookup]] no readable file {keys.file} of at most 16 MiB is beside the mapping (links aren't followed)"
        )
    try:
        return LookupTable(keys.file, keys.keys, _by_key(data, keys.keys))
    except ValueError as error:
        raise ValueError(f"[[lookup]] {keys.file}{error}") from None


def _by_key(data: bytes, keys: list[str]) -> dict[tuple[str, ...], Mapping[str, str]]:
    """Return the other cells of each row by its keys. Raises ValueError, with what follows the file's name."""
    lines = _lines(data)
    _, header = next(lines, (1, []))
    absent = [key for key in keys if key not in header]
    if absent:
        raise ValueError(f" has no column {absent[0]!r}")
    name, count = Counter(header).most_common(1)[0]
    if count > 1:
        raise ValueError(f" has {count} columns {shown(name)}")
    rows: dict[tuple[str, ...], Mapping[str, str]] = {}
    for line, row in lines:
        if len(row) != len(header):
            raise ValueError(f", line {line}: {len(row)} cells where the header has {len(header)}")
        cells = dict(zip(header, row, strict=True))
        key = tuple(cells[name] for name in keys)
        if key in rows:
            raise ValueError(f" has two rows for {', '.join(map(shown, key))}")
        rows[key] = {name: text for name, text in cells.items() if name not in keys and text}
    return rows


def _lines(data: bytes) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines on which rows end, and their cells; rows without text are skipped. Raises ValueError."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f", line {line}: not UTF-8") from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if any(cells):
                yield reader.line_num, cells
    except csv.Error as error:
        raise ValueError(f", line {reader.line_num}: no valid CSV ({error})") from None

"""Reading files with one format, as a test wants it."""

from __future__ import annotations

from pathlib import Path

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.run_log import LoggedRows, RunLog
from losslake_ingest.formats.format import Format
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.sources.open import open_source
from tests.ingest.offers import Files, unpacked


def read(log_format: Format, folder: Path, files: Files, mapping: LogMapping | None = None) -> list[object]:
    """Everything that a format makes of some files."""
    return list(log_format.read(open_source(unpacked(folder, files)), mapping or LogMapping()))


def runs(log_format: Format, folder: Path, files: Files, mapping: LogMapping | None = None) -> list[RunLog]:
    """The runs that a format reads from some files, of which nothing is quarantined."""
    found = read(log_format, folder, files, mapping)
    assert not [item for item in found if isinstance(item, Quarantined)]
    return [item for item in found if isinstance(item, RunLog)]


def cells(rows: LoggedRows, column: str) -> list[float | None]:
    """A column as plain values; None where nothing was logged."""
    missing = rows.missing.get(column)
    return [
        None if missing is not None and missing[at] else value for at, value in enumerate(rows.columns[column].tolist())
    ]

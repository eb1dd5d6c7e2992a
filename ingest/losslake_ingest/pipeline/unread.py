"""The reason for which no format recognizes a file that may be a log, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from losslake_ingest.contracts.rules import Refusal
from losslake_ingest.formats.csv_and_jsonl import TABLE_ENDINGS
from losslake_ingest.formats.format import GLIMPSE, Format, Glimpse
from losslake_ingest.readers.plain_text import check_nuls
from losslake_ingest.readers.tables.csv_layout import find_layout, with_newlines
from losslake_ingest.readers.text_logs.proposal import is_text, proposed

PICKLE = (
    "{path} is a pickle or a file of arrays, which LossLake never opens, because opening a pickle can run code: if you "
    "trust it, load it in Python and write its values as CSV, as in pandas.DataFrame({{'step': steps, 'val/loss': "
    "losses}}).to_csv('run.csv', index=False), then ingest that"
)
PICKLE_ENDINGS = ("pkl", "pickle", "pt", "pth", "ckpt", "joblib", "npy", "npz")
_TEXT_ENDINGS = (*TABLE_ENDINGS, ".jsonl", ".ndjson", ".json", ".log", ".txt", ".out", ".err")
_MARKDOWN = (".md", ".markdown")


@dataclass(frozen=True)
class Unread:
    """A file that may be a log, and why no format recognizes it."""

    path: str
    why: str
    is_pickle: bool = False


def first_unread(one: Unread | None, file: Glimpse, formats: Sequence[Format]) -> Unread | None:
    """Return the unread file to name of one and another file: the first, unless only the other is no pickle."""
    if one is not None and not one.is_pickle:
        return one
    if file.name.lower().rpartition(".")[2] in PICKLE_ENDINGS:
        return one or Unread(file.path, PICKLE.format(path=file.path), is_pickle=True)
    why = _why_unread(file, formats)
    return Unread(file.path, why) if why else one


def _why_unread(file: Glimpse, formats: Sequence[Format]) -> str | None:
    """Return why no format recognizes a file, None if it seems to be no log."""
    ending = file.name.lower().rpartition(".")[2]
    if file.start.startswith(b"\0"):
        return _why_nuls(file, formats)
    if file.name.lower().endswith(TABLE_ENDINGS):
        return _why_no_table(file)
    if file.name.lower().endswith(_MARKDOWN) and is_text(file.start) and proposed(file.start).lines:
        log = f"{file.path.rpartition('.')[0]}.log"
        return f"{file.path} holds lines of a log in text, and the format text reads no .{ending}: rename it to {log}"
    return None


def _why_nuls(file: Glimpse, formats: Sequence[Format]) -> str | None:
    """Return that a file begins with NUL bytes, if it is a log without them, or may be one by its name."""
    rest = Glimpse(file.path, file.start.lstrip(b"\0"))
    is_log = any(one.detect(rest) > 0 for one in formats) if rest.start else False
    if not is_log and not (file.name.lower().endswith(_TEXT_ENDINGS) and is_text(rest.start)):
        return None
    try:
        check_nuls(file.start)
    except Refusal as refusal:
        return f"{file.path}: {refusal.message}"
    return None


def _why_no_table(file: Glimpse) -> str | None:
    """Return why a file with the ending of a table isn't read as one."""
    start = with_newlines(file.start)
    if len(file.start) >= GLIMPSE and b"\n" not in start:
        return None
    try:
        layout = find_layout(start)
    except Refusal as refusal:
        return f"{file.path}, line {refusal.line}: {refusal.message}"
    if len(layout.names) < 2:
        how = "separate columns by commas, semicolons or tabs, or state what does in a first line such as sep=|"
        return f"{file.path}, line {layout.line_number}: the header has one column: {how}"
    why = "the row below the header holds no number, so it isn't read as a log: correct it, or give --format csv"
    return f"{file.path}, line {layout.line_number}: {why}"

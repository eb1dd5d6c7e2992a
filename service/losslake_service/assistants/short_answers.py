"""Answers that an assistant can read: the main columns, the first rows, and what was not shown.

Texts in them may be a stranger's, written to deceive an assistant: each is of bounded length and shows all characters.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

import orjson
import pyarrow as pa

from losslake.output.answer import Answer
from losslake.output.formats import FORMATS
from losslake_service.assistants.tools import MOST_CHARACTERS, MOST_ROWS

_MOST_ITEMS = 20
_LONGEST_TEXT = 2_000
_LONGEST_NAME = 100
Document = dict[str, Any]


def answer_document(answer: Answer, columns: Sequence[str]) -> Document:
    """Return an answer as JSON has it, with its first rows and some of its columns, none for all."""
    shown = [name for name in answer.schema.names if name in (columns or answer.schema.names)]
    hidden = [name for name in answer.schema.names if name not in shown]
    batches = list(_first_rows(answer))
    schema = pa.schema([answer.schema.field(name) for name in shown], answer.schema.metadata)
    part = replace(answer, schema=schema, parts=(batch.select(shown) for batch in batches))
    document: Document = orjson.loads(b"".join(FORMATS["json"].encode(part)))
    rows = document.pop(answer.rows_name)
    notes = [f"columns: {', '.join(hidden)}"] if hidden else []
    if len(rows) > MOST_ROWS:
        notes.append(f"rows after the first {MOST_ROWS}")
    rows = rows[:MOST_ROWS]
    if shared := _shared(rows):
        document["in_each_row_shown"] = shared
        rows = [{name: value for name, value in row.items() if name not in shared} for row in rows]
    return shortened(document, rows, notes)


def _shared(rows: Sequence[Document]) -> Document:
    """Return the columns that have one value in all of several rows, with it."""
    first = rows[0] if len(rows) > 1 else {}
    return {name: value for name, value in first.items() if all(row[name] == value for row in rows)}


def shortened(facts: Document, rows: list[Document], notes: Sequence[str]) -> Document:
    """Return a document of bounded size. notes: on what isn't shown already."""
    notes = [*notes]
    facts = {name: _bounded(value, name, notes) for name, value in facts.items()}
    rows = [{_name(name): _bounded(value, name, notes) for name, value in row.items()} for row in rows]
    document = {"warnings": [], "left_out": [], **facts, "rows": [], "not_shown": []}
    lengths = accumulate((len(orjson.dumps(row)) + 1 for row in rows), initial=len(orjson.dumps(document)))
    n_shown = sum(length <= MOST_CHARACTERS for length in lengths) - 1
    document["rows"] = rows[: max(0, n_shown)]
    n_cut = len(rows) - len(document["rows"])
    if n_cut:
        notes.append(f"{n_cut} of these {len(rows)} rows, for their length")
    return {**document, "not_shown": list(dict.fromkeys(notes))}


def _first_rows(answer: Answer) -> Iterator[pa.RecordBatch]:
    """Yield one row more than are shown."""
    remaining = MOST_ROWS + 1
    for batch in answer.batches:
        yield batch.slice(0, remaining)
        remaining -= batch.num_rows
        if remaining <= 0:
            return


def _bounded(value: Any, name: str, notes: list[str]) -> Any:
    if isinstance(value, str):
        if len(value) > _LONGEST_TEXT:
            notes.append(f"characters of {_name(name)} after the first {_LONGEST_TEXT:,}")
        return visible(_cut(value, _LONGEST_TEXT))
    if isinstance(value, list):
        if len(value) > _MOST_ITEMS:
            notes.append(f"items of {_name(name)} after the first {_MOST_ITEMS}")
        return [_bounded(each, name, notes) for each in value[:_MOST_ITEMS]]
    if isinstance(value, dict):
        return {_name(key): _bounded(each, name, notes) for key, each in value.items()}
    return value


def visible(text: str) -> str:
    """Return a text with escapes, such as \\u200b, for what can't be seen or moves other text, except line ends."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or _is_blank(each) else _escape(each) for each in text)


def _is_blank(character: str) -> bool:
    return character in "\n\t" or unicodedata.category(character) == "Zs"


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()


def _name(text: str) -> str:
    return visible(_cut(text, _LONGEST_NAME))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"

"""The first rows of an SQL result as a table of texts: numbers apart from what is none, names with links to pages."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import orjson
import pyarrow as pa

from losslake.output.answer import Answer
from losslake.output.plain import plain_answer
from losslake.output.texts import json_column
from losslake_schema.errors import BadName
from losslake_schema.names import Study, Trial, Workload
from losslake_service.sandbox.spool import SqlResult

MOST_CHARACTERS = 500
"""Of a cell; the rest of a longer text is left out here, and said to be."""
_NAMES = ("collection", "dataset", "model", "optimizer")
_PATHS: tuple[tuple[str, Callable[[str], Workload | Study | Trial]], ...] = (
    ("workload", Workload.parse),
    ("study", Study.parse),
    ("trial", Trial.parse),
)
Link = Callable[[Workload | Study | Trial], str]


@dataclass(frozen=True)
class Cell:
    """A value as text. kind: `odd` for NaN and infinities, `none` for null. url: of the page about it."""

    text: str
    kind: Literal["text", "number", "odd", "none"]
    url: str = ""


@dataclass(frozen=True)
class ResultTable:
    """A result. types: of the columns, as Arrow names them. n_rows: of the whole result, which may be more."""

    names: Sequence[str]
    types: Sequence[str]
    is_number: Sequence[bool]
    rows: Sequence[Sequence[Cell]]
    n_rows: int
    truncated: str | None


def result_table(result: SqlResult, most_rows: int, link: Link) -> ResultTable:
    """Return the first rows of a result, which is closed. link: gives the address of a page."""
    with result:
        answer = plain_answer(Answer({}, result.schema, result.batches))
        batches: list[pa.RecordBatch] = []
        for batch in answer.batches:
            batches.append(batch.slice(0, most_rows - sum(each.num_rows for each in batches)))
            if sum(each.num_rows for each in batches) == most_rows:
                break
    table = pa.Table.from_batches(batches, answer.schema)
    columns = [_cells(table.column(at).combine_chunks(), field) for at, field in enumerate(table.schema)]
    names = [field.name for field in table.schema]
    rows = [_linked(dict(zip(names, row, strict=True)), link) for row in zip(*columns, strict=True)]
    types = [str(field.type) for field in table.schema]
    are_numbers = [_is_number(field.type) for field in table.schema]
    return ResultTable(names, types, are_numbers, rows, result.rows, result.truncated)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _cells(array: pa.Array, field: pa.Field) -> list[Cell]:
    """Return each value of a column; what nests is JSON."""
    is_number = _is_number(field.type)
    cells = []
    for is_there, text in zip(array.is_valid().to_pylist(), json_column(array, field).to_list(), strict=True):
        if not is_there:
            cells.append(Cell("null", "none"))
        elif is_number:
            cells.append(Cell(text.strip('"'), "odd" if text.startswith('"') else "number"))
        else:
            cells.append(Cell(_shown(orjson.loads(text) if text.startswith('"') else text), "text"))
    return cells


def _shown(text: str) -> str:
    rest = len(text) - MOST_CHARACTERS
    return text if rest <= 0 else f"{text[:MOST_CHARACTERS]}… ({rest:,} more characters)"


def _linked(row: Mapping[str, Cell], link: Link) -> list[Cell]:
    """Return the cells of a row; those that name a workload, study or trial, alone or with others, lead to its page."""
    given = {name: cell.text for name, cell in row.items() if cell.kind in ("text", "number")}
    urls = {name: _url(parse, given[name], link) for name, parse in _PATHS if name in given}
    if all(given.get(name) for name in _NAMES):
        path = "/".join(given[name] for name in _NAMES)
        urls["optimizer"] = _url(Workload.parse, path, link)
        if "batch_size" in given:
            path = f"{path}/{given['batch_size']}"
            urls["batch_size"] = _url(Study.parse, path, link)
            if "trial_id" in given:
                urls["trial_id"] = _url(Trial.parse, f"{path}/{given['trial_id']}", link)
    return [dataclasses.replace(cell, url=urls[name]) if urls.get(name) else cell for name, cell in row.items()]


def _url(parse: Callable[[str], Workload | Study | Trial], path: str, link: Link) -> str:
    """Return the address of the page about what a path names; empty where it names nothing of the kind."""
    try:
        return link(parse(path))
    except BadName:
        return ""

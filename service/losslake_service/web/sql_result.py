"""The first rows of an SQL result as a table of texts, with kinds of values and links to pages."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from losslake_schema.errors import BadName
from losslake_schema.names import Study, Trial, Workload
from losslake_service.sandbox.errors import unavailable
from losslake_service.sandbox.results import SqlResult

_NAMES = ("collection", "dataset", "model", "optimizer")
Parse = Callable[[str], Workload | Study | Trial]
_PARSERS: Mapping[str, Parse] = {"workload": Workload.parse, "study": Study.parse, "trial": Trial.parse}
Link = Callable[[Workload | Study | Trial], str]


@dataclass(frozen=True)
class Cell:
    """A value as text. kind: `odd` for NaN and infinities, `none` for null. url: of the page about it."""

    text: str
    kind: Literal["text", "number", "odd", "none"]
    url: str = ""


@dataclass(frozen=True)
class ResultTable:
    """A result. types: of the columns, as Arrow names them. truncated: the limit that cut it, `rows` or `bytes`."""

    names: Sequence[str]
    types: Sequence[str]
    is_number: Sequence[bool]
    rows: Sequence[Sequence[Cell]]
    truncated: str | None


def result_table(result: SqlResult, link: Link) -> ResultTable:
    """Return a result in the format `cells`, which is closed. link: gives the address of a page.

    Raises SqlProblem for one that a worker damaged.
    """
    try:
        with result:
            return _table(orjson.loads(result.path.read_bytes()), result.truncated, link)
    except (ValueError, KeyError, TypeError, AttributeError, OSError):
        raise unavailable() from None


def _table(document: dict[str, Any], truncated: str | None, link: Link) -> ResultTable:
    columns = document["columns"]
    names, are_numbers = [column["name"] for column in columns], [column["is_number"] for column in columns]
    rows = []
    for texts in document["rows"]:
        cells = map(_cell, texts, are_numbers)
        rows.append(_linked(dict(zip(names, cells, strict=True)), link))
    return ResultTable(names, [column["type"] for column in columns], are_numbers, rows, truncated)


def _cell(text: str | None, is_number: bool) -> Cell:
    if text is None:
        return Cell("null", "none")
    if not is_number:
        return Cell(text, "text")
    return Cell(text.strip('"'), "odd" if text.startswith('"') else "number")


def _linked(row: Mapping[str, Cell], link: Link) -> list[Cell]:
    """Return the cells of a row, with links to the workloads, studies and trials that they name."""
    texts = {name: cell.text for name, cell in row.items() if cell.kind in ("text", "number")}
    urls = {name: _url(parse, texts[name], link) for name, parse in _PARSERS.items() if name in texts}
    if all(texts.get(name) for name in _NAMES):
        path = "/".join(texts[name] for name in _NAMES)
        urls["optimizer"] = _url(Workload.parse, path, link)
        if "batch_size" in texts:
            path = f"{path}/{texts['batch_size']}"
            urls["batch_size"] = _url(Study.parse, path, link)
            if "trial_id" in texts:
                urls["trial_id"] = _url(Trial.parse, f"{path}/{texts['trial_id']}", link)
    return [dataclasses.replace(cell, url=urls[name]) if urls.get(name) else cell for name, cell in row.items()]


def _url(parse: Parse, path: str, link: Link) -> str:
    """Return the address of the page for a name; empty if the name is not valid."""
    try:
        return link(parse(path))
    except BadName:
        return ""

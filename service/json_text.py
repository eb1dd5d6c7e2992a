"""Answers as JSON text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from itertools import chain, islice
from typing import Any

import orjson
import pyarrow as pa

from service.answers.curves import CURVE_COLUMNS
from service.answers.lists import json_number

ROWS_AT_A_TIME = 20_000


def json_text(answer: Any) -> bytes:
    """An answer's dataclass as JSON; JSON's integers have no limit, orjson's end at 64 bits."""
    try:
        return orjson.dumps(answer)
    except orjson.JSONEncodeError:
        return json.dumps(asdict(answer), default=str).encode()


def curve_text(release: int, study: str, parts: Iterator[pa.Table]) -> Iterator[bytes]:
    """The answer `Curves` as JSON, piece by piece; the first part is asked for at once, so that its errors are told."""
    return _curve_text(release, study, chain(list(islice(parts, 1)), parts))


def _curve_text(release: int, study: str, parts: Iterator[pa.Table]) -> Iterator[bytes]:
    yield b'{"release":%d,"study":%b,"rows":[' % (release, orjson.dumps(study))
    comma = b""
    for piece in chain.from_iterable(_pieces(part) for part in parts):
        yield comma + piece
        comma = b","
    yield b"]}"


def _pieces(part: pa.Table) -> Iterator[bytes]:
    """Rows as JSON objects separated by commas, so many at a time."""
    for start in range(0, part.num_rows, ROWS_AT_A_TIME):
        slices = part.slice(start, ROWS_AT_A_TIME)
        columns = [slices[name].to_pylist() for name in CURVE_COLUMNS]
        rows = [dict(zip(CURVE_COLUMNS, row, strict=True)) for row in zip(*columns, strict=True)]
        for row in rows:
            row["value"] = json_number(row["value"])
            if row["elapsed_s"] is not None:
                row["elapsed_s"] = json_number(row["elapsed_s"])
        yield orjson.dumps(rows)[1:-1]

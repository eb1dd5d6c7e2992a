"""A column of every Arrow type that an answer may have, and what JSON says of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

NAN, INF = math.nan, math.inf
EXTREMES = [0.1, -0.0, 5e-324, 1e308, 1e16, 123456789012345680.0, 1e-7, 2.0**53, 0.30000000000000004]


@dataclass(frozen=True, eq=False)
class Typed:
    """values: as Python has them; plain: as JSON has them, where that is not the same."""

    kind: pa.DataType
    values: list[Any]
    plain: list[Any] = field(default_factory=list)

    @property
    def array(self) -> pa.Array:
        if isinstance(self.kind, pa.BaseExtensionType):
            return pa.ExtensionArray.from_storage(self.kind, pa.array(self.values, self.kind.storage_type))
        return pa.array(self.values, self.kind)

    @property
    def in_json(self) -> list[Any]:
        return self.plain or self.values


def _moment(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc, arg-type]


TYPES = {
    "int8": Typed(pa.int8(), [-128, None, 127]),
    "uint64": Typed(pa.uint64(), [2**64 - 1, None, 0]),
    "int64": Typed(pa.int64(), [-(2**63), None, 2**63 - 1]),
    "float16": Typed(pa.float16(), [1.5, None, NAN], [1.5, None, "NaN"]),
    "float32": Typed(pa.float32(), [0.1, None, INF], [0.10000000149011612, None, "Infinity"]),
    "float64": Typed(
        pa.float64(), [NAN, INF, -INF, None, *EXTREMES], ["NaN", "Infinity", "-Infinity", None, *EXTREMES]
    ),
    "string": Typed(
        pa.string(), ['a"b', "a\nb\r\n,;", "", None, "\x00\x01\x1f\x7f", "é\u2028😀", "null", " x ", '"q"']
    ),
    "large string": Typed(pa.large_string(), ["a", None, ""]),
    "string view": Typed(pa.string_view(), ['"a"', None, ""]),
    "boolean": Typed(pa.bool_(), [True, None, False]),
    "decimal": Typed(
        pa.decimal128(38, 10), [Decimal("1.5"), None, Decimal("-1234567890123456789012345678.0123456789")]
    ),
    "long decimal": Typed(pa.decimal256(50, 3), [Decimal("1.5"), None], ["1.500", None]),
    "timestamp": Typed(
        pa.timestamp("us"),
        [datetime(2026, 1, 2), None, datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 5)],  # noqa: DTZ001
        ["2026-01-02T00:00:00.000000", None, "0001-01-01T00:00:00.000000", "9999-12-31T23:59:59.000005"],
    ),
    "timestamp in nanoseconds": Typed(pa.timestamp("ns"), [1, None], ["1970-01-01T00:00:00.000000001", None]),
    "timestamp with zone": Typed(
        pa.timestamp("us", "UTC"), [_moment(2026, 1, 2), None], ["2026-01-02T00:00:00.000000Z", None]
    ),
    "timestamp in Berlin": Typed(
        pa.timestamp("ms", "Europe/Berlin"), [_moment(2026, 7, 2, 12), None], ["2026-07-02T12:00:00.000Z", None]
    ),
    "date": Typed(pa.date32(), [date(2026, 1, 2), None], ["2026-01-02", None]),
    "time": Typed(pa.time64("us"), [time(1, 2, 3, 4), None], ["01:02:03.000004", None]),
    "time in nanoseconds": Typed(pa.time64("ns"), [1000, None], ["00:00:00.000001000", None]),
    "duration": Typed(
        pa.duration("us"), [timedelta(1, 1), None, -timedelta(microseconds=1)], ["PT86401S", None, "PT-0.000001S"]
    ),
    "interval": Typed(
        pa.month_day_nano_interval(), [(1, -2, 3), None, (0, 0, 0)], ["P1M-2DT0.000000003S", None, "P0M0DT0S"]
    ),
    "binary": Typed(pa.binary(), [b"\x00\xff", None, b""], ["AP8=", None, ""]),
    "fixed binary": Typed(pa.binary(2), [b"\x00\xff", None], ["AP8=", None]),
    "list": Typed(pa.list_(pa.float64()), [[1.0, NAN, None], None, []], [[1.0, "NaN", None], None, []]),
    "fixed list": Typed(pa.list_(pa.int32(), 2), [[1, 2], None]),
    "struct": Typed(
        pa.struct([("a", pa.int64()), ("b", pa.string())]), [{"a": 1, "b": 'x"'}, None, {"a": None, "b": None}]
    ),
    "empty struct": Typed(pa.struct([]), [{}, None], ["{}", None]),
    "map": Typed(
        pa.map_(pa.string(), pa.float64()), [[("a", -0.0), ("b", None)], None, []], [{"a": -0.0, "b": None}, None, {}]
    ),
    "map of numbers": Typed(
        pa.map_(pa.int64(), pa.list_(pa.decimal128(5, 2))),
        [[(1, [Decimal("1.50"), None])], None],
        [{"1": [1.5, None]}, None],
    ),
    "nested": Typed(
        pa.list_(pa.struct([("m", pa.map_(pa.string(), pa.list_(pa.date32())))])),
        [[{"m": [("k", [date(2026, 1, 2)]), ("l", None)]}, None], None],
        [[{"m": {"k": ["2026-01-02"], "l": None}}, None], None],
    ),
    "list of intervals": Typed(pa.list_(pa.month_day_nano_interval()), [[(1, 2, 0)], None], [["P1M2DT0S"], None]),
    "dictionary": Typed(pa.dictionary(pa.int32(), pa.string()), ['"a"', "", None, '"a"']),
    "null": Typed(pa.null(), [None, None]),
    "uuid": Typed(pa.uuid(), [b"\x00" * 15 + b"\x05", None], ["00000000-0000-0000-0000-000000000005", None]),
    "json": Typed(pa.json_(pa.string()), ['{"a":1}', None]),
}
"""By what it is called."""

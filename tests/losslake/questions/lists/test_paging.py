"""Filters, order and pages of a list are those of plain Python over all rows, for any mixture of them."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import duckdb
import orjson
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from losslake.output.answer import Answer
from losslake.output.rows import Row as RowModel
from losslake.output.rows import shown
from losslake.questions.declaration.listing import Listing
from losslake.questions.lists.filters import Parameter, conditions
from losslake.questions.lists.lists import ListQuestion, list_rows
from losslake.questions.lists.paging import LONGEST_CURSOR, Cursor, SortKey
from losslake.questions.release.errors import BadParameter

Row = dict[str, Any]


class ThingRow(RowModel):
    """A made-up thing."""

    number: Annotated[int | None, shown(None, description="number")]
    name: Annotated[str | None, shown(None, description="name")]
    value: Annotated[float | None, shown(None, description="value")]
    is_good: Annotated[bool | None, shown(None, description="is_good")]
    at: Annotated[datetime | None, shown(None, description="at")]
    tags: Annotated[list[str] | None, shown(None, description="tags")]
    sizes: Annotated[list[int] | None, shown(None, description="sizes")]
    parameters: Annotated[dict[str, float] | None, shown(None, description="parameters")]
    attributes: Annotated[dict[str, Any] | None, shown(None, description="attributes")]


THINGS = Listing("things", ThingRow, ("number",), "Made-up things.")
KINDS = {column.name: column.kind for column in THINGS.shape.columns}
CONNECTION = duckdb.connect(":memory:")
SCALARS = ("number", "name", "value", "is_good", "at")
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)

numbers = st.sampled_from([math.nan, math.inf, -math.inf, -0.0, 0.0, 0.1, 5e-324, -1e308])
names = st.sampled_from(["", "a", "A", "b'\"", "ä", "😀"])
moments = st.integers(0, 3).map(lambda hours: NOON + timedelta(hours=hours))
rows_of_things = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.none() | names,
            "value": st.none() | numbers,
            "is_good": st.none() | st.booleans(),
            "at": st.none() | moments,
            "tags": st.none() | st.lists(names, max_size=2),
            "sizes": st.none() | st.lists(st.integers(0, 2**63 - 1), max_size=2),
            "parameters": st.dictionaries(st.sampled_from(["lr", "lr_min"]), numbers),
            "attributes": st.dictionaries(st.just("kind"), st.sampled_from(['"x"', "[1]", "null"])),
        }
    ),
    max_size=12,
).map(lambda rows: [{"number": number * 2**59, **row} for number, row in enumerate(rows)])
sorts = st.lists(st.tuples(st.sampled_from(SCALARS), st.booleans()), max_size=3, unique_by=lambda key: key[0])
filters_of_things = st.fixed_dictionaries(
    {},
    optional={
        "name": st.lists(names, min_size=1, max_size=2),
        "number_min": st.sampled_from(["0", str(2**60), str(2**63 - 1)]).map(lambda text: [text]),
        "value": st.lists(st.sampled_from(["0", "0.1", "-0.0"]), min_size=1, max_size=2),
        "value_max": st.just(["0.1"]),
        "is_good": st.sampled_from([["true"], ["false"], ["true", "false"]]),
        "at_min": st.sampled_from([["2026-01-02T13:00:00Z"], ["2026-01-02T15:00:00+02:00"], ["2026-01-02T13:00:00"]]),
        "tags": st.lists(names, min_size=1, max_size=2),
        "parameter.lr_max": st.just(["0.1"]),
        "parameter.lr_min": st.just(["0.1"]),
        "parameter.kind": st.sampled_from([["x"], ["[1]"], ["x", "[1]"]]),
    },
)
HOLDS: dict[str, Callable[[Row, list[str]], bool]] = {
    "name": lambda row, texts: row["name"] in texts,
    "number_min": lambda row, texts: row["number"] >= int(texts[0]),
    "value": lambda row, texts: row["value"] in map(float, texts),
    "value_max": lambda row, _: is_finite(row["value"]) and row["value"] <= 0.1,
    "is_good": lambda row, texts: row["is_good"] in [text == "true" for text in texts],
    "at_min": lambda row, _: row["at"] is not None and row["at"] >= NOON + timedelta(hours=1),
    "tags": lambda row, texts: row["tags"] is not None and bool(set(row["tags"]) & set(texts)),
    "parameter.lr_max": lambda row, _: is_finite(row["parameters"].get("lr")) and row["parameters"]["lr"] <= 0.1,
    "parameter.lr_min": lambda row, _: row["parameters"].get("lr_min") == 0.1,
    "parameter.kind": lambda row, texts: (row["attributes"].get("kind") or "").strip('"') in texts,
}


def is_finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def expected(rows: Sequence[Row], sort: Sequence[tuple[str, bool]], asked: dict[str, list[str]]) -> list[Row]:
    """What should come: NaN is greater than all numbers, nulls come last, ties are by number."""
    found = [row for row in rows if all(HOLDS[name](row, texts) for name, texts in asked.items())]
    for column, is_descending in reversed(sort):
        present = [row for row in found if row[column] is not None]
        present.sort(key=lambda row: order(row[column]), reverse=is_descending)
        found = present + [row for row in found if row[column] is None]
    return found


def order(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode()
    return (value != value, 0.0 if value != value else value) if isinstance(value, float) else value


def list_of(rows: Sequence[Row], sort: Sequence[tuple[str, bool]], asked: dict[str, list[str]], **more: Any) -> Answer:
    known = {"lr": True, "lr_min": True, "kind": False}
    question = ListQuestion(THINGS, conditions(THINGS, asked, known), tuple(SortKey(*key) for key in sort), **more)
    relation = CONNECTION.cursor().from_arrow(pa.Table.from_pylist(list(rows), THINGS.shape.schema))
    return list_rows(relation, question, {}, release=7)


def read(answer: Answer) -> list[Row]:
    maps = ("parameters", "attributes")
    rows = [row | {name: dict(row[name]) for name in maps} for row in answer.table().to_pylist()]
    return [row | {"at": row["at"] and row["at"].astimezone(UTC)} for row in rows]


@given(rows_of_things, sorts, filters_of_things, st.integers(1, 5))
@settings(max_examples=settings().max_examples // 2)
def test_pages_have_exactly_the_rows_of_plain_python_in_order(
    rows: list[Row], sort: list[tuple[str, bool]], asked: dict[str, list[str]], limit: int
) -> None:
    wanted = expected(rows, sort, asked)
    whole = list_of(rows, sort, asked)
    assert whole.total == len(wanted)
    assert comparable(read(whole)) == comparable(wanted)
    paged: list[Row] = []
    cursor = None
    for _ in range(len(wanted) // limit + 1):
        page = list_of(rows, sort, asked, limit=limit, cursor=cursor)
        assert page.total == len(wanted)
        paged += read(page)
        cursor = page.next_cursor
        if cursor is None:
            break
    assert cursor is None
    assert comparable(paged) == comparable(wanted)


def comparable(rows: Sequence[Row]) -> list[str]:
    """Rows that can be compared, although NaN is in them."""
    return [repr([row[name] for name in KINDS]) for row in rows]


def test_nan_is_greater_than_every_number_and_nulls_come_last_either_way() -> None:
    values = [None, math.nan, -math.inf, math.inf, 1.0]
    rows = [blank(number) | {"value": value} for number, value in enumerate(values)]
    found = [repr(row["value"]) for row in read(list_of(rows, [("value", False)], {}))]
    assert found == ["-inf", "1.0", "inf", "nan", "None"]
    found = [repr(row["value"]) for row in read(list_of(rows, [("value", True)], {}))]
    assert found == ["nan", "inf", "1.0", "-inf", "None"]


def blank(number: int) -> Row:
    return dict.fromkeys(KINDS) | {"number": number, "parameters": {}, "attributes": {}}


ROWS = [blank(number) | {"name": "a", "at": NOON, "value": math.nan} for number in range(4)]


def first_cursor(sort: Sequence[tuple[str, bool]] = (("name", False),)) -> str:
    cursor = list_of(ROWS, sort, {}, limit=2).next_cursor
    assert cursor is not None
    return cursor


def test_a_cursor_says_its_release() -> None:
    assert Cursor.read(first_cursor()).release == 7


@pytest.mark.parametrize("sort", [[("name", True)], [], [("name", False), ("value", False)]])
def test_a_cursor_of_another_order_is_refused(sort: list[tuple[str, bool]]) -> None:
    with pytest.raises(BadParameter, match="from another list, filter or order"):
        list_of(ROWS, sort, {}, limit=2, cursor=first_cursor())


def test_a_cursor_of_another_filter_is_refused() -> None:
    with pytest.raises(BadParameter, match="from another list, filter or order"):
        list_of(ROWS, [("name", False)], {"name": ["a"]}, limit=2, cursor=first_cursor())


def altered(*values: Any) -> str:
    release, question, _ = orjson.loads(base64.urlsafe_b64decode(first_cursor() + "=="))
    return base64.urlsafe_b64encode(orjson.dumps([release, question, values])).decode().rstrip("=")


@pytest.mark.parametrize(
    "cursor",
    [
        "", " ", "A", "=", "null", "😀", "a" * (LONGEST_CURSOR + 1), "[[[[", "W10", "bnVsbA",
        first_cursor()[:-1], first_cursor() + "!", "." + first_cursor(), altered(), altered(1, 2, 3), altered([], {}),
        altered({"float": "zz"}, 1), altered({"moment": 5}, 1), altered({"moment": "x", "float": "1"}, 1),
        altered({"float": "0x1p99999"}, 1), altered(True, 1), altered("a", "x"), altered("a", 2**64 - 1),
        altered(5, 1), altered("a", {"float": "nan"}), altered("a", {"moment": "2026-01-01"}), altered("a", 1.5),
    ],
)  # fmt: skip
def test_a_cursor_that_was_altered_is_refused(cursor: str) -> None:
    with pytest.raises(BadParameter) as caught:
        list_of(ROWS, [("name", False)], {}, limit=2, cursor=cursor)
    assert caught.value.parameter == "cursor"


@given(st.binary(max_size=60).map(lambda data: base64.urlsafe_b64encode(data).decode()) | st.text(max_size=60))
def test_any_text_as_a_cursor_is_refused_without_side_effects(text: str) -> None:
    with pytest.raises(BadParameter, match="this cursor is not from this service"):
        list_of(ROWS, [], {}, limit=2, cursor=text)


def test_the_next_page_begins_behind_the_last_row_although_all_are_nan() -> None:
    assert [row["number"] for row in read(list_of(ROWS, [("name", False)], {}, limit=9, cursor=first_cursor()))] == [
        2,
        3,
    ]


def test_conditions_are_in_the_same_order_in_every_process() -> None:
    """Cursors hold a digest of the conditions, and Python hashes texts differently in each process."""
    (condition,) = conditions(THINGS, {"parameter.schedule": ["linear"]}, {"schedule": False})
    assert condition == Parameter("schedule", ('"linear"', "linear"), is_number=False)

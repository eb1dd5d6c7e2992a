"""A JSON object with a key twice and different values is found, however it is written, and never stored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake_ingest.contracts.rules import Refusal
from losslake_ingest.readers.repeated_keys import RepeatedKey, check_repeats
from losslake_ingest.readers.safe_parsing import read_document, read_json
from losslake_ingest.readers.tables.json_table import read_json_entries, read_json_lines
from losslake_ingest.readers.wandb_files.history import HistoryTable
from losslake_ingest.readers.wandb_files.history import read_json_lines as read_history_lines

KEYS = st.sampled_from(["a", "b", 'a":', "a: b", "é", " :"])
LEAVES = st.sampled_from(["1", "2", "null", '"x"', r'"\":"', '"12:30"', '"c :"', r'"\u0022:"'])
SPACES = st.sampled_from(["", "", "", " ", "\t", "\n"])


def objects(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    key = st.builds(lambda name, escaped: json.dumps(name, ensure_ascii=escaped), KEYS, st.booleans())
    pair = st.builds(lambda key, space, value: f"{key}{space}:{value}", key, SPACES, inner)
    return st.lists(pair, max_size=3).map(lambda pairs: "{" + ",".join(pairs) + "}")


TEXTS = objects(
    st.recursive(
        LEAVES,
        lambda inner: st.one_of(
            objects(inner), st.lists(inner, max_size=2).map(lambda items: "[" + ",".join(items) + "]")
        ),
        max_leaves=4,
    )
)


def all_pairs(found: Any) -> Iterator[list[tuple[str, Any]]]:
    """Yield the pairs of each object in a text parsed by `object_pairs_hook=tuple`."""
    if isinstance(found, tuple):
        yield sorted(found, key=repr)
    if isinstance(found, tuple | list):
        for item in found:
            yield from all_pairs(item[1] if isinstance(found, tuple) else item)


@given(TEXTS)
def test_exactly_the_objects_with_two_values_of_a_key_are_refused(text: str) -> None:
    everything = json.loads(text, object_pairs_hook=tuple)
    repeats = any(one[0] == two[0] and one != two for pairs in all_pairs(everything) for one, two in pairwise(pairs))
    try:
        check_repeats(text.encode(), orjson.loads(text))
    except RepeatedKey:
        assert repeats
    else:
        assert not repeats


def test_a_document_nested_too_deeply_to_be_checked_is_refused() -> None:
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(RepeatedKey, match="nested too deeply"):
        check_repeats(b'{"a": []}', {"a": nested})


@pytest.mark.parametrize("text", [b'{"a": 1, "a": 2}', b'{"a": NaN, "a": 2}', b'[{"b": {"a": 1, "a" : "1"}}]'])
def test_no_parser_of_logs_takes_the_last_of_two_values(text: bytes) -> None:
    assert read_json(text) is None
    with pytest.raises(Refusal, match="'a' is there twice, with different values"):
        read_document(text)


def test_a_line_with_two_values_of_a_key_refuses_the_file_with_the_line() -> None:
    lines = [b'{"step": 1, "loss": 3}', b"", b"7", b'{"step": 2, "at": "12:30", "loss": 2, "loss": 1}', b""]
    with pytest.raises(Refusal, match="'loss' is there twice, with different values") as error:
        read_json_lines(b"\n".join(lines))
    assert error.value.line == 4


@pytest.mark.parametrize("other", [b"", b'{"_step": 1, "loss": NaN}'])
def test_a_line_of_wandb_with_two_values_of_a_key_refuses_the_file_with_the_line(other: bytes) -> None:
    lines = [b'{"_step": 0, "loss": 3}', b"", other, b'{"_step": 2, "loss": 2, "loss": 1}', b""]
    with pytest.raises(Refusal, match="'loss' is there twice, with different values") as error:
        read_history_lines(b"\n".join(lines))
    assert error.value.line == 4


def test_equal_values_of_a_key_are_one() -> None:
    table = read_json_lines(b'{"step": 1, "loss": 3, "loss": 3}\n')
    assert table.numbers["loss"].values.tolist() == [3]


@pytest.mark.parametrize(("one", "two"), [("1", "2"), ('"x"', '"y"'), ('"x"', '""'), ("1", "NaN")])
def test_a_key_with_a_dot_and_a_nested_one_of_the_same_name_must_agree(one: str, two: str) -> None:
    row = f'{{"step": 2, "a.b": {one}, "a": {{"b": %s}}}}\n'
    first = b'{"step": 1, "a.b": 5}\n'
    read_json_lines(first + (row % one).encode())
    with pytest.raises(Refusal, match=r"'a\.b' is there twice, as a key and nested, and differs") as error:
        read_json_lines(first + (row % two).encode())
    assert error.value.line == 2
    with pytest.raises(Refusal, match=r"'a\.b' is there twice"):
        read_json_entries([[json.loads(row % two)]])


def test_a_row_of_wandb_with_a_flat_and_a_nested_value_must_agree() -> None:
    table = HistoryTable()
    table.add([{"_step": 0, "a.b": 1.0, "a": {"b": 1.0}}])
    with pytest.raises(Refusal, match=r"'a\.b' is there twice"):
        table.add([{"_step": 1, "a.b": 1.0, "a": {"b": 2.0}}])

"""A lookup table gives the fields of its rows, or is refused in one line with the place."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake_ingest.contracts.rules import BadMapping
from losslake_ingest.mapping.mapping import load_mapping, parse_mapping

TABLE = "[[lookup]]\nfile = 't.csv'\nkeys = ['a']"


def rows_of(data: bytes) -> dict[tuple[str, ...], dict[str, str]]:
    (table,) = parse_mapping(TABLE.encode(), "losslake.toml", {"t.csv": data}.get).lookup
    return {key: dict(cells) for key, cells in table.rows.items()}


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("../secret.csv", "beside the mapping, without folders"),
        ("/etc/passwd", "beside the mapping, without folders"),
        ("absent.csv", "no readable file absent.csv"),
    ],
)
def test_only_a_file_beside_the_mapping_is_read(file: str, message: str) -> None:
    text = f"[[lookup]]\nfile = '{file}'\nkeys = ['a']"
    with pytest.raises(BadMapping, match=message):
        parse_mapping(text.encode(), "losslake.toml", {"t.csv": b"a\n1\n"}.get)


def test_a_link_beside_the_mapping_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "losslake.toml").write_text(TABLE)
    (tmp_path / "private.csv").write_text("a,b\n1,2\n")
    (tmp_path / "logs" / "t.csv").symlink_to(tmp_path / "private.csv")
    with pytest.raises(BadMapping, match=r"no readable file t\.csv of at most 16 MiB is beside the mapping \(links"):
        load_mapping(tmp_path / "logs" / "losslake.toml")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", " has no column 'a'"),
        (b"b\n1\n", " has no column 'a'"),
        (b"a,b\n1,2\n1,3\n", " has two rows for '1'"),
        (b'a,b\n"1\n2",2\n"1\n2",3\n', " has two rows for '1\\n2'"),
        (b"a,b,b\n1,2,3\n", " has 2 columns 'b'"),
        (b"a,b\n1,2\n2,3,4\n", ", line 3: 3 cells where the header has 2"),
        (b"a,b\n1,2\n2\n", ", line 3: 1 cells where the header has 2"),
        (b"a,b\n1,2\n2,\xff3\n", ", line 3: not UTF-8"),
        (b'a,b\n1,"2\n2,3\n', ", line 3: no valid CSV (unexpected end of data)"),
        (b"a,b\n1," + b"6" * 200_000, ", line 2: no valid CSV (field larger than field limit (131072))"),
    ],
)
def test_a_damaged_table_is_refused_in_one_line(data: bytes, message: str) -> None:
    with pytest.raises(BadMapping) as error:
        rows_of(data)
    assert str(error.value) == f"losslake.toml: [[lookup]] t.csv{message}"


def test_an_empty_cell_provides_nothing_and_rows_without_text_are_skipped() -> None:
    data = b'\xef\xbb\xbfa, b,c\r\n1, 2 ,\r\n\r\n,,\r\n2,"x, y",z\r\n'
    assert rows_of(data) == {("1",): {"b": "2"}, ("2",): {"b": "x, y", "c": "z"}}


CELLS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=4)


@given(st.dictionaries(CELLS, st.tuples(CELLS, CELLS), max_size=5), st.sampled_from([",", ",,", '"', "\n"]))
def test_a_table_is_read_as_it_was_written(table: dict[str, tuple[str, str]], within: str) -> None:
    written = io.StringIO()
    csv.writer(written).writerows([("a", "b", "c"), *((key, f"{b}{within}{b}", c) for key, (b, c) in table.items())])
    assert rows_of(written.getvalue().encode()) == {
        (key,): {"b": f"{b}{within}{b}", "c": c} for key, (b, c) in table.items()
    }


@given(st.binary(max_size=40))
def test_any_bytes_are_rows_of_the_header_s_columns_or_one_line(data: bytes) -> None:
    try:
        found: object = {name for cells in rows_of(b"a,b\n" + data).values() for name in cells}
    except BadMapping as error:
        found = str(error)
    assert found in (set(), {"b"}) or re.fullmatch(r"losslake\.toml: \[\[lookup\]\] t\.csv.+", str(found))

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Rule
from losslake_ingest.contracts.run_log import RunLog
from losslake_ingest.formats.mlflow import FORMAT
from tests.ingest.formats.mlflow_stores import fill
from tests.ingest.formats.reading import cells, read, runs

# As MLflow makes them, without its indexes and constraints.
SCHEMA = """
PRAGMA page_size = 512;
CREATE TABLE experiments (experiment_id INTEGER PRIMARY KEY, name VARCHAR(256), lifecycle_stage VARCHAR(32));
CREATE TABLE runs (run_uuid VARCHAR(32) NOT NULL, name VARCHAR(250), source_name VARCHAR(500), user_id VARCHAR(256),
    entry_point_name VARCHAR(50), source_version VARCHAR(50), status VARCHAR(9), start_time BIGINT,
    experiment_id INTEGER, lifecycle_stage VARCHAR(20), artifact_uri VARCHAR(200), PRIMARY KEY (run_uuid));
CREATE TABLE metrics (key VARCHAR(250), value FLOAT, timestamp BIGINT, run_uuid VARCHAR(32), step BIGINT,
    is_nan BOOLEAN);
CREATE TABLE params (key VARCHAR(250), value VARCHAR(8000), run_uuid VARCHAR(32));
CREATE TABLE tags (key VARCHAR(250), value VARCHAR(8000), run_uuid VARCHAR(32));
"""
FILLING = """
INSERT INTO experiments VALUES (1, 'sweep', 'active');
INSERT INTO runs VALUES ('r1', 'one', '', '', '', '', 'FINISHED', 1000, 1, 'active', '');
INSERT INTO runs VALUES ('r2', 'two', '', '', '', '', 'KILLED', 1000, 1, 'active', '');
INSERT INTO metrics VALUES ('loss', 0.5, 1000, 'r1', 1, 0), ('loss', 0.25, 2000, 'r1', 2, 0);
INSERT INTO metrics VALUES ('loss', 1, 1, 'r2', 1, 0);
INSERT INTO params VALUES ('lr', '0.1', 'r1');
INSERT INTO tags VALUES ('note', 'hi', 'r1'), ('mlflow.user', 'someone', 'r2');
"""


def database(script: str = "", schema: str = SCHEMA, filling: str = FILLING) -> bytes:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(schema + filling + script)
        return connection.serialize()


@pytest.fixture(scope="module")
def small() -> bytes:
    return database()


def test_runs_come_in_order_of_their_ids_and_name_the_file_and_their_id(tmp_path: Path, small: bytes) -> None:
    one, two = runs(FORMAT, tmp_path, {"old/mlflow.db": small})
    assert (one.run, two.run) == ("old/mlflow.db#r1", "old/mlflow.db#r2")
    assert cells(one.rows[0], "loss") == [0.5, 0.25]
    assert (two.status, two.private) == ("KILLED", ["user name"])
    assert set(one.files) == {"old/mlflow.db"}


@pytest.mark.parametrize("left", [600, 30, 1])
def test_a_database_cut_short_is_quarantined(tmp_path: Path, small: bytes, left: int) -> None:
    (item,) = read(FORMAT, tmp_path, {"mlflow.db": small[:-left]})
    assert isinstance(item, Quarantined)
    assert item.rule == Rule.UNREADABLE_LOG


def test_the_largest_float_is_infinity_and_is_nan_is_nan_whatever_the_value(tmp_path: Path) -> None:
    script = """INSERT INTO metrics VALUES
        ('a', 1.7976931348623157e308, 1, 'r1', 1, 0), ('a', -1.7976931348623157e308, 2, 'r1', 2, 0),
        ('a', 1.7976931348623155e308, 3, 'r1', 3, 0), ('a', 7, 4, 'r1', 4, 1);"""
    one, _ = runs(FORMAT, tmp_path, {"mlflow.db": database(script)})
    assert repr(cells(one.rows[0], "a")) == repr([math.inf, -math.inf, 1.7976931348623155e308, math.nan])
    assert list(one.remarks.values()) == [2]


def test_cells_of_another_type_are_left_out_and_counted(tmp_path: Path) -> None:
    script = """INSERT INTO metrics VALUES ('loss', 'high', 3000, 'r1', 3, 0), ('loss', NULL, 4000, 'r1', 4, 0),
        ('loss', 0.125, 5000, 'r1', x'00', 0), ('only', 'x', 1, 'r1', 1, 0);"""
    one, _ = runs(FORMAT, tmp_path, {"mlflow.db": database(script)})
    assert [cells(rows, "loss") for rows in one.rows] == [[0.5, 0.25]]
    assert list(one.remarks.values()) == [4]


def test_a_name_that_is_not_utf8_is_escaped_and_remarked(tmp_path: Path) -> None:
    script = "INSERT INTO metrics VALUES (CAST(x'6ced' AS TEXT), 1, 1, 'r1', 1, 0);"
    one, _ = runs(FORMAT, tmp_path, {"mlflow.db": database(script)})
    assert {name for rows in one.rows for name in rows.columns} >= {"loss", "l\\xed"}
    assert [remark for remark in one.remarks if "isn't UTF-8" in remark]


def test_a_database_in_write_ahead_mode_is_read_and_remarked(tmp_path: Path, small: bytes) -> None:
    one, _ = runs(FORMAT, tmp_path, {"mlflow.db": small[:18] + b"\2\2" + small[20:]})
    assert cells(one.rows[0], "loss") == [0.5, 0.25]
    assert any("write-ahead" in remark for remark in one.remarks)


def test_rows_without_a_run_are_skipped(tmp_path: Path) -> None:
    script = (
        "INSERT INTO metrics VALUES ('loss', 1, 1, 'r0', 1, 0), ('loss', 1, 1, 'r3', 1, 0), ('l', 1, 1, NULL, 1, 0);"
    )
    one, two = runs(FORMAT, tmp_path, {"mlflow.db": database(script)})
    assert [cells(rows, "loss") for run in (one, two) for rows in run.rows] == [[0.5, 0.25], [1]]


VIEW = "ALTER TABLE metrics RENAME TO m; CREATE VIEW metrics AS SELECT * FROM m;"
VIRTUAL = "DROP TABLE params; CREATE VIRTUAL TABLE params USING fts5(key, value, run_uuid);"
CASELESS = SCHEMA.replace("run_uuid VARCHAR(32), step", "run_uuid VARCHAR(32) COLLATE NOCASE, step")
GENERATED = SCHEMA.replace("value FLOAT, timestamp", "value FLOAT AS (hex(zeroblob(200000))), timestamp")
GENERATING = """INSERT INTO runs (run_uuid) VALUES ('r');
    INSERT INTO metrics (key, timestamp, run_uuid, step, is_nan) VALUES ('loss', 1, 'r', 1, 0);"""
UPPER = "INSERT INTO runs SELECT upper(run_uuid), name, '', '', '', '', status, 1, 1, 'active', '' FROM runs;"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (database(VIEW), "has no table metrics"),
        (database(VIRTUAL), "has no table params"),
        (database(schema="CREATE TABLE x (y);", filling=""), "has no table experiments, metrics, params, runs, tags"),
        (database(schema=SCHEMA.replace(",\n    is_nan BOOLEAN", ""), filling=""), "no such column: m.is_nan"),
        (database(schema=GENERATED, filling=GENERATING), "too big"),
        (database("INSERT INTO metrics VALUES (zeroblob(300000), 1, 1, 'r1', 1, 0);"), "too big"),
        (b"SQLite format 3\0" + bytes(1000), "damaged"),
    ],
)
def test_a_hostile_or_foreign_database_is_quarantined(tmp_path: Path, data: bytes, message: str) -> None:
    (refused,) = read(FORMAT, tmp_path, {"mlflow.db": data})
    assert isinstance(refused, Quarantined)
    assert (refused.rule, refused.path) == (Rule.UNREADABLE_LOG, "mlflow.db")
    assert message in refused.message
    assert "\n" not in refused.message


def test_rows_not_in_the_order_of_their_runs_are_quarantined(tmp_path: Path) -> None:
    script = UPPER + "INSERT INTO metrics VALUES ('loss', 9, 9, 'R2', 9, 0);"
    found = read(FORMAT, tmp_path, {"mlflow.db": database(script, CASELESS)})
    assert any(isinstance(item, Quarantined) and "not in the order of their runs" in item.message for item in found)


def test_a_database_that_multiplies_its_rows_ends_soon(tmp_path: Path) -> None:
    schema = SCHEMA.replace(", PRIMARY KEY (run_uuid)", "").replace("INTEGER PRIMARY KEY", "INTEGER")
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
    script = numbers + "INSERT INTO experiments SELECT 1, 'sweep', 'active' FROM n;"
    script += numbers + "INSERT INTO runs SELECT 'r', '', '', '', '', '', '', 1, 1, 'active', '' FROM n;"
    *_, last = read(FORMAT, tmp_path, {"mlflow.db": database(script, schema)})
    assert isinstance(last, Quarantined)


def test_other_databases_and_files_with_such_names_are_skipped(tmp_path: Path) -> None:
    assert read(FORMAT, tmp_path, {"Thumbs.db": b"\xd0\xcf\x11\xe0"}) == []


def test_a_database_cut_short_anywhere_ends_in_runs_or_reasons(tmp_path: Path, small: bytes) -> None:
    for end in range(16, len(small), 64):
        found = read(FORMAT, tmp_path, {"mlflow.db": small[:end]})
        assert found
        assert all(isinstance(item, RunLog | Quarantined) for item in found)


def check_spoiled(folder: Path, data: bytes, flips: list[tuple[float, int]]) -> None:
    spoiled = bytearray(data)
    for at, byte in flips:
        spoiled[16 + int(at * (len(data) - 17))] = byte
    for item in read(FORMAT, folder, {"mlflow.db": bytes(spoiled)}):
        assert isinstance(item, RunLog | Quarantined)
        assert str(item).encode()


flips = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=12)


@settings(suppress_health_check=list(HealthCheck))
@given(flips=flips)
def test_flipped_bytes_end_in_runs_or_reasons(tmp_path: Path, small: bytes, flips: list[tuple[float, int]]) -> None:
    check_spoiled(tmp_path, small, flips)


@pytest.mark.fuzz
@settings(max_examples=25_000, suppress_health_check=list(HealthCheck))
@given(flips=flips)
def test_many_flipped_bytes_end_in_runs_or_reasons(
    tmp_path: Path, small: bytes, flips: list[tuple[float, int]]
) -> None:
    check_spoiled(tmp_path, small, flips)


@pytest.mark.fuzz
@settings(suppress_health_check=list(HealthCheck))
@given(flips=flips)
def test_flipped_bytes_of_a_real_database_end_in_runs_or_reasons(
    tmp_path: Path, real: bytes, flips: list[tuple[float, int]]
) -> None:
    check_spoiled(tmp_path, real, flips)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path: Path = tmp_path_factory.mktemp("real") / "mlflow.db"
    fill(f"sqlite:///{path}")
    return path.read_bytes()

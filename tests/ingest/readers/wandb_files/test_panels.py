from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.run_log import Damage, LoggedRows, RunLog
from losslake_ingest.formats.format import GLIMPSE, Glimpse
from losslake_ingest.formats.wandb import FORMAT
from losslake_ingest.readers.private import private_text
from losslake_ingest.readers.wandb_files.panels import BAD_CELL, BAD_ROW, BOUND
from tests.ingest.formats.reading import cells, read, runs
from tests.ingest.formats.wandb_files import panel


def points(rows: LoggedRows, axis: str, metric: str) -> list[tuple[float | None, float | None]]:
    pairs = zip(cells(rows, axis), cells(rows, metric), strict=True)
    return [(x, y) for x, y in pairs if y is not None]


def test_a_run_has_the_columns_of_all_files_of_its_folder(tmp_path: Path) -> None:
    files = {
        "p/train.csv": panel("Step", [1, 2], {"b - train/loss": [0.5, 0.25], "a - train/loss": [3, 2]}),
        "p/val.csv": panel("Step", [2], {"a - val/accuracy": [0.75]}),
    }
    a, b = runs(FORMAT, tmp_path, files)
    assert (a.run, b.run) == ("p#a", "p#b")
    assert a.fields == {"run": "a", "run_name": "a"}
    assert sorted(a.files) == ["p/train.csv", "p/val.csv"]
    assert sorted(b.files) == ["p/train.csv"]
    assert [list(rows.columns) for rows in a.rows] == [["Step", "train/loss"], ["Step", "val/accuracy"]]
    assert points(a.rows[0], "Step", "train/loss") == [(1, 3), (2, 2)]
    assert points(a.rows[1], "Step", "val/accuracy") == [(2, 0.75)]


def test_runs_of_one_name_in_two_folders_are_two_runs(tmp_path: Path) -> None:
    file = panel("Step", [1], {"a - loss": [1]})
    assert [run.run for run in runs(FORMAT, tmp_path, {"x/p.csv": file, "y/p.csv": file})] == ["x#a", "y#a"]


def test_an_empty_cell_is_no_measurement(tmp_path: Path) -> None:
    file = panel("Step", [1, 2, 3], {"a - loss": [1, None, 3], "b - loss": [None, 2, None]})
    a, b = runs(FORMAT, tmp_path, {"p.csv": file})
    assert points(a.rows[0], "Step", "loss") == [(1, 1), (3, 3)]
    assert points(b.rows[0], "Step", "loss") == [(2, 2)]


def test_metrics_of_one_run_in_one_file_share_their_rows(tmp_path: Path) -> None:
    file = panel("epoch", [1, 2, 3], {"a - loss": [1, None, 3], "a - _step": [None, 20, 30]})
    (run,) = runs(FORMAT, tmp_path, {"p.csv": file})
    (rows,) = run.rows
    assert cells(rows, "epoch") == [1, 2, 3]
    assert cells(rows, "loss") == [1, None, 3]
    assert cells(rows, "_step") == [None, 20, 30]


def test_bounds_are_left_out_and_counted(tmp_path: Path) -> None:
    (run,) = runs(FORMAT, tmp_path, {"p.csv": panel("Step", [1], {"a - loss": [1]})})
    assert list(run.rows[0].columns) == ["Step", "loss"]
    assert run.remarks == {BOUND: 2}


def test_a_metric_that_only_ends_like_a_bound_is_kept(tmp_path: Path) -> None:
    (run,) = runs(FORMAT, tmp_path, {"p.csv": panel("Step", [1], {"a - reward__MIN": [1]}, bounds=False)})
    assert list(run.rows[0].columns) == ["Step", "reward__MIN"]


def test_a_run_name_with_a_dash_is_split_at_the_metric_of_its_file(tmp_path: Path) -> None:
    file = panel("Step", [1], {"a - loss": [1], "b - lr 0.1 - loss": [2]})
    assert [run.run for run in runs(FORMAT, tmp_path, {"p.csv": file})] == ["#a", "#b - lr 0.1"]


def test_metric_with_a_dash_is_split_by_a_certain_run_of_another_file(tmp_path: Path) -> None:
    files = {
        "one.csv": panel("Step", [1], {"a - loss": [1]}),
        "two.csv": panel("Step", [1], {"a - grad - norm": [2]}),
    }
    (run,) = runs(FORMAT, tmp_path, files)
    assert [list(rows.columns)[1] for rows in run.rows] == ["loss", "grad - norm"]


def test_without_a_certain_split_the_last_dash_is_used(tmp_path: Path) -> None:
    (run,) = runs(FORMAT, tmp_path, {"p.csv": panel("Step", [1], {"a - b - loss": [1]})})
    assert run.fields["run"] == "a - b"


def test_two_columns_of_one_name_are_refused_since_they_are_two_runs(tmp_path: Path) -> None:
    header = b'"Step","a - loss","a - loss__MIN","a - loss","a - loss__MIN","b - loss"\n"1","1","1","2","2","3"'
    refused, run = read(FORMAT, tmp_path, {"p.csv": header})
    assert isinstance(refused, Quarantined)
    assert refused.rule == "bad_header"
    assert "'a - loss'" in refused.message
    assert isinstance(run, RunLog)
    assert run.run == "#b"


def test_nan_and_infinity_are_values(tmp_path: Path) -> None:
    file = panel("Step", [1, 2, 3, 4], {"a - loss": ["NaN", "Infinity", "-Infinity", None]})
    (run,) = runs(FORMAT, tmp_path, {"p.csv": file})
    values = run.rows[0].columns["loss"].tolist()
    assert math.isnan(values[0])
    assert values[1:] == [math.inf, -math.inf]


def test_only_the_bad_cell_and_the_bad_line_are_dropped(tmp_path: Path) -> None:
    file = b'"Step","a - loss","b - loss"\n"1","1","x"\n"2","2"\n"3","3","4"\n'
    a, b = runs(FORMAT, tmp_path, {"p.csv": file})
    assert points(a.rows[0], "Step", "loss") == [(1, 1), (3, 3)]
    assert points(b.rows[0], "Step", "loss") == [(3, 4)]
    assert a.remarks == {BAD_CELL: 1, BAD_ROW: 1}


def test_a_last_line_whose_last_cell_is_cut_is_left_out_as_damage(tmp_path: Path) -> None:
    file = panel("Step", [1, 2], {"a - loss": [1, 2], "b - loss": [3, None]})
    a, _ = runs(FORMAT, tmp_path, {"p.csv": file[:-2]})
    assert cells(a.rows[0], "Step") == [1]
    assert any(isinstance(remark, Damage) for remark in a.remarks)


def test_an_axis_of_dates_is_refused(tmp_path: Path) -> None:
    (refused,) = read(FORMAT, tmp_path, {"p.csv": panel("Wall Time", ["2026-01-01"], {"a - loss": [1]})})
    assert isinstance(refused, Quarantined)
    assert refused.rule == "not_a_number"
    assert "Step" in refused.message


def test_a_private_run_name_is_replaced(tmp_path: Path) -> None:
    (run,) = runs(FORMAT, tmp_path, {"p.csv": panel("Step", [1], {"jane@example.org - loss": [1]})})
    assert run.run == "#run 1"
    assert run.private == ["e-mail"]
    assert "jane" not in repr(run)


def test_other_tables_are_skipped(tmp_path: Path) -> None:
    tables = {
        "runs.csv": b'"Name","State","Created","val/loss"\n"a - b","finished","2023-06-05T20:18:38.000Z","1.5"\n',
        "derived.csv": b"step,loss\n1,2\n",
    }
    assert read(FORMAT, tmp_path, tables) == []


@pytest.mark.parametrize(
    ("start", "surely"),
    [
        (panel("Step", [1], {"a - loss": [1]}), 0.95),
        (panel("Relative Time (Process)", [1], {"a - loss": [1]}), 0.95),
        (b"Step,a - loss,a - loss__MIN,a - loss__MAX\n1,2,2,2\n", 0.95),
        (panel("Step", [1], {"a - loss": [1]}, bounds=False), 0.6),
        (panel("Step", [1], {f"run {at} - loss": [1] for at in range(1000)}), 0.95),
        (b'"Name","State","val/loss"\n"a","finished","1.5"\n', 0),
        (b"step,loss\n1,2\n", 0),
        (b"", 0),
        (b"\xff\xfe\x00", 0),
    ],
)
def test_detection_goes_by_the_header(start: bytes, surely: float) -> None:
    assert FORMAT.detect(Glimpse("x/p.csv", start[:GLIMPSE])) == surely


cell = st.one_of(st.none(), st.floats().map(repr), st.integers(-(10**30), 10**30).map(str), st.just("1e400"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    names=st.lists(st.text('ab -",\n☃', min_size=1, max_size=6), min_size=1, max_size=4, unique=True),
    lines=st.lists(st.tuples(st.integers(0, 10**17), st.lists(cell, min_size=4, max_size=4)), min_size=1, max_size=6),
    is_spoiled=st.booleans(),
)
def test_values_are_those_of_the_text(
    tmp_path_factory: pytest.TempPathFactory,
    names: list[str],
    lines: list[tuple[int, list[str | None]]],
    is_spoiled: bool,
) -> None:
    assume(not any(private_text(f"{name}r{at}") for at, name in enumerate(names)))
    columns = {f"{name}r{at} - m": [line[1][at] for line in lines] for at, name in enumerate(names)}
    data = panel("Step", [line[0] for line in lines], columns)
    expected = {name: _slowly(data, f"{name} - m") for name in (column.removesuffix(" - m") for column in columns)}
    # A bad line sends the whole file down the slow path, which has to agree.
    data += b'\n"x"' if is_spoiled else b""
    wanted = {name.strip(): values for name, values in expected.items() if values}
    files = {"p.csv": data} if wanted else {}
    found = {
        str(run.fields["run"]): list(zip(cells(run.rows[0], "Step"), cells(run.rows[0], "m"), strict=True))
        for run in runs(FORMAT, tmp_path_factory.mktemp("panel"), files)
    }
    assert repr(found) == repr(dict(sorted(wanted.items())))


def _slowly(data: bytes, column: str) -> list[tuple[float, float]]:
    rows = csv.DictReader(io.StringIO(data.decode(), newline=""))
    return [(float(row["Step"]), float(row[column])) for row in rows if row[column]]


def test_file_cut_anywhere_keeps_the_lines_before(tmp_path: Path) -> None:
    whole = panel("Step", [1, 2, 3], {"a - loss": [0.125, 0.25, 0.375], "b - loss": [1.5, None, 2.5]})
    truth = [(1, 0.125), (2, 0.25), (3, 0.375)]
    start = whole.index(b"\n") + 1
    for end in range(len(whole)):
        found = read(FORMAT, tmp_path / str(end), {"p.csv": whole[:end]})
        own = [run for run in found if isinstance(run, RunLog) and run.run == "#a"]
        lines = whole[start:end].count(b"\n")
        assert [points(run.rows[0], "Step", "loss") for run in own][:1] in (
            [truth[:lines]] if lines else [],
            [truth[: lines + 1]],
        )

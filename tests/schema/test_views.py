"""Views and macros follow METHODS 1.1: strictly better, fewest steps, ties to the lower trial."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from losslake.index.serving import open_release
from losslake.index.view_texts import MACROS, VIEWS, sql
from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from tests.ingest.offers import TrialOffer, study_files, unpacked

METRIC = "val/cross_entropy_error"
HEADER = f"step,{METRIC},val/average_precision,val/unregistered"


def trial(*rows: tuple[int, str]) -> TrialOffer:
    """Return a trial with the same value in every metric."""
    return TrialOffer(header=HEADER, rows=[f"{step},{value},{value},{value}" for step, value in rows])


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    """Return a release with the golden example of METHODS 1.1."""
    folder: Path = tmp_path_factory.mktemp("golden")
    files = study_files(
        {1: trial((100, ".4"), (200, ".28")), 2: trial((100, ".5"), (200, ".29")), 3: trial((50, "nan"), (100, "inf"))},
        64,
        "shallue2018/mnist/simple_cnn_base/nesterov_momentum",
    ) | study_files({1: trial((50, ".30"), (100, ".31"))}, 128, "shallue2018/mnist/simple_cnn_base/nesterov_momentum")
    lake = Lake.create(folder / "lake")
    summary = ingest(lake, [unpacked(folder / "logs", files)])
    assert summary.nonfinite == 6
    return open_release(lake, lake.release())


def results(release: duckdb.DuckDBPyConnection, metric: str, target: float) -> list[tuple[object, ...]]:
    return release.execute(
        "SELECT batch_size, trial_id, steps, value, previous_step, examples, n_trials, n_reached "
        "FROM result_at($metric, $target) ORDER BY batch_size",
        {"metric": metric, "target": target},
    ).fetchall()


def test_to_minimize_the_target_itself_is_not_reached(release: duckdb.DuckDBPyConnection) -> None:
    assert results(release, METRIC, 0.3) == [
        (64, 1, 200, 0.28, 100, 12_800, 3, 2),
        (128, None, None, None, None, None, 1, 0),
    ]


def test_to_minimize_a_target_just_above_the_value_is_reached(release: duckdb.DuckDBPyConnection) -> None:
    assert results(release, METRIC, 0.30000001)[1] == (128, 1, 50, 0.3, None, 6_400, 1, 1)


def test_to_maximize_infinity_and_nan_do_not_reach(release: duckdb.DuckDBPyConnection) -> None:
    rows = results(release, "val/average_precision", 0.3)
    assert rows == [(64, 1, 100, 0.4, None, 6_400, 3, 2), (128, 1, 100, 0.31, 50, 12_800, 1, 1)]


def test_steps_to_has_a_row_per_trial_reached_or_not(release: duckdb.DuckDBPyConnection) -> None:
    rows = release.execute(
        f"SELECT batch_size, trial_id, steps, last_step FROM steps_to('{METRIC}', 0.29) ORDER BY ALL"
    ).fetchall()
    assert rows == [(64, 1, 200, 200), (64, 2, None, 200), (64, 3, None, 100), (128, 1, None, 100)]


def test_a_metric_without_direction_is_measured_but_has_no_records(release: duckdb.DuckDBPyConnection) -> None:
    count = "SELECT count(*) FROM {} WHERE metric = 'val/unregistered'"
    assert release.execute(count.format("measurements")).fetchone() == (8,)
    assert release.execute(count.format("records")).fetchone() == (0,)


def test_steps_to_target_has_the_goals_of_the_workload(release: duckdb.DuckDBPyConnection) -> None:
    assert release.execute("SELECT metric, target FROM goals").fetchall() == [("val/classification_error", 0.01)]
    assert release.execute("SELECT count(*), count(steps) FROM steps_to_target").fetchone() == (4, 0)
    assert release.execute("SELECT batch_size, steps FROM steps_to_result ORDER BY 1").fetchall() == [
        (64, None),
        (128, None),
    ]


def test_examples_beyond_64_bits_are_null_and_other_studies_are_unaffected(tmp_path: Path) -> None:
    late = {1: trial((2**62, "0.1"))}
    files = study_files(late, 2**40) | study_files(late, 1)
    lake = Lake.create(tmp_path / "lake")
    ingest(lake, [unpacked(tmp_path / "logs", files)])
    rows = results(open_release(lake, lake.release()), METRIC, 0.3)
    assert [(row[2], row[5]) for row in rows] == [(2**62, 2**62), (2**62, None)]


def test_a_release_can_not_be_written_to(release: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.Error, match="read-only"):
        release.execute("DELETE FROM base.trials")


@pytest.mark.parametrize("name", [*VIEWS, *MACROS])
def test_every_view_documents_its_row(name: str) -> None:
    assert sql(name).startswith("-- One row per ")


UNKNOWN = "val/unregistered"


@pytest.mark.parametrize("macro", MACROS)
def test_a_metric_without_direction_is_an_error_that_says_what_to_add(
    release: duckdb.DuckDBPyConnection, macro: str
) -> None:
    for columns in ("*", "count(*)"):
        with pytest.raises(duckdb.Error, match=f"higher values of {UNKNOWN} are better: add direction := 'minimize'"):
            release.execute(f"SELECT {columns} FROM {macro}('{UNKNOWN}', 0.3)").fetchall()
    with pytest.raises(duckdb.Error, match="'up' of val/unregistered is neither minimize nor maximize"):
        release.execute(f"FROM {macro}('{UNKNOWN}', 0.3, direction := 'up')").fetchall()


@pytest.mark.parametrize(("direction", "known"), [("minimize", METRIC), ("maximize", "val/average_precision")])
def test_a_direction_given_answers_as_that_of_the_metric_does(
    release: duckdb.DuckDBPyConnection, direction: str, known: str
) -> None:
    other = {METRIC: "val/average_precision", "val/average_precision": METRIC}[known]
    for macro in MACROS:
        expected = release.execute(f"SELECT * EXCLUDE (metric) FROM {macro}('{known}', 0.3) ORDER BY ALL").fetchall()
        for metric in (UNKNOWN, known, other):
            query = f"SELECT * EXCLUDE (metric) FROM {macro}('{metric}', 0.3, direction := $d) ORDER BY ALL"
            assert release.execute(query, {"d": direction}).fetchall() == expected

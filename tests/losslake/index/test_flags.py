"""A trial that reaches a goal with a quarter of the examples that its neighbours allow is flagged, and left out."""

from __future__ import annotations

import statistics
from itertools import groupby
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from losslake.index.serving import open_release
from losslake.index.view_texts import overridden
from losslake.lake.lake import Lake
from losslake.questions import scaling
from losslake.questions.release.view import ReleaseView
from losslake_ingest.run import ingest
from losslake_schema.tables import GOALS, METRICS, RECORDS, TRIALS
from tests.ingest.offers import METRIC, TrialOffer, study_files, unpacked

KEYS = {"collection": "c", "dataset": "d", "model": "m", "optimizer": "o"}
WORKLOAD = "shallue2018/mnist/simple_cnn_base/nesterov_momentum"
TARGET = 0.01
Steps = dict[tuple[int, int], int | None]


def flagged_by_brute_force(steps: Steps, incomplete: set[tuple[int, int]]) -> list[tuple[int, int, float]]:
    """The flagged trials by batch size and trial_id, with the least number of examples that their neighbours allow."""
    reached = {trial: count for trial, count in steps.items() if count is not None}
    counted = sorted((size, count) for (size, number), count in reached.items() if (size, number) not in incomplete)
    best = {size: min(count for _, count in own) for size, own in groupby(counted, key=lambda each: each[0])}
    flagged = []
    for (size, number), count in sorted(reached.items()):
        if size not in best:
            continue
        smaller = sorted(other for other in best if other < size)[-3:]
        larger = sorted(other for other in best if other > size)[:3]
        allowed = [best[other] * other for other in smaller] + [best[other] * size for other in larger]
        if len(allowed) >= 3 and count * size < statistics.median(allowed) / 4:
            flagged.append((size, number, statistics.median(allowed)))
    return flagged


def flags_of(trials: list[Any], records: list[Any], goals: list[Any], columns: str) -> list[tuple[Any, ...]]:
    """Columns of the flags that the statement finds in these rows."""
    with duckdb.connect() as connection:
        connection.execute("CREATE SCHEMA base")
        metrics = [{"metric": "v", "direction": "minimize"}]
        for name, rows, schema in (
            ("trials", trials, TRIALS), ("records", records, RECORDS), ("goals", goals, GOALS),
            ("metrics", metrics, METRICS),
        ):  # fmt: skip
            connection.register("given", pa.Table.from_pylist(rows, schema))
            connection.execute(f"CREATE TABLE base.{name} AS FROM given")
        connection.execute("CREATE TEMP VIEW changed_records AS FROM base.records")
        for name in ("none_unchanged", "small_epochs", "base_hits", "base_flags"):
            connection.execute(overridden("serving", name))
        return connection.execute(f"SELECT {columns} FROM base.flags ORDER BY ALL").fetchall()


@given(
    steps=st.dictionaries(
        st.tuples(st.sampled_from([1, 2, 4, 8, 16, 64, 256]), st.integers(1, 3)),
        st.none() | st.integers(0, 40) | st.sampled_from([1000, 2**40]),
        min_size=4,
    ),
    incomplete=st.sets(st.tuples(st.sampled_from([1, 2, 4, 8]), st.integers(1, 3)), max_size=3),
)
@settings(max_examples=settings().max_examples // 2)
def test_flags_are_those_of_brute_force(steps: Steps, incomplete: set[tuple[int, int]]) -> None:
    trials, records = [], []
    for (size, number), count in steps.items():
        status = "INCOMPLETE" if (size, number) in incomplete else "COMPLETE"
        own = {**KEYS, "batch_size": size, "trial_id": number}
        trials.append({**own, "status": status})
        if count is not None:
            records += [{**own, "metric": "v", "step": count + later, "value": 0.1 - later / 100} for later in (0, 1)]
    goals = [{**KEYS, "metric": "v", "target": 0.1, "comparator": "inclusive"}]
    found = flags_of(trials, records, goals, "batch_size, trial_id, least_examples")
    assert found == flagged_by_brute_force(steps, incomplete)


@given(
    epochs=st.lists(
        st.tuples(
            st.sampled_from(["a/x", "a/y", "b"]), st.sampled_from([None, "160", "400", "1000", "1001.5", "1.2.3"])
        ),
        min_size=10,
        max_size=40,
    )
)
@settings(max_examples=settings().max_examples // 2)
def test_epochs_of_less_than_half_the_usual_examples_are_flagged(epochs: list[tuple[str, str | None]]) -> None:
    trials = [
        {**KEYS, "collection": name, "batch_size": 8, "trial_id": number, "status": "COMPLETE"}
        | {"attributes": [] if size is None else [("step", f'"epoch_num x {size} / 8"')]}
        for number, (name, size) in enumerate(epochs)
    ]
    families: dict[str, list[float]] = {}
    for name, size in epochs:
        if size not in (None, "1.2.3"):
            families.setdefault(name[0], []).append(float(size))
    expected = [
        (name, number, float(size), statistics.median(families[name[0]]) / 2)
        for number, (name, size) in enumerate(epochs)
        if size not in (None, "1.2.3")
        and len(families[name[0]]) >= 10
        and float(size) < statistics.median(families[name[0]]) / 2
    ]
    found = flags_of(trials, [], [], "collection, trial_id, examples, least_examples")
    assert found == sorted(expected)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A workload whose trials need 12,800 examples, but one at batch size 64, which needs 640."""
    folder: Path = tmp_path_factory.mktemp("flags")
    files: dict[str, bytes] = {}
    for size in (8, 16, 32, 64, 128, 256):
        trials = {1: TrialOffer(rows=("0,0.9", f"{12_800 // size},0.005"), metadata={"steps": 12_800 // size})}
        if size == 64:
            trials[2] = TrialOffer(rows=("0,0.9", "10,0.005"), metadata={"steps": 10})
        files |= study_files(trials, size, WORKLOAD, train_steps=0)
    made = Lake.create(folder / "lake")
    ingest(made, [unpacked(folder / "logs", files)])
    return made


def rows_of_rest(view: ReleaseView, workload: str = WORKLOAD, **more: str) -> list[tuple[object, ...]]:
    asked = {"workload": [workload], "metric": METRIC, "target": TARGET, **more}
    rows = scaling.QUESTION.answer(view, scaling.ScalingParameters.model_validate(asked)).table().to_pylist()
    return [(row["batch_size"], row["steps"], row["trial_id"], row["n_trials"], row["n_reached"]) for row in rows]


def test_a_flag_is_in_a_table_with_its_reason(lake: Lake) -> None:
    rows = open_release(lake, lake.release()).execute(
        "SELECT batch_size, trial_id, rule, metric, target, examples, least_examples FROM flags"
    )
    assert rows.fetchall() == [(64, 2, "too_few_examples", METRIC, TARGET, 640.0, 12_800.0)]


@pytest.mark.parametrize("flagged", ["exclude", "include"])
def test_rest_and_sql_leave_flagged_trials_out_unless_they_are_taken_in(lake: Lake, flagged: str) -> None:
    view = ReleaseView.open(lake, lake.release())
    expected = (64, 10, 2, 2, 2) if flagged == "include" else (64, 200, 1, 1, 1)
    for workload in (WORKLOAD, WORKLOAD.replace("nesterov_momentum", "*")):
        rows = rows_of_rest(view, workload, flagged=flagged)
        assert rows[3] == expected
        assert rows == rows_of_rest(view, workload, flagged=flagged, step_budget="99999")
    for macro in ("result_at", "pooled_result_at"):
        call = f"{macro}($m, $t, direction := NULL, flagged := $f)"
        query = f"SELECT batch_size, steps, trial_id, n_trials, n_reached FROM {call}"
        given = {"m": METRIC, "t": TARGET, "f": flagged}
        assert view.cursor().execute(f"{query} ORDER BY ALL", given).fetchall() == rows
    count = view.cursor().execute("SELECT count(*) FROM steps_to($m, $t, flagged := $f)", given).fetchone()
    assert count == ((7,) if flagged == "include" else (6,))


def test_views_and_the_quick_macro_leave_flagged_trials_out(lake: Lake) -> None:
    view = ReleaseView.open(lake, lake.release())
    columns = "batch_size, steps, trial_id, n_trials, n_reached"
    for source in (f"result_at('{METRIC}', {TARGET})", "steps_to_result"):
        assert view.cursor().execute(f"SELECT {columns} FROM {source} ORDER BY ALL").fetchall() == rows_of_rest(view)
    assert view.cursor().execute("SELECT count(*) FROM steps_to_target").fetchone() == (6,)
    assert view.cursor().execute("SELECT count(*) FROM trials").fetchone() == (7,)


def test_an_answer_counts_the_flagged_trials_that_it_leaves_out(lake: Lake) -> None:
    asked = {"workload": [WORKLOAD], "metric": METRIC, "target": TARGET}
    view = ReleaseView.open(lake, lake.release())
    facts = scaling.QUESTION.answer(view, scaling.ScalingParameters.model_validate(asked)).facts
    assert facts["flagged"] == "exclude"
    assert facts["left_out"] == [
        f"{WORKLOAD}: 1 trial flagged, as FROM flags in SQL explains: flagged=include includes them"
    ]
    facts = scaling.QUESTION.answer(
        view, scaling.ScalingParameters.model_validate({**asked, "flagged": "include"})
    ).facts
    assert facts["left_out"] == []


def test_sql_refuses_another_word_for_flagged(lake: Lake) -> None:
    with pytest.raises(duckdb.Error, match="flagged all is neither exclude nor include"):
        open_release(lake, lake.release()).execute(f"FROM steps_to('{METRIC}', 0.1, flagged := 'all')").fetchall()

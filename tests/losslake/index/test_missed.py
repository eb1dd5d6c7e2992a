"""An incomplete trial that ran as long as those that reached a goal, and missed it, is MISSED: a failure."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from losslake.index.serving import open_release, remote_file
from losslake.index.view_texts import overridden
from losslake.lake.lake import Lake
from losslake.questions import scaling, survival
from losslake.questions.release.view import ReleaseView
from losslake_ingest.run import ingest
from losslake_schema.tables import GOALS, METRICS, RECORDS, STUDIES, TRIALS
from tests.ingest.offers import METRIC, TrialOffer, study_files, unpacked

KEYS = {"collection": "c", "dataset": "d", "model": "m", "optimizer": "o"}
WORKLOAD = "shallue2018/mnist/simple_cnn_base/nesterov_momentum"
TARGET = 0.01


class Run(NamedTuple):
    """A trial with its values at steps 1, 2, …. trained: as the log states it. rate: None for an unknown setting."""

    status: str
    values: tuple[float, ...]
    trained: int
    rate: float | None
    is_flagged: bool


RUNS = st.lists(
    st.builds(
        Run,
        st.sampled_from(["COMPLETE", "INCOMPLETE", "INCOMPLETE", "INFEASIBLE"]),
        st.lists(st.sampled_from([0.9, 0.5, 0.1]), max_size=4).map(lambda values: tuple(sorted(values, reverse=True))),
        st.integers(0, 6),
        st.sampled_from([0.1, 0.2, None]),
        st.booleans(),
    ),
    max_size=8,
)


def missed_by_brute_force(runs: list[Run], goals: list[float], train_steps: int) -> list[int]:
    """The numbers of the trials that missed."""

    def hit(run: Run, goal: float) -> int | None:
        return next((step for step, value in enumerate(run.values, 1) if value < goal), None)

    def has_missed(run: Run, goal: float) -> bool:
        if run.status != "INCOMPLETE" or not run.values or hit(run, goal) is not None:
            return False
        trained = max(run.trained, len(run.values))
        reached = [(each.rate, hit(each, goal)) for each in runs if each.status == "COMPLETE" and not each.is_flagged]
        of_study = [step for _, step in reached if step is not None]
        of_setting = [step for rate, step in reached if step is not None and rate == run.rate is not None]
        limits = [max(steps) for steps in (of_setting or of_study,) if steps] + [train_steps] * (train_steps > 0)
        return any(trained >= limit for limit in limits)

    return [number for number, run in enumerate(runs) if any(has_missed(run, goal) for goal in goals)]


@given(runs=RUNS, goals=st.lists(st.sampled_from([1.0, 0.6, 0.2]), unique=True), train_steps=st.sampled_from([0, 3]))
@settings(max_examples=settings().max_examples // 2)
def test_missed_trials_are_those_of_brute_force(runs: list[Run], goals: list[float], train_steps: int) -> None:
    trials: list[dict[str, Any]] = []
    records = []
    for number, run in enumerate(runs):
        own = {**KEYS, "batch_size": 8, "trial_id": number}
        parameters = {} if run.rate is None else {"learning_rate": run.rate, "seed": float(number)}
        facts = {"status": run.status, "steps": run.trained, "last_step": len(run.values) or None}
        trials.append({**own, **facts, "parameters": list(parameters.items()), "attributes": []})
        best = float("inf")
        for step, value in enumerate(run.values, 1):
            if value < best:
                records.append({**own, "metric": "v", "step": step, "value": value})
                best = value
    study = {**KEYS, "batch_size": 8, "train_steps": train_steps, "metrics": ["v", "w"], "n_incomplete": len(runs)}
    goal_rows = [{**KEYS, "metric": m, "target": t, "comparator": "strict"} for m in ("v", "w", "x") for t in goals]
    metrics = [{"metric": "v", "direction": "minimize"}, {"metric": "w"}, {"metric": "x", "direction": "minimize"}]
    tables = {
        "studies": ([study], STUDIES), "trials": (trials, TRIALS), "records": (records, RECORDS),
        "goals": (goal_rows, GOALS), "metrics": (metrics, METRICS),
        "flags": ([trial for trial, run in zip(trials, runs, strict=True) if run.is_flagged], TRIALS),
    }  # fmt: skip
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1; CREATE SCHEMA base")
        for name, (rows, schema) in tables.items():
            connection.register("given", pa.Table.from_pylist(rows, schema))
            numbered = "1 AS study_id, " if name in ("studies", "trials") else ""
            connection.execute(f"CREATE TABLE base.{name} AS SELECT {numbered}* FROM given")
        connection.execute("CREATE TEMP VIEW changed_records AS FROM base.records")
        for name in ("none_unchanged", "base_hits", "base_missed", "missed_statuses", "statuses"):
            connection.execute(overridden("serving", name))
        missed = "SELECT trial_id FROM base.trials WHERE status = 'MISSED' ORDER BY ALL"
        found = [number for (number,) in connection.execute(missed).fetchall()]
        counts = connection.execute("SELECT n_incomplete, n_missed FROM base.studies").fetchall()
    assert found == missed_by_brute_force(runs, goals, train_steps)
    assert counts == [(len(runs) - len(found), len(found))]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Trials that reach the goal at 20 and 40 steps, one that doesn't within 40, and one that was stopped at 30."""
    folder: Path = tmp_path_factory.mktemp("missed")
    reached = [TrialOffer(rows=("0,0.9", f"{step},0.005"), metadata={"steps": step}) for step in (20, 40)]
    missed, stopped = (
        TrialOffer(("0,0.9", f"{step},0.02"), "INCOMPLETE", metadata={"steps": step}) for step in (40, 30)
    )
    trials = dict(enumerate((*reached, missed, stopped), start=1))
    made = Lake.create(folder / "lake")
    ingest(made, [unpacked(folder / "logs", study_files(trials, 64, WORKLOAD, train_steps=0))])
    return made


def test_sql_rest_and_the_stored_table_say_how_a_trial_that_missed_ended(lake: Lake) -> None:
    connection = open_release(lake, lake.release())
    statuses = "SELECT status FROM trials ORDER BY trial_id"
    expected = [("COMPLETE",), ("COMPLETE",), ("MISSED",), ("INCOMPLETE",)]
    assert connection.execute(statuses).fetchall() == expected
    for view in ("studies", "workloads"):
        counts = connection.execute(f"SELECT n_complete, n_missed, n_incomplete FROM {view}").fetchall()
        assert counts == [(2, 1, 1)]
    (stored,) = (file for file in lake.files(lake.release()) if file.table == "trials")
    path = lake.store.name_for_queries(stored.path)
    with duckdb.connect() as client:  # it reads the stored rows, over HTTP but for this test
        of_stored = f"SELECT status FROM read_parquet('{path}') ORDER BY trial_id"
        assert client.execute(of_stored).fetchall()[2] == ("INCOMPLETE",)
        remote = remote_file(lake, lake.release(), "https://example.org")
        client.execute(f"ATTACH '{remote}' AS given (READ_ONLY); CREATE SCHEMA base")
        client.execute("CREATE TABLE base.missed AS FROM given.base.missed")
        client.execute(overridden("remote", "base_trials").replace("$files", f"'{path}'"))
        assert client.execute(f"{statuses.replace('trials', 'base.trials', 1)}").fetchall() == expected
        assert client.execute("SELECT n_missed FROM given.studies").fetchall() == [(1,)]


def test_a_trial_that_missed_counts_as_never_reached(lake: Lake) -> None:
    view = ReleaseView.open(lake, lake.release())
    asked = {"workload": [WORKLOAD], "metric": METRIC, "target": TARGET}
    answer = scaling.QUESTION.answer(view, scaling.ScalingParameters.model_validate(asked))
    (row,) = answer.table().to_pylist()
    assert (row["steps"], row["n_trials"], row["n_reached"]) == (20, 3, 2)
    assert answer.facts["left_out"] == [
        f"{WORKLOAD}: 1 trial of status INCOMPLETE: status=COMPLETE&status=MISSED&status=INCOMPLETE includes them"
    ]
    quick, slow = (
        f"SELECT steps, n_trials, n_reached FROM result_at('{METRIC}', {TARGET}{more})"
        for more in ("", ", direction := NULL")
    )
    for statement in (quick, slow, "SELECT steps, n_trials, n_reached FROM steps_to_result"):
        assert view.cursor().execute(statement).fetchall() == [(20, 3, 2)]


def test_survival_counts_a_trial_that_missed_as_a_failure(lake: Lake) -> None:
    view = ReleaseView.open(lake, lake.release())
    asked = {"workload": [WORKLOAD], "metric": METRIC, "target": TARGET}

    def end(**more: object) -> dict[str, Any]:
        answer = survival.QUESTION.answer(view, survival.SurvivalParameters.model_validate(asked | more))
        (found,) = answer.facts["summaries"]
        return {name: found[name] for name in ("n_reached", "n_missed", "n_censored", "chance", "reached")}

    ended = {"n_reached": 2, "n_missed": 1, "n_censored": 0, "chance": 2 / 3, "reached": 2 / 3}
    assert end(status=["COMPLETE", "MISSED"]) == pytest.approx(ended)
    # The one that was stopped at 30 was at risk at 20: 1/4, then 1/2 of the other three quarters reach.
    assert end() == pytest.approx(ended | {"n_censored": 1, "chance": 2 / 4, "reached": 1 / 4 + 3 / 4 / 2})
    # Within a budget of 39 steps it had not missed yet.
    assert end(step_budget=39)["n_missed"] == 0

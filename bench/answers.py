"""Checks of answers against the truth of the archive, or against another way to the same answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from importlib import resources
from itertools import pairwise
from typing import Any

from bench.asking import expect
from bench.scaling import ScalingQuestion
from bench.truth import StudyTruth
from losslake.questions.release.view import ReleaseView

COLUMNS = ("workload", "batch_size", "steps", "trial_id", "value", "previous_step", "n_trials")
ResultRow = tuple[Any, ...]


def statement(name: str) -> str:
    """Return the text of `bench/statements/<name>.sql`."""
    return resources.files("bench.statements").joinpath(f"{name}.sql").read_text("utf-8")


def results_of(truths: Iterable[StudyTruth]) -> list[ResultRow]:
    """Return the expected steps to the goal of a workload, by batch size."""
    return [(t.workload, t.batch_size, t.steps, t.trial_id, t.value, t.previous_step, t.complete) for t in truths]


def results_in(answer: bytes) -> list[ResultRow]:
    """Return the steps of a scaling answer in JSON, by workload and batch size."""
    return [tuple(row[name] for name in COLUMNS) for row in json.loads(answer)["rows"]]


def by_sql(view: ReleaseView, question: ScalingQuestion) -> Iterator[ResultRow]:
    """Yield the same steps from DuckDB, which searches all records."""
    goal = {"metric": question.metric, "target": question.target}
    wanted = set(map(str, question.workloads))
    for *workload, batch_size, steps, trial_id, value, previous_step, n_trials in (
        view.cursor().execute(statement("steps_to_target"), goal).fetchall()
    ):
        if "/".join(workload) in wanted:
            yield "/".join(workload), batch_size, steps, trial_id, value, previous_step, n_trials


def expect_curve(truth: StudyTruth, answer: bytes) -> None:
    """Raise WrongAnswer unless it is the curve of the best trial, which reaches the goal at the expected step."""
    rows = json.loads(answer)["rows"]
    steps = [row["step"] for row in rows]
    expect("trials of a curve", {row["trial_id"] for row in rows}, {truth.trial_id})
    expect("whether steps of a curve ascend", all(before < after for before, after in pairwise(steps)), True)
    hits = [number for number, row in enumerate(rows) if _beats(row["value"], truth)]
    expect(f"whether a curve of {truth.workload} beats its goal", bool(hits), True)
    actual = steps[hits[0]], rows[hits[0]]["value"], steps[hits[0] - 1]
    expect(f"where a curve of {truth.workload} beats its goal", actual, (truth.steps, truth.value, truth.previous_step))


def expect_study(truth: StudyTruth, answer: bytes) -> None:
    """Raise WrongAnswer unless the answer has as many trials and evaluations as the study."""
    rows = json.loads(answer)["rows"]
    expect(f"evaluations of {truth.study}", len(rows), truth.evaluations)
    expect(f"trials of {truth.study}", len({row["trial_id"] for row in rows}), truth.trials)


def _beats(value: float | str, truth: StudyTruth) -> bool:
    """Return True if a value is strictly better than the goal; NaN and infinities, strings in JSON, never are."""
    if isinstance(value, str):
        return False
    return value > truth.goal if truth.value > truth.goal else value < truth.goal

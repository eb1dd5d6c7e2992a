"""only_finished counts trials that ended their schedules; results in different phases of them are warned about."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from losslake.index.records import Trials
from losslake.output.answer import Answer
from losslake.questions import compare, scaling
from losslake.questions.trials import selection as answers
from losslake.questions.trials.schedules import phases
from losslake.questions.trials.selection import Selection
from losslake_schema.reached import NEVER
from tests.losslake.questions.test_scaling_and_steps import PLAIN_GOALS, rows_of, rows_of_trials
from tests.losslake.questions.views import METRIC, OTHER, WORKLOAD, answer_to, view_of
from tests.oracle import Goal, Row, scaling_rows

SELECTION = Selection((WORKLOAD,), METRIC)
Schedule = tuple[int | None, int | None]


def facts_of(schedule: Schedule) -> dict[str, float]:
    """The metaparameters that state a start of decay and an end, where these are known."""
    pairs = zip(("decay_start", "schedule_end"), schedule, strict=True)
    return {name: float(step) for name, step in pairs if step is not None}


def curve(batch_size: int, trial: int, *values: float) -> list[Row]:
    """The rows of a trial that is evaluated every 10 steps, from step 10 on."""
    return [Row(batch_size, trial, "COMPLETE", 10 * n, value) for n, value in enumerate(values, 1)]


def answer_of(
    rows: list[Row], schedules: Mapping[tuple[int, int], Schedule], target: float = 0.5, **parameters: Any
) -> Answer:
    view = view_of(rows, parameters=lambda size, trial: facts_of(schedules.get((size, trial), (None, None))))
    return answer_to(scaling.QUESTION, view, SELECTION, answers.Goal(target), **parameters)


@given(rows_of_trials(), PLAIN_GOALS, st.data())
@settings(max_examples=settings().max_examples // 2)
def test_only_finished_answers_as_if_the_other_trials_were_not_there(
    rows: list[Row], goal: Goal, data: st.DataObject
) -> None:
    trials = [*dict.fromkeys((row.batch_size, row.trial_id) for row in rows)]
    last = {
        key: max((row.step for row in group if row.step is not None), default=None)
        for key, group in groupby(rows, lambda row: (row.batch_size, row.trial_id))
    }
    ends = {key: data.draw(st.none() | st.sampled_from([1, 5, 40, 1000])) for key in trials}
    finished = {key for key in trials if ends[key] is not None and last[key] is not None and last[key] >= ends[key]}
    view = view_of(rows, goal.direction, parameters=lambda size, trial: facts_of((None, ends.get((size, trial)))))
    aim = answers.Goal(goal.target, goal.comparator)
    answer = answer_to(scaling.QUESTION, view, SELECTION, aim, only_finished=True, result="best_trial")
    kept = [row for row in rows if (row.batch_size, row.trial_id) in finished]
    expected = {row["batch_size"]: row for row in scaling_rows(kept, goal)}
    for row in rows_of(answer):
        reached = expected.get(row["batch_size"], {"steps": None, "trial_id": None, "n_trials": 0, "n_reached": 0})
        assert {name: row[name] for name in ("steps", "trial_id", "n_trials", "n_reached")} == {
            name: reached[name] for name in ("steps", "trial_id", "n_trials", "n_reached")
        }
    statuses = {(row.batch_size, row.trial_id): row.status for row in rows}
    others = [key for key in trials if key not in finished and statuses[key] in ("COMPLETE", "MISSED")]
    unknown = [key for key in others if ends[key] is None]
    left_out = answer.facts["left_out"]
    for n, text in ((len(unknown), "no known end"), (len(others) - len(unknown), "before the end of their schedule")):
        counts = [int(line.split(": ")[1].split()[0]) for line in left_out if text in line]
        assert counts == ([n] if n else [])


def test_trials_without_a_known_end_are_left_out_and_counted_apart_from_unfinished_ones() -> None:
    rows = [*curve(8, 1, 0.9, 0.4), *curve(8, 2, 0.4), *curve(8, 3, 0.4)]
    answer = answer_of(rows, {(8, 1): (None, 20), (8, 2): (5, 20)}, only_finished=True)
    assert rows_of(answer)[0]["steps"] == 20
    assert answer.facts["only_finished"] is True
    assert answer.facts["left_out"] == [
        f"{WORKLOAD}: 1 trial last evaluated before the end of their schedule: without only_finished, they count",
        f"{WORKLOAD}: 1 trial whose schedule has no known end: without only_finished, they count",
    ]


def phase_of(schedule: Schedule, step: int) -> str | None:
    start, end = schedule
    if end is not None and step >= end:
        return "finished"
    if start is None:
        return None
    return "before_decay" if step <= start else "decay"


STARTS_AND_ENDS = st.tuples(st.none() | st.integers(0, 9), st.none() | st.integers(1, 9))


@given(st.lists(st.tuples(STARTS_AND_ENDS, st.none() | st.integers(0, 10)), max_size=8))
def test_phases_are_those_of_each_trial_by_itself(cases: list[tuple[Schedule, int | None]]) -> None:
    n = len(cases)
    columns = [
        [NEVER if step is None else step for step in column] for column in zip(*(c[0] for c in cases), strict=True)
    ]
    start, end = (np.array(column, np.int64) for column in columns or ([], []))
    zeros = np.zeros(n, np.int64)
    trials = Trials(*[np.arange(n), zeros, zeros, zeros, zeros, zeros, zeros, start, end])
    rows = np.array([NEVER if step is None else row for row, (_, step) in enumerate(cases)], np.int64)
    steps = np.array([0 if step is None else step for _, step in cases], np.int64)
    expected = [None if step is None else phase_of(schedule, step) for schedule, step in cases]
    is_known = any(step is not None and schedule != (None, None) for schedule, step in cases)
    assert phases(trials, rows, steps) == (expected if is_known else None)


def test_batch_sizes_that_reach_the_target_before_and_after_decay_are_warned_about() -> None:
    rows = [*curve(8, 1, 0.9, 0.9, 0.4), *curve(16, 1, 0.9, 0.4), *curve(32, 1, 0.4)]
    answer = answer_of(rows, {(8, 1): (10, 30), (16, 1): (10, None), (32, 1): (10, 30)})
    assert [row["phase"] for row in rows_of(answer)] == ["finished", "decay", "before_decay"]
    assert (
        f"{WORKLOAD}: 1 batch size reaches the target before the decay of the learning rate (32 at step 10, with decay "
        "from 10) and 2 batch sizes reach the target after its start (8 at step 30, with decay from 10): steps compare "
        "schedules, too, and rankings can flip during decay"
    ) in answer.facts["warnings"]


@pytest.mark.parametrize(
    "schedules",
    [
        {},
        {(8, 1): (30, 90), (16, 1): (30, 90), (32, 1): (30, 90)},
        {(8, 1): (0, 90), (16, 1): (5, 30), (32, 1): (None, 10)},
        {(8, 1): (None, 90), (32, 1): (10, 30)},
    ],
)
def test_results_in_one_phase_or_without_known_decay_are_not_warned_about(
    schedules: Mapping[tuple[int, int], Schedule],
) -> None:
    rows = [*curve(8, 1, 0.9, 0.9, 0.4), *curve(16, 1, 0.9, 0.4), *curve(32, 1, 0.4)]
    assert "decay" not in str(answer_of(rows, schedules).facts["warnings"])


def compared(here: Schedule, there: Schedule) -> Answer:
    """A comparison of two workloads at one batch size, which reach the target at steps 20 and 30."""
    view = view_of(
        curve(8, 1, 0.9, 0.4),
        of_other=curve(8, 2, 0.9, 0.9, 0.4),
        parameters=lambda _, trial: facts_of(here if trial == 1 else there),
    )
    return answer_to(compare.QUESTION, view, Selection((WORKLOAD, OTHER), METRIC), answers.Goal(0.5))


def test_a_comparison_across_the_start_of_decay_is_warned_about_with_both_steps() -> None:
    answer = compared((25, 50), (25, 50))
    assert {row["workload"]: row["phase"] for row in rows_of(answer)} == {
        str(WORKLOAD): "before_decay",
        str(OTHER): "decay",
    }
    assert (
        "at 1 of 1 batch size, a workload reaches the target before the decay of its learning rate and another after "
        "the start of its own: at 8, SGD at step 20, before decay from step 25, and Adam at step 30, after its own at "
        "step 25: rankings can flip during decay"
    ) in answer.facts["warnings"]


def test_a_comparison_with_an_unknown_schedule_is_warned_about_only_if_another_is_before_decay() -> None:
    text = (
        "at 1 of 1 batch size, SGD reaches the target before the decay of its learning rate, and no decay is known of "
        "Adam: whether the order holds after decay is unknown"
    )
    assert text in compared((25, 50), (None, None)).facts["warnings"]
    for here, there in (((10, 50), (None, None)), ((None, None), (None, None)), ((25, 50), (40, 50))):
        assert "decay" not in str(compared(here, there).facts["warnings"])

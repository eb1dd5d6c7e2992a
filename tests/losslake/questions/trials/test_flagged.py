"""Answers leave flagged trials out as if they weren't there, and flagged=include takes them in as any others."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from losslake.questions import scaling
from losslake.questions.trials import selection as answers
from losslake.questions.trials.selection import Selection
from tests.losslake.questions.test_scaling_and_steps import GOALS, PLAIN_GOALS, assert_answers, rows_of, rows_of_trials
from tests.losslake.questions.views import METRIC, WORKLOAD, answer_to, view_of
from tests.oracle import Goal, Row


@given(rows_of_trials(), GOALS | PLAIN_GOALS, st.data())
@settings(max_examples=settings().max_examples // 2)
def test_answers_are_those_of_brute_force_without_flagged_trials(
    rows: list[Row], goal: Goal, data: st.DataObject
) -> None:
    trials = sorted({(row.batch_size, row.trial_id) for row in rows})
    # The oracle knows only batch sizes that have trials.
    firsts = {size: (size, number) for size, number in reversed(trials)}
    others = [trial for trial in trials if trial != firsts[trial[0]]]
    flagged = data.draw(st.sets(st.sampled_from(others)) if others else st.just(set()))
    left = [row for row in rows if (row.batch_size, row.trial_id) not in flagged]
    assert_answers(view_of(rows, goal.direction, flagged=sorted(flagged)), left, goal, None)


@given(rows_of_trials(), PLAIN_GOALS)
@settings(max_examples=settings().max_examples // 4)
def test_include_answers_as_if_nothing_were_flagged(rows: list[Row], goal: Goal) -> None:
    every = sorted({(row.batch_size, row.trial_id) for row in rows})
    selected, aim = Selection((WORKLOAD,), METRIC), answers.Goal(goal.target, goal.comparator)
    plain = answer_to(scaling.QUESTION, view_of(rows, goal.direction), selected, aim)
    flagged = answer_to(
        scaling.QUESTION, view_of(rows, goal.direction, flagged=every), selected, aim, flagged="include"
    )
    assert rows_of(flagged) == rows_of(plain)
    assert flagged.facts["left_out"] == plain.facts["left_out"]


def test_flagged_trials_are_counted_once_whatever_else_leaves_trials_out() -> None:
    rows = [Row(8, 1, "COMPLETE", 5, 0.1), Row(8, 2, "COMPLETE", 5, 0.1), Row(8, 3, "INCOMPLETE", 5, 0.1)]
    rows += [Row(8, 4, "COMPLETE", 5, 0.1), Row(8, 5, "COMPLETE", 5, 0.1)]
    view = view_of(rows, flagged=[(8, 1), (8, 3)])
    answer = answer_to(scaling.QUESTION, view, Selection((WORKLOAD,), METRIC, trials=2), answers.Goal(0.3))
    assert answer.facts["left_out"] == [
        f"{WORKLOAD}: 1 trial flagged, as FROM flags in SQL explains: flagged=include includes them",
        f"{WORKLOAD}: 1 trial of status INCOMPLETE: status=COMPLETE&status=MISSED&status=INCOMPLETE includes them",
        f"{WORKLOAD}: 1 trial beyond the first 2 of each study: a larger trials= includes them",
    ]

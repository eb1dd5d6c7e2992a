"""crossing=mean over any studies is what plain Python finds in exact arithmetic."""

from __future__ import annotations

import math
import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from losslake.questions import scaling, steps_to_target
from losslake.questions.release.errors import BadParameter
from losslake.questions.trials import selection as answers
from losslake.questions.trials.confirmation import Crossing
from losslake.questions.trials.selection import Selection
from tests.losslake.questions.views import METRIC, WORKLOAD, answer_to, view_of
from tests.oracle import Goal, Row

NAN = math.nan
EIGHTHS = st.integers(-4, 4).map(lambda eighths: eighths / 8)
FEWEST = 3
Curves = dict[int, dict[int, float]]


@st.composite
def studies(draw: st.DrawFn) -> list[Row]:
    """Studies of up to seven trials, evaluated at steps of their own."""
    rows = []
    for batch_size in draw(st.sets(st.sampled_from([2, 4]), min_size=1)):
        for trial_id in range(1, draw(st.integers(1, 7)) + 1):
            status = draw(st.sampled_from(["COMPLETE", "COMPLETE", "COMPLETE", "INCOMPLETE"]))
            curve = draw(st.dictionaries(st.integers(0, 5), EIGHTHS | st.sampled_from([NAN, math.inf]), max_size=6))
            rows += [Row(batch_size, trial_id, status, step, curve[step]) for step in sorted(curve)] or [
                Row(batch_size, trial_id, status, None, None)
            ]
    return rows


def setting_of(trial_id: int) -> int:
    """Trials 1, 4, 7 are of one setting, 2, 5 of another, 3, 6 of a third."""
    return trial_id % 3


def parameters(_: int, trial_id: int) -> dict[str, float]:
    return {"learning_rate": float(setting_of(trial_id)), "seed": float(trial_id)}


def curves_of_settings(rows: list[Row], goal: Goal, batch_size: int) -> list[Curves]:
    """The admitted curves of each setting within the budget, by trial, the setting with the first trial first."""
    found: dict[int, Curves] = {}
    for row in rows:
        if row.batch_size == batch_size and row.status in goal.statuses:
            curve = found.setdefault(setting_of(row.trial_id), {}).setdefault(row.trial_id, {})
            if row.step is not None and row.value is not None and row.step <= (goal.step_budget or 99):
                curve[row.step] = row.value
    return sorted(found.values(), key=min)


def crossing_of(seeds: Curves, goal: Goal, margin: float) -> dict[str, Any] | None:
    steps = [{step for step, value in curve.items() if math.isfinite(value)} for curve in seeds.values()]
    shared = sorted(set.intersection(*steps))
    for place, step in enumerate(shared):
        mean = sum(Fraction(curve[step]) for curve in seeds.values()) / len(seeds)
        short = (Fraction(goal.target) - mean) * (1 if goal.direction == "minimize" else -1)
        is_enough = short > 0 and short**2 * len(seeds) >= Fraction(margin) ** 2 if margin else short > 0
        if is_enough or (not margin and goal.comparator == "inclusive" and short == 0):
            return {
                "confirmed_steps": step,
                "confirmed_previous_step": shared[place - 1] if place else None,
                "confirmed_mean": pytest.approx(float(mean)),
                "confirmed_n_seeds": len(seeds),
            }
    return None


NONE = dict.fromkeys(("confirmed_steps", "confirmed_previous_step", "confirmed_mean", "confirmed_n_seeds"))
GOALS = st.builds(
    Goal,
    target=EIGHTHS,
    direction=st.sampled_from(["minimize", "maximize"]),
    comparator=st.sampled_from(["strict", "inclusive"]),
    step_budget=st.none() | st.integers(1, 4),
    statuses=st.sampled_from([("COMPLETE",), ("COMPLETE", "INCOMPLETE")]),
)


@given(studies(), GOALS, st.sampled_from([None, 0.0, 0.125, 0.25]), st.booleans())
@settings(max_examples=settings().max_examples // 2)
def test_mean_crossings_are_those_of_plain_python(
    rows: list[Row], goal: Goal, margin: float | None, has_own_direction: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        view = view_of(rows, goal.direction if has_own_direction else None, Path(folder), parameters=parameters)
        selected = Selection((WORKLOAD,), METRIC, goal.direction, goal.step_budget, statuses=goal.statuses)
        aim = answers.Goal(goal.target, goal.comparator)
        of_studies, of_trials = (
            answer_to(question, view, selected, aim, crossing="mean", margin=margin)
            for question in (scaling.QUESTION, steps_to_target.QUESTION)
        )
    expected_studies, expected_trials = [], []
    for batch_size in sorted({row.batch_size for row in rows}):
        each = [
            (seeds, crossing_of(seeds, goal, margin or 0.0)) for seeds in curves_of_settings(rows, goal, batch_size)
        ]
        large = [one for one in each if len(one[0]) >= FEWEST] or each
        crossed = [(cross["confirmed_steps"], min(seeds), cross) for seeds, cross in large if cross is not None]
        _, first, cross = min(crossed, key=lambda one: one[:2], default=(None, None, NONE))
        expected_studies.append({"confirmed_trial_id": first, "n_confirmed": len(crossed), **cross})
        by_trial = {trial: cross or NONE for seeds, cross in each for trial in seeds}
        expected_trials += [{"trial_id": trial, **by_trial[trial]} for trial in sorted(by_trial)]
    for answer, expected in ((of_studies, expected_studies), (of_trials, expected_trials)):
        names = list(expected[0]) if expected else []
        assert [{name: row[name] for name in names} for row in answer.table().to_pylist()] == expected
        assert (answer.facts["margin"], answer.facts["k"]) == (margin or 0.0, None)


def seeds_of(*curves: dict[int, float]) -> list[Row]:
    """One study of trials of one setting: 3, 6, 9 …"""
    return [
        Row(8, 3 * place, "COMPLETE", step, value)
        for place, curve in enumerate(curves, 1)
        for step, value in curve.items()
    ]


def asked(rows: list[Row], folder: Path, **options: Any) -> tuple[dict[str, Any], list[str]]:
    view = view_of(rows, "minimize", folder, parameters=parameters)
    selected, goal = Selection((WORKLOAD,), METRIC), answers.Goal(3.28)
    answer = answer_to(scaling.QUESTION, view, selected, goal, crossing="mean", **options)
    (row,) = answer.table().to_pylist()
    return row, answer.facts["warnings"]


def test_a_margin_asks_more_of_the_mean_of_fewer_seeds(tmp_path: Path) -> None:
    """(3.28 - 3.277) sqrt(n) is at least 0.004 for 2 seeds, not for 1."""
    curve = {10: 3.5, 20: 3.277, 30: 3.27}
    one, two = (asked(seeds_of(*[curve] * n), tmp_path / str(n), margin=0.004)[0] for n in (1, 2))
    assert (one["confirmed_steps"], two["confirmed_steps"]) == (30, 20)
    assert (3.28 - two["confirmed_mean"]) * math.sqrt(two["confirmed_n_seeds"]) >= 0.004


def test_seeds_that_stop_at_their_goal_end_the_mean_curve_and_the_answer_says_so(tmp_path: Path) -> None:
    """At step 30 the mean of those that have not stopped would be of a selection."""
    row, warnings = asked(seeds_of({10: 3.3, 20: 3.27}, {10: 3.4, 20: 3.3, 30: 3.27}, {10: 3.4, 20: 3.3}), tmp_path)
    assert (row["steps"], row["confirmed_steps"], row["n_confirmed"]) == (30, None, 0)
    assert any("in 1 of 1 settings" in text and "ends before it crosses" in text for text in warnings)


def test_a_margin_of_another_crossing_rule_is_refused() -> None:
    with pytest.raises(BadParameter, match="is for crossing=mean"):
        Crossing("first", margin=0.5)
    with pytest.raises(BadParameter, match="k=2 is for"):
        replace(Crossing("mean", margin=0.5), k=2)

"""The panel for a reader's own run gets the limits of its metric, and the stored trials that it is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from losslake_schema import registry
from losslake_service.web.goals import PageGoal
from losslake_service.web.own_run import own_run, stored_beside
from tests.losslake.questions.views import METRIC, WORKLOAD, view_of
from tests.oracle import Row

GOAL = PageGoal(METRIC, 0.5, "minimize")
NAN = float("nan")


def limits_of(metric: str, values: Sequence[float], direction: str = "maximize") -> list[tuple[Any, ...]]:
    rows = [Row(8, trial, "COMPLETE", 10, value) for trial, value in enumerate(values, start=1)]
    about = own_run(view_of(rows, direction, metric=metric), WORKLOAD, None, metric, PageGoal(metric, 0.5, direction))
    assert about is not None
    return [tuple(limit.values()) for limit in about["limits"]]


@pytest.mark.parametrize(
    ("metric", "largest", "typical"),
    [("val/accuracy", 1, "largest"), ("val/bleu", 100, "largest"), ("val/word_error_rate", 1, "middle")],
)
def test_limits_of_a_registered_metric_are_those_of_targets(metric: str, largest: float, typical: str) -> None:
    text = registry.metrics()[metric].range_in_words
    limit, tolerance = pytest.approx(largest, abs=1e-3), pytest.approx(0, abs=1e-3)
    units = (
        (typical, limit, 100, f"look like percent: {text}. They were divided by 100.", "percent")
        if largest == 1
        else ("largest", 0, 1, f"look like fractions: {text}. They were multiplied by 100.", "fractions")
    )
    assert limits_of(metric, [0.5]) == [
        units,
        (typical, limit, None, f"are too large: {text}. Choose another column.", None),
        ("least", None, tolerance, f"are too small: {text}. Choose another column.", None),
    ]


def test_metric_whose_stored_values_are_fractions_is_one() -> None:
    text = "stored values of val/mean_dice lie between 0.2 and 0.91"
    assert limits_of("val/mean_dice", [0.2, 0.91]) == [
        ("largest", 1, 100, f"look like percent: {text}. They were divided by 100.", "percent"),
        ("largest", 1, None, f"are too large: {text}. Choose another column.", None),
    ]


def test_metric_has_no_limits_where_neither_registry_nor_values_say_them() -> None:
    assert limits_of("val/loss", [0.2], "minimize") == []
    assert limits_of("val/mean_dice", [0.2, 1.5]) == []
    assert limits_of("val/fid", [0.2], "minimize") == []


def about_of(rows: Sequence[Row], batch_size: int | None = None, **facts: Any) -> dict[str, Any]:
    """Return what a run is compared with on the page of these trials, or of those at a batch size."""
    return stored_beside(view_of(rows, **facts), WORKLOAD, batch_size, GOAL)


def reaching(*steps: int | None, batch_size: int = 8) -> list[Row]:
    """Return trials by number, each with its steps to the goal; None for one that doesn't reach it."""
    return [
        Row(batch_size, trial, "COMPLETE", 9 if each is None else each, 0.9 if each is None else 0.1)
        for trial, each in enumerate(steps, start=1)
    ]


@pytest.mark.parametrize(
    ("steps", "median", "text", "why_none"),
    [
        ([4, None, 2], 4, "2 of 3 trials reach it, the median after 4.", "doesn't reach it (2 do)"),
        ([1100, 1133], 1116.5, "2 of 2 trials reach it, the median after 1,116.5.", "doesn't reach it (2 do)"),
        ([1, None], None, "1 of 2 trials reach it.", "doesn't reach it (1 does)"),
        ([None], None, "0 of 1 trial reach it.", "doesn't reach it (0 do)"),
        ([7], 7, "1 of 1 trial reaches it, the median after 7.", "doesn't reach it (1 does)"),
        ([0, 0, 3], 0, "3 of 3 trials reach it, the median after 0.", "needs none"),
    ],
)
def test_median_counts_trials_that_never_reach_the_goal(
    steps: list[int | None], median: float | None, text: str, why_none: str
) -> None:
    stored = about_of(reaching(*steps), 8)["sizes"][8]["stored"]
    assert (stored["median"], stored["reached"], stored["withoutRatio"]) == (median, text, why_none)


def test_nearest_trial_is_found_for_every_number_of_steps() -> None:
    steps = [40, 20, 41, 30, 20, None, 22, 34, 30]
    nearest = about_of(reaching(*steps))["sizes"][8]["stored"]["nearest"]
    reached = {trial: each for trial, each in enumerate(steps, start=1) if each is not None}
    for own in range(60):
        expected = min(reached, key=lambda trial: (abs(reached[trial] - own), trial))
        _, trial, its_steps, name, rate = [each for each in nearest if each[0] <= own][-1]
        assert (trial, its_steps) == (expected, reached[expected]), own
        assert (name, rate) == ("learning rate", pytest.approx(0.1 * trial))


def test_learning_rate_is_the_first_metaparameter_with_a_finite_one() -> None:
    values = [{"lr": 0.2, "learning_rate": NAN}, {"base_learning_rate": 0.3}, {"momentum": 0.9}]
    about = about_of(reaching(10, 20, 30), parameters=lambda _, trial: values[trial - 1])
    assert about["sizes"][8]["stored"]["nearest"] == [
        [0, 1, 10, "lr", 0.2],
        [16, 2, 20, "base learning rate", 0.3],
        [26, 3, 30],
    ]


def test_value_that_is_not_finite_never_reaches_the_goal() -> None:
    rows = [Row(8, 1, "COMPLETE", 1, NAN), Row(8, 1, "COMPLETE", 2, float("-inf")), Row(8, 1, "COMPLETE", 5, 0.1)]
    assert [each[:3] for each in about_of(rows)["sizes"][8]["stored"]["nearest"]] == [[0, 1, 5]]


def test_trials_that_do_not_count_are_said_for_their_batch_size() -> None:
    rows = [
        *reaching(10, 20, 30),
        Row(8, 4, "INFEASIBLE", 1, 0.9),
        Row(8, 5, "INCOMPLETE", 1, 0.1),
        Row(8, 6, "INCOMPLETE", 1, 0.9),
        Row(16, 1, "INFEASIBLE", 1, 0.9),
    ]
    flagged = "1 flagged trial of this workload doesn't count."
    about = about_of(rows, flagged=[(8, 2)])
    assert about["notes"] == [flagged]
    sizes = about["sizes"]
    assert sizes[8]["notes"] == ["2 stopped trials don't count.", "1 diverged trial doesn't count.", flagged]
    assert sizes[8]["stored"]["reached"].startswith("2 of 2 trials at batch size 8 reach it")
    assert sizes[16] == {"stored": None, "notes": ["1 diverged trial doesn't count.", flagged]}
    of_study = about_of(rows, 8, flagged=[(8, 2)])
    assert list(of_study["sizes"]) == [8]
    assert of_study["notes"] == ["1 flagged trial doesn't count."]
    assert about_of(rows, 16, flagged=[(8, 2)])["notes"] == []


def test_trials_that_stopped_at_an_easier_goal_are_said() -> None:
    rows = [Row(8, 1, "COMPLETE", 10, 0.7), Row(8, 2, "COMPLETE", 10, 0.9), Row(8, 2, "COMPLETE", 20, 0.1)]
    note = "1 trial stopped at an easier goal: the median takes them as not reaching this one."
    assert about_of(rows, goal=0.8)["sizes"][8]["notes"] == [note]


def test_run_is_compared_only_with_one_workload_and_a_goal() -> None:
    view = view_of(reaching(10))
    several, aimless = own_run(view, None, None, METRIC, GOAL), own_run(view, WORKLOAD, None, METRIC, None)
    assert several is not None
    assert aimless is not None
    assert several["instead"] == "Several workloads are shown here: open one of them for a comparison."
    assert aimless["instead"] == "There is no target to reach, so the curve alone is drawn."
    assert own_run(view, WORKLOAD, None, None, None) is None

"""The regimes of measured workloads: which batch size is in which, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from losslake.questions import regimes
from losslake.questions.trials.selection import Goal, Selection
from tests.losslake.questions.views import METRIC, WORKLOAD, answer_to, view_of
from tests.oracle import Row

SELECTION = Selection((WORKLOAD,), METRIC)


def rows_of(steps: Mapping[int, int | None], before: int = 1, n_trials: int = 2) -> list[Row]:
    """By batch size, trials of which one reaches 0.3 at that step (None: never, in 500), evaluated so long before."""
    found = []
    for size, step in steps.items():
        last = 500 if step is None else step
        for trial in range(1, n_trials + 1):
            best = 0.9 if step is None or trial > 1 else 0.1
            found += [Row(size, trial, "COMPLETE", last - before, 0.9), Row(size, trial, "COMPLETE", last, best)]
    return found


def answer(rows: list[Row], **tolerances: float) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    found = answer_to(regimes.QUESTION, view_of(rows), SELECTION, Goal(0.3), **tolerances)
    return found.table().to_pylist(), dict(found.facts)


THREE_REGIMES = {1: 1600, 2: 800, 4: 400, 8: 250, 16: 180, 32: 160, 64: 158}


def test_each_batch_size_is_in_one_of_three_regimes() -> None:
    rows, facts = answer(rows_of(THREE_REGIMES))
    assert [row["regime"] for row in rows] == [
        *[regimes.PERFECT] * 3,
        *[regimes.DIMINISHING] * 2,
        *[regimes.MAXIMAL] * 2,
    ]
    assert [row["steps"] for row in rows] == list(THREE_REGIMES.values())
    assert [row["slope"] for row in rows][:2] == pytest.approx([1.0, 1.0])
    assert rows[-1]["slope"] is None
    assert [row["efficiency"] for row in rows][:4] == pytest.approx([1, 1, 1, 0.8])
    assert facts["n_used"] == 7
    assert [text.partition(": ")[2].partition(":")[0] for text in facts["warnings"]] == [
        "one more trial may move the end of perfect scaling",
        "one more trial may move the largest useful batch size",
    ]
    ends = {fact["break_point"]: fact for fact in facts["break_points"] if fact["variant"] == regimes.AS_DEFINED}
    with_noise = [[end.pop(f"{side}_with_noise") for side in ("lower", "upper")] for end in ends.values()]
    assert with_noise[0] == [4, 16]
    as_defined = list(ends.values())
    place = {"workload": str(WORKLOAD), "variant": "as defined", "censoring": None}
    assert as_defined == [
        place | {"break_point": "perfect_scaling_end", "batch_size": 4, "lower": 4, "upper": 8, "since": 1},
        place | {"break_point": "max_useful_batch_size", "batch_size": 32, "lower": 16, "upper": 32, "since": None},
    ]


def test_ends_without_any_bound_are_said_to_have_none() -> None:
    first = [row for row in rows_of(THREE_REGIMES) if row.batch_size < 64 or row.step == 158]
    texts = [text for text in answer(first)[1]["warnings"] if "one more trial may move" in text]
    assert [text.rpartition("evaluations ")[2] for text in texts] == ["the data set no bound"] * 2


def test_steps_that_fall_by_more_than_the_batch_grows_have_no_regime() -> None:
    rows, facts = answer(rows_of({300: 1100, 510: 100, 800: 90, 1600: 46}))
    assert [row["regime"] for row in rows] == [None, None, regimes.DIMINISHING, regimes.DIMINISHING]
    assert "perfect scaling ends at or below the smallest batch size that counts, 510" in facts["warnings"][0]
    _, facts = answer(rows_of({300: 1100, 510: 100, 800: 90, 1600: 46}, before=1000))
    assert "below batch size 510 steps fall by more than the batch grows" in facts["warnings"][0]
    rows, facts = answer(rows_of({300: 1100, 510: 100}))
    assert [row["regime"] for row in rows] == [None, None]
    assert not [text for text in facts["warnings"] if "perfect scaling goes on" in text]


def test_tolerances_move_the_ends() -> None:
    rows, facts = answer(rows_of(THREE_REGIMES), perfect_scaling_tau=0.5, max_useful_tau=0.15)
    assert [row["regime"] for row in rows] == [regimes.PERFECT] * 4 + [regimes.MAXIMAL] * 3
    assert (facts["perfect_scaling_tau"], facts["max_useful_tau"], facts["undertuned_tau"]) == (0.5, 0.15, None)
    with pytest.raises(ValidationError, match="max_useful_tau"):
        answer([], max_useful_tau=math.nan)


def test_regime_ends_beyond_the_batch_sizes_are_open() -> None:
    rows, facts = answer(rows_of({1: 1600, 2: 800, 4: 400}))
    assert {row["regime"] for row in rows} == {regimes.PERFECT}
    assert [text.partition(": ")[2][:20] for text in facts["warnings"]] == [
        "perfect scaling goes",
        "the largest batch si",
        "one more trial may m",
        "one more trial may m",
    ]
    rows, facts = answer(rows_of({1: 100, 2: 100, 4: 99}))
    assert [row["regime"] for row in rows] == [regimes.MAXIMAL] * 3
    assert "at or below the smallest" in facts["warnings"][0]


def test_single_batch_size_has_no_regime() -> None:
    rows, facts = answer(rows_of({1: None, 2: 100, 4: None}))
    assert [row["regime"] for row in rows] == [None] * 3
    assert facts["warnings"] == [
        f"{WORKLOAD}: only batch size 2 reached the target: there is nothing to compare it with"
    ]
    assert {point["lower"] for point in facts["break_points"]} == {None}


def test_dominated_batch_sizes_have_no_regime_and_are_named() -> None:
    rows, facts = answer(rows_of(THREE_REGIMES | {2: 1100, 64: 190}, before=1), undertuned_tau=0.15)
    assert [row["is_dominated"] for row in rows] == [False, True, *[False] * 4, True]
    assert [rows[at]["regime"] for at in (1, 6)] == [None, None]
    assert [rows[at]["slope"] for at in (1, 6)] == [None, None]
    assert rows[1]["efficiency"] == pytest.approx(1600 / 2200)
    assert facts["n_used"] == 5
    assert facts["left_out"] == [
        f"{WORKLOAD}: batch size 2 took 38% more examples than larger ones: tuned worse, not counted",
        f"{WORKLOAD}: batch size 64 took 19% more steps than smaller ones: tuned worse, not counted",
    ]


def test_evaluations_that_explain_it_dominate_nothing() -> None:
    rows, facts = answer(rows_of(THREE_REGIMES | {2: 1100}, before=300), undertuned_tau=0.15)
    assert not any(row["is_dominated"] for row in rows)
    assert not facts["left_out"]


def test_a_never_reached_batch_size_keeps_its_row_and_is_named() -> None:
    rows, facts = answer(rows_of(THREE_REGIMES | {16: None}))
    missed = rows[4]
    assert missed == missed | {"regime": None, "steps": None, "examples": None, "censored_at": 500, "n_reached": 0}
    assert facts["left_out"] == [f"{WORKLOAD}: no trial of 2 reached the target at batch size 16 within 500 steps"]


def test_a_workload_that_never_reaches_the_target_has_no_break_points() -> None:
    rows, facts = answer(rows_of({1: None, 2: None}))
    assert [row["regime"] for row in rows] == [None, None]
    assert {point["batch_size"] for point in facts["break_points"]} == {None}
    assert facts["warnings"] == [f"{WORKLOAD}: no batch size reached the target"]


def test_target_reached_at_step_0_gives_a_too_easy_warning() -> None:
    _, facts = answer(rows_of({1: 0, 2: 0}))
    assert facts["left_out"] == [f"{WORKLOAD}: the target is reached at step 0 at batch size 1, 2: give a harder one"]
    assert facts["warnings"] == [f"{WORKLOAD}: no batch size reached the target after step 0"]


def test_doubtful_steps_give_warnings() -> None:
    coarse = rows_of(THREE_REGIMES | {64: 200}, before=100)
    more = rows_of({2: 800}, n_trials=5)[2:]
    _, facts = answer([*coarse, *[row for row in more if row.trial_id > 2]])
    said = " ".join(facts["warnings"])
    assert "2 to 5 trials" in said
    assert "far apart at batch size 1, 2, 4, 8, 16, 32, 64, where the crossing may lie up to 62% below" in said


def test_a_target_reached_at_once_has_no_logarithm_and_is_left_out() -> None:
    first = [Row(32, 1, "COMPLETE", 0, 0.1)]
    rows, facts = answer([*rows_of({1: 1600, 2: 800, 4: 400}), *first])
    assert rows[-1]["steps"] == 0
    assert rows[-1]["regime"] is None
    assert "batch size 32" in facts["left_out"][0]


@given(st.dictionaries(st.sampled_from([1, 2, 8, 64]), st.none() | st.integers(1, 400), min_size=1))
@settings(max_examples=settings().max_examples // 2)
def test_rows_are_finite_for_any_steps(steps: dict[int, int | None]) -> None:
    rows, facts = answer(rows_of(steps))
    assert [row["batch_size"] for row in rows] == sorted(steps)
    for row in rows:
        assert all(math.isfinite(value) for value in row.values() if isinstance(value, float))
        assert row["regime"] is None or row["steps"] is not None
    assert len(facts["break_points"]) == 5


def test_a_largest_batch_size_that_still_gains_is_never_in_maximal_data_parallelism() -> None:
    rows, _ = answer(rows_of({1: 1600, 2: 800, 4: 400, 8: 300, 16: 220}))
    assert [row["regime"] for row in rows] == [*[regimes.PERFECT] * 3, *[regimes.DIMINISHING] * 2]
    # Nothing shows that perfect scaling ends: the largest was trained for too few steps to tell.
    rows, _ = answer(rows_of({1: 16000, 2: 8000, 4: 4200, 8: None}))
    assert [row["regime"] for row in rows] == [*[regimes.PERFECT] * 3, None]


def test_an_end_seen_at_one_batch_size_leaves_it_and_smaller_ones_without_a_regime() -> None:
    rows, facts = answer(rows_of({1: 9000, 2: 1000, 4: 900, 8: 850}))
    assert [row["regime"] for row in rows[:2]] == [None, None]
    end = facts["break_points"][0]
    assert (end["batch_size"], end["since"], end["lower"]) == (2, None, None)

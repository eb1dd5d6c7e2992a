"""The critical batch size as an answer: what was fitted, by which definition, and what the data can't tell."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from losslake.analysis.critical_batch_size import fit_curve, mccandlish2018, zhang2024
from losslake.analysis.measured_levels import measured
from losslake.questions import critical_batch_size
from losslake.questions.release.errors import BadParameter
from losslake.questions.trials.selection import Goal, Selection
from losslake_schema.names import Workload
from tests.losslake.analysis.test_hyperbola import ZHANG
from tests.losslake.questions.test_regimes import rows_of
from tests.losslake.questions.views import METRIC, WORKLOAD, answer_to, view_of
from tests.oracle import Row

SELECTION = Selection((WORKLOAD,), METRIC)
SIZES = [64 * 2**i for i in range(9)]
STEPS_85M = dict(zip(SIZES, ZHANG["85M"][0], strict=True))
RANGES = ("delta_method", "bootstrap", "leave_one_out", "half_search")


def answer(rows: list[Row], **options: object) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    found = answer_to(critical_batch_size.QUESTION, view_of(rows), SELECTION, Goal(0.3), **options)
    assert found.rows_name == "estimates"
    return found.table().to_pylist(), dict(found.facts)


def test_least_squares_answers_what_zhang_et_al_published() -> None:
    (ours, theirs), facts = answer(rows_of(STEPS_85M), fit="least-squares")
    assert [row["definition"] for row in (ours, theirs)] == ["mccandlish2018", "zhang2024"]
    assert ours["critical_batch_size"] == pytest.approx(2190.60, abs=0.01)
    assert theirs["critical_batch_size"] == pytest.approx(745.3201, rel=3e-7)
    for row in (ours, theirs):
        assert row["s_min"] == pytest.approx(1293.8269, rel=3e-7)
        assert row["e_min"] == pytest.approx(2834258.09, rel=3e-7)
        assert row["identifiable"]
        assert row["n_batch_sizes"] == 9
        assert row["lower"] < row["critical_batch_size"] < row["upper"]
        for name in RANGES[:3]:
            assert row[f"{name}_lower"] < row["critical_batch_size"] < row[f"{name}_upper"]
    assert ours["lower"] == pytest.approx(1955, rel=0.02)
    assert ours["upper"] == pytest.approx(2457, rel=0.02)
    assert (facts["fit"], facts["overhead"], facts["optimal_batch_size"]) == ("least-squares", 0.2, 256)
    assert "plain least squares" in facts["definition"]


@pytest.mark.parametrize("kind", ["robust", "least-squares"])
def test_the_answer_is_that_of_the_mathematics(kind: Any) -> None:
    steps = STEPS_85M | {512: None}
    rows, _ = answer(rows_of(steps), fit=kind, overhead=0.5, optimal_batch_size=100)
    curve = fit_curve(
        SIZES,
        [math.inf if own is None else own for own in steps.values()],
        [500] * 9,
        [math.nan if own is None else own - 1 for own in steps.values()],
        [[math.inf if own is None else own, math.inf] for own in steps.values()],
        kind,
    )
    for row, number in zip(rows, (mccandlish2018(curve), zhang2024(curve, 0.5, 100)), strict=True):
        assert number.value is not None
        assert row["critical_batch_size"] == pytest.approx(number.value, rel=1e-9)
        assert (row["lower"], row["upper"]) == pytest.approx((number.lower, number.upper), rel=1e-6)
        assert row["s_min"] == pytest.approx(number.s_min, rel=1e-9)
        assert row["rms_log_residual"] == pytest.approx(number.rms_log_residual, rel=1e-9)
        assert curve.bootstrap is not None
        assert row["bootstrap_upper"] == pytest.approx(number.changed(curve.bootstrap.upper), rel=1e-6)


@pytest.mark.parametrize(
    ("bend", "reason", "open_end", "bound"),
    [(1e6, "no bend", "upper", "lower"), (1e-3, "no scaling", "lower", "upper")],
)
def test_a_bend_outside_the_batch_sizes_gives_bounds_and_says_why(
    bend: float, reason: str, open_end: str, bound: str
) -> None:
    steps = {2**i: round(2e7 * (1 + bend / 2**i)) for i in range(8)}
    (row, _), facts = answer(rows_of(steps))
    assert (row["critical_batch_size"], row["s_min"], row["e_min"], row["identifiable"]) == (None, None, None, False)
    assert row[open_end] is None
    assert (row[bound] > 128) if bound == "lower" else (row[bound] < 1)
    assert all(row[f"{name}_{end}"] is None for name in RANGES for end in ("lower", "upper"))
    assert row["rms_log_residual"] is not None
    assert any(reason in text for text in facts["warnings"])


def test_an_estimate_outside_the_batch_sizes_says_how_often_its_interval_holds() -> None:
    def said(bend: float) -> list[str]:
        steps = {8 * 2**power: round(10_000 * (1 + bend / (8 * 2**power))) for power in range(8)}
        (row, _), facts = answer(rows_of(steps))
        assert row["identifiable"]
        assert row["critical_batch_size"] == pytest.approx(bend, rel=0.01)
        return [text for text in facts["warnings"] if "outside the batch sizes" in text and "zhang" not in text]

    assert said(200) == []
    (text,) = said(1500)
    assert text.endswith(f"the interval held in {measured('critical-batch-size outside')} of simulations")


def test_three_batch_sizes_give_nothing_but_the_reason() -> None:
    (row, other), facts = answer(rows_of({1: 800, 2: 420, 4: 230, 8: None}))
    for each in (row, other):
        assert (each["critical_batch_size"], each["lower"], each["upper"], each["identifiable"]) == (
            None,
            None,
            None,
            False,
        )
    assert f"{WORKLOAD}: 3 batch sizes have steps that count; an estimate needs 5" in facts["warnings"]
    assert "within 500 steps" in facts["left_out"][0]


def test_zhangs_number_is_refused_for_small_critical_batch_sizes() -> None:
    steps = {2**i: round(500 * (1 + 30 / 2**i)) for i in range(10)}
    (ours, theirs), facts = answer(rows_of(steps))
    assert ours["critical_batch_size"] == pytest.approx(30, rel=0.02)
    assert theirs["critical_batch_size"] is None
    assert any("zhang2024: unusable" in text for text in facts["warnings"])
    (_, usable), _ = answer(rows_of(steps), optimal_batch_size=8)
    assert usable["critical_batch_size"] == pytest.approx(0.2 * 30 + 1.2 * 8, rel=0.02)


def test_a_half_search_may_need_more_steps() -> None:
    rows = []
    for size, steps in STEPS_85M.items():
        for trial, factor in enumerate((1.0, 1.1, 1.3, 2.0), 1):
            last = int(steps * factor)
            rows += [Row(size, trial, "COMPLETE", last - 1, 0.9), Row(size, trial, "COMPLETE", last, 0.1)]
    (row, _), _ = answer(rows)
    assert row["half_search_lower"] < row["critical_batch_size"] < row["half_search_upper"]
    assert row["half_search_upper"] - row["half_search_lower"] > 100


@pytest.mark.parametrize("fit", ["robust", "least-squares"])
def test_one_badly_tuned_batch_size_is_named_and_left_out(fit: str) -> None:
    tuned = {size: steps for size, steps in STEPS_85M.items() if size != 1024}
    (with_it, _), facts = answer(rows_of(tuned | {1024: 14000}), fit=fit)
    (without, _), _ = answer(rows_of(tuned), fit=fit)
    for name, value in without.items():
        assert with_it[name] == (pytest.approx(value) if isinstance(value, float) else value)
    assert facts["left_out"] == [
        f"{WORKLOAD}: batch size 1,024 took 177% more examples than larger ones: tuned worse, not counted"
    ]


def test_bad_parameters_are_refused_by_name() -> None:
    for name, value in (("fit", "spline"), ("overhead", 0), ("optimal_batch_size", math.inf)):
        with pytest.raises(ValidationError, match=name):
            answer([], **{name: value})
    many = tuple(Workload("c", "d", "m", f"o{number}") for number in range(critical_batch_size.MOST_WORKLOADS + 1))
    with pytest.raises(BadParameter, match=f"up to {critical_batch_size.MOST_WORKLOADS}"):
        answer_to(critical_batch_size.QUESTION, view_of([]), Selection(many, METRIC), Goal(0.3))


@given(st.dictionaries(st.sampled_from([1, 2, 4, 8, 64]), st.none() | st.integers(1, 400), min_size=1))
@settings(max_examples=settings().max_examples // 2)
def test_answers_are_finite_for_any_steps(steps: dict[int, int | None]) -> None:
    rows, _ = answer(rows_of(steps), optimal_batch_size=1)
    assert len(rows) == 2
    for row in rows:
        assert all(math.isfinite(value) for value in row.values() if isinstance(value, float))
        assert row["identifiable"] == (row["critical_batch_size"] is not None) == (row["s_min"] is not None)


def test_searches_of_very_unequal_size_have_no_number_but_a_reason() -> None:
    """At the smallest batch size five trials more, all slower: the best is the same, by luck or not."""
    rows = rows_of(STEPS_85M)
    more = [
        Row(64, trial, "COMPLETE", step, value) for trial in range(11, 16) for step, value in ((0, 0.9), (60000, 0.1))
    ]
    found, facts = answer([*rows, *more])
    assert not any(row["identifiable"] for row in found)
    ends = [f"{name}_{end}" for name in RANGES for end in ("lower", "upper")]
    assert {row[name] for row in found for name in ("critical_batch_size", "lower", "upper", *ends)} == {None}
    assert any("too unequal: batch sizes have 2 to 7 trials" in text for text in facts["warnings"])
    (row, _), _ = answer([*rows, *more], trials=2)
    assert row["lower"] < row["critical_batch_size"] < row["upper"]

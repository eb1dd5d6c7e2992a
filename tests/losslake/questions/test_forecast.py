"""The question forecast gives the bands of the analysis for the trials that count, and refuses the rest in a line."""

from __future__ import annotations

import math
from typing import Any

import pytest
from pydantic import ValidationError

from losslake.analysis.forecast import forecast as computed
from losslake.analysis.forecast_levels import held_in_words
from losslake.questions import forecast
from losslake.questions.release.errors import BadParameter
from losslake_schema.errors import LossLakeError
from tests.losslake.analysis.test_comparable import comparable_of
from tests.losslake.questions.views import METRIC, WORKLOAD, view_of
from tests.oracle import Row

CURVES = [[math.exp(-0.01 * k * at) for at in range(21)] for k in range(1, 13)]
CURVE = ["0=1", "10=0.93", "20=nan", "30=0.8"]


def rows_of(curves: list[list[float]], batch_size: int = 8, status: str = "COMPLETE", first: int = 1) -> list[Row]:
    """Evaluations at steps 0, 10, 20 …"""
    return [
        Row(batch_size, trial, status, 10 * at, value, None)
        for trial, curve in enumerate(curves, first)
        for at, value in enumerate(curve)
    ]


def forecast_of(view: Any, **parameters: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    given = {"workload": [str(WORKLOAD)], "metric": METRIC, "target": 0.3, "batch_size": 8, "curve": CURVE}
    answer = forecast.QUESTION.answer(view, forecast.ForecastParameters.model_validate(given | parameters))
    return answer.table().to_pylist(), dict(answer.facts)


def test_rows_are_the_bands_of_the_analysis() -> None:
    rows, facts = forecast_of(view_of(rows_of(CURVES)))
    result = computed(comparable_of(CURVES, 0.3), [0, 10, 20, 30], [1.0, 0.93, math.nan, 0.8])
    assert [row["level"] for row in rows] == [0.5, 0.8, 0.9]
    for row, band in zip(rows, result.bands, strict=True):
        final, steps = band.final or (None, None), band.target_steps or (math.inf, math.inf)
        assert (row["best_lower"], row["best_upper"]) == final
        assert (row["steps_lower"], row["steps_upper"]) == tuple(None if each == math.inf else each for each in steps)
        assert row["has_steps"] == (band.target_steps is not None)
    assert (facts["step"], facts["best_value"], facts["place"], facts["n_used"]) == (30, 0.8, "within", 12)
    assert facts["median_best"] == result.median
    assert facts["state"] == "open"
    assert facts["held_out"][1]["n"] == 12
    assert facts["forecast"][0] == "Best value so far: 0.8, by step 30."
    assert facts["forecast"][1].startswith("Best value at the end: ")
    assert any("12 settings are too few for some levels, which need more: 19 for 90%" in w for w in facts["warnings"])
    assert f"held for {held_in_words('final', 0.8)}" in facts["definition"]


def test_order_of_points_does_not_matter() -> None:
    view = view_of(rows_of(CURVES))
    assert forecast_of(view, curve=CURVE[::-1])[0] == forecast_of(view)[0]


def test_reached_target_is_said() -> None:
    rows, facts = forecast_of(view_of(rows_of(CURVES)), curve=["0=1", "10=0.2", "20=0.4"])
    assert (facts["state"], facts["reached_at"], facts["median_steps"]) == ("reached", 10, None)
    assert "The target was reached at step 10." in facts["forecast"]
    assert not any(row["has_steps"] for row in rows)


def test_nothing_is_said_of_a_target_that_most_others_have_reached_already() -> None:
    rows, facts = forecast_of(view_of(rows_of(CURVES)), target=0.9, curve=["0=1", "30=0.95"])
    assert (facts["state"], [row["has_steps"] for row in rows]) == ("unknown", [False] * 3)
    assert any(text.startswith("Best value at the end: ") for text in facts["forecast"])
    assert not any("target" in text for text in facts["forecast"])


def test_run_unlike_all_others_gives_a_warning() -> None:
    _, facts = forecast_of(view_of(rows_of(CURVES)), curve=["0=1", "30=0.1"])
    assert any("at step 30 the run is better than all of the 12 compared trials" in text for text in facts["warnings"])


def test_trials_that_ended_or_diverged_or_were_stopped_are_said() -> None:
    rows = [
        *rows_of(CURVES),
        *rows_of([CURVES[0][:3]], status="INFEASIBLE", first=20),
        *rows_of([CURVES[0][:10]], status="INFEASIBLE", first=21),
        *rows_of([CURVES[0]], status="INCOMPLETE", first=22),
        *rows_of([[math.nan] * 5], status="INFEASIBLE", first=23),
    ]
    _, facts = forecast_of(view_of(rows))
    assert facts["n_used"] == 13
    texts = " ".join(facts["left_out"])
    assert "1 trials that ended by step 30" in texts
    assert "1 trials without a number" in texts
    assert "1 trial of status INCOMPLETE" in texts


def test_trials_that_end_at_the_target_give_a_warning() -> None:
    ended = [[value for value in curve if value >= 0.3] + [0.29] for curve in CURVES]
    _, facts = forecast_of(view_of(rows_of(ended)))
    assert any("12 of 12 trials end where they reach the target" in text for text in facts["warnings"])


def test_step_budget_is_the_end_of_the_run() -> None:
    rows, facts = forecast_of(view_of(rows_of(CURVES)), step_budget=100)
    expected = computed(comparable_of([curve[:11] for curve in CURVES], 0.3), [0, 10, 30], [1.0, 0.93, 0.8])
    assert (rows[1]["best_lower"], rows[1]["best_upper"]) == expected.bands[1].final
    assert rows[1]["steps_upper"] is None
    assert facts["step_budget"] == 100


def test_maximized_metric_has_its_bands_above() -> None:
    rows, facts = forecast_of(
        view_of(rows_of([[-value for value in curve] for curve in CURVES]), direction="maximize"),
        target=-0.3,
        curve=["0=-1", "10=-0.93", "30=-0.8"],
    )
    assert facts["best_value"] == -0.8
    assert -0.8 <= rows[1]["best_lower"] < rows[1]["best_upper"]


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({"curve": ["100"]}, "curve=100: give STEP=VALUE"),
        ({"curve": ["1_0=1"]}, "curve=1_0=1: give STEP=VALUE"),
        ({"curve": ["-1=1"]}, "curve=-1=1: give STEP=VALUE"),
        ({"curve": ["10=1_0"]}, "curve=10=1_0: give STEP=VALUE"),
        ({"curve": ["10=much"]}, "curve=10=much: give STEP=VALUE"),
        ({"curve": ["10=1", "10=2"]}, "step 10 is given twice"),
        ({"curve": ["10=nan", "20=inf"]}, "no value of the partial curve is a number"),
        ({"curve": ["200=0.1"]}, "step 200 isn't before the last step of any comparable trial, 200"),
        ({"batch_size": 16}, "has no study"),
        ({"status": ["COMPLETE", "INCOMPLETE"]}, "how trials of status INCOMPLETE would have ended isn't known"),
        ({"workload": [str(WORKLOAD), "tests/rows/mnist/cnn/adam"]}, "give workload once"),
    ],
)
def test_what_can_not_be_forecast_is_refused_in_a_line(parameters: dict[str, Any], why: str) -> None:
    with pytest.raises(LossLakeError, match=why) as caught:
        forecast_of(view_of(rows_of(CURVES)), **parameters)
    assert "\n" not in str(caught.value)


def test_too_few_trials_are_refused_and_other_batch_sizes_named() -> None:
    rows = [*rows_of(CURVES[:5]), *rows_of(CURVES, 16), *rows_of(CURVES[:2], 32)]
    with pytest.raises(
        BadParameter, match=r"only 5 comparable settings .* needs 9; batch sizes with as many are 16, but"
    ) as caught:
        forecast_of(view_of(rows))
    assert caught.value.parameter == "batch_size"
    with pytest.raises(BadParameter, match="as no other batch size of the workload has"):
        forecast_of(view_of(rows_of(CURVES[:5])))


def test_percentage_for_a_fraction_is_refused() -> None:
    with pytest.raises(BadParameter, match=r"lies between 0 and 1: did you mean 0.93\?"):
        forecast._check_values("val/classification_error", {10: 93.0})
    forecast._check_values("val/classification_error", {10: math.inf, 20: 1.0})
    forecast._check_values("val/unheard_of", {10: 93.0})


def test_step_beyond_64_bits_is_the_largest_one() -> None:
    # All reach the target at the last of few evaluations, far apart.
    rows = [
        Row(8, trial, "COMPLETE", step, value, None)
        for trial in range(1, 13)
        for step, value in ((0, 1.0), (1, 0.9), (2 ** (20 + 3 * trial), 0.1))
    ]
    found, _ = forecast_of(view_of(rows), curve=["0=1", "1=0.9"])
    assert found[1]["steps_upper"] is not None
    assert found[1]["steps_upper"] >= 2**53


@pytest.mark.parametrize(
    ("curve", "message"),
    [([], "at least 1 item"), ([f"{step}=1" for step in range(forecast.MOST_POINTS + 1)], "at most 200 items")],
)
def test_curve_of_no_points_or_too_many_is_refused(curve: list[str], message: str) -> None:
    with pytest.raises(ValidationError, match=f"curve\n.*{message}"):
        forecast_of(view_of(rows_of(CURVES)), curve=curve)

"""Laws of critical batch sizes: the published law from its points, refusals, and published laws beside the points."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from losslake.analysis.power_law import fit_power_law, log_errors
from losslake.questions import critical_batch_law, critical_batch_size
from losslake.questions.critical_batch_law import CriticalBatchLawParameters
from losslake.questions.critical_batch_size import CriticalBatchSizeParameters
from losslake.questions.release.errors import UnknownName
from losslake.questions.release.view import ReleaseView
from tests.critical_batch_sizes import PATTERN, PRINTED, zhang_lake
from tests.losslake.questions.test_regimes import rows_of
from tests.losslake.questions.views import WORKLOAD, view_of

FIVE = [f"critical-batch-size/c4/{model}/adamw" for model, *_ in PRINTED.values()]
AS_PUBLISHED = {"by": "zhang2024", "unit": "batch_unit", "law": "equal", "fit": "least-squares"}


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> ReleaseView:
    lake = zhang_lake(tmp_path_factory)
    return ReleaseView.open(lake, lake.release(None))


def answer(view: ReleaseView, *workloads: str, **options: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    parameters = CriticalBatchLawParameters(workload=[*workloads] or [PATTERN], **options)
    answer = critical_batch_law.QUESTION.answer(view, parameters)
    return answer.table().to_pylist(), dict(answer.facts)


def law_of(facts: dict[str, Any], variable: str) -> dict[str, Any]:
    return next(law for law in facts["laws"] if law["variable"] == variable)


def published(facts: dict[str, Any], name: str) -> dict[str, Any]:
    return next(law for law in facts["published"] if law["law"] == name)


def test_points_of_zhang_give_their_law(view: ReleaseView) -> None:
    rows, facts = answer(view, **AS_PUBLISHED)
    assert [row["workload"] for row in rows] == FIVE
    assert [row["critical_batch_size"] for row in rows] == pytest.approx(
        [each[3] for each in PRINTED.values()], rel=1e-6
    )
    law = law_of(facts, "parameters")
    # Theirs is in the sizes that name the models: 85 to 1200 million, up to 0.7% from the counts.
    assert law["coefficient"] == pytest.approx(93.196814, rel=0.006)
    assert law["exponent"] == pytest.approx(0.468278, abs=0.0011)
    theirs = published(facts, "zhang2024-parameters")
    assert (theirs["n_points"], theirs["n_inside"]) == (5, 5)
    assert theirs["rms_log_ratio"] == pytest.approx(0.0199, abs=0.0001)


def test_points_are_those_of_the_question_about_one_workload(view: ReleaseView) -> None:
    rows, _ = answer(view, unit="batch_unit")
    for row in rows:
        parameters = CriticalBatchSizeParameters(workload=[row["workload"]])
        one = critical_batch_size.QUESTION.answer(view, parameters).table().to_pylist()[0]
        assert {name: row[name] for name in ("critical_batch_size", "lower", "upper")} == {
            name: pytest.approx(one[name]) for name in ("critical_batch_size", "lower", "upper")
        }
        assert row["tokens"] == pytest.approx(512 * one["e_min"])


def test_law_is_that_of_the_rows(view: ReleaseView) -> None:
    rows, facts = answer(view)
    for variable, unit in (("parameters", 1e6), ("tokens", 1e9), ("loss", 1.0)):
        x, y, lower, upper, n_sizes = (
            np.array([row[name] for row in rows], np.float64)
            for name in (variable, "critical_batch_size", "lower", "upper", "n_batch_sizes")
        )
        expected = fit_power_law(x / unit, y, log_errors(lower, upper, n_sizes), least_spread=1.1)
        law = law_of(facts, variable)
        assert law["coefficient"] == pytest.approx(expected.coefficient)
        assert law["exponent"] == pytest.approx(expected.exponent)
        assert (law["exponent_lower"], law["exponent_upper"]) == pytest.approx(
            (expected.exponent_range.lower, expected.exponent_range.upper)
        )
        assert [row[f"ratio_{variable}"] for row in rows] == pytest.approx((y / expected.at(x / unit)).tolist())


def test_units_change_batch_sizes_but_no_ratio(view: ReleaseView) -> None:
    (tokens, of_tokens), (sequences, of_sequences) = answer(view), answer(view, unit="batch_unit")
    for ours, theirs in zip(tokens, sequences, strict=True):
        for name in ("critical_batch_size", "lower", "upper"):
            assert ours[name] == pytest.approx(512 * theirs[name])
    for ours, theirs in zip(of_tokens["published"], of_sequences["published"], strict=True):
        assert ours["ratios"] == pytest.approx(theirs["ratios"]) if ours["n_points"] else theirs["n_points"] == 0


def test_published_law_of_another_definition_is_converted_exactly_or_not_compared(view: ReleaseView) -> None:
    rows, facts = answer(view)
    theirs = published(facts, "zhang2024-parameters")
    for row, ratio in zip(rows, theirs["ratios"], strict=True):
        b_star = 93.196814 * (row["parameters"] / 1e6) ** 0.468278
        assert ratio == pytest.approx(row["critical_batch_size"] / (512 * (b_star - 307.2) / 0.2))
    kaplan = published(facts, "kaplan2020")
    expected = [row["critical_batch_size"] / (2.1e8 * row["loss"] ** (-1 / 0.21)) for row in rows]
    assert kaplan["ratios"] == pytest.approx(expected)
    assert published(facts, "bergsma2025-critical")["not_compared"] == "only its exponent could be verified"
    for name in ("merrill2025", "steplaw2025-batch-size", "deepseek2024-batch-size", "bergsma2025-optimal"):
        law = published(facts, name)
        assert law["ratios"] == [None] * 5
        assert "another definition" in law["not_compared"]


def test_sizes_and_tokens_that_grow_together_are_said(view: ReleaseView) -> None:
    _, facts = answer(view)
    assert any("can't tell on which of the two" in text for text in facts["warnings"])
    assert any("count as exact" in text for text in facts["warnings"])


@pytest.mark.parametrize("n", [1, 2])
def test_fewer_than_three_points_give_no_law(view: ReleaseView, n: int) -> None:
    rows, facts = answer(view, *FIVE[:n])
    assert len(rows) == n
    for law in facts["laws"]:
        assert law["exponent"] is None
        assert law["refused"].endswith("a law needs 3")
    assert {row["ratio_parameters"] for row in rows} == {None}
    # Points are compared with published laws all the same.
    assert published(facts, "zhang2024-parameters")["n_points"] == n


def test_workload_named_twice_is_one_point(view: ReleaseView) -> None:
    assert answer(view, FIVE[0], PATTERN)[0] == answer(view)[0]


def test_unknown_workload_is_refused(view: ReleaseView) -> None:
    with pytest.raises(UnknownName):
        answer(view, "critical-batch-size/c4/olmo_7b/adamw")


def test_workload_without_goal_is_left_out() -> None:
    rows, facts = answer(view_of(rows_of(dict.fromkeys((8, 16, 32, 64, 128), 1000))), str(WORKLOAD))
    assert rows == []
    assert facts["left_out"] == ["1 workload with no goal"]
    assert all(law["refused"] == "no points have a number; a law needs 3" for law in facts["laws"])
    assert all(law["not_compared"] == "there are no points" for law in facts["published"])


def test_fewest_tokens_are_those_of_the_fit(view: ReleaseView) -> None:
    rows, _ = answer(view, fit="least-squares")
    assert [row["tokens"] for row in rows] == pytest.approx([512 * each[2] for each in PRINTED.values()], rel=1e-6)
    assert [row["loss"] for row in rows] == [3.42, 3.24, 3.07, 2.92, 2.736]
    assert not any(math.isnan(row["tokens"]) for row in rows)

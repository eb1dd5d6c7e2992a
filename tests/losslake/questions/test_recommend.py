"""Published laws at a planned model size and number of tokens, with their ranges and distance from what is stored."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from losslake.analysis.batch_laws import converted, published_laws
from losslake.questions import critical_batch_law, recommend
from losslake.questions.critical_batch_law import CriticalBatchLawParameters
from losslake.questions.recommend import RecommendParameters
from losslake.questions.release.errors import UnknownName
from losslake.questions.release.view import ReleaseView
from tests.critical_batch_sizes import NOMINAL, PATTERN, points, zhang_lake
from tests.losslake.questions.test_regimes import rows_of
from tests.losslake.questions.views import view_of

N, D = 5e8, 1e10


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> ReleaseView:
    lake = zhang_lake(tmp_path_factory)
    return ReleaseView.open(lake, lake.release(None))


def answer(view: ReleaseView, **options: Any) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    asked = RecommendParameters(**{"parameters": N, "tokens": D} | options)
    answer = recommend.QUESTION.answer(view, asked)
    return {row["law"]: row for row in answer.table().to_pylist()}, dict(answer.facts)


def test_each_law_has_the_value_of_its_formula(view: ReleaseView) -> None:
    rows, facts = answer(view, loss=3.0)
    assert list(rows) == list(published_laws())
    expected = {
        "kaplan2020": 2.1e8 * 3.0 ** (-1 / 0.21),
        "zhang2024-parameters": 512 * 93.196814 * 500**0.468278,
        "zhang2024-tokens": 512 * 22.91 * 1e4**0.47,
        "zhang2024-fixed-tokens": 512 * 621.34 * 500**0.087,
        "bergsma2025-critical": None,
        "bergsma2025-optimal": None,
        "merrill2025": 4096.0 * 4096,
        "deepseek2024-batch-size": 0.2920 * 3e19**0.3271,
        "deepseek2024-learning-rate": 0.3118 * 3e19**-0.1250,
        "steplaw2025-batch-size": 0.58 * 1e10**0.571,
        "steplaw2025-learning-rate": 1.79 * N**-0.713 * D**0.307,
    }
    for name, value in expected.items():
        assert rows[name]["value"] == (value if value is None else pytest.approx(value))
    assert facts["compute"] == 3e19
    assert facts["n_used"] == 9


def test_no_number_comes_without_its_range(view: ReleaseView) -> None:
    rows, facts = answer(view)
    for entry in facts["ranges"]:
        values = [row["value"] for row in rows.values() if row["quantity"] == entry["quantity"] and row["value"]]
        assert (entry["lowest"], entry["highest"], entry["n_laws"]) == (min(values), max(values), len(values))


def test_law_in_the_loss_needs_one(view: ReleaseView) -> None:
    rows, _ = answer(view)
    assert rows["kaplan2020"]["value"] is None
    assert rows["kaplan2020"]["note"].startswith("it needs loss; ")


@pytest.mark.parametrize(("tokens", "is_inside"), [(4e9, True), (1e11, True), (3.9e9, False), (1.1e11, False)])
def test_range_is_that_of_the_data_behind_the_law(view: ReleaseView, tokens: float, is_inside: bool) -> None:
    rows, facts = answer(view, tokens=tokens)
    assert rows["steplaw2025-batch-size"]["is_inside"] is is_inside
    assert rows["deepseek2024-batch-size"]["is_inside"] is None
    outside = next((text for text in facts["warnings"] if "lies outside the range" in text), "")
    assert ("steplaw2025-batch-size" in outside) is not is_inside


def test_critical_laws_are_compared_as_in_the_question_about_laws(view: ReleaseView) -> None:
    rows, facts = answer(view)
    asked = CriticalBatchLawParameters(workload=[PATTERN])
    laws = dict(critical_batch_law.QUESTION.answer(view, asked).facts)["published"]
    for law in laws:
        if law["n_points"]:
            row = rows[law["law"]]
            assert row["n_workloads"] == law["n_points"]
            assert row["ratio_median"] == pytest.approx(1 / law["ratio_median"])
            assert row["ratio_lowest"] == pytest.approx(1 / law["ratio_highest"])
    assert len(facts["compared_with"]) == 5


def test_optimal_laws_are_compared_with_the_batch_size_of_the_fewest_tokens(view: ReleaseView) -> None:
    ratios = []
    for size in NOMINAL:
        tokens = {
            int(row["batch_size"]): 512 * int(row["batch_size"]) * int(row["step"])
            for row in points()
            if row["model_size"] == size
        }
        best = min(tokens, key=lambda batch: tokens[batch])
        # At an end of the batch sizes, a better one may lie beyond.
        if 64 < best < 16384:
            ratios.append(0.58 * tokens[best] ** 0.571 / (512 * best))
    row = answer(view)[0]["steplaw2025-batch-size"]
    assert row["n_workloads"] == len(ratios) == 2
    assert (row["ratio_lowest"], row["ratio_highest"]) == pytest.approx((min(ratios), max(ratios)))


def test_some_workloads_may_be_named(view: ReleaseView) -> None:
    rows, facts = answer(view, workload=["critical-batch-size/c4/olmo_85m/adamw"])
    assert facts["compared_with"] == ["critical-batch-size/c4/olmo_85m/adamw"]
    assert rows["zhang2024-parameters"]["n_workloads"] == 1
    with pytest.raises(UnknownName):
        answer(view, workload=["critical-batch-size/c4/olmo_7b/adamw"])


def test_release_without_model_sizes_measures_nothing() -> None:
    rows, facts = answer(view_of(rows_of({8: 100, 16: 80})))
    assert facts["compared_with"] == []
    assert {row["n_workloads"] for row in rows.values()} == {0}
    assert {row["ratio_median"] for row in rows.values()} == {None}
    assert rows["steplaw2025-batch-size"]["value"] is not None


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["parameters", "tokens", "loss"])
def test_values_out_of_range_are_refused(view: ReleaseView, name: str, value: float) -> None:
    with pytest.raises(ValidationError):
        answer(view, **{name: value})


def test_zhang_is_converted_to_a_critical_batch_size_exactly() -> None:
    value = published_laws()["zhang2024-parameters"].value({"parameters": N})
    assert value is not None
    assert converted(value, "zhang2024", "mccandlish2018") == pytest.approx((value - 1.2 * 256 * 512) / 0.2)

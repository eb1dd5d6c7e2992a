"""Performance profiles of workloads, or of parts of their names, over columns that all competitors have."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from losslake.questions import profiles
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.selection import Selection
from losslake_schema.registry import Goal as RegisteredGoal
from tests.losslake.questions.test_compare import OURS, THEIRS, reaching
from tests.losslake.questions.views import METRIC, OTHER, WORKLOAD, answer_to, view_of
from tests.oracle import Row

BOTH = Selection((WORKLOAD, OTHER), METRIC)
OUR_ROWS = reaching(1, 100) + reaching(8, 30) + reaching(64, None) + reaching(512, 10)
THEIR_ROWS = reaching(1, 100) + reaching(8, 10) + reaching(64, None) + reaching(4096, 10)


def view(ours: list[Row] = OUR_ROWS, theirs: list[Row] = THEIR_ROWS) -> ReleaseView:
    return view_of(ours, of_other=theirs)


def answer(**options: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    found = answer_to(profiles.QUESTION, view(), BOTH, **({"target": 0.3} | options))
    return found.table().to_pylist(), dict(found.facts)


def test_a_share_rises_at_the_ratios_to_the_best() -> None:
    rows, facts = answer()
    assert [(row["competitor"], row["factor"], row["share"]) for row in rows] == [
        (OURS, 1.0, pytest.approx(1 / 3)),
        (OURS, 3.0, pytest.approx(2 / 3)),
        (THEIRS, 1.0, pytest.approx(2 / 3)),
    ]
    assert {row["n_columns"] for row in rows} == {3}
    assert facts["columns"] == ["batch size 1", "batch size 8", "batch size 64"]


def test_columns_missing_from_a_workload_are_left_out_but_unreached_ones_kept() -> None:
    _, facts = answer()
    assert facts["left_out"] == [
        f"batch size 512: only {OURS} has trials there",
        f"batch size 4096: only {THEIRS} has trials there",
    ]
    assert facts["warnings"] == ["no competitor reaches the target in batch size 64: such columns lower every share"]


def test_scores_are_exact_and_as_algoperf_has_them() -> None:
    _, facts = answer()
    ours, theirs = facts["scores"]
    assert ours.pop("exact_score") == pytest.approx((1 + 1 / 3) / 3)
    assert theirs.pop("exact_score") == pytest.approx(2 / 3)
    assert ours.pop("score") == pytest.approx((1 + 1 / 3) / 3, abs=0.005)
    assert theirs.pop("score") == pytest.approx(2 / 3)
    assert ours == {"competitor": OURS, "n_reached": 2, "n_best": 1}
    assert theirs == {"competitor": THEIRS, "n_reached": 2, "n_best": 2}
    assert answer(largest_factor=2.0)[1]["scores"][0]["exact_score"] == pytest.approx(1 / 3)


def test_optimizers_compete_on_the_rest_of_the_name_and_the_batch_size() -> None:
    rows, facts = answer(by="optimizer")
    assert {row["competitor"] for row in rows} == {"sgd", "adam"}
    assert facts["columns"][0] == "tests/rows/mnist/cnn at batch size 1"
    _, facts = answer(by="model")
    assert facts["warnings"][0].startswith("there is nothing to compare cnn with")


def test_without_a_target_each_workload_has_its_own_goal() -> None:
    given = view()
    with pytest.raises(BadParameter, match="has no goal for"):
        answer_to(profiles.QUESTION, given, BOTH)
    given.goals = tuple(RegisteredGoal(workload, METRIC, 0.3, "") for workload in (WORKLOAD, OTHER))
    assert answer_to(profiles.QUESTION, given, BOTH).facts["targets"] == {OURS: 0.3, THEIRS: 0.3}
    given.goals = (given.goals[0], RegisteredGoal(OTHER, METRIC, 0.2, ""))
    with pytest.raises(BadParameter, match=r"of tests/rows/mnist/cnn have different goals"):
        answer_to(profiles.QUESTION, given, BOTH, by="optimizer")
    assert answer_to(profiles.QUESTION, given, BOTH, by="model").facts["targets"] == {OURS: 0.3, THEIRS: 0.2}


def test_no_column_in_common_has_no_scores() -> None:
    found = answer_to(profiles.QUESTION, view(reaching(1, 10), reaching(2, 10)), BOTH, target=0.3)
    assert found.table().to_pylist() == []
    assert [score["score"] for score in found.facts["scores"]] == [None, None]
    assert found.facts["warnings"] == ["there is no column in which all competitors have trials: nothing is compared"]


def test_bad_factor_is_refused() -> None:
    with pytest.raises(ValidationError, match="largest_factor"):
        answer(largest_factor=1.0)

"""The atlas of critical batch sizes has the numbers of the question about one workload, each at its own goal."""

from __future__ import annotations

import re
from typing import Any

import pytest

from losslake.output.answer import Answer
from losslake.questions import atlas, critical_batch_size
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView
from tests.losslake.questions.test_critical_batch_size_answer import STEPS_85M
from tests.losslake.questions.test_regimes import rows_of
from tests.losslake.questions.views import METRIC, OTHER, WORKLOAD, view_of
from tests.oracle import Row

NAMES = ("critical_batch_size", "lower", "upper", "n_batch_sizes")


def atlas_of(view: ReleaseView, **filters: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    found = atlas.QUESTION.answer(view, atlas.AtlasParameters.model_validate(filters))
    return found.table().to_pylist(), dict(found.facts)


def answer_alone(view: ReleaseView, workload: str) -> Answer:
    parameters = critical_batch_size.CriticalBatchSizeParameters(workload=[workload])
    return critical_batch_size.QUESTION.answer(view, parameters)


def alone(view: ReleaseView, workload: str) -> dict[str, Any]:
    rows: list[dict[str, Any]] = answer_alone(view, workload).table().to_pylist()
    return next(row for row in rows if row["definition"] == "mccandlish2018")


def test_numbers_are_those_of_each_workload_alone() -> None:
    flat = rows_of(dict.fromkeys(STEPS_85M, 500))
    view = view_of(rows_of(STEPS_85M), of_other=flat, goal=0.3, goal_of_other=0.3)
    rows, facts = atlas_of(view)
    assert {row["workload"] for row in rows} == {str(WORKLOAD), str(OTHER)}
    for row in rows:
        own = alone(view, row["workload"])
        assert [row[name] for name in NAMES] == [own[name] for name in NAMES]
        assert (row["metric"], row["target"], row["comparator"]) == (METRIC, 0.3, "strict")
        assert (row["smallest"], row["largest"]) == (min(STEPS_85M), max(STEPS_85M))
    by_name = {row["workload"]: row for row in rows}
    assert by_name[str(WORKLOAD)]["critical_batch_size"] is not None
    assert not by_name[str(WORKLOAD)]["why"]
    assert by_name[str(OTHER)]["critical_batch_size"] is None
    assert by_name[str(OTHER)]["why"]
    assert facts["n_used"] == 1


def test_unequal_numbers_of_trials_have_no_number() -> None:
    more = [
        Row(64, trial, "COMPLETE", step, value) for trial in range(2, 12) for step, value in ((0, 0.9), (46000, 0.2))
    ]
    view = view_of([*rows_of(STEPS_85M), *more], goal=0.3)
    (row,), _ = atlas_of(view)
    own = alone(view, row["workload"])
    assert [row[name] for name in NAMES] == [own[name] for name in NAMES]
    assert row["critical_batch_size"] is row["lower"] is row["upper"] is None
    assert "too unequal" in row["why"]


BLUNT = {size: 46000 * (64 / size) ** 0.5 for size in STEPS_85M}
SHARP = {size: max(3000 + size / 100, 46000 * 64 / size) for size in STEPS_85M}


@pytest.mark.parametrize("steps", [BLUNT, SHARP])
def test_doubts_about_a_fit_are_those_of_the_workload_alone(steps: dict[int, float]) -> None:
    view = view_of(rows_of({size: int(each) for size, each in steps.items()}), goal=0.3)
    (row,), _ = atlas_of(view)
    doubts = [text for text in answer_alone(view, str(WORKLOAD)).facts["warnings"] if text.startswith(f"{WORKLOAD}: ")]
    said = {text.removeprefix(f"{WORKLOAD}: ") for text in doubts if re.search("hyperbola|knee|runs test", text)}
    assert said
    assert said <= set(row["why"].split("; "))


def test_workloads_that_are_left_out_are_counted_with_the_reason() -> None:
    few = rows_of({8: 100, 16: 50})
    rows, facts = atlas_of(view_of(rows_of(STEPS_85M), of_other=few))
    assert not rows
    assert facts["left_out"] == ["2 workloads with fewer than 3 batch sizes", "1 workload with no goal"]


def test_a_workload_whose_goal_has_no_direction_is_left_out_and_the_others_answer() -> None:
    rows, facts = atlas_of(view_of(rows_of(STEPS_85M), direction=None, goal=0.3))
    assert rows == []
    assert "1 workload with a goal in a metric without a known direction" in facts["left_out"]


def test_trials_that_do_not_count_are_counted_with_the_reason() -> None:
    more = [
        Row(64, trial, status, 10, 0.2) for trial, status in ((7, "INCOMPLETE"), (8, "INFEASIBLE"), (9, "INFEASIBLE"))
    ]
    rows, facts = atlas_of(view_of([*rows_of(STEPS_85M), *more], goal=0.3))
    assert len(rows) == 1
    assert {"1 trial of status INCOMPLETE", "2 trials of status INFEASIBLE"} <= set(facts["left_out"])


def test_filters_choose_workloads_and_an_unknown_name_is_refused() -> None:
    view = view_of(rows_of(STEPS_85M), of_other=rows_of(STEPS_85M), goal=0.3, goal_of_other=0.3)
    rows, _ = atlas_of(view, optimizer=["adam"])
    assert [row["workload"] for row in rows] == [str(OTHER)]
    assert len(atlas_of(view, optimizer=["adam", "sgd"])[0]) == 2
    assert not atlas_of(view_of(rows_of({8: 9}), goal=0.3), dataset=["mnist"])[0]
    with pytest.raises(BadParameter, match="no workload has the dataset mnist2"):
        atlas_of(view, dataset=["mnist2"])

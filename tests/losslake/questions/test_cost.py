"""The cost of an answer is known before it is computed, and a budget refuses what costs more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from losslake.lake.lake import Lake
from losslake.questions import compare, scaling, target_sweep, targets
from losslake.questions.declaration import cost
from losslake.questions.declaration.cost import Cost, Expensive, budget, seconds_of
from losslake.questions.declaration.question import Question
from losslake.questions.release.counts import Counts, largest
from losslake.questions.release.releases import Releases
from losslake.questions.release.view import ReleaseView


@pytest.fixture(scope="module")
def view(lake: Lake) -> ReleaseView:
    return Releases(lake).view()


def seconds(view: ReleaseView, question: Question, **given: Any) -> float:
    parameters = question.parameters(**given)
    return seconds_of(view, question.cost(parameters), parameters)


def one_answer(view: ReleaseView) -> tuple[scaling.ScalingParameters, float]:
    """Return the parameters of a scaling question about one workload, and its cost in seconds."""
    workload, facts = next(iter(view.workloads.items()))
    parameters = scaling.ScalingParameters(workload=[str(workload)], metric=facts.measured[0], target=0.3)
    return parameters, seconds(view, scaling.QUESTION, workload=[str(workload)])


def test_counts_are_those_of_the_release(view: ReleaseView) -> None:
    (total,) = view.cursor().execute("SELECT count(*) FROM base.trials").fetchone() or (0,)
    assert sum(each.trials for each in view.counts.values()) == total
    assert view.counts.keys() == view.workloads.keys()
    for workload, counts in view.counts.items():
        assert counts.studies == len(view.workloads[workload].batch_sizes)


def test_costs_add_up_over_workloads_and_targets(view: ReleaseView) -> None:
    names = [str(workload) for workload in view.workloads][:2]
    one, two = (seconds(view, scaling.QUESTION, workload=names[:count]) for count in (1, 2))
    assert 0 < one < two
    grid = {"workload": names[:1], "target_min": 0.1, "target_max": 0.2}
    few, many = (seconds(view, targets.QUESTION, **grid, n_targets=count) for count in (10, 1000))
    assert many == pytest.approx(100 * few)
    one_target, sweep = (
        seconds(view, target_sweep.QUESTION, workload=names[:1], n_targets=count) for count in (1, 200)
    )
    assert sweep > 10 * one_target
    slow = seconds(view, scaling.QUESTION, workload=names[:1], crossing="sustained")
    assert slow > one
    assert seconds(view, compare.QUESTION, workload=names) < 0.5, "the first page compares two workloads in the service"


def test_a_pattern_costs_what_it_matches(view: ReleaseView, monkeypatch: pytest.MonkeyPatch) -> None:
    name = str(next(iter(view.workloads)))
    pattern = f"{name[:-1]}*"
    known = seconds(view, scaling.QUESTION, workload=[pattern])
    assert known >= seconds(view, scaling.QUESTION, workload=[name])
    monkeypatch.setattr(cost, "_MOST_MATCHED", 0)
    assert seconds(view, scaling.QUESTION, workload=[pattern]) >= known, "it may match the largest ones"


def test_names_that_do_not_exist_cost_nothing(view: ReleaseView) -> None:
    for name in ("a/b/c/d", "nonsense", "*/x/*/*"):
        assert seconds(view, scaling.QUESTION, workload=[name]) == 0


def test_a_budget_is_for_all_answers_within_it(view: ReleaseView) -> None:
    parameters, each = one_answer(view)
    with budget(2.5 * each) as used:
        assert used.ratio == 1
        for _ in range(2):
            scaling.QUESTION.answer(view, parameters)
        assert used.ratio == pytest.approx(2)
        with pytest.raises(Expensive) as refused:
            scaling.QUESTION.answer(view, parameters)
    assert refused.value.seconds == pytest.approx(3 * each)
    scaling.QUESTION.answer(view, parameters)


def test_the_first_answer_is_refused_if_all_are_expected_to_cost_too_much(view: ReleaseView) -> None:
    parameters, each = one_answer(view)
    with budget(2.5 * each, expected_ratio=3), pytest.raises(Expensive) as refused:
        scaling.QUESTION.answer(view, parameters)
    assert refused.value.seconds == pytest.approx(each), "the one that is known"
    with budget(2.5 * each, expected_ratio=2):
        for _ in range(2):
            scaling.QUESTION.answer(view, parameters)


def test_nothing_is_computed_beyond_the_budget(view: ReleaseView) -> None:
    def compute(*_: Any) -> Any:
        raise AssertionError("it is computed")

    question = replace(compare.QUESTION, compute=compute)
    names = [str(workload) for workload in view.workloads][:2]
    with budget(0.001), pytest.raises(Expensive):
        question.answer(view, compare.CompareParameters(workload=names, metric="val/classification_error"))


def test_largest_workloads_are_those_that_a_pattern_may_match() -> None:
    counts = [Counts(1, 1, 10, number) for number in range(1000)]
    assert largest(counts) == Counts(200, 200, 2000, sum(range(800, 1000)))
    assert Cost(1, 2, 3, 4).times(2).seconds(Counts(1, 1, 2, 8)) == pytest.approx(82e-6)

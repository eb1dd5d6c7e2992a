"""A target that its metric can't have is refused by every question, with what may be meant."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from losslake.questions import profiles, scaling, target_sweep, targets
from losslake.questions.declaration.question import Question
from losslake.questions.release.errors import BadParameter
from tests.losslake.questions.views import OTHER, WORKLOAD, view_of
from tests.oracle import Row

ROWS = [Row(8, 1, "COMPLETE", 10, 0.3)]


def answered(question: Question, metric: str, given: Mapping[str, object]) -> None:
    parameters = {"workload": [str(WORKLOAD)], "metric": metric, **given}
    question.answer(view_of(ROWS, metric=metric), question.parameters.model_validate(parameters))


@pytest.mark.parametrize(
    ("question", "given", "parameter"),
    [
        (scaling.QUESTION, {"target": 25}, "target"),
        (profiles.QUESTION, {"target": 25, "workload": [str(WORKLOAD), str(OTHER)]}, "target"),
        (targets.QUESTION, {"target": [0.1, 25]}, "target"),
        (targets.QUESTION, {"target_min": 25, "target_max": 30}, "target_min"),
        (targets.QUESTION, {"target_min": 0.1, "target_max": 25}, "target_max"),
        (target_sweep.QUESTION, {"target_min": 25}, "target_min"),
        (target_sweep.QUESTION, {"target_max": 25}, "target_max"),
    ],
)
def test_a_percentage_is_refused_where_the_metric_is_a_fraction(
    question: Question, given: Mapping[str, object], parameter: str
) -> None:
    with pytest.raises(BadParameter) as refused:
        answered(question, "val/classification_error", given)
    assert refused.value.parameter == parameter
    assert str(refused.value) == "val/classification_error lies between 0 and 1: did you mean 0.25?"
    answered(question, "val/loss", given)


@pytest.mark.parametrize(
    ("metric", "target", "why"),
    [
        ("val/bleu", 101, "val/bleu lies between 0 and 100: give a target there, not 101"),
        ("val/accuracy", -0.5, "val/accuracy lies between 0 and 1: give a target there, not -0.5"),
        ("val/word_error_rate", 1.5, "the best val/word_error_rate of a log lies between 0 and 1: did you mean 0.015?"),
    ],
)
def test_a_target_out_of_range_is_refused_with_the_range(metric: str, target: float, why: str) -> None:
    with pytest.raises(BadParameter) as refused:
        answered(scaling.QUESTION, metric, {"target": target})
    assert str(refused.value) == why


def test_the_ends_of_the_range_are_targets() -> None:
    for target in (0, 1, 1 + 2**-52):
        answered(scaling.QUESTION, "val/accuracy", {"target": target})

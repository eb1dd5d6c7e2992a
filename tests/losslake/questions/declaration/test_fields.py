"""`fields` gives the columns that it names, of every question that has it; anything else is refused."""

from __future__ import annotations

import pytest

from losslake.figures.charts import kinds
from losslake.figures.requests import answer_to_draw, figure_parameters
from losslake.questions import best, critical_batch_size, curves, scaling, steps_to_target, survival
from losslake.questions.declaration.question import Question
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.selection import Goal, Selection
from tests.losslake.questions.views import METRIC, WORKLOAD, answer_to, view_of
from tests.oracle import Row

ROWS = [Row(size, trial, "COMPLETE", step, 8 / step) for size in (8, 16) for trial in (1, 2) for step in (4, 16, 64)]


@pytest.fixture(scope="module")
def view() -> ReleaseView:
    return view_of(ROWS)


@pytest.mark.parametrize("question", [best, critical_batch_size, scaling, steps_to_target, survival])
def test_columns_are_those_named_with_the_values_of_the_whole_answer(question: object, view: ReleaseView) -> None:
    declared: Question = question.QUESTION  # type: ignore[attr-defined]
    selection, goal = Selection((WORKLOAD,), METRIC), Goal(0.5) if declared is not best.QUESTION else None
    whole = answer_to(declared, view, selection, goal)
    names = [*reversed(whole.schema.names)][:3]
    chosen = answer_to(declared, view, selection, goal, fields=",".join([*names, names[0]]))
    assert chosen.facts == whole.facts
    assert chosen.table().equals(whole.table().select(names), check_metadata=True)


def test_curves_have_the_columns_named_too(view: ReleaseView) -> None:
    parameters = curves.CurvesParameters(study=[f"{WORKLOAD}/8"], fields="step,value")
    assert curves.QUESTION.answer(view, parameters).table().num_columns == 2
    with pytest.raises(BadParameter, match="curves has no column 'amount': give one or more of workload, batch_size"):
        curves.QUESTION.answer(view, parameters.model_copy(update={"fields": "amount"}))


@pytest.mark.parametrize("text", ["step", "steps,", " steps", "steps;batch_size"])
def test_unknown_column_is_refused_with_all_that_there_are(text: str, view: ReleaseView) -> None:
    with pytest.raises(BadParameter, match=r"scaling has no column '.*': give one or more of workload, batch_size, "):
        answer_to(scaling.QUESTION, view, Selection((WORKLOAD,), METRIC), Goal(0.5), fields=text)


def test_figure_of_some_columns_is_refused(view: ReleaseView) -> None:
    (kind,) = (each for each in kinds() if each.name == "scaling")
    model = figure_parameters(kind, scaling.QUESTION)
    with pytest.raises(BadParameter, match="leave fields out"):
        answer_to_draw(kind, scaling.QUESTION, view, model(workload=[str(WORKLOAD)], fields="steps"))

"""The page that answers which batch size to use, from a reader's step times or prices."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field, ValidationError

from losslake.questions import advice
from losslake.questions.release.errors import BadParameter, reason_of
from losslake.questions.release.known_names import heading_of
from losslake.questions.release.parsed_names import parse_workload
from losslake_service.web.goals import page_goal
from losslake_service.web.measures import batch_unit
from losslake_service.web.page import GoalParameters, Page, PageKind, PageRequest
from losslake_service.web.starting_example import first_chart

PATH = "/advice"
# As the form has them.
_LABELS = {
    "step_time": "Seconds per step",
    "price": "Price of an accelerator hour",
    "accelerators": "Accelerators",
    "budget": "Trials to be run",
}


class AdvicePageParameters(GoalParameters):
    """The query of the page."""

    workload: str
    """The workload."""
    step_times: Annotated[str, Field(max_length=1000)] = ""
    """Seconds per step, BATCH_SIZE=SECONDS, separated by commas or spaces."""
    price: str = ""
    """The price of an accelerator hour."""
    accelerators: str = ""
    """On how many accelerators a trial runs."""
    budget: str = ""
    """Number of new trials, of which the best counts."""

    @property
    def of_form(self) -> dict[str, str]:
        """The texts that the form has, without empty ones."""
        names = ("step_times", "price", "accelerators", "budget")
        return {name: text for name in names if (text := getattr(self, name))}


def advice_page(request: PageRequest) -> Page:
    """Return the page; what is wrong with a number is said above the form. Raises BadParameter and UnknownName."""
    parameters: AdvicePageParameters = request.parameters
    workload = parse_workload(parameters.workload)
    view, metric = request.view, parameters.metric
    facts = view.measuring(workload, metric) if metric else view.workload(workload)
    goal = page_goal(view, facts, metric, parameters.target)
    stated = {
        "step_time": [text for text in re.split(r"[,;\s]+", re.sub(r"\s*=\s*", "=", parameters.step_times)) if text],
        "price": parameters.price.strip() or None,
        "accelerators": parameters.accelerators.strip() or None,
        "budget": parameters.budget.strip() or None,
    }
    query = {"workload": [str(workload)], **goal.with_comparator, **stated}
    rows, facts_of_answer, trouble = [], None, ""
    if any(stated.values()):
        try:
            answer = advice.QUESTION.answer(view, advice.AdviceParameters.model_validate(query))
            rows, facts_of_answer = answer.table().to_pylist(), answer.facts
        except BadParameter as error:
            trouble = f"{_LABELS[error.parameter]}: {error}" if error.parameter in _LABELS else str(error)
        except ValidationError as error:
            fault = error.errors()[0]
            trouble = f"{_LABELS[str(fault['loc'][0])]}: {reason_of(fault)}"
    title = "Which batch size should I use?"
    chart = request.chart("advice", query, f"Time and cost to {goal.text}", height=420) if facts_of_answer else None
    return Page(
        template="advice.html",
        title=f"{title} {heading_of(workload)}",
        description=f"Time and cost to {goal.text} at each batch size, from your step times or prices, with intervals.",
        url=request.url(PATH, workload=workload, **parameters.goal, **parameters.of_form),
        content={
            "workload": workload,
            "heading": heading_of(workload),
            "goal": goal,
            "parameters": parameters,
            "rows": rows,
            "facts": facts_of_answer,
            "trouble": trouble,
            "chart": chart,
            "unit": batch_unit(view, facts),
        },
        picture=chart or first_chart(request),
        above=(("Workloads", request.url("/workloads")), (heading_of(workload), request.page_url(workload))),
        styles=("atlas.css",),
        data=chart.data("json") if chart else None,
    )


ADVICE = PageKind(PATH, AdvicePageParameters, advice_page)

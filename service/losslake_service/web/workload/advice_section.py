"""The section of a workload's page that answers which batch size to use, from a reader's step times or prices."""

from __future__ import annotations

import re
from typing import Any

from pydantic import ValidationError

from losslake.questions import advice
from losslake.questions.release.errors import BadParameter, reason_of
from losslake_service.web.workload.request import WorkloadParameters, WorkloadRequest

# As the form has them, by parameter of the question.
_LABELS = {
    "step_time": "Seconds per step",
    "price": "Price of an accelerator hour",
    "accelerators": "Accelerators",
    "budget": "Trials to be run",
}


def advice_section(request: WorkloadRequest) -> dict[str, Any]:
    """Return the answer; what is wrong with a number is `trouble`, which the page says above the form.

    Without any number there is the form alone.
    """
    requested: WorkloadParameters = request.page.parameters
    times = re.split(r"[,;\s]+", re.sub(r"\s*=\s*", "=", requested.step_times))
    stated = {
        "step_time": [text for text in times if text],
        "price": requested.price.strip() or None,
        "accelerators": requested.trial_accelerators.strip() or None,
        "budget": requested.budget.strip() or None,
    }
    section: dict[str, Any] = {
        "rows": [],
        "facts": None,
        "trouble": "",
        "chart": None,
        "is_asked": any(stated.values()),
    }
    if not section["is_asked"]:
        return section
    query = {**request.of_goal, "comparator": request.goal.comparator, **stated}
    try:
        answer = advice.QUESTION.answer(request.page.view, advice.AdviceParameters.model_validate(query))
    except BadParameter as error:
        trouble = f"{_LABELS[error.parameter]}: {error}" if error.parameter in _LABELS else str(error)
        return section | {"trouble": trouble}
    except ValidationError as error:
        fault = error.errors()[0]
        return section | {"trouble": f"{_LABELS[str(fault['loc'][0])]}: {reason_of(fault)}"}
    title = f"Time and cost to {request.goal.text}"
    chart = request.chart("advice", title, "", query, height=420) if answer.facts["advice"] else None
    return section | {"rows": answer.table().to_pylist(), "facts": answer.facts, "chart": chart}

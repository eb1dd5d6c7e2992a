"""The cost of answers: the estimate, and processor time measured, for questions about a lake; the dearest of each kind.

    python -m bench.costs LAKE

The constants of each question's `cost` are chosen so that the estimate is at most a few times off where it matters,
near `expensive_seconds`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from losslake.lake.lake import Lake
from losslake.output.formats import FORMATS
from losslake.questions.declaration.cost import seconds_of
from losslake.questions.declaration.question import Question
from losslake.questions.questions import QUESTIONS
from losslake.questions.release.errors import BadParameter, UnknownName
from losslake.questions.release.releases import Releases
from losslake.questions.release.view import ReleaseView
from losslake_schema.registry import Goal

N_WORKLOADS = 5
# By path: parameters that make a question dearer, beside those of every question.
MORE: dict[str, list[dict[str, Any]]] = {
    "/v1/scaling": [{}, {"crossing": "sustained"}, {"crossing": "mean"}],
    "/v1/steps-to-target": [{}, {"crossing": "sustained"}],
    "/v1/metaparameters": [{}, {"within": 1000}],
    "/v1/targets": [{"n_targets": 100}],
}


def main() -> None:
    """Print a line of a table for each question."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lake", type=Path)
    view = Releases(Lake.open(parser.parse_args().lake)).view()
    print("| question | estimated | measured | about |\n| --- | ---: | ---: | --- |")
    for question in QUESTIONS:
        if question.listing is None and "workload" in question.parameters.model_fields:
            for more in MORE.get(question.path, [{}]):
                rows = [row for request in requests(view) if (row := measured(view, question, {**request, **more}))]
                for estimate, seconds, about in sorted(rows, key=lambda row: -row[1])[:1]:
                    words = " ".join(f"{name}={value}" for name, value in more.items())
                    name = f"`{question.path.removeprefix('/v1/')}` {words}".strip()
                    print(f"| {name} | {estimate:.2g} s | {seconds:.2g} s | {about} |", flush=True)


def requests(view: ReleaseView) -> Iterator[dict[str, Any]]:
    """Yield the parameters of questions about the largest workloads with a goal, and about all of one data set."""
    goals: dict[Any, Goal] = {goal.workload: goal for goal in view.goals}
    largest = sorted(goals, key=lambda workload: -view.counts[workload].trials)[:N_WORKLOADS]
    for workload in largest:
        yield {"workload": [str(workload)], "metric": goals[workload].metric, "target": goals[workload].target}
    digits = [workload for workload in view.workloads if workload.dataset == "digits"]
    if digits:
        goal = goals[digits[0]]
        yield {"workload": [*map(str, digits)], "metric": goal.metric, "target": 0.1}
        yield {"workload": ["bundled/digits/*/sgd"], "metric": goal.metric, "target": 0.1}


def measured(view: ReleaseView, question: Question, request: dict[str, Any]) -> tuple[float, float, str] | None:
    """Return the estimate, seconds of a processor, and what the question is about; None if it has no answer."""
    if question.path == "/v1/targets":
        request = {**request, "target_min": request["target"] * 0.9, "target_max": request["target"], "target": []}
    request = {name: value for name, value in request.items() if name in question.parameters.model_fields}
    try:
        parameters = question.parameters(**request)
        estimate = seconds_of(view, question.cost(parameters), parameters)
        began = time.process_time()
        for _ in FORMATS["json"].encode(question.answer(view, parameters)):
            pass
    except (BadParameter, UnknownName, ValueError):
        return None
    names = request["workload"]
    return estimate, time.process_time() - began, names[0] if len(names) == 1 else f"{len(names)} workloads"


if __name__ == "__main__":
    main()

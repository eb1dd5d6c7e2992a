"""Every question under /v1/analysis."""

from __future__ import annotations

from collections.abc import Iterator

from service.answers.analysis.regimes import REGIMES, regimes
from service.rest.analysis.facts import analysis_facts
from service.rest.analysis.parameters import RegimesParameters
from service.rest.question import Question

PREFIX = "/v1/analysis/"


def analysis_questions() -> Iterator[Question]:
    """The analyses, in the order of their names."""
    yield Question(
        f"{PREFIX}regimes",
        "Where perfect scaling ends and maximal data parallelism begins, by workload.",
        RegimesParameters,
        lambda asked: regimes(asked.view, asked.parameters.selection(), asked.parameters.goal()),
        REGIMES,
        analysis_facts("target", "comparator"),
    )

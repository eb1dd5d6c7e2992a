"""What the analyses say beside their rows, described for OpenAPI."""

from __future__ import annotations

from service.rest.facts import SELECTION_FACTS, fact, facts_named
from service.rest.question import Fact

_TEXTS = {"type": "array", "items": {"type": "string"}}
FINDING_FACTS = (
    fact("definition", {"type": "string"}, "What was computed, and by whose definition.", "S(B) of the best trial."),
    fact("n_used", {"type": "integer"}, "How many values the definition's computation used.", 11, "values"),
    fact("left_out", _TEXTS, "What was not used, and why.", ["no trial of 64 reached the target at batch size 1"]),
    fact("warnings", _TEXTS, "What to know before relying on it.", ["the largest batch size still gains"]),
)

_NUMBER, _MAYBE = {"type": "number"}, {"anyOf": [{"type": "number"}, {"type": "null"}]}
_INTEGER = {"type": "integer"}
_MAYBE_INTEGER = {"anyOf": [_INTEGER, {"type": "null"}]}
_CONCLUSION = {
    "workload": {"type": "string"},
    "budget_kind": {"type": "string"},
    "budget": _MAYBE_INTEGER,
    "best_value": _NUMBER,
    "largest_value": _NUMBER,
    "best_batch_size": _INTEGER,
    "largest_batch_size": _INTEGER,
    "shortfall": _NUMBER,
    "relative": _MAYBE,
    "chance": _MAYBE,
    "in_words": {"type": "string"},
}
_BUDGETS = {"type": "array", "items": {"type": "integer"}}
_OF_QUALITY = {
    "step_budget": fact("step_budget", _BUDGETS, "The step budgets asked for, inclusive.", [1000], "steps"),
    "example_budget": fact(
        "example_budget", _BUDGETS, "The example budgets asked for, inclusive.", [100000], "batch_unit of the study"
    ),
}
_CONCLUSIONS = fact(
    "conclusions",
    {"type": "array", "items": {"type": "object", "properties": _CONCLUSION, "required": list(_CONCLUSION)}},
    "By workload and budget: by how much the best value at the largest batch size falls short of the best at any, as a "
    "number, relative to the best, and beside what half as many trials would fall short by chance.",
    [],
)


def quality_facts() -> tuple[Fact, ...]:
    """The facts of solution quality, which takes several budgets."""
    selected = (_OF_QUALITY.get(fact.name, fact) for fact in SELECTION_FACTS)
    return (*selected, _CONCLUSIONS, *FINDING_FACTS)


def analysis_facts(*others: str) -> tuple[Fact, ...]:
    """The facts of an analysis: of the selection, those named of `service.rest.facts`, and how it was computed."""
    return (*SELECTION_FACTS, *facts_named(*others), *FINDING_FACTS)

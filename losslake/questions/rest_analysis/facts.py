"""What the analyses say beside their rows, described for OpenAPI."""

from __future__ import annotations

from losslake.questions.described_facts import SELECTION_FACTS, fact, facts_named
from losslake.questions.question import Fact

_TEXTS = {"type": "array", "items": {"type": "string"}}
FINDING_FACTS = (
    fact("definition", {"type": "string"}, "What was computed, and by whose definition.", "S(B) of the best trial."),
    fact("n_used", {"type": "integer"}, "How many values the definition's computation used.", 11, "values"),
    fact("left_out", _TEXTS, "What was not used, and why.", ["no trial of 64 reached the target at batch size 1"]),
    fact("warnings", _TEXTS, "What to know before relying on it.", ["the largest batch size still gains"]),
)


def analysis_facts(*own: Fact) -> tuple[Fact, ...]:
    """The facts of an analysis of a target: of the selection and the target, its own, and how it was computed."""
    return (*SELECTION_FACTS, *facts_named("target", "comparator"), *own, *FINDING_FACTS)

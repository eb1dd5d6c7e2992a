"""What JSON answers say beside their rows, described for OpenAPI."""

from __future__ import annotations

from typing import Any

from losslake.questions.question import Fact

_TEXTS = {"type": "array", "items": {"type": "string"}}
_COUNT = {"anyOf": [{"type": "integer"}, {"type": "null"}]}


def fact(name: str, shape: dict[str, Any], description: str, example: object, unit: str = "none") -> Fact:
    """A fact by its JSON schema, meaning, example and unit."""
    return Fact(name, shape | {"description": description, "examples": [example], "x-unit": unit})


RELEASE = fact("release", {"type": "integer"}, "The release that answered.", 1)
_OTHERS = {
    "batch_sizes": fact(
        "batch_sizes",
        {"type": "array", "items": {"type": "integer"}},
        "The batch sizes asked for; empty for all.",
        [64],
        "batch_unit of the study",
    ),
    "target": fact(
        "target", {"type": "number"}, "The target; comparator says what reaches it.", 0.05, "unit of the metric"
    ),
    "comparator": fact(
        "comparator",
        {"type": "string", "enum": ["strict", "inclusive"]},
        "strict: reached means better than the target; inclusive: at least as good as the target.",
        "strict",
    ),
    "crossing": fact(
        "crossing",
        {"type": "string", "enum": ["first", "k_consecutive", "sustained"]},
        "Which hit of the target counts as the crossing in the columns `confirmed_…`.",
        "first",
    ),
    "k": fact("k", _COUNT, "How many successive hits confirm a crossing; null unless k_consecutive.", 2, "evaluations"),
    "warnings": fact("warnings", _TEXTS, "What to know before relying on the rows.", ["evaluations are far apart"]),
    "normalize_to": fact(
        "normalize_to", _COUNT, "The batch size asked to normalize to; null for none.", 64, "batch_unit of the study"
    ),
    "within": fact("within", {"type": "number"}, "How near to the best is near-optimal.", 0.1, "none: a ratio"),
    "studies": fact("studies", _TEXTS, "The studies asked for.", ["bundled/digits/mlp_64/nesterov_momentum/64"]),
    "trials_asked": Fact(
        "trials",
        _TEXTS
        | {
            "description": "The trials asked for.",
            "examples": [["bundled/digits/mlp_64/nesterov_momentum/64/17"]],
            "x-unit": "none",
        },
    ),
    "thinned": fact(
        "thinned",
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "What was left out and by which rule; null if nothing was.",
        "to every 10th evaluation of a trial and metric",
    ),
}
SELECTION_FACTS = (
    RELEASE,
    fact("workloads", _TEXTS, "The workloads asked for.", ["bundled/digits/mlp_64/nesterov_momentum"]),
    fact("metric", {"type": "string"}, "The metric asked for: split/quantity.", "val/classification_error"),
    fact("direction", {"type": "string"}, "Which way is better, as asked for, else the metric's own.", "minimize"),
    fact("step_budget", _COUNT, "The step budget asked for, inclusive; null for none.", 1000, "steps"),
    fact(
        "example_budget",
        _COUNT,
        "The example budget asked for, inclusive; null for none.",
        100000,
        "batch_unit of the study",
    ),
    fact("trials", _COUNT, "Of each study only the first so many trials; null for all.", 50, "trials"),
    fact("status", _TEXTS, "The statuses admitted.", ["COMPLETE"]),
)
LIST_FACTS = (
    RELEASE,
    fact("total", {"type": "integer"}, "Rows that pass the filters, on all pages.", 64, "rows"),
    fact(
        "next_cursor",
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "The parameter `cursor` of the next page, also in the header Link; null on the last one.",
        "WzEsIjRmMjMiLFsiYnVuZGxlZCJdXQ",
    ),
)


def facts_named(*names: str) -> tuple[Fact, ...]:
    """The facts of those names."""
    return tuple(_OTHERS[name] for name in names)

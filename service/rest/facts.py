"""What JSON answers say beside their rows, described for OpenAPI."""

from __future__ import annotations

from typing import Any

from service.rest.question import Fact

_TEXTS = {"type": "array", "items": {"type": "string"}}
_COUNT = {"anyOf": [{"type": "integer"}, {"type": "null"}]}


def _fact(name: str, shape: dict[str, Any], description: str, example: object, unit: str = "none") -> Fact:
    return Fact(name, shape | {"description": description, "examples": [example], "x-unit": unit})


RELEASE = _fact("release", {"type": "integer"}, "The release that answered.", 1)
_OTHERS = {
    "target": _fact(
        "target", {"type": "number"}, "The target; reached means strictly better.", 0.05, "unit of the metric"
    ),
    "normalize_to": _fact(
        "normalize_to", _COUNT, "The batch size asked to normalize to; null for none.", 64, "batch_unit of the study"
    ),
    "within": _fact("within", {"type": "number"}, "How near to the best is near-optimal.", 0.1, "none: a ratio"),
    "studies": _fact("studies", _TEXTS, "The studies asked for.", ["bundled/digits/mlp_64/nesterov_momentum/64"]),
    "trials_asked": Fact(
        "trials",
        _TEXTS
        | {
            "description": "The trials asked for.",
            "examples": [["bundled/digits/mlp_64/nesterov_momentum/64/17"]],
            "x-unit": "none",
        },
    ),
    "thinned": _fact(
        "thinned",
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "What was left out and by which rule; null if nothing was.",
        "to every 10th evaluation of a trial and metric",
    ),
}
SELECTION_FACTS = (
    RELEASE,
    _fact("workloads", _TEXTS, "The workloads asked for.", ["bundled/digits/mlp_64/nesterov_momentum"]),
    _fact("metric", {"type": "string"}, "The metric asked for: split/quantity.", "val/classification_error"),
    _fact("direction", {"type": "string"}, "Which way is better, as asked for, else the metric's own.", "minimize"),
    _fact("step_budget", _COUNT, "The step budget asked for, inclusive; null for none.", 1000, "steps"),
    _fact(
        "example_budget",
        _COUNT,
        "The example budget asked for, inclusive; null for none.",
        100000,
        "batch_unit of the study",
    ),
    _fact("trials", _COUNT, "Of each study only the first so many trials; null for all.", 50, "trials"),
    _fact("status", _TEXTS, "The statuses admitted.", ["COMPLETE"]),
)
LIST_FACTS = (
    RELEASE,
    _fact("total", {"type": "integer"}, "Rows that pass the filters, on all pages.", 64, "rows"),
    _fact(
        "next_cursor",
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "The parameter `cursor` of the next page, also in the header Link; null on the last one.",
        "WzEsIjRmMjMiLFsiYnVuZGxlZCJdXQ",
    ),
)


def facts_named(*names: str) -> tuple[Fact, ...]:
    """The facts of those names."""
    return tuple(_OTHERS[name] for name in names)

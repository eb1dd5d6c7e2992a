"""What the analyses of metaparameters say beside their rows, described for OpenAPI."""

from __future__ import annotations

from typing import Any

from losslake.questions.described_facts import SELECTION_FACTS, fact, facts_named
from losslake.questions.question import Fact
from losslake.questions.rest_analysis.facts import FINDING_FACTS, analysis_facts

_WORKLOAD = "bundled/digits/mlp_64/nesterov_momentum"
_BATCH_UNIT = "batch_unit of the study"


def _field(
    kind: str, description: str, example: object, unit: str = "none", *, nullable: bool = False
) -> dict[str, Any]:
    shape = {"anyOf": [{"type": kind}, {"type": "null"}]} if nullable else {"type": kind}
    return {**shape, "description": description, "examples": [example], "x-unit": unit}


def _list_of(name: str, description: str, fields: dict[str, dict[str, Any]]) -> Fact:
    """A fact that is a list of objects, all of them with all of these fields."""
    objects = {"type": "object", "properties": fields, "required": list(fields)}
    example = {name: shape["examples"][0] for name, shape in fields.items()}
    return fact(name, {"type": "array", "items": objects}, description, [example])


def _bound(description: str, example: float, unit: str = "none") -> dict[str, Any]:
    return _field("number", description, example, unit, nullable=True)


_OF = _field("string", "The workload.", _WORKLOAD)
_EXPONENTS = _list_of(
    "exponents",
    "By workload: the exponent p of effective learning rate ~ (batch size)^p over the best trials.",
    {
        "workload": _OF,
        "n_batch_sizes": _field("integer", "Batch sizes used.", 11, "batch sizes"),
        "exponent": _bound("Theil-Sen slope of the logarithms; null for fewer than 4 batch sizes.", 0.62),
        "lower": _bound("Lower end of the hull of both intervals.", 0.35),
        "upper": _bound("Upper end of the hull of both intervals.", 0.83),
        "near_optimal_lower": _bound("90% interval over draws of one near-optimal trial per batch size.", 0.41),
        "near_optimal_upper": _bound("Its upper end.", 0.7),
        "theil_sen_lower": _bound("90% interval of Theil-Sen itself, from the scatter about the line.", 0.35),
        "theil_sen_upper": _bound("Its upper end.", 0.83),
        "consistent_with": {
            "type": "array",
            "items": {"type": "string", "enum": ["linear", "square-root", "constant"]},
            "description": "Which of linear (p = 1), square-root (p = 0.5) and constant (p = 0) lie within.",
            "examples": [["square-root"]],
            "x-unit": "none",
        },
    },
)
_FORMS = _list_of(
    "learning_rate_forms",
    "By workload, best first: forms fitted to the effective learning rate of the best trials; none for fewer than 5 "
    "batch sizes.",
    {
        "workload": _OF,
        "name": _field(
            "string",
            "constant; linear eta B; square-root eta B^0.5; power eta B^p; saturating eta/(1 + B_n/B); surge "
            "eta/(0.5 ((B_n/B)^0.5 + (B/B_n)^0.5)), as for Adam.",
            "power",
        ),
        "n_parameters": _field("integer", "Fitted parameters, with the variance of the residuals.", 3, "parameters"),
        "rms_log_residual": _field("number", "Root mean square residual.", 0.21, "natural logarithm"),
        "aicc": _field("number", "Akaike's criterion for few points; smaller is better.", -20.4),
        "delta_aicc": _field("number", "How much more that is than the best form's; below 2 is hardly worse.", 0.0),
        "exponent": _bound("The exponent of a power law, fixed or fitted; null for the others.", 0.62),
        "noise_batch_size": _bound("B_n; null where the data does not bound it.", 150.0, _BATCH_UNIT),
        "noise_lower": _bound("Lower end of its 90% profile-likelihood interval; null for none.", 90.0, _BATCH_UNIT),
        "noise_upper": _bound("Upper end of that interval; null for none.", 260.0, _BATCH_UNIT),
    },
)
_HEURISTICS = _list_of(
    "heuristics",
    "By workload and heuristic: what following it from its origin costs at the other batch sizes.",
    {
        "workload": _OF,
        "name": _field("string", "linear or square-root: how the learning rate scales.", "linear"),
        "origin": _field("integer", "The batch size it starts from.", 1, _BATCH_UNIT),
        "learning_rate": _field("number", "Of the best trial there.", 0.01),
        "momentum": _field("number", "Of the same trial, kept everywhere; 0 in plain SGD.", 0.9),
        "n_batch_sizes": _field("integer", "Other batch sizes at which the target is reached.", 10, "batch sizes"),
        "n_regrets": _field("integer", "Of these, how many have a regret.", 7, "batch sizes"),
        "median_regret": _bound("Median of these regrets; null for none.", 1.3, "none: a ratio"),
        "largest_regret": _bound("The largest of these regrets; null for none.", 2.2, "none: a ratio"),
    },
)
_REGIONS = _list_of(
    "goal_regions",
    "By workload and batch size: how many trials are of each class.",
    {
        "workload": _OF,
        "batch_size": _field("integer", "Of the study.", 64, _BATCH_UNIT),
        "n_reached": _field("integer", "Trials that finished and reached the target.", 21, "trials"),
        "n_not_reached": _field("integer", "Trials that finished and did not.", 40, "trials"),
        "n_infeasible": _field("integer", "Trials that diverged.", 3, "trials"),
        "n_incomplete": _field("integer", "Trials stopped for an outside reason.", 0, "trials"),
        "fraction_reaching": _bound("Reached over all but incomplete; null for none.", 0.33, "none: a fraction"),
    },
)


def metaparameter_facts() -> tuple[Fact, ...]:
    """The facts of the best metaparameters."""
    asked = facts_named("target", "comparator", "within")
    origin = fact(
        "origin",
        {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "The batch size asked to start the heuristics from; null for none.",
        64,
        _BATCH_UNIT,
    )
    return (*SELECTION_FACTS, *asked, origin, _EXPONENTS, _FORMS, _HEURISTICS, *FINDING_FACTS)


def metaparameter_map_facts() -> tuple[Fact, ...]:
    """The facts of the map."""
    return analysis_facts(*facts_named("batch_sizes"), _REGIONS)

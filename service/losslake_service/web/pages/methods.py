"""The document of methods: how answers are computed, with the constants of the code and links to answers."""

from __future__ import annotations

from collections.abc import Mapping

from losslake.analysis.break_points import OF_BEST_SETTING, OF_BEST_TRIAL, PERFECT_WITHIN, USEFUL_WITHIN
from losslake.analysis.critical_batch_size import OPTIMAL_BATCH_SIZE, OVERHEAD
from losslake.analysis.crossings import COARSE
from losslake.analysis.hyperbola import HUBER
from losslake.analysis.identifiability import (
    FEWEST_BATCH_SIZES,
    FURTHEST,
    LEAST_BEND,
    LEAST_SLOPE,
    MOST_AT_FIRST,
    MOST_UNEQUAL,
)
from losslake.analysis.performance_profile import LARGEST_RATIO, POINTS
from losslake.analysis.permutation_test import GROUP
from losslake.questions.curves import ROWS_IN_A_COLUMN
from losslake.questions.release.view import ReleaseView
from losslake.questions.target_sweep import MOST_TARGETS, TargetSweepParameters
from losslake.questions.trials.confirmation import DEFAULT_K
from losslake_schema.package_files import read_toml
from losslake_service.web.examples import find_example
from losslake_service.web.page import DocsPage, Page, PageRequest
from losslake_service.web.starting_example import first_chart
from losslake_service.web.templates import with_query

# The constants by their names in the template.
_NUMBERS = {
    "k": DEFAULT_K,
    "coarse": COARSE,
    "perfect": PERFECT_WITHIN,
    "useful": USEFUL_WITHIN,
    "undertuned": OF_BEST_SETTING,
    "undertuned_trial": OF_BEST_TRIAL,
    "huber": HUBER,
    "fewest_batch_sizes": FEWEST_BATCH_SIZES,
    "bend": LEAST_BEND,
    "slope": LEAST_SLOPE,
    "furthest": FURTHEST,
    "most_at_first": MOST_AT_FIRST,
    "most_unequal": MOST_UNEQUAL,
    "overhead": OVERHEAD,
    "optimal": OPTIMAL_BATCH_SIZE,
    "targets": TargetSweepParameters.model_fields["n_targets"].default,
    "most_targets": MOST_TARGETS,
    "group": GROUP,
    "largest_ratio": LARGEST_RATIO,
    "points": POINTS,
    "rows_in_a_column": ROWS_IN_A_COLUMN,
}
NAME = "methods"
"""The name of the document."""
_OF_TWO = ("analysis/compare", "analysis/profiles")
_WAYS = (
    "steps-to-target", "scaling", "curves", "analysis/regimes", "analysis/critical-batch-size", "analysis/target-sweep",
    *_OF_TWO, "analysis/survival",
)  # fmt: skip


def methods_page(request: PageRequest) -> Page:
    """Return the page."""
    return DocsPage(
        template="methods.html",
        title="The methods",
        description="How steps to a target, records, regimes, critical batch sizes and comparisons are computed.",
        url=request.url("/docs/methods"),
        content={
            "n": _NUMBERS,
            "sources": read_toml("losslake_service.web", "sources.toml"),
            "ways": _ways(request.view),
        },
        picture=first_chart(request),
        above=(("Docs", request.url("/docs")),),
    )


def _ways(view: ReleaseView) -> Mapping[str, str]:
    """Return the address of an example answer by the end of its path; empty without data."""
    example = find_example(view)
    if example is None:
        return dict.fromkeys(_WAYS, "")
    values = example.values()
    ways = {}
    for end in _WAYS:
        others = [example.other] if end in _OF_TWO and example.other is not None else []
        query: dict[str, object] = {"workload": [example.workload, *others], "metric": example.metric}
        if end == "curves":
            query = {"trial": values["trial"], "metric": example.metric, "points": 100}
        elif end != "analysis/target-sweep":
            query["target"] = example.target
        ways[end] = with_query(f"/v1/{end}", [*query.items(), ("release", view.number)])
    return ways

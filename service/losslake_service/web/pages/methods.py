"""The page of methods: how answers are computed, with the numbers that the program goes by."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

from losslake.analysis.break_points import PERFECT_WITHIN, USEFUL_WITHIN
from losslake.analysis.critical_batch_size import OPTIMAL_BATCH_SIZE, OVERHEAD
from losslake.analysis.crossings import COARSE
from losslake.analysis.equal_budget import CLEAR
from losslake.analysis.fit_intervals import LEVEL
from losslake.analysis.hyperbola import HUBER
from losslake.analysis.identifiability import FEWEST_BATCH_SIZES, FURTHEST, LEAST_BEND, LEAST_SLOPE
from losslake.analysis.log_curves import UNDERTUNED_TAU
from losslake.analysis.performance_profile import LARGEST_RATIO, POINTS
from losslake.questions.analysis.target_sweep import MOST_TARGETS, TargetGrid
from losslake.questions.confirmation import DEFAULT_K
from losslake.questions.contest import LEAST_TRIALS
from losslake.questions.curves import ROWS_IN_A_COLUMN
from losslake_service.web.examples import Example, example
from losslake_service.web.first_look import first_chart
from losslake_service.web.page import Crumb, Page, PageAsked, PageKind, PageParameters
from losslake_service.web.templates import Query, with_query


@dataclass(frozen=True)
class Source:
    """A paper. label: as it is cited."""

    label: str
    text: str
    url: str


@dataclass(frozen=True)
class Way:
    """How to ask by a method. path: of the answer; url: an answer of this release, empty without data."""

    path: str
    url: str


@dataclass(frozen=True)
class Numbers:
    """The numbers of the methods, as the code has them."""

    k: int = DEFAULT_K
    coarse: float = COARSE
    perfect: float = PERFECT_WITHIN
    useful: float = USEFUL_WITHIN
    undertuned: float = UNDERTUNED_TAU
    huber: float = HUBER
    level: float = LEVEL
    fewest_batch_sizes: int = FEWEST_BATCH_SIZES
    bend: float = LEAST_BEND
    slope: float = LEAST_SLOPE
    furthest: float = FURTHEST
    overhead: float = OVERHEAD
    optimal: float = OPTIMAL_BATCH_SIZE
    targets: int = TargetGrid.count
    most_targets: int = MOST_TARGETS
    clear: float = CLEAR
    draws: float = 2 * CLEAR - 1
    fewest_trials: int = LEAST_TRIALS
    largest_ratio: float = LARGEST_RATIO
    points: int = POINTS
    rows_in_a_column: int = ROWS_IN_A_COLUMN


@dataclass(frozen=True)
class MethodsShown:
    """What the template shows. ways: by the end of the path."""

    n: Numbers
    sources: Mapping[str, Source]
    ways: Mapping[str, Way]
    others: Sequence[tuple[str, str]]


_OTHERS = (
    ("metaparameters", "which metaparameters are best by batch size, how the learning rate grows with it"),
    ("metaparameter-map", "where in the plane of learning rate and momentum the target is reached"),
    ("quality", "how good the best solution gets within so many steps or examples"),
    ("tuning-budget", "what a search with fewer trials would have found"),
    ("survival", "how many trials have reached the target by a step, and how many diverged"),
    ("time-cost", "what a target takes by the clock and in examples"),
    ("rcp", "whether runs converge suspiciously soon: MLPerf's reference convergence points"),
)
_OF_TWO = ("analysis/compare", "analysis/profiles")


def methods_page(asked: PageAsked) -> Page:
    """The page."""
    found = example(asked.view)
    return Page(
        template="methods.html",
        title="The methods",
        description="How steps to a target, records, regimes, critical batch sizes and comparisons are computed.",
        url=asked.url("/docs/methods"),
        content=MethodsShown(
            n=Numbers(),
            sources=sources(),
            ways={end: _way(end, asked.view.number, found) for end in _WAYS},
            others=[(f"/v1/analysis/{end}", text) for end, text in _OTHERS],
        ),
        picture=first_chart(asked),
        above=(Crumb("Docs", asked.url("/docs")),),
        styles=("docs.css",),
        scripts=("docs.js",),
    )


@functools.cache
def sources() -> Mapping[str, Source]:
    """The papers, by the name that the template cites them by."""
    text = resources.files("losslake_service.web").joinpath("sources.toml").read_text("utf-8")
    return {name: Source(**facts) for name, facts in tomllib.loads(text).items()}


_WAYS = (
    "steps-to-target", "scaling", "curves", "analysis/regimes", "analysis/critical-batch-size", "analysis/target-sweep",
    *_OF_TWO, "analysis/survival",
)  # fmt: skip


def _way(end: str, release: int, found: Example | None) -> Way:
    path = f"/v1/{end}"
    if found is None:
        return Way(path, "")
    workloads = [found.workload]
    if end in _OF_TWO and found.other is not None:
        workloads.append(found.other)
    values = found.values()
    asked: Query = [("workload", str(workload)) for workload in workloads] + [("metric", values["metric"])]
    if end == "curves":
        asked = [("trial", values["trial"]), ("metric", values["metric"]), ("points", "100")]
    elif end != "analysis/target-sweep":
        asked = [*asked, ("target", values["target"])]
    return Way(path, with_query(path, [*asked, ("release", release)]))


METHODS = PageKind("/docs/methods", PageParameters, methods_page)

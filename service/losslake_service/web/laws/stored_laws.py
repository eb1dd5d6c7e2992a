"""Laws of what a release holds: of critical batch sizes, and of the loss by model size and tokens."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from losslake.analysis.loss_law import FEWEST_SETTINGS, FEWEST_SIZES
from losslake.analysis.power_law import FEWEST_POINTS
from losslake.figures.charts.critical_batch_law import law_in_words
from losslake.questions import critical_batch_law
from losslake.questions.critical_batch_law import PATTERN, CriticalBatchLawParameters
from losslake.questions.laws.critical_points import FEWEST_BATCH_SIZES
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.parsed_names import parse_workload
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake_schema.names import Workload
from losslake_service.web.caveats import caveats
from losslake_service.web.laws.parameters import LawsParameters
from losslake_service.web.page import Content, PageRequest
from losslake_service.web.per_release import once_per_release

_CROSS_ENTROPY = "/cross_entropy_error"
# Evaluations of the warm-up of the learning rate, and of just after it, aren't on a law.
_AFTER = 0.1


@dataclass(frozen=True)
class LossRuns:
    """Workloads of a data set that a law of the loss may be fitted to. n_trials: those that say their size.

    spread: the largest size over the smallest.
    """

    pattern: str
    n_sizes: int
    n_trials: int
    spread: float

    @property
    def points(self) -> str:
        """The evaluations to fit: of models that were trained once each, only all have several numbers of tokens."""
        return "all" if self.n_trials < 2 * self.n_sizes else "final"

    @property
    def draw(self) -> str:
        """The unit of the bootstrap: models if they are enough, since runs of one may branch from one training."""
        return "models" if self.n_sizes >= FEWEST_SETTINGS else "settings"


@once_per_release
def critical_patterns(view: ReleaseView) -> list[str]:
    """Return patterns of workloads that a law of critical batch sizes can be fitted to, that of the most first."""
    groups: dict[str, int] = defaultdict(int)
    for names in view.rows("workloads_with_sizes"):
        workload = Workload(*names)
        facts = view.workloads[workload]
        if len(facts.fixed_sizes) >= FEWEST_BATCH_SIZES and view.goals_of(workload):
            groups[f"{workload.collection}/{workload.dataset}/*/{workload.optimizer}"] += 1
    fitting = {pattern: count for pattern, count in groups.items() if count >= FEWEST_POINTS}
    return sorted(fitting, key=lambda pattern: (-fitting[pattern], pattern))


@once_per_release
def loss_runs(view: ReleaseView) -> list[LossRuns]:
    """Return the data sets with a cross-entropy of models of enough sizes.

    First that of the widest range of sizes; of equal ones, that with final losses at several numbers of tokens.
    """
    measured = {
        (workload.collection, workload.dataset)
        for workload, facts in view.listed.items()
        if any(name.endswith(_CROSS_ENTROPY) for name in facts.measured)
    }
    fewest = {"fewest_sizes": FEWEST_SIZES, "fewest_trials": FEWEST_SETTINGS}
    found = [
        LossRuns(f"{collection}/{dataset}/*/*", *of_runs)
        for collection, dataset, *of_runs in view.rows("model_sizes_of_datasets", fewest)
        if (collection, dataset) in measured
    ]
    return sorted(found, key=lambda each: (-each.spread, each.points != "final", -each.n_sizes, each.pattern))


def critical_section(request: PageRequest, parameters: LawsParameters) -> Content:
    """Return the content about laws of critical batch sizes; raises BadParameter and UnknownName."""
    offered = critical_patterns(request.view)
    pattern = parameters.critical_workload or next(iter(offered), "")
    if not pattern:
        return {"pattern": ""}
    # The definition of that collection's authors, to which their laws belong.
    by = parameters.by or ("zhang2024" if pattern == PATTERN else "mccandlish2018")
    query = {"workload": pattern, "by": by}
    asked = CriticalBatchLawParameters.model_validate({**query, "workload": [pattern]})
    facts = critical_batch_law.QUESTION.answer(request.view, asked).facts
    laws = [law for law in facts["laws"] if law["n_points"]]
    title = f"Critical batch sizes by model size, tokens and loss: {pattern}"
    return {
        "pattern": pattern,
        "by": by,
        "offered": offered,
        "sentences": [law_in_words(law) for law in laws] or [f"No law: {facts['laws'][0]['refused']}."],
        "caveats": caveats(facts),
        "chart": request.chart("critical-batch-law", query, title, heading="Critical batch sizes") if laws else None,
    }


def loss_section(request: PageRequest, parameters: LawsParameters, compute: float) -> Content:
    """Return the content about the law of the loss; raises BadParameter and UnknownName.

    The fit takes a second or more, so that only its figure is asked for, by the browser. compute: FLOPs whose best
    size and tokens the figure says.
    """
    offered = loss_runs(request.view)
    pattern = parameters.loss_workload or next((each.pattern for each in offered), "")
    if not pattern:
        return {"pattern": ""}
    metrics, metric = _metrics(request.view, parse_workload(pattern), parameters.metric)
    known = next((each for each in offered if each.pattern == pattern), None)
    points = parameters.points or (known.points if known else "final")
    draw = parameters.draw or (known.draw if known else "settings")
    after = (_AFTER if parameters.after is None else parameters.after) if points == "all" else None
    query = {"workload": pattern, "metric": metric, "points": points, "after": after, "draw": draw, "flops": compute}
    return {
        "pattern": pattern,
        "offered": [each.pattern for each in offered],
        "choices": [(name, name) for name in metrics],
        "metric": metric,
        "points": points,
        "after": _AFTER if after is None else after,
        "draw": draw,
        "chart": request.chart(
            "loss-law", query, f"Loss by model size and tokens: {pattern}", heading="Loss by tokens"
        ),
    }


def _metrics(view: ReleaseView, pattern: Workload, metric: str) -> tuple[list[str], str]:
    """Return the losses of the workloads of a pattern, and the chosen one; raises BadParameter and UnknownName."""
    losses = _losses(view, view.members(pattern, metric) if metric else view.matching(pattern))
    if metric and metric not in losses:
        raise BadParameter("metric", f"{metric} isn't minimized: give a loss")
    if not losses:
        raise BadParameter("loss_workload", f"no workload that {pattern} matches measures a loss")
    return losses, metric or losses[0]


def _losses(view: ReleaseView, members: Iterable[WorkloadFacts]) -> list[str]:
    """Return the metrics of workloads that are minimized, cross-entropies first."""
    names = {name for facts in members for name in facts.measured if view.metrics[name].direction == "minimize"}
    return sorted(names, key=lambda name: (not name.endswith(_CROSS_ENTROPY), not name.startswith("val/"), name))

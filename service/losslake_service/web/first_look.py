"""What a newcomer looks at first: a workload with a goal, others to compare it with, and a batch size that reached it.

Chosen from the release by rules, so that it is the same each time: where two optimizers trained the same model, at
best plain SGD and momentum, and a goal that all of them share. It gives the chart that stands for a whole release, and
the questions to begin with.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from losslake.questions.release_view import ReleaseView
from losslake.questions.workload_facts import WorkloadFacts
from losslake_schema.names import Study, Workload
from losslake_service.web.chart import Chart
from losslake_service.web.examples import example
from losslake_service.web.goals import GoalShown, common_goal, goals_of, metrics_of, steps_by_size
from losslake_service.web.lines import statement
from losslake_service.web.page import PageRequest
from losslake_service.web.workload.request import WorkloadRequest, scaling_chart

_BY_MOMENTUM = ("sgd", "momentum", "nesterov_momentum")
_MOST_TRIED = 8
_MOST_MODELS = 4
_USUAL_BATCH_SIZE = 64


@dataclass(frozen=True)
class FirstLook:
    """workload: reaches the goal at `batch_size`. rivals: of the same model, two optimizers; empty where there is one.

    models: of the same dataset and optimizer; empty where there is one.
    """

    workload: Workload
    goal: GoalShown
    batch_size: int
    rivals: tuple[Workload, ...] = ()
    models: tuple[Workload, ...] = ()

    @property
    def is_about_momentum(self) -> bool:
        """Whether the rivals are plain SGD and SGD with momentum."""
        names = [rival.optimizer for rival in self.rivals]
        return names[:1] == ["sgd"] and names[1:] in (["momentum"], ["nesterov_momentum"])

    def request(self, page: PageRequest) -> WorkloadRequest:
        """Return a request for the workload with its goal."""
        return WorkloadRequest(page, page.view.workload(self.workload), self.goal)


_CHOSEN: WeakKeyDictionary[ReleaseView, FirstLook | None] = WeakKeyDictionary()


def first_look(view: ReleaseView) -> FirstLook | None:
    """Return what to begin with; None where nothing was measured that could reach a goal."""
    if view not in _CHOSEN:
        _CHOSEN[view] = _chosen(view)
    return _CHOSEN[view]


def first_chart(request: PageRequest) -> Chart | None:
    """Return how the steps to a goal fall with the batch size; None for a release without anything to show."""
    look = first_look(request.view)
    return scaling_chart(look.request(request)) if look is not None else None


def beginnings(request: PageRequest, look: FirstLook) -> Iterator[tuple[str, str, str]]:
    """Yield questions that this release can answer, each with what the page that answers it shows, and its address."""
    workload, goal = look.workload, look.goal
    place = f"{workload.dataset}/{workload.model}"

    def compared(workloads: Sequence[Workload]) -> str:
        return request.url("/compare", workload=workloads, **goal.parameters)

    yield (
        f"How far does {workload.optimizer} scale on {place}?",
        f"Steps to {goal.text} at each batch size, and the regimes of scaling.",
        request.page_of(workload, **goal.parameters),
    )
    if look.rivals:
        one, other = (rival.optimizer for rival in look.rivals)
        yield (
            "At which batch size does momentum stop helping?"
            if look.is_about_momentum
            else f"At which batch sizes does {other} need fewer steps than {one}?",
            f"{one} and {other} on {place}, both to {goal.text}.",
            compared(look.rivals),
        )
    yield (
        f"Which trials reached {goal.text} at batch size {look.batch_size}, and with what learning rate?",
        "Every trial of the study: its curve, its outcome and its metaparameters.",
        request.page_of(Study(workload, look.batch_size), **goal.parameters),
    )
    if look.models:
        names = [model.model for model in look.models]
        yield (
            f"Which model needs the fewest steps on {workload.dataset}?",
            f"{', '.join(names[:-1])} and {names[-1]} with {workload.optimizer}, at each batch size.",
            compared(look.models),
        )
    yield (
        "How many trials diverged, by optimizer?",
        "A question in SQL to change as you like, with its rows and a chart.",
        request.url("/sql", q=statement("outcomes")),
    )


def by_problem(view: ReleaseView) -> dict[tuple[str, str, str], list[Workload]]:
    """Return the workloads by collection, dataset and model."""
    rows = defaultdict(list)
    for workload in view.workloads:
        rows[workload.collection, workload.dataset, workload.model].append(workload)
    return rows


def _chosen(view: ReleaseView) -> FirstLook | None:
    def worth(workloads: Sequence[Workload]) -> tuple[bool, int, int]:
        """How well they can be compared."""
        names = {workload.optimizer for workload in workloads}
        n_studies = sum(len(view.workloads[workload].batch_sizes) for workload in workloads)
        return names >= {"sgd", "momentum"}, len(names), n_studies

    for workloads in sorted(by_problem(view).values(), key=worth, reverse=True)[:_MOST_TRIED]:
        facts = [view.workloads[workload] for workload in workloads]
        shown = max(facts, key=lambda each: (len(each.batch_sizes), _momentum(each.workload)))
        rivals = sorted(facts, key=lambda each: _plain_first(each.workload))[:2] if len(facts) > 1 else []
        goal = _shared_goal(view, [shown, *(rival for rival in rivals if rival is not shown)])
        sizes = [size for size, _ in steps_by_size(view, shown.workload, goal)] if goal is not None else []
        if goal is not None and sizes:
            # The one nearest to the usual one by ratio.
            batch_size = min(sizes, key=lambda size: (abs(math.log(max(size, 1) / _USUAL_BATCH_SIZE)), size))
            pair = tuple(rival.workload for rival in rivals)
            return FirstLook(shown.workload, goal, batch_size, pair, _models(view, shown.workload, goal))
    some = example(view)
    if some is None:
        return None
    direction = view.metrics[some.metric].direction
    assert direction is not None
    return FirstLook(some.workload, GoalShown(some.metric, some.target, direction), some.batch_size)


def _momentum(workload: Workload) -> int:
    return _BY_MOMENTUM.index(workload.optimizer) if workload.optimizer in _BY_MOMENTUM else -1


def _plain_first(workload: Workload) -> tuple[int, str]:
    rank = _momentum(workload)
    return (rank if rank >= 0 else len(_BY_MOMENTUM)), workload.optimizer


def _shared_goal(view: ReleaseView, facts: Sequence[WorkloadFacts]) -> GoalShown | None:
    """Return the first goal that all of them have; else the strictest that each gets past at every batch size."""
    shared = [{(goal.metric, goal.target) for goal in goals_of(view, each)} for each in facts]
    for goal in goals_of(view, facts[0]):
        if all((goal.metric, goal.target) in theirs for theirs in shared):
            return goal
    metrics = metrics_of(view, *facts)
    return common_goal(view, facts, metrics[-1]) if metrics else None


def _models(view: ReleaseView, shown: Workload, goal: GoalShown) -> tuple[Workload, ...]:
    """Return workloads that differ in the model alone and have the metric, the one shown among them."""
    alike = (shown.collection, shown.dataset, shown.optimizer)
    others = [
        each
        for each, facts in view.workloads.items()
        if (each.collection, each.dataset, each.optimizer) == alike and each != shown and goal.metric in facts.measured
    ]
    return (shown, *others[: _MOST_MODELS - 1]) if others else ()

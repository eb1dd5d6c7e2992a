"""What a newcomer looks at first: a workload with a goal, others to compare it with, and a batch size that reached it.

Chosen from the release by rules, so that it is the same each time: where two optimizers trained the same model, at
best plain SGD and momentum, and a goal that all of them share.

The chart that stands for a whole release, on the start page and where a page about no single workload unfolds.
Questions to begin with: what a newcomer may ask this very release, each with the page that answers it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from losslake.questions.release_view import ReleaseView
from losslake.questions.scaling import scaling
from losslake.questions.selection import Goal, Selection
from losslake.questions.workload_facts import WorkloadFacts
from losslake_schema.names import Study, Workload
from losslake_service.web.chart import Chart
from losslake_service.web.examples import example
from losslake_service.web.goals import GoalShown, goals_of, metrics_of, reachable
from losslake_service.web.page import PageAsked
from losslake_service.web.schema_tables import statement
from losslake_service.web.workload.charts import scaling_chart
from losslake_service.web.workload.state import WorkloadAsked

_BY_MOMENTUM = ("sgd", "momentum", "nesterov_momentum")
_MOST_TRIED = 8
_MOST_MODELS = 4
_USUAL_BATCH_SIZE = 64
Problem = tuple[str, str, str]
"""Collection, dataset and model."""


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


_CHOSEN: WeakKeyDictionary[ReleaseView, FirstLook | None] = WeakKeyDictionary()


def first_look(view: ReleaseView) -> FirstLook | None:
    """What to begin with; None where nothing was measured that could reach a goal."""
    if view not in _CHOSEN:
        _CHOSEN[view] = _chosen(view)
    return _CHOSEN[view]


def _chosen(view: ReleaseView) -> FirstLook | None:
    for workloads in list(_problems(view))[:_MOST_TRIED]:
        facts = [view.workloads[workload] for workload in workloads]
        shown = max(facts, key=lambda each: (len(each.batch_sizes), _momentum(each.workload)))
        rivals = sorted(facts, key=lambda each: _plain_first(each.workload))[:2] if len(facts) > 1 else []
        goal = _common_goal(view, [shown, *(rival for rival in rivals if rival is not shown)])
        if goal is None:
            continue
        batch_size = _reached_at(view, shown.workload, goal)
        if batch_size is not None:
            pair = tuple(rival.workload for rival in rivals)
            return FirstLook(shown.workload, goal, batch_size, pair, _models(view, shown.workload, goal))
    found = example(view)
    if found is None:
        return None
    direction = view.metrics[found.metric].direction
    assert direction is not None
    return FirstLook(found.workload, GoalShown(found.metric, found.target, direction), found.batch_size)


def _problems(view: ReleaseView) -> Iterator[Sequence[Workload]]:
    """The workloads of each model on a dataset, those first that can be compared best."""
    found: Mapping[Problem, list[Workload]] = defaultdict(list)
    for workload in view.workloads:
        found[workload.collection, workload.dataset, workload.model].append(workload)

    def worth(workloads: Sequence[Workload]) -> tuple[bool, int, int]:
        names = {workload.optimizer for workload in workloads}
        n_studies = sum(len(view.workloads[workload].batch_sizes) for workload in workloads)
        return names >= {"sgd", "momentum"}, len(names), n_studies

    yield from sorted(found.values(), key=worth, reverse=True)


def _momentum(workload: Workload) -> int:
    return _BY_MOMENTUM.index(workload.optimizer) if workload.optimizer in _BY_MOMENTUM else -1


def _plain_first(workload: Workload) -> tuple[int, str]:
    rank = _momentum(workload)
    return (rank if rank >= 0 else len(_BY_MOMENTUM)), workload.optimizer


def _common_goal(view: ReleaseView, facts: Sequence[WorkloadFacts]) -> GoalShown | None:
    """The first goal that all of them have; else the strictest that each gets past at every batch size."""
    shared = [{(goal.metric, goal.target) for goal in goals_of(view, each)} for each in facts]
    for goal in goals_of(view, facts[0]):
        if all((goal.metric, goal.target) in own for own in shared):
            return goal
    names = [name for name in metrics_of(view, facts[0]) if all(name in each.measured for each in facts)]
    if not names:
        return None
    metric = names[-1]
    direction = view.metrics[metric].direction
    assert direction is not None
    targets = [reachable(view, each, metric, direction) for each in facts]
    return GoalShown(metric, max(targets) if direction == "minimize" else min(targets), direction)


def _reached_at(view: ReleaseView, workload: Workload, goal: GoalShown) -> int | None:
    """Of the batch sizes that reached it, the one nearest to 64 by ratio; None if none did."""
    rows = scaling(view, Selection((workload,), goal.metric), Goal(goal.target)).table()
    pairs = zip(rows["batch_size"].to_pylist(), rows["steps"].to_pylist(), strict=True)
    reached = [size for size, steps in pairs if steps is not None]
    return min(reached, key=lambda size: (abs(math.log(max(size, 1) / _USUAL_BATCH_SIZE)), size), default=None)


def _models(view: ReleaseView, shown: Workload, goal: GoalShown) -> tuple[Workload, ...]:
    """Workloads that differ in the model alone and have the metric, the one shown among them."""
    alike = [
        workload
        for workload, facts in view.workloads.items()
        if (workload.collection, workload.dataset, workload.optimizer)
        == (shown.collection, shown.dataset, shown.optimizer)
        and goal.metric in facts.measured
    ]
    others = [workload for workload in alike if workload != shown]
    return (shown, *others[: _MOST_MODELS - 1]) if others else ()


def first_chart(asked: PageAsked) -> Chart | None:
    """How the steps to a goal fall with the batch size; None for a release without anything to show."""
    look = first_look(asked.view)
    return scaling_chart(workload_of(asked, look)) if look is not None else None


def workload_of(asked: PageAsked, look: FirstLook) -> WorkloadAsked:
    """The workload that is looked at first, and its goal."""
    return WorkloadAsked(asked, asked.view.workload(look.workload), look.goal, is_told=False)


@dataclass(frozen=True)
class Beginning:
    """A question. says: what the page at `url` shows."""

    question: str
    says: str
    url: str


def beginnings(asked: PageAsked, look: FirstLook) -> Iterator[Beginning]:
    """The questions that this release can answer."""
    workload, goal = look.workload, look.goal
    place = f"{workload.dataset}/{workload.model}"
    query = {"metric": goal.metric, "target": repr(goal.target)}
    yield Beginning(
        f"How far does {workload.optimizer} scale on {place}?",
        f"Steps to {goal.text} at each batch size, and the regimes of scaling.",
        asked.page_of(workload, **query),
    )
    if look.rivals:
        one, other = (rival.optimizer for rival in look.rivals)
        yield Beginning(
            "At which batch size does momentum stop helping?"
            if look.is_about_momentum
            else f"At which batch sizes does {other} need fewer steps than {one}?",
            f"{one} and {other} on {place}, both to {goal.text}.",
            _compared(asked, look.rivals, query),
        )
    yield Beginning(
        f"Which trials reached {goal.text} at batch size {look.batch_size}, and with what learning rate?",
        "Every trial of the study: its curve, its outcome and its metaparameters.",
        asked.page_of(Study(workload, look.batch_size), **query),
    )
    if look.models:
        names = [model.model for model in look.models]
        yield Beginning(
            f"Which model needs the fewest steps on {workload.dataset}?",
            f"{', '.join(names[:-1])} and {names[-1]} with {workload.optimizer}, at each batch size.",
            _compared(asked, look.models, query),
        )
    yield Beginning(
        "How many trials diverged, by optimizer?",
        "A question in SQL to change as you like, with its rows and a chart.",
        asked.url("/sql", q=statement("outcomes")),
    )


def _compared(asked: PageAsked, workloads: tuple[object, ...], query: dict[str, str]) -> str:
    return asked.url("/compare", workload=[str(workload) for workload in workloads], **query)

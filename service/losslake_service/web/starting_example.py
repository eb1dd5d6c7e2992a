"""The example for new visitors: a workload with a goal, others to compare it with, and a batch size that reached it.

Selected from the release by fixed rules: the model with the most batch sizes, two of its optimizers, at best plain SGD
and momentum, and a goal that they share. It gives the chart of a release and the questions to start with.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from losslake.questions import compare
from losslake.questions.release.known_names import display_name, heading_of
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake_schema.names import Study, Workload
from losslake_service.web.chart import Chart
from losslake_service.web.code_lines import statement
from losslake_service.web.examples import find_example
from losslake_service.web.goals import PageGoal, common_goal, goals_of, metrics_of, steps_by_size
from losslake_service.web.laws.stored_laws import critical_patterns, loss_runs
from losslake_service.web.page import PageRequest
from losslake_service.web.per_release import once_per_release
from losslake_service.web.workload.request import WorkloadRequest, scaling_chart

_BY_MOMENTUM = ("sgd", "momentum", "nesterov_momentum")
_MOST_TRIED = 8
_MOST_MODELS = 4
_USUAL_BATCH_SIZE = 64


@dataclass(frozen=True)
class StartingExample:
    """The workload, goal and comparisons for new visitors.

    workload: reaches the goal at `batch_size`. rivals: two optimizers of the same model; empty if there is only one.
    models: of the same dataset and optimizer; empty if there is only one.
    """

    workload: Workload
    goal: PageGoal
    batch_size: int
    rivals: tuple[Workload, ...] = ()
    models: tuple[Workload, ...] = ()

    @property
    def title(self) -> str:
        """The workload in words."""
        return heading_of(self.workload)

    @property
    def words(self) -> str:
        """Words that find the workload."""
        return f"{display_name('model', self.workload)} {display_name('optimizer', self.workload)}"

    @property
    def is_about_momentum(self) -> bool:
        """True if the rivals are plain SGD and SGD with momentum."""
        names = [rival.optimizer for rival in self.rivals]
        return names[:1] == ["sgd"] and names[1:] in (["momentum"], ["nesterov_momentum"])

    def request(self, page: PageRequest) -> WorkloadRequest:
        """Return a request for the workload with its goal."""
        return WorkloadRequest(page, page.view.workload(self.workload), self.goal)


def first_chart(request: PageRequest) -> Chart | None:
    """Return the chart of the steps to a goal by batch size; None for a release without data."""
    example = starting_example(request.view)
    return scaling_chart(example.request(request)) if example is not None else None


def starting_questions(request: PageRequest, example: StartingExample) -> Iterator[tuple[str, str, str]]:
    """Yield questions that this release can answer: the question, what its page shows, and the address."""
    workload, goal = example.workload, example.goal
    dataset, model, optimizer = (display_name(kind, workload) for kind in ("dataset", "model", "optimizer"))

    def compared(workloads: Sequence[Workload]) -> str:
        return request.url("/compare", workload=workloads, **goal.parameters)

    yield (
        f"How far does {optimizer} scale for {model} on {dataset}?",
        f"Steps to {goal.text} at each batch size, and the regimes of scaling.",
        request.page_url(workload, **goal.parameters),
    )
    if example.rivals:
        one, other = (display_name("optimizer", rival) for rival in example.rivals)
        yield (
            "At which batch size does momentum stop helping?"
            if example.is_about_momentum
            else f"At which batch sizes does {other} need fewer steps than {one}?",
            f"{one} and {other} for {model} on {dataset}, both to {goal.text}.",
            compared(example.rivals),
        )
    yield (
        f"Which trials reached {goal.text} at batch size {example.batch_size}, and with what learning rate?",
        "Every trial of the study: its curve, its outcome and its metaparameters.",
        request.page_url(Study(workload, example.batch_size), **goal.parameters),
    )
    if example.models:
        names = [display_name("model", each) for each in example.models]
        yield (
            f"Which model needs the fewest steps on {dataset}?",
            f"{', '.join(names[:-1])} and {names[-1]} with {optimizer}, at each batch size.",
            compared(example.models),
        )
    yield (
        "How large are critical batch sizes?",
        "Those of all workloads in one chart, each at its own goal, with intervals.",
        request.url("/batch-size"),
    )
    if critical_patterns(request.view) or loss_runs(request.view):
        yield (
            "Which batch size and learning rate do published laws give for my language model?",
            "Laws by model size and tokens, with their ranges and their distance from stored data.",
            request.url("/laws"),
        )
    yield (
        f"What is the best value that any trial reached on {dataset}, and how soon?",
        "The best value of every trial against steps, examples or time, and the Pareto front of all trials.",
        request.url("/compare", dataset=workload.dataset, measure="examples"),
    )
    yield (
        "How many trials diverged, by optimizer?",
        "An SQL query that you can edit, with its rows and a chart.",
        request.url("/sql", q=statement("outcomes")),
    )


def group_by_model(view: ReleaseView) -> dict[tuple[str, str, str], list[Workload]]:
    """Return the workloads by collection, dataset and model."""
    rows = defaultdict(list)
    for workload in view.listed:
        rows[workload.collection, workload.dataset, workload.model].append(workload)
    return rows


@once_per_release
def starting_example(view: ReleaseView) -> StartingExample | None:
    """Return the example for new visitors; None if no trial can reach a goal."""

    def worth(workloads: Sequence[Workload]) -> tuple[int, bool, int, int]:
        """Return the sort key: at how many batch sizes, and how well, the workloads can be compared."""
        names = {workload.optimizer for workload in workloads}
        n_sizes = [len(view.workloads[workload].fixed_sizes) for workload in workloads]
        return max(n_sizes), names >= {"sgd", "momentum"}, len(names), sum(n_sizes)

    for workloads in sorted(group_by_model(view).values(), key=worth, reverse=True)[:_MOST_TRIED]:
        facts = [view.workloads[workload] for workload in workloads]
        shown = max(facts, key=lambda each: (len(each.fixed_sizes), _momentum(each.workload)))
        rivals = sorted(facts, key=lambda each: _plain_first(each.workload))[:2] if len(facts) > 1 else []
        goal = _shared_goal(view, [shown, *(rival for rival in rivals if rival is not shown)])
        sizes = [size for size, _ in steps_by_size(view, shown.workload, goal)] if goal is not None else []
        if goal is not None and sizes:
            # The batch size nearest to the usual one by ratio.
            batch_size = min(sizes, key=lambda size: (abs(math.log(max(size, 1) / _USUAL_BATCH_SIZE)), size))
            pair = tuple(rival.workload for rival in rivals)
            pair = pair if _is_judged(view, pair, goal) else ()
            return StartingExample(shown.workload, goal, batch_size, pair, _models(view, shown.workload, goal))
    example = find_example(view)
    if example is None:
        return None
    direction = view.metrics[example.metric].direction
    assert direction is not None
    return StartingExample(example.workload, PageGoal(example.metric, example.target, direction), example.batch_size)


def _is_judged(view: ReleaseView, pair: Sequence[Workload], goal: PageGoal) -> bool:
    """Return False if all trials of either are of one submitter wherever two workloads could be compared."""
    if not pair:
        return False
    parameters = compare.CompareParameters.model_validate({"workload": [*map(str, pair)], **goal.with_comparator})
    answer = compare.QUESTION.answer(view, parameters)
    (conclusion,) = answer.facts["conclusions"]
    return not conclusion["one_submitter_at"] or any(
        conclusion[name] for name in ("fewer_at", "more_at", "not_told_at")
    )


def _momentum(workload: Workload) -> int:
    return _BY_MOMENTUM.index(workload.optimizer) if workload.optimizer in _BY_MOMENTUM else -1


def _plain_first(workload: Workload) -> tuple[int, str]:
    rank = _momentum(workload)
    return (rank if rank >= 0 else len(_BY_MOMENTUM)), workload.optimizer


def _shared_goal(view: ReleaseView, facts: Sequence[WorkloadFacts]) -> PageGoal | None:
    """Return the first goal of all these workloads, else the hardest that each reaches at every batch size."""
    shared = [{(goal.metric, goal.target) for goal in goals_of(view, each)} for each in facts]
    for goal in goals_of(view, facts[0]):
        if all((goal.metric, goal.target) in theirs for theirs in shared):
            return goal
    metrics = metrics_of(view, *facts)
    return common_goal(view, facts, metrics[-1]) if metrics else None


def _models(view: ReleaseView, shown: Workload, goal: PageGoal) -> tuple[Workload, ...]:
    """Return workloads that differ only in the model and measure the metric, including the one shown."""
    alike = (shown.collection, shown.dataset, shown.optimizer)
    others = [
        each
        for each, facts in view.listed.items()
        if (each.collection, each.dataset, each.optimizer) == alike and each != shown and goal.metric in facts.measured
    ]
    return (shown, *others[: _MOST_MODELS - 1]) if others else ()

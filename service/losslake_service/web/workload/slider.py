"""The slider of targets: its stops, each with what the page shows at that target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

from losslake.questions import target_sweep
from losslake_schema.names import Workload
from losslake_schema.reached import sign_of
from losslake_schema.registry import metric_named
from losslake_service.bounded_cache import BoundedCache
from losslake_service.web.goals import PageGoal, page_goal
from losslake_service.web.templates import with_query
from losslake_service.web.workload.caption import caption
from losslake_service.web.workload.key_figures import AnswerRow, KeyFigure, key_figures, n_reached, row_of_target
from losslake_service.web.workload.request import WorkloadRequest, scaling_title

STOPS = "/target-stops/"
# A sweep takes up to 0.1 s, and each visit of a workload needs that of its metric.
_sweeps: BoundedCache[list[AnswerRow]] = BoundedCache(64)


@dataclass(frozen=True)
class Stop:
    """A stop. text, spoken: its goal, as shown beside the slider and as read out. title: of the main chart.

    caption: sentences. figures: the key figures of a workload's page.
    """

    target: float
    text: str
    spoken: str
    title: str
    caption: Sequence[str]
    figures: Sequence[KeyFigure]
    is_current: bool


def stop_at(request: WorkloadRequest, row: AnswerRow, usual: tuple[PageGoal, AnswerRow]) -> Stop:
    """Return the stop at the target of a row of the target sweep. usual: the workload's goal, and its row."""
    current, target, n_sizes = request.goal, row["target"], len(request.facts.fixed_sizes)
    goal = replace(current, target=target)
    usually = usual[0].text if usual[0].is_proposed else f"the goal, {usual[0].text}"
    return Stop(
        target=target,
        text=goal.text.removeprefix(goal.metric).strip(),
        spoken=f"{goal.text}: {n_reached(row, n_sizes)} of {n_sizes} batch sizes reach it",
        title=f"{scaling_title(replace(request, goal=goal))}, {request.workload}",
        caption=caption(row, n_sizes, None if target == usual[0].target else (usually, usual[1])),
        figures=key_figures(request, row, ()),
        is_current=target == current.target,
    )


def stops(request: WorkloadRequest) -> list[Stop]:
    """Return the stops from the hardest to the easiest, with that of the current target."""
    parameters = target_sweep.TargetSweepParameters(**request.of_metric)
    view = request.page.view
    key = (view.digest, parameters.model_dump_json())
    # The cheaper answers first: if all together are too expensive here, only they were in vain.
    current, _ = row_of_target(request)
    usual = usual_goal(request, current)
    swept = _sweeps.get(key, lambda: target_sweep.QUESTION.answer(view, parameters).table().to_pylist())
    possible = [row for row in swept if metric_named(request.goal.metric).can_reach(row["target"])]
    rows = {row["target"]: row for row in [*possible, current]}
    sign = sign_of(request.goal.direction)
    return [stop_at(request, rows[target], usual) for target in sorted(rows, key=lambda target: sign * target)]


@dataclass(frozen=True)
class Slider:
    """The slider before its stops are loaded. stops: their address. current: the stop of the request."""

    stops: str
    current: Stop


def slider(request: WorkloadRequest, row: AnswerRow) -> Slider:
    """Return the slider of a request. row: of its target in the target sweep."""
    return Slider(stops_url(request), stop_at(request, row, usual_goal(request, row)))


def usual_goal(request: WorkloadRequest, current: AnswerRow) -> tuple[PageGoal, AnswerRow]:
    """Return the goal of the metric that the page has by default, and its row. current: that of the request's goal."""
    goal = page_goal(request.page.view, request.facts, request.goal.metric, None, request.direction)
    return goal, current if goal.target == current["target"] else row_of_target(replace(request, goal=goal))[0]


def stops_path(workload: Workload) -> str:
    """Return the path of the stops of a workload."""
    return f"{STOPS}{quote(str(workload))}"


def stops_url(request: WorkloadRequest) -> str:
    """Return the address of the stops, which the script of the slider fetches."""
    query = request.of_goal | {"workload": None, "release": request.page.view.number}
    return with_query(stops_path(request.workload), query.items())

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
from losslake_service.web.templates import with_query
from losslake_service.web.workload.key_figures import AnswerRow, KeyFigure, key_figures, n_reached, row_of_target
from losslake_service.web.workload.request import WorkloadRequest, scaling_title

STOPS = "/target-stops/"
# A sweep takes up to 0.1 s, and each visit of a workload needs that of its metric.
_sweeps: BoundedCache[list[AnswerRow]] = BoundedCache(64)


@dataclass(frozen=True)
class Stop:
    """A stop. text, spoken: its goal, as shown beside the slider and as read out. title: of the main chart."""

    target: float
    text: str
    spoken: str
    title: str
    figures: Sequence[KeyFigure]
    is_current: bool


def stop_at(request: WorkloadRequest, row: AnswerRow) -> Stop:
    """Return the stop at the target of a row of the target sweep."""
    current, target, n_sizes = request.goal, row["target"], len(request.facts.batch_sizes)
    goal = replace(current, target=target)
    return Stop(
        target=target,
        text=goal.text.removeprefix(goal.metric).strip(),
        spoken=f"{goal.text}: {n_reached(row, n_sizes)} of {n_sizes} batch sizes reach it",
        title=f"{scaling_title(replace(request, goal=goal))}, {request.workload}",
        figures=key_figures(request, row, ()),
        is_current=target == current.target,
    )


def stops(request: WorkloadRequest) -> list[Stop]:
    """Return the stops from the hardest to the easiest, with that of the current target."""
    parameters = target_sweep.TargetSweepParameters(**request.of_metric)
    view = request.page.view
    key = (view.digest, parameters.model_dump_json())
    # The cheaper answer first: if both together are too expensive here, only that one was in vain.
    current, _ = row_of_target(request)
    swept = _sweeps.get(key, lambda: target_sweep.QUESTION.answer(view, parameters).table().to_pylist())
    possible = [row for row in swept if metric_named(request.goal.metric).can_reach(row["target"])]
    rows = {row["target"]: row for row in [*possible, current]}
    sign = sign_of(request.goal.direction)
    return [stop_at(request, rows[target]) for target in sorted(rows, key=lambda target: sign * target)]


def stops_path(workload: Workload) -> str:
    """Return the path of the stops of a workload."""
    return f"{STOPS}{quote(str(workload))}"


def stops_url(request: WorkloadRequest) -> str:
    """Return the address of the stops, which the script of the slider fetches."""
    query = request.of_goal | {"workload": None, "release": request.page.view.number}
    return with_query(stops_path(request.workload), query.items())

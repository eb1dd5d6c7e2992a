"""The live figure of the regimes: a workload to choose, its steps by batch size, a slider of targets, and a caption.

It is on the page of batch sizes, in lessons of the documentation, and in frames of other sites.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from losslake.questions.release.errors import BadParameter
from losslake.questions.release.known_names import heading_of
from losslake.questions.release.parsed_names import parse_workload
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake_schema.names import Workload
from losslake_service.web.chart import Chart
from losslake_service.web.goals import metrics_of
from losslake_service.web.page import PageRequest
from losslake_service.web.per_release import once_per_release
from losslake_service.web.starting_example import starting_example
from losslake_service.web.workload.key_figures import row_of_target
from losslake_service.web.workload.request import (
    FEWEST_FOR_SCALING,
    FRAMED,
    WorkloadParameters,
    WorkloadRequest,
    main_chart,
    workload_request,
)
from losslake_service.web.workload.slider import Slider, slider

# With fewer batch sizes the regimes are rarely known.
_FEWEST_OFFERED = 5


@dataclass(frozen=True)
class LiveFigure:
    """The figure at one target. offered: the headings of the workloads to choose from.

    url: of the page of the workload at this goal. address: of the figure alone, which scripts fetch.
    """

    request: WorkloadRequest
    heading: str
    chart: Chart
    slider: Slider
    offered: Sequence[str]
    url: str
    address: str


def live_figure(page: PageRequest, parameters: Any) -> LiveFigure | None:
    """Return the figure of a workload; None by default in a release without a workload to show.

    parameters: with workload, metric, target and direction. Raises BadParameter and UnknownName.
    """
    workload = _requested(page.view, parameters.workload)
    if workload is None:
        return None
    facts = page.view.workload(workload)
    names = ("metric", "target", "direction", "release")
    of_workload = WorkloadParameters(**{name: getattr(parameters, name) for name in names})
    request = workload_request(replace(page, parameters=of_workload), facts)
    if request is None or not request.has_regimes:
        raise BadParameter("workload", f"'{workload}' {_why_not(facts)}: /batch-size offers others")
    row, _ = row_of_target(request)
    figure = LiveFigure(
        request=request,
        heading=_named(page.view).get(workload, str(workload)),
        chart=main_chart(request),
        slider=slider(request, row),
        offered=list(_named(page.view).values()),
        url=request.page_url(workload),
        address="",
    )
    return replace(figure, address=page.url(FRAMED, **figure.request.of_figure))


@once_per_release
def offered(view: ReleaseView) -> Sequence[tuple[Workload, str]]:
    """Return the workloads with enough batch sizes to show regimes, and their headings, by heading."""
    names = [
        name
        for name, facts in view.listed.items()
        if len(facts.fixed_sizes) >= _FEWEST_OFFERED and metrics_of(view, facts)
    ]
    return sorted(((name, heading_of(name)) for name in names), key=lambda each: each[1].lower())


def _named(view: ReleaseView) -> dict[Workload, str]:
    """Return the heading of each workload that is offered, or its name where two have the same heading."""
    counts = Counter(heading for _, heading in offered(view))
    return {name: heading if counts[heading] == 1 else str(name) for name, heading in offered(view)}


def _requested(view: ReleaseView, text: str | None) -> Workload | None:
    """Return the workload that a text names or has as its heading."""
    if text is None:
        return _usual(view)
    names = {heading: name for name, heading in _named(view).items()}
    return names.get(text) or parse_workload(text)


def _usual(view: ReleaseView) -> Workload | None:
    """Return the workload of the starting example if it is offered, else the offered one of most batch sizes."""
    names = [name for name, _ in offered(view)]
    example = starting_example(view)
    if example is not None and (example.workload in names or not names):
        few = len(view.workload(example.workload).fixed_sizes) < FEWEST_FOR_SCALING
        return None if few else example.workload
    return max(names, key=lambda name: len(view.workload(name).fixed_sizes), default=None)


def _why_not(facts: WorkloadFacts) -> str:
    n = len(facts.fixed_sizes)
    return "has no metric with a known direction" if n >= FEWEST_FOR_SCALING else f"has {n} of 3 batch sizes needed"

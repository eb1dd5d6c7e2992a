"""The performance profiles of a competition of AlgoPerf: the share of workloads within a factor of the best time."""

from __future__ import annotations

import pyarrow as pa

from losslake.analysis.performance_profile import LARGEST_RATIO
from losslake.figures.charts.profile import profile_chart
from losslake.figures.drawing import ChartPanels, ChartRequest, Kind, legend_labels
from losslake.figures.panel import Series
from losslake.questions.trials.league_studies import submission_name

_MOST = 6


def draw(request: ChartRequest) -> ChartPanels:
    """Draw the share of AlgoPerf's workloads on which each submission takes at most a factor of the least time.

    The best submissions by score, a series each.
    """
    facts = request.facts
    names = [each["submission"] for each in facts["scores"]]
    points = {name: [each for each in facts["profiles"] if each["submission"] == name] for name in names[:_MOST]}
    series = [
        Series(
            submission_name(name, facts["collection"]),
            pa.table({column: [each[column] for each in of_name] for column in ("factor", "share")}),
        )
        for name, of_name in points.items()
    ]
    notes = [f"Share of {facts['n_workloads']} workloads on which each takes at most \u03c4 times the least time."]
    if len(names) > len(series):
        notes.append(f"Drawn: the {len(series)} best of {len(names)} submissions.")
    panel = request.panel(f"Performance profiles: {facts['title']}", "", legend_labels(series), notes)
    scores = [f"{each['submission']} scores {each['score']:.4f}." for each in facts["scores"][:_MOST]]
    chart = profile_chart(series, panel, largest_factor=LARGEST_RATIO, of="least time")
    return ChartPanels([chart], notes, summary=[*notes, *scores])


KIND = Kind("league", "/v1/analysis/league", draw)

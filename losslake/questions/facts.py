"""What answers about a selection say of the whole of it, before their rows."""

from __future__ import annotations

from typing import Any

from losslake.questions.release_view import ReleaseView
from losslake.questions.selection import Selection


def facts_of(view: ReleaseView, selection: Selection, direction: str) -> dict[str, Any]:
    """The release, the workloads, the metric, its direction and every restriction, as they were applied."""
    return {
        "release": view.number,
        "workloads": [str(workload) for workload in selection.workloads],
        "metric": selection.metric,
        "direction": direction,
        "step_budget": selection.step_budget,
        "example_budget": selection.example_budget,
        "trials": selection.trials,
        "status": list(selection.statuses),
    }

"""The panel on pages of curves and of scaling where a reader's own run is compared, in the browser, with stored trials.

What is here goes to the script of the panel, own_run.js; the run itself never reaches the server.
"""

from __future__ import annotations

import json

from losslake.questions.release.view import ReleaseView
from losslake_schema.names import Workload
from losslake_service.web.goals import PageGoal


def own_run(
    view: ReleaseView,
    workload: Workload | None,
    batch_size: int | None,
    metric: str | None,
    goal: PageGoal | None,
    where: str = "",
) -> str | None:
    """Return what a run is compared with, as JSON; None if nothing was measured.

    workload: None if the page is about several. batch_size: None if the reader gives that of the run. goal: None if
    the metric has no direction. where: the fact of the trials that count, NAME=VALUE, or empty for all.
    """
    if metric is None:
        return None
    ((_, unit),) = view.rows("units_of_metrics", {"metrics": [metric]})
    about = {
        "release": view.number,
        "workload": None if workload is None else str(workload),
        "batchSize": batch_size,
        "metric": metric,
        "unit": unit,
        "where": where,
        "goal": goal
        and {"target": goal.target, "direction": goal.direction, "comparator": goal.comparator, "text": goal.text},
    }
    return json.dumps(about)

"""The panel on pages of curves and of scaling where a reader's own run is compared, in the browser, with stored trials.

What is here goes to the script of the panel, own_run.js; the run itself never reaches the server.
"""

from __future__ import annotations

import json
import math

from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.search import open_search
from losslake.questions.trials.selection import Selection
from losslake_schema import registry
from losslake_schema.names import Workload
from losslake_schema.statuses import STATUSES
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
    about = {
        "release": view.number,
        "workload": None if workload is None else str(workload),
        "batchSize": batch_size,
        "metric": metric,
        "range": _range(view, workload, metric, goal),
        "where": where,
        "goal": goal
        and {"target": goal.target, "direction": goal.direction, "comparator": goal.comparator, "text": goal.text},
    }
    return json.dumps(about)


def _range(
    view: ReleaseView, workload: Workload | None, metric: str, goal: PageGoal | None
) -> dict[str, float | str | None] | None:
    """Return the values that a metric can have, so that a run in other units is refused; None if they aren't known.

    A metric that isn't registered is taken for a fraction if it is maximized, and all stored records are fractions: no
    run in the same units would be better than 1.
    """
    known = registry.metrics().get(metric)
    if known is not None:
        if math.isinf(known.largest):
            return None
        smallest, largest = known.target_limits
        is_of_best, text = known.is_largest_best, known.range_in_words
        return {"smallest": smallest, "largest": largest, "isOfBest": is_of_best, "text": text}
    if workload is None or goal is None or goal.direction != "maximize":
        return None
    values = open_search(view, Selection((workload,), metric, statuses=STATUSES), workload).records.value
    if not len(values) or values.min() < 0 or values.max() > 1:
        return None
    text = f"stored values of {metric} lie between {values.min():.3g} and {values.max():.3g}"
    return {"smallest": None, "largest": 1, "isOfBest": False, "text": text}

"""The stored trials of one batch size for a reader's own run: their curves, and what a forecast compares it with.

The browser computes the forecast, so that nothing of the run is sent: static/own_run/forecast.js.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from losslake.analysis.comparable import Comparable
from losslake.analysis.forecast import REQUIRED_LEVEL
from losslake.analysis.forecast_levels import held_in_words
from losslake.index.frontiers import COUNTED
from losslake.questions.release.parsed_names import parse_workload
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.comparable_trials import comparable_trials
from losslake.questions.trials.search import open_search
from losslake.questions.trials.selection import Goal, Selection
from losslake_schema.names import Study, Workload
from losslake_schema.reached import NEVER
from losslake_schema.statuses import INFEASIBLE
from losslake_service.web.goals import PageGoal
from losslake_service.web.own_run import TRIALS_PATH, OwnRunParameters, goal_of_run
from losslake_service.web.page import Page, PageKind, PageRequest
from losslake_service.web.studies.charts import CurveParameters, curves_of_study
from losslake_service.web.studies.trials import study_trials

# The trials that a forecast compares a run with: the default of its question.
_STATUSES = (*COUNTED, INFEASIBLE)
# Records of the compared trials: more would be megabytes for a page.
_MOST_RECORDS = 200_000


class OwnRunTrialsParameters(OwnRunParameters):
    """The query for the stored trials of a batch size."""

    batch_size: int


def own_run_trials_page(page: PageRequest) -> Page:
    """Return the stored trials of a batch size, for the script of the panel; raises BadParameter and UnknownName."""
    requested: OwnRunTrialsParameters = page.parameters
    view, workload = page.view, parse_workload(page.name)
    facts = view.workload(workload)
    index = view.index_of(facts, requested.batch_size or NEVER)
    goal = goal_of_run(view, facts, requested)
    study = Study(workload, requested.batch_size)
    trials = study_trials(view, facts, index, goal)
    chart = curves_of_study(page, study, goal.metric, goal, CurveParameters(), trials)
    return Page(
        template="own_run_stored.html",
        title="Stored trials",
        description="",
        url=page.page_url(workload),
        content={
            "stored": {
                "curves": chart.figure("vl.json"),
                "title": chart.title,
                "height": chart.height,
                "study": page.page_url(study, **goal.parameters),
                "level": REQUIRED_LEVEL,
                "finalHeld": held_in_words("final", REQUIRED_LEVEL),
                "targetHeld": held_in_words("target", REQUIRED_LEVEL),
                **compared_trials(view, workload, index, goal, requested.where),
            }
        },
    )


OWN_RUN_TRIALS = PageKind(TRIALS_PATH + "{name:path}", OwnRunTrialsParameters, own_run_trials_page, is_fragment=True)


def compared_trials(
    view: ReleaseView, workload: Workload, study: int, goal: PageGoal, where: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the records of the trials that a forecast compares a run with.

    study: its index in the workload. instead: the sentence where these are too many, and then `comparable` is None.
    """
    selection = Selection(
        (workload,), goal.metric, goal.direction, statuses=_STATUSES, where=tuple(where), with_schedules=True
    )
    found = comparable_trials(open_search(view, selection, workload), Goal(goal.target, goal.comparator), study)
    trials = found.comparable
    if len(trials.steps) > _MOST_RECORDS:
        return {
            "comparable": None,
            "instead": f"There is no forecast here: over {_MOST_RECORDS:,} values are compared.",
        }
    return {"comparable": records_of(trials), "instead": ""}


def records_of(trials: Comparable) -> dict[str, Any]:
    """Return comparable trials as the script reads them."""
    offsets, steps, losses = trials.offsets.tolist(), trials.steps.tolist(), trials.losses.tolist()
    columns = (trials.last_steps.tolist(), trials.groups.tolist(), trials.is_stopped.tolist())
    each = [
        {
            "steps": steps[begin:end],
            "losses": losses[begin:end],
            "lastStep": last_step,
            "group": group,
            "isStopped": is_stopped,
        }
        for begin, end, last_step, group, is_stopped in zip(offsets[:-1], offsets[1:], *columns, strict=True)
    ]
    least = trials.least_loss if np.isfinite(trials.least_loss) else None
    return {"trials": each, "sign": trials.sign, "bound": float(trials.bound), "leastLoss": least}

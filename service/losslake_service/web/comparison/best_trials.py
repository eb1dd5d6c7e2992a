"""The training curves of the best trial of each workload, on one chart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from typing import Any

from losslake.questions import best, scaling
from losslake.questions.declaration.parameters import SelectionParameters
from losslake.questions.release.view import ReleaseView
from losslake_schema.names import CHANGES, Study, Trial, Workload
from losslake_service.web.chart import Chart
from losslake_service.web.code_lines import statement
from losslake_service.web.goals import PageGoal
from losslake_service.web.page import PageRequest

_POINTS = 200
_HEIGHT = 460


def best_trials(
    view: ReleaseView, workloads: Sequence[Workload], goal: PageGoal, counted: Mapping[str, Any], size: int | None
) -> list[Trial]:
    """Return the trial of each workload with the least amount to the goal, else the one that comes closest.

    counted: parameters of the answer besides the goal. size: only of this batch size. Workloads without measurements
    are left out.
    """
    wanted: dict[str, Any] = {"workload": [str(each) for each in workloads], "metric": goal.metric}
    amounts = scaling.QUESTION.answer(view, scaling.ScalingParameters(**wanted, target=goal.target, **counted)).table()
    where = {"where": counted["where"]} if "where" in counted else {}
    values = best.QUESTION.answer(view, SelectionParameters(**wanted, **where)).table()
    sign = 1 if goal.direction == "minimize" else -1
    ranked: dict[str, list[tuple[bool, float, Trial]]] = {str(each): [] for each in workloads}
    for row, closest in zip(amounts.to_pylist(), values.to_pylist(), strict=True):
        study = Study(Workload.parse(row["workload"]), row["batch_size"] or CHANGES)
        if size not in (None, study.batch_size):
            continue
        if row["amount"] is not None:
            ranked[row["workload"]].append((False, row["amount"], Trial(study, row["amount_trial_id"])))
        elif closest["best_value"] is not None and math.isfinite(closest["best_value"]):
            ranked[row["workload"]].append((True, sign * closest["best_value"], Trial(study, closest["trial_id"])))
    return [min(each, key=lambda entry: entry[:2])[2] for each in ranked.values() if each]


def curves_of_best(
    request: PageRequest, trials: list[Trial], goal: PageGoal, counted: Mapping[str, Any], noun: str
) -> Chart:
    """Return the chart of the curves of these trials."""
    query = {"trial": trials, "metric": goal.metric, "points": _POINTS, **counted}
    heading = f"{goal.metric} by {noun}, the best trial of each"
    text = f"{heading}: {', '.join(map(str, trials))}"
    keys = tuple((*astuple(trial.study.workload), trial.study.batch_size, trial.trial_id) for trial in trials)
    # A batch size that changes is null, which equals nothing.
    is_sized = all(trial.study.batch_size != CHANGES for trial in trials)
    sql = statement("curves_of_trials", metric=goal.metric, trials=keys) if is_sized else ""
    options = {"target": goal.target}
    return request.chart("curves", query, text, height=_HEIGHT, heading=heading, options=options, sql=sql)

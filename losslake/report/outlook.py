"""Forecasts of the unfinished trials of a report, as /v1/analysis/forecast gives them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from losslake.analysis.comparable import PartialCurve
from losslake.report.comparison import GoalReport, Reported, trial_path
from losslake_schema.errors import LossLakeError
from losslake_schema.reached import sign_of
from losslake_schema.statuses import INCOMPLETE

_MOST_POINTS = 200


@dataclass(frozen=True)
class Outlook:
    """The forecast of an unfinished trial, in sentences, or the reason why there is none. stored: the workload."""

    trial: str
    stored: str
    sentences: Sequence[str]
    definition: str = ""
    warnings: Sequence[str] = ()
    reason: str = ""


def outlooks(reported: Reported, report: GoalReport) -> Iterator[Outlook]:
    """Yield the forecasts of the unfinished trials, from the nearest stored workload with their batch size."""
    for row in report.trials:
        if row["status"] != INCOMPLETE:
            continue
        trial = trial_path(row)
        with_size = (each for each in reported.compared if row["batch_size"] in each.batch_sizes)
        stored = next((each.name for each in with_size if each.name in report.stored), None)
        if stored is None:
            yield Outlook(trial, "", (), reason="no stored trial of its batch size is compared")
            continue
        try:
            points = _points(reported, report, trial)
            parameters = {**report.goal.parameters, "batch_size": row["batch_size"], "curve": points}
            answer = reported.library.forecast(stored, **parameters)
        except LossLakeError as error:
            yield Outlook(trial, stored, (), reason=str(error))
            continue
        yield Outlook(trial, stored, answer.facts["forecast"], answer.facts["definition"], answer.warnings)


def _points(reported: Reported, report: GoalReport, trial: str) -> list[str]:
    """Return the curve of a trial, or of a long one its records and the last evaluation: the forecast is the same."""
    rows = reported.library.curves(trial=[trial], metric=[report.goal.metric]).to_dicts()
    steps, values = ([row[name] for row in rows] for name in ("step", "value"))
    if len(rows) > _MOST_POINTS:
        curve = PartialCurve.of(np.array(steps, np.float64), np.array(values), sign_of(report.direction))
        kept = {*map(int, curve.steps), steps[-1]}
        if len(kept) > _MOST_POINTS:
            raise LossLakeError(f"its value improves {len(kept):,} times; at most {_MOST_POINTS} are compared")
        return [f"{step}={value!r}" for step, value in zip(steps, values, strict=True) if step in kept]
    return [f"{step}={value!r}" for step, value in zip(steps, values, strict=True)]

"""Performance profiles: in which share of workloads and batch sizes a competitor is within a factor of the best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, fields
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa

from losslake.analysis.performance_profile import (
    LARGEST_RATIO,
    exact_scores,
    ratios_to_best,
    share_within,
    trapezoid_scores,
)
from losslake.output.answer import Answer
from losslake.output.rows import Row, shown
from losslake.questions.contest import Contest, Entry, admitted_steps, contest
from losslake.questions.errors import BadParameter
from losslake.questions.parameters import ComparatorParameters, Finite
from losslake.questions.question import Question
from losslake.questions.release_view import ReleaseView
from losslake.questions.search import Search, searches_of
from losslake.questions.selection import Goal
from losslake.questions.summary import ComparatorSummary, Finding, Summary
from losslake_schema.names import Workload
from losslake_schema.reached import Flags, Floats

Part = Literal["workload", "collection", "dataset", "model", "optimizer"]
_DEFINITION = (
    "Share of columns in which a competitor needs at most `factor` times the steps of the best competitor there "
    "(Dolan and More 2002), steps being the median of the best of equally many trials. A score is the mean of that "
    "share over factors from 1 to `largest_factor`, by AlgoPerf's rule on 100 points and exactly. "
    "n_used counts medians: competitors in columns that all share."
)


class ProfilesParameters(ComparatorParameters):
    """Who is how often within which factor of the best?"""

    target: Annotated[Finite | None, shown(0.05, "unit of the metric")] = None
    """The target, in the metric's unit; NaN and infinities never reach it. Default: each workload's own goal."""
    by: Annotated[Part, shown("optimizer")] = "workload"
    """What competes: workloads, by batch size; or one part of their names, by the rest of the name and batch size."""
    largest_factor: Annotated[Finite, shown(4, "none: a ratio", gt=1, le=1e6)] = LARGEST_RATIO
    """Up to which factor of the best a score counts; AlgoPerf: 4."""


class ProfilesRow(Row):
    """A competitor and factor."""

    competitor: Annotated[str, shown("nesterov_momentum")]
    """Who competes: a workload, or the part of its name that `by` names."""
    factor: Annotated[float, shown(1.25, "none: a ratio")]
    """Factor of the best competitor's steps, 1 or more; a row for each at which the share rises."""
    share: Annotated[float, shown(0.75, "none: a fraction")]
    """Share of columns in which it needs at most that many times the steps of the best there."""
    n_columns: Annotated[int, shown(12, "columns")]
    """Columns, workloads at one batch size, of which this is the share: those in which all have trials."""


class Score(Summary):
    """A competitor's score."""

    competitor: str
    score: float | None
    exact_score: float | None
    n_reached: int
    n_best: int


class ProfilesSummary(ComparatorSummary, Finding):
    """On what competitors are compared, and their scores."""

    targets: Annotated[dict[str, float], shown({"bundled/digits/mlp_64/nesterov_momentum": 0.05}, "unit of the metric")]
    """The target of each workload."""
    by: Annotated[Literal["workload", "collection", "dataset", "model", "optimizer"], shown("optimizer")]
    """What competes."""
    largest_factor: Annotated[float, shown(4, "none: a ratio")]
    """Up to which factor of the best a score counts."""
    columns: Annotated[list[str], shown(["bundled/digits/mlp_64 at batch size 64"])]
    """What competitors are compared on: those in which all of them have trials."""
    scores: list[Score]
    """Of each competitor: the mean of its share over factors from 1 to the largest, by the trapezoid rule on 100 points
    as AlgoPerf has it, and exactly; in how many columns it reaches the target; in how many it is best."""


def answer(view: ReleaseView, parameters: ProfilesParameters) -> Answer:
    """Performance profiles of competitors; raises UnknownName and BadParameter.

    Workloads compete in columns of one batch size each; a part of their names, in columns of one batch size of what
    the rest of the name says.
    """
    selection, by, largest_factor = parameters.selection(), parameters.by, parameters.largest_factor
    searches = searches_of(view, selection)
    goals = [
        Goal(_target(view, workload, selection.metric, parameters.target), parameters.comparator)
        for workload in selection.workloads
    ]
    _check_goals(selection.workloads, goals, by)
    names = tuple(dict.fromkeys(_competitor(workload, by) for workload in selection.workloads))
    found = contest(names, _entries(searches, goals, by), None)
    shared = np.asarray(~np.isnan(found.medians).any(axis=0))
    ratios = ratios_to_best(found.medians[:, shared])
    return QUESTION.analysis(
        view,
        parameters,
        searches[0].direction,
        [_rows(names, ratios)],
        {
            "comparator": parameters.comparator,
            "targets": {str(workload): goal.target for workload, goal in zip(selection.workloads, goals, strict=True)},
            "by": by,
            "largest_factor": largest_factor,
            "columns": [found.place_name(column) for column in np.flatnonzero(shared).tolist()],
            "scores": list(_scores(names, ratios, largest_factor)),
        },
        definition=_DEFINITION,
        n_used=int(shared.sum()) * len(names),
        left_out=(*found.left_out, *_not_shared(found)),
        warnings=_warnings(found, shared),
    )


QUESTION = Question(
    path="/v1/analysis/profiles",
    doc="Performance profiles: how often each workload, optimizer or "
    "model is within a factor of the best, and its score.",
    parameters=ProfilesParameters,
    row=ProfilesRow,
    summary=ProfilesSummary,
    answer=answer,
)


def _target(view: ReleaseView, workload: Workload, metric: str, target: float | None) -> float:
    """The target given, else the workload's goal; raises BadParameter."""
    if target is not None:
        return target
    found = [goal.target for goal in view.goals if (goal.workload, goal.metric) == (workload, metric)]
    if len(found) != 1:
        what = "no goal" if not found else f"{len(found)} goals"
        raise BadParameter("target", f"{workload} has {what} for {metric}: give target")
    return found[0]


def _competitor(workload: Workload, by: Part) -> str:
    return str(workload) if by == "workload" else str(getattr(workload, by))


def _rest(workload: Workload, by: Part) -> str:
    """What besides the batch size tells columns apart."""
    if by == "workload":
        return ""
    names = [field.name for field in fields(workload)]
    return "/".join(part for name, part in zip(names, astuple(workload), strict=True) if name != by)


def _check_goals(workloads: Sequence[Workload], goals: Sequence[Goal], by: Part) -> None:
    """Whether those who compete have one target, and are one workload each; raises BadParameter."""
    targets: dict[str, float] = {}
    for workload, goal in zip(workloads, goals, strict=True):
        rest = _rest(workload, by)
        if targets.setdefault(rest, goal.target) != goal.target:
            where = f" of {rest}" if rest else ""
            raise BadParameter("target", f"the workloads{where} have different goals: give one target for them")


def _entries(searches: Sequence[Search], goals: Sequence[Goal], by: Part) -> Iterator[Entry]:
    for found, goal in zip(searches, goals, strict=True):
        workload = found.facts.workload
        for batch_size, steps in zip(found.facts.batch_sizes, admitted_steps(found, goal), strict=True):
            yield Entry(_competitor(workload, by), (_rest(workload, by), batch_size), steps)


def _not_shared(found: Contest) -> Iterator[str]:
    for column in range(len(found.places)):
        missing = [
            name for name, median in zip(found.competitors, found.medians[:, column], strict=True) if np.isnan(median)
        ]
        if missing:
            yield f"{found.place_name(column)}: {', '.join(missing)} has no trials there"


def _warnings(found: Contest, shared: Flags) -> Iterator[str]:
    if len(found.competitors) == 1:
        yield f"there is nothing to compare {found.competitors[0]} with: name two competitors or more"
    if not shared.any():
        yield "there is no column in which all competitors have trials: nothing is compared"
    nobody = np.flatnonzero(np.isposinf(found.medians).all(axis=0) & shared).tolist()
    if nobody:
        names = "; ".join(found.place_name(column) for column in nobody)
        yield f"no competitor reaches the target in {names}: such columns lower every share"


def _scores(names: Sequence[str], ratios: Floats, largest: float) -> Iterator[dict[str, Any]]:
    n_columns = ratios.shape[1]
    nothing = [None] * len(names)
    scores = trapezoid_scores(ratios, largest).tolist() if n_columns else nothing
    exact = exact_scores(ratios, largest).tolist() if n_columns else nothing
    for index, name in enumerate(names):
        yield {
            "competitor": name,
            "score": scores[index],
            "exact_score": exact[index],
            "n_reached": int(np.isfinite(ratios[index]).sum()),
            "n_best": int((ratios[index] == 1).sum()),
        }


def _rows(names: Sequence[str], ratios: Floats) -> pa.RecordBatch:
    """By competitor, a row at factor 1 and at each factor where its share rises."""
    n_columns = ratios.shape[1]
    rows = []
    for index, name in enumerate(names if n_columns else ()):
        factors = np.unique(np.concatenate([[1.0], ratios[index][np.isfinite(ratios[index])]]))
        (shares,) = share_within(ratios[index : index + 1], factors)
        rows += [
            {"competitor": name, "factor": factor, "share": share, "n_columns": n_columns}
            for factor, share in zip(factors.tolist(), shares.tolist(), strict=True)
        ]
    return pa.RecordBatch.from_pylist(rows, QUESTION.rows.schema)

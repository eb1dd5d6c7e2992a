"""Survival: by when the trials of a study have reached a target, where others diverge or are stopped before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from losslake.analysis.survival import CENSORED, DIVERGED, REACHED, Survival, survival, wilson
from losslake.output.answer import Answer, row_shape
from losslake.questions.analysis.finding import Finding
from losslake.questions.release_view import ReleaseView
from losslake.questions.search import Search, at, facts_of, search
from losslake.questions.selection import Goal, Selection
from losslake.questions.wording import listed, not_admitted
from losslake_schema.reached import NEVER, Integers
from losslake_schema.tables import STATUSES

SURVIVAL = row_shape(
    "survival", "workload", "batch_size", "step", "n_at_risk", "n_reached", "n_diverged", "n_censored", "reached",
    "reached_lower", "reached_upper", "diverged", "running", "reached_least", "reached_most",
)  # fmt: skip
_DEFINITION = (
    "The share of trials that have reached the target by a step, `reached`, and that have diverged before reaching it, "
    "`diverged`: Aalen-Johansen cumulative incidences with divergence as a competing event, which without divergence "
    "are 1 - Kaplan-Meier. Trials that ended, or left the budgets, without either are censored at their last step; a "
    "trial diverges at its last evaluation. 95% intervals by Wilson's formula for the effective number of trials "
    "(Rothman 1978). n_used counts trials."
)


def time_to_target(view: ReleaseView, selection: Selection, goal: Goal) -> Answer:
    """Cumulative incidences by workload, batch size and step; raises UnknownName and BadParameter."""
    searches = [search(view, selection, workload) for workload in selection.workloads]
    batches: list[pa.RecordBatch] = []
    studies: list[dict[str, Any]] = []
    left_out: list[str] = []
    for found in searches:
        stopped_early = _stopped_early(view, found)
        for study, (steps, ends) in enumerate(_trials(found, goal)):
            curve = survival(steps, ends)
            name, batch_size = str(found.facts.workload), found.facts.batch_sizes[study]
            batches.append(_rows(name, batch_size, curve))
            key = {"workload": name, "batch_size": batch_size}
            studies.append(key | _summary(ends, curve) | {"early_stopping": stopped_early[study]})
        left_out += _left_out(found)
    finding = Finding(
        definition=_DEFINITION,
        n_used=sum(study["n_trials"] for study in studies),
        left_out=tuple(left_out),
        warnings=tuple(_warnings(studies)),
    )
    facts = facts_of(view, selection, searches[0].direction) | goal.facts() | {"summaries": studies} | finding.facts()
    return Answer(facts, SURVIVAL.schema, iter(batches))


def _trials(found: Search, goal: Goal) -> Iterator[tuple[Integers, Integers]]:
    """By study, where each of its trials ended, and how. Trials that were never evaluated are left out."""
    hits, last = found.first_hits(goal), found.facts.trials.last_step
    is_hit, seen = hits != NEVER, found.observed_until
    # What diverged after the budgets was still running when they ended.
    has_diverged = (found.facts.trials.status == STATUSES.index("INFEASIBLE")) & (seen == last)
    ends = np.where(is_hit, REACHED, np.where(has_diverged, DIVERGED, CENSORED))
    steps = np.where(is_hit, at(found.records.step, hits), seen)
    for study in range(len(found.facts.batch_sizes)):
        own = found.facts.rows_of(study)
        counts = seen[own] != NEVER
        yield steps[own][counts], ends[own][counts]


def _rows(workload: str, batch_size: int, curve: Survival) -> pa.RecordBatch:
    n = len(curve.steps)
    columns = [
        pa.repeat(workload, n),
        pa.repeat(pa.scalar(batch_size, pa.int64()), n),
        *(pa.array(own, pa.int64()) for own in (curve.steps, curve.at_risk)),
        *(pa.array(own, pa.int64()) for own in (curve.n_reached, curve.n_diverged, curve.n_censored)),
        *map(pa.array, (curve.reached, curve.lower, curve.upper, curve.diverged, curve.running)),
        *map(pa.array, (curve.least, curve.most)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SURVIVAL.schema)


def _summary(ends: Integers, curve: Survival) -> dict[str, Any]:
    n_trials, n_reached = len(ends), int((ends == REACHED).sum())
    share = wilson(n_reached, n_trials)
    return {
        "n_trials": n_trials,
        "n_reached": n_reached,
        "n_diverged": int((ends == DIVERGED).sum()),
        "n_censored": int((ends == CENSORED).sum()),
        "chance": share.share,
        "chance_lower": share.lower,
        "chance_upper": share.upper,
        "reached": float(curve.reached[-1]) if n_trials else None,
        "median_steps": curve.median_steps(),
        "seen_until": int(curve.steps[-1]) if n_trials else None,
    }


def _stopped_early(view: ReleaseView, found: Search) -> list[bool | None]:
    """By study, whether bad trials may have been stopped early; None where nobody said."""
    asked = {"first_study": found.facts.first_study, "last_study": found.facts.last_study}
    return [flag for (flag,) in view.query("early_stopping", asked).fetchall()]


def _left_out(found: Search) -> Iterator[str]:
    n_unseen = int((found.admitted & (found.observed_until == NEVER)).sum())
    if n_unseen:
        yield f"{found.facts.workload}: {n_unseen} trials that were never evaluated"
    yield from not_admitted(str(found.facts.workload), len(found.admitted) - int(found.admitted.sum()))


def _warnings(studies: Sequence[dict[str, Any]]) -> Iterator[str]:
    for name in dict.fromkeys(study["workload"] for study in studies):
        own = [study for study in studies if study["workload"] == name]
        early = _listed([study for study in own if study["early_stopping"] and study["n_censored"]])
        if early:
            yield (
                f"{name}: bad trials may have been stopped early at batch size {early}: such censoring says something "
                "about the trial, and `reached` is too high; rely on reached_least and reached_most only"
            )
        no_median = _listed([study for study in own if study["median_steps"] is None and study["n_trials"]])
        if no_median:
            yield f"{name}: half of the trials never reach the target while they are seen at batch size {no_median}"
        empty = _listed([study for study in own if not study["n_trials"]])
        if empty:
            yield f"{name}: there are no trials to follow at batch size {empty}"


def _listed(studies: Sequence[dict[str, Any]]) -> str:
    return listed(study["batch_size"] for study in studies)

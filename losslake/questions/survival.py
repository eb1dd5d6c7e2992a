"""The share of trials that have reached a target by each step, with divergence and censoring."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from losslake.analysis.settings import evidence
from losslake.analysis.survival import CENSORED, DIVERGED, FAILED, REACHED, Survival, survival, wilson
from losslake.output.answer import Answer
from losslake.output.columns import Rows
from losslake.output.rows import Row, shown
from losslake.questions.declaration.cost import Cost
from losslake.questions.declaration.parameters import WORKLOAD, GoalParameters, every_status
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.summary import Finding, GoalSummary, Summary
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.batch_size_words import listed
from losslake.questions.trials.search import Search, at, open_searches
from losslake.questions.trials.selection import Goal
from losslake_schema.names import CHANGES
from losslake_schema.reached import NEVER, Integers
from losslake_schema.statuses import INFEASIBLE, MISSED, STATUSES, Status


class SurvivalParameters(GoalParameters):
    """The parameters of survival."""

    status: Annotated[list[Status], shown(["COMPLETE"])] = Field(default_factory=every_status)
    """Only trials of this status; may be repeated. Default: all, since missed, diverged and stopped trials count
    as such."""


class SurvivalRow(Row):
    """A study and step."""

    workload: str
    batch_size: int | None
    step: Annotated[int, shown(400, "steps")]
    """A step at which trials reach the target, diverge, miss it or are censored."""
    n_at_risk: Annotated[int, shown(41, "trials")]
    """Trials that had done none of these before."""
    n_reached: Annotated[int, shown(1, "trials")]
    """Trials that reach the target at this step."""
    n_diverged: Annotated[int, shown(0, "trials")]
    """Trials that diverged after this, their last evaluation, without having reached the target."""
    n_missed: Annotated[int, shown(0, "trials")]
    """Trials of status MISSED that end here, without having reached the target."""
    n_censored: Annotated[int, shown(0, "trials")]
    """Other trials that end here, or leave the budgets, without having reached it: their outcome isn't known."""
    reached: Annotated[float, shown(0.36, "none: a probability")]
    """Cumulative incidence: the share of trials that have reached the target by this step."""
    reached_lower: Annotated[float, shown(0.25, "none: a probability")]
    """Lower end of its 95% interval."""
    reached_upper: Annotated[float, shown(0.48, "none: a probability")]
    """Upper end of its 95% interval."""
    diverged: Annotated[float, shown(0.02, "none: a probability")]
    """Cumulative incidence of divergence: share that diverged by this step without reaching the target."""
    missed: Annotated[float, shown(0.0, "none: a probability")]
    """Cumulative incidence of MISSED: share that ended by this step without reaching the target."""
    running: Annotated[float, shown(0.62, "none: a probability")]
    """Share of trials that have done none of these by this step."""
    reached_least: Annotated[float, shown(0.36, "none: a probability")]
    """Lower bound of `reached` under any censoring: censored trials would never reach the target."""
    reached_most: Annotated[float, shown(0.41, "none: a probability")]
    """Upper bound of `reached` under any censoring: censored trials would have reached it at once."""


class FollowedStudy(Summary):
    """A study whose trials were followed."""

    workload: Annotated[str, shown(WORKLOAD)]
    batch_size: Annotated[int | None, shown(64)]
    n_trials: Annotated[int, shown(64)]
    n_settings: Annotated[int, shown(64)]
    n_reached: Annotated[int, shown(23)]
    n_diverged: Annotated[int, shown(1)]
    n_missed: Annotated[int, shown(0)]
    n_censored: Annotated[int, shown(40)]
    chance: Annotated[float | None, shown(0.36)]
    chance_lower: Annotated[float, shown(0.25)]
    chance_upper: Annotated[float, shown(0.48)]
    reached: Annotated[float | None, shown(0.36)]
    median_steps: Annotated[int | None, shown(None)]
    seen_until: Annotated[int | None, shown(2000)]
    early_stopping: Annotated[bool | None, shown(False)]


class SurvivalSummary(GoalSummary, Finding):
    """The outcomes of the trials of each study."""

    summaries: list[FollowedStudy]
    """Per study: outcomes; `n_settings`, seeds aside; `chance`, the share that reached, with its 95% Wilson interval,
    which counts settings where they were repeated; `reached` at the last step seen; steps by which half reached (null
    if unseen); early_stopping of bad trials (null if unknown)."""


def _answer(view: ReleaseView, parameters: SurvivalParameters) -> Answer:
    """Return cumulative incidences by workload, batch size and step; raises UnknownName and BadParameter."""
    goal, searches = parameters.goal, open_searches(view, parameters.selection(), with_schedules=True)
    parts: list[Rows] = []
    studies: list[dict[str, Any]] = []
    for search in searches:
        stopped_early = [flag for (flag,) in view.rows("early_stopping", search.facts.study_ids)]
        for study, (steps, ends, settings) in enumerate(_trials(search, goal)):
            worth = evidence(settings)
            curve = survival(steps, ends, worth)
            name, batch_size = str(search.facts.workload), search.facts.batch_sizes[study] or None
            parts.append(_rows(name, batch_size, curve))
            studies.append(
                {"workload": name, "batch_size": batch_size}
                | _summary(ends, len(np.unique(settings)), worth, curve)
                | {"early_stopping": stopped_early[study]}
            )
    return QUESTION.analysis(
        view,
        parameters,
        parts,
        {"summaries": studies},
        searches=searches,
        n_used=sum(study["n_trials"] for study in studies),
        left_out=(text for search in searches for text in _left_out(search)),
        warnings=_warnings(studies),
    )


QUESTION = Question(
    path="/v1/analysis/survival",
    doc="How many trials have reached a target by each step, where others diverge or are stopped before.",
    parameters=SurvivalParameters,
    row=SurvivalRow,
    summary=SurvivalSummary,
    compute=_answer,
    cost=lambda _: Cost(2000, 1000, 10),
)


def _trials(search: Search, goal: Goal) -> Iterator[tuple[Integers, Integers, Integers]]:
    """Yield by study the last step, outcome and setting of each trial, without trials that were never evaluated."""
    hits, seen, trials = search.first_hits(goal), search.observed_until, search.facts.trials
    is_hit = hits != NEVER
    has_diverged, has_missed = (trials.status == STATUSES.index(status) for status in (INFEASIBLE, MISSED))
    if search.limits is not None:
        # What ended after the budgets was still running when they did.
        is_over = trials.last_step <= search.limits
        has_diverged, has_missed = has_diverged & is_over, has_missed & is_over
    ends = np.select([is_hit, has_diverged, has_missed], [REACHED, DIVERGED, FAILED], CENSORED)
    steps, settings = np.where(is_hit, at(search.records.step, hits), seen), search.facts.drawn_as_wholes
    for rows in search.facts.rows_where(seen != NEVER):
        yield steps[rows], ends[rows], settings[rows]


def _rows(workload: str, batch_size: int | None, curve: Survival) -> Rows:
    return QUESTION.rows.of(
        {
            "workload": workload,
            "batch_size": batch_size,
            "step": curve.steps,
            "n_at_risk": curve.at_risk,
            "n_reached": curve.n_reached,
            "n_diverged": curve.n_diverged,
            "n_missed": curve.n_failed,
            "n_censored": curve.n_censored,
            "reached": curve.reached,
            "reached_lower": curve.lower,
            "reached_upper": curve.upper,
            "diverged": curve.diverged,
            "missed": curve.failed,
            "running": curve.running,
            "reached_least": curve.least,
            "reached_most": curve.most,
        }
    )


def _summary(ends: Integers, n_settings: int, worth: float, curve: Survival) -> dict[str, Any]:
    n_trials, n_reached = len(ends), int((ends == REACHED).sum())
    share = wilson(n_reached, n_trials, evidence=worth)
    return {
        "n_trials": n_trials,
        "n_settings": n_settings,
        "n_reached": n_reached,
        "n_diverged": int((ends == DIVERGED).sum()),
        "n_missed": int((ends == FAILED).sum()),
        "n_censored": int((ends == CENSORED).sum()),
        "chance": share.share,
        "chance_lower": share.lower,
        "chance_upper": share.upper,
        "reached": float(curve.reached[-1]) if n_trials else None,
        "median_steps": curve.median_steps(),
        "seen_until": int(curve.steps[-1]) if n_trials else None,
    }


def _left_out(search: Search) -> Iterator[str]:
    n_unseen = int((search.admitted & (search.observed_until == NEVER)).sum())
    if n_unseen:
        yield f"{search.facts.workload}: {n_unseen} trials that were never evaluated"


def _warnings(studies: Sequence[dict[str, Any]]) -> Iterator[str]:
    for name in dict.fromkeys(study["workload"] for study in studies):
        of_workload = [study for study in studies if study["workload"] == name]
        early = _listed(study for study in of_workload if study["early_stopping"] and study["n_censored"])
        if early:
            yield (
                f"{name}: bad trials may have been stopped early at batch size {early}: such censoring says something "
                "about the trial, and `reached` is too high; rely on reached_least and reached_most only"
            )
        no_median = _listed(study for study in of_workload if study["median_steps"] is None and study["n_trials"])
        if no_median:
            yield f"{name}: the share of trials that reach the target stays below one half at batch size {no_median}"
        empty = _listed(study for study in of_workload if not study["n_trials"])
        if empty:
            yield f"{name}: there are no trials to follow at batch size {empty}"


def _listed(studies: Iterable[dict[str, Any]]) -> str:
    return listed(study["batch_size"] or CHANGES for study in studies)

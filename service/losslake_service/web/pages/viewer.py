"""The curve viewer: the curves of studies or trials, which its script fetches from /v1/curves and draws."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, Field

from losslake.figures.series_colours import preferred_colour
from losslake.questions.declaration.parameters import MOST_CONDITIONS, MOST_PLACES, Natural
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.known_names import display_name, heading_of
from losslake.questions.release.parsed_names import parse_study, parse_trial, parse_workload
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake.questions.results import results
from losslake.questions.trials.trials_where import conditions_in_words, trials_where
from losslake_schema.names import CHANGES, Study, Workload
from losslake_schema.reached import NEVER, Integers
from losslake_schema.statuses import COMPLETE, INCOMPLETE, INFEASIBLE, MISSED
from losslake_service.web.goals import PageGoal
from losslake_service.web.own_run import own_run
from losslake_service.web.page import GoalParameters, Page, PageKind, PageRequest
from losslake_service.web.studies.charts import CurveParameters, curves_of_study
from losslake_service.web.studies.trials import SelectedGoal, StudyTrials, select_goal, study_trials

_MOST_CURVES = 2000
_MOST_STUDIES = 200
# The evaluations that are sent, read and drawn in about a second.
_MOST_EVALUATIONS = 200_000
# As colours show them, where they are not of use: a trial that completed has reached the target, or not.
_STATUS_WORDS = {COMPLETE: "completed", MISSED: "missed", INCOMPLETE: "incomplete", INFEASIBLE: "diverged"}
# What may tell submissions apart: the fact of their trials, and the column of results.
_APART = {"org": "organisation", "round": "round", "system": "system"}
_POINTS = (400, 200, 100, 48, 24, 12, 4)
# A number as both Python and JavaScript read it.
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def _range(text: str) -> str:
    """Return a range FROM,TO, or an empty text for none; raises ValueError for anything else."""
    ends = [float(end) if _NUMBER.fullmatch(end) else math.nan for end in text.split(",")]
    if text and not (len(ends) == 2 and all(map(math.isfinite, ends)) and ends[0] < ends[1]):
        raise ValueError("give two finite numbers, the smaller one first: FROM,TO")
    return text


_Range = Annotated[str, AfterValidator(_range)]


class ViewerParameters(GoalParameters):
    """The query of the page: studies, trials, submissions, or a workload with some of its batch sizes; how drawn."""

    study: Annotated[list[str], Field(default_factory=list)]
    """All trials of this study; may be repeated."""
    trial: Annotated[list[str], Field(default_factory=list)]
    """This trial; may be repeated."""
    workload: Annotated[list[str], Field(default_factory=list)]
    """All studies of this workload; may be repeated."""
    batch_size: Annotated[list[Natural], Field(default_factory=list)]
    """Of `workload`, only the studies at this batch size; may be repeated."""
    submission: Annotated[list[str], Field(default_factory=list, max_length=MOST_PLACES)]
    """All runs of this submission to MLPerf, as /v1/results names it; may be repeated."""
    where: Annotated[list[str], Field(default_factory=list, max_length=MOST_CONDITIONS)]
    """Only trials of which this holds, as for questions: NAME=VALUE; may be repeated."""
    log: Literal["", "x", "y", "xy"] = ""
    """The logarithmic axes: x, y or xy."""
    x: _Range = ""
    """The range of steps, FROM,TO; default: all."""
    y: _Range = ""
    """The range of the metric, FROM,TO; default: all."""
    smooth: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """The weight of earlier evaluations in the exponential moving average; 0 for none."""
    colour: str = ""
    """The metaparameter or fact that colours show; default: whether the target was reached."""
    panels: Literal["", "size"] = ""
    """size: one small chart for each batch size; default: one chart."""
    selected: str = ""
    """The trial that is drawn in front, one of those shown; default: none."""

    def check(self, view: ReleaseView) -> None:
        """Raise BadParameter for parameters that contradict each other, and for a selected trial that isn't there."""
        if self.batch_size and not self.workload:
            raise BadParameter("batch_size", "batch_size selects studies of workload=…: give one, or leave it out")
        for axis, ends in (("x", self.x), ("y", self.y)):
            if axis in self.log and ends and float(ends.partition(",")[0]) <= 0:
                why = f"{axis}={ends} has no place on a logarithmic axis"
                raise BadParameter(axis, f"{why}: give a range above 0, or leave {axis} out of log={self.log}")
        if self.selected:
            view.trial(parse_trial(self.selected))


@dataclass(frozen=True)
class ShownStudy:
    """The curves of a study. rows: of the trials that are shown. n_unmeasured: trials without the metric."""

    study: Study
    trials: StudyTrials
    rows: Integers
    n_unmeasured: int = 0

    @property
    def best(self) -> int | None:
        """The first shown trial to reach the goal, else the one with the best value; None if there is none."""
        shown = set(self.rows.tolist())
        return next((row for row in (*self.trials.ranked, *self.trials.by_value) if row in shown), None)

    @property
    def data(self) -> dict[str, Any]:
        """The facts for the script. trials: None for all."""
        best = self.best
        is_whole = len(self.rows) == len(self.trials.trial_id)
        steps = None if best is None or not self.trials.reached[best] else int(self.trials.steps[best])
        return {
            "study": str(self.study),
            "batchSize": self.study.batch_size or None,
            "trials": None if is_whole else self.trials.trial_id[self.rows].tolist(),
            "best": None if best is None else int(self.trials.trial_id[best]),
            "bestSteps": steps,
            "bestValue": None if best is None or np.isnan(value := self.trials.best_value[best]) else float(value),
        }


def viewer_page(request: PageRequest) -> Page:
    """Return the page; raises BadParameter and UnknownName."""
    view, state = request.view, request.parameters
    state.check(view)
    submissions = _submissions(view, state.submission)
    wanted = _wanted(view, state, submissions)
    (first, _), *_ = wanted.items()
    facts, index = view.study(first)
    selected = select_goal(view, facts, index, state.metric, state.target)
    if selected.metric is None:
        raise BadParameter("study", f"nothing was measured in {first}: choose another study")
    every = list(_studies(view, wanted, selected.metric, selected.goal, tuple(state.where)))
    n_trials = sum(len(each.rows) for each in every)
    if not n_trials:
        raise BadParameter("metric", f"none of these trials measures {selected.metric}: choose another metric or trial")
    shown = _sampled(every)
    n_curves = sum(len(each.rows) for each in shown)
    n_records = sum(int(each.trials.n_records[each.rows].sum()) for each in shown)
    points = next((each for each in _POINTS if n_curves * each + n_records <= _MOST_EVALUATIONS), _POINTS[-1])
    workloads = list(dict.fromkeys(study.workload for study in wanted))
    workload = workloads[0] if len(workloads) == 1 else None
    batch_size = first.batch_size if len(wanted) == 1 else None
    name = heading_of(workloads[0]) if len(workloads) == 1 else f"{len(workloads)} workloads"
    how = CurveParameters(metric=selected.metric, axis="log" if "x" in state.log else "linear")
    drawn = next(each for each in every if len(each.rows))
    fallback = curves_of_study(request, drawn.study, selected.metric, selected.goal, how, drawn.trials)
    return Page(
        template="viewer.html",
        title=f"Curves: {name}",
        description=f"{selected.metric} of {n_curves:,} trials by step: zoom, smoothing, colours, and your own run.",
        url=request.url("/viewer", **state.model_dump(exclude_defaults=True, exclude={"release"})),
        content={
            "name": name,
            "selected": selected,
            "about_goal": _about_goal(selected.goal, workloads) if state.target is None else "",
            "metrics": facts.metrics[index],
            "where": conditions_in_words(state.where),
            "without_where": state.model_dump(exclude_defaults=True, exclude={"release", "where"}),
            "n_curves": n_curves,
            "n_trials": n_trials,
            "n_studies": sum(1 for each in shown if len(each.rows)),
            "n_unmeasured": sum(each.n_unmeasured for each in every),
            "left_out": [str(each) for each in wanted if each not in {one.study for one in every}],
            "sizes": _sizes(facts, wanted) if len(workloads) == 1 and not (state.trial or state.submission) else [],
            "kept": list(state.model_dump(exclude_defaults=True, include={"trial", "submission"}).items()),
            "own_run": own_run(view, workload, batch_size, selected.metric, selected.goal, state.where)
            if any(study.batch_size != CHANGES for study in wanted)
            else None,
            "batch_size": batch_size,
            "fallback": fallback,
            "data": json.dumps(_data(request, selected, shown, points) | {"colour": _colour(submissions)}),
        },
        picture=fallback,
        above=(
            ("Curves", request.url("/workloads")),
            *((heading_of(each), request.page_url(each, **state.goal)) for each in workloads[:1]),
        ),
        styles=("viewer.css",),
        scripts=("viewer.js", "study.js"),
    )


def _wanted(
    view: ReleaseView, state: ViewerParameters, submissions: Sequence[Mapping[str, Any]]
) -> dict[Study, list[int] | None]:
    """Return the studies to show in the order given, with the numbers of trials, or None for all."""
    ways = [name for name in ("study", "trial", "workload", "submission") if getattr(state, name)]
    if len(ways) != 1:
        names = "study=…, trial=…, workload=… or submission=…"
        raise BadParameter("study", f"give either {names}, and not several; each may be repeated")
    wanted: dict[Study, list[int] | None] = {}
    for path in state.study:
        wanted |= dict.fromkeys(view.studies(parse_study(path)))
    for path in (*state.trial, *(trial for row in submissions for trial in row["trials"])):
        trial = parse_trial(path)
        view.trial(trial)
        wanted[trial.study] = [*(wanted.get(trial.study) or []), trial.trial_id]
    for path in state.workload:
        for facts in view.matching(parse_workload(path)):
            sizes = [size for size in facts.batch_sizes if not state.batch_size or size in state.batch_size]
            wanted |= dict.fromkeys(Study(facts.workload, size) for size in sizes)
    if not wanted:
        raise BadParameter("batch_size", f"{state.workload[0]} has no study at these batch sizes: choose others")
    if len(wanted) > _MOST_STUDIES:
        raise BadParameter(
            ways[0], f"{len(wanted):,} studies are too many for one picture: give at most {_MOST_STUDIES}"
        )
    return wanted


def _submissions(view: ReleaseView, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the rows of submissions, in the order given; raises BadParameter for one that isn't there."""
    if not names:
        return []
    query = results.ResultsParameters.model_validate({"submission": names})
    columns = ["submission", "trials", *_APART.values()]
    rows = results.QUESTION.answer(view, query).table().select(columns).to_pylist()
    by_name = {row["submission"]: row for row in rows}
    for name in names:
        if name not in by_name:
            raise BadParameter("submission", f"there is no submission {name}: /results lists them")
    return [by_name[name] for name in dict.fromkeys(names)]


def _colour(submissions: Sequence[Mapping[str, Any]]) -> str:
    """Return the fact of trials that tells submissions apart; empty if none does."""
    differs = (fact for fact, name in _APART.items() if len({row[name] for row in submissions}) > 1)
    return next(differs, "")


def _studies(
    view: ReleaseView,
    wanted: dict[Study, list[int] | None],
    metric: str,
    goal: PageGoal | None,
    where: tuple[str, ...],
) -> Iterator[ShownStudy]:
    """Yield the studies that measure the metric, with all wanted trials that have evaluations of it.

    where: conditions of the trials. Raises BadParameter for one that holds of no trial of a workload.
    """
    chosen = {name: trials_where(view, view.workload(name), where) for name in {each.workload for each in wanted}}
    for study, numbers in wanted.items():
        facts, index = view.study(study)
        if metric in facts.metrics[index]:
            trials = study_trials(view, facts, index, goal)
            is_measured = facts.opened.last_steps(metric)[facts.rows_of(index)] != NEVER
            is_wanted = np.isin(trials.trial_id, trials.trial_id if numbers is None else numbers)
            is_wanted &= chosen[study.workload][facts.rows_of(index)]
            rows, n_unmeasured = np.flatnonzero(is_wanted & is_measured), int((is_wanted & ~is_measured).sum())
            yield ShownStudy(study, trials, rows, n_unmeasured)


def _about_goal(goal: PageGoal | None, workloads: Sequence[Workload]) -> str:
    """Say where a target that the request doesn't give comes from, unless it is the goal of the only workload."""
    if goal is None:
        return ""
    first, *others = workloads
    if not others:
        return goal.why_proposed
    whose = f"Of {first}: {goal.why_proposed}" if goal.is_proposed else f"The target is a goal of {first}."
    return f"{whose} It applies to each of the {len(workloads)} workloads here."


def _sampled(every: Sequence[ShownStudy]) -> list[ShownStudy]:
    """Return evenly sampled trials if there are too many to draw, each study's best trial among them."""
    n_trials = sum(len(each.rows) for each in every)
    n_records = sum(int(each.trials.n_records[each.rows].sum()) for each in every)
    most = min(_MOST_CURVES, int(_MOST_EVALUATIONS / (_POINTS[-1] + n_records / max(n_trials, 1))))
    if n_trials <= most:
        return list(every)
    chosen = np.concatenate([each.rows == (-1 if each.best is None else each.best) for each in every])
    others = np.flatnonzero(~chosen)
    chosen[others[np.linspace(0, len(others) - 1, max(most - int(chosen.sum()), 0)).astype(np.int64)]] = True
    parts = np.split(chosen, np.cumsum([len(each.rows) for each in every])[:-1])
    return [replace(each, rows=each.rows[part]) for each, part in zip(every, parts, strict=True)]


def _sizes(facts: WorkloadFacts, wanted: dict[Study, list[int] | None]) -> list[tuple[int, Study, bool]]:
    """Return every batch size of the workload, its study, and whether it is wanted."""
    studies = [Study(facts.workload, size) for size in facts.batch_sizes]
    return [(study.batch_size, study, study in wanted) for study in studies]


def _data(request: PageRequest, selected: SelectedGoal, shown: Sequence[ShownStudy], points: int) -> dict[str, Any]:
    """Return what the script needs to fetch and to draw the curves."""
    goal = selected.goal
    return {
        "release": request.view.number,
        "metric": selected.metric,
        "goal": goal
        and {
            "target": goal.target,
            "direction": goal.direction,
            "comparator": goal.comparator,
            "text": goal.text,
            "isProposed": goal.is_proposed,
        },
        "statuses": _STATUS_WORDS,
        "points": points,
        "mostEvaluations": _MOST_EVALUATIONS,
        "studies": [each.data for each in shown if len(each.rows)],
        "looks": {
            each.optimizer: preferred_colour(display_name("optimizer", each))
            for each in dict.fromkeys(one.study.workload for one in shown)
        },
    }


VIEWER = PageKind("/viewer", ViewerParameters, viewer_page)

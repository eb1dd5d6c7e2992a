"""The points of a loss law: the losses of trials, with the sizes of their models and the tokens they trained on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Literal

import numpy as np
import pyarrow as pa

from losslake.index.measurement_files import measurements
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.examples import examples_of
from losslake.questions.trials.resources import resources_of
from losslake.questions.trials.search import Search
from losslake_schema.reached import Flags, Floats, Integers

PointsName = Literal["final", "all"]
SizeName = Literal["with", "without"]
SIZES: dict[SizeName, str] = {"with": "n_parameters", "without": "n_parameters_non_embedding"}
# Why a point isn't used, by its number; 0: it is used.
REASONS = (
    "",
    "whose size isn't known: a fact n_parameters, or n_parameters_non_embedding for size=without, states it",
    "whose tokens aren't known: a fact tokens_per_example states how many an example has",
    "before the first step",
    "whose loss isn't a number above 0",
    "of another setting of the same size and tokens, with a higher loss: runs=all includes them",
    "before the share of training that after= gives",
    "left out evenly, to bound the work of the fit",
)
USED, NO_SIZE, NO_TOKENS, NO_STEP, NO_LOSS, NOT_BEST, EARLY, THINNED = range(len(REASONS))


@dataclass(frozen=True)
class LossPoints:
    """Evaluations of trials, in order of workload, batch size, trial and step; arrays of shape (p,).

    workload: index of the search. row: of the trial in its facts.trials. setting: a number that trials have in common
    which differ in their seeds only. size, other_size: parameters as asked for, and counted the other way; NaN for
    unknown, as are tokens and flops_per_token. why: the reason for which a point isn't used; USED if it is.
    """

    workload: Integers
    row: Integers
    step: Integers
    setting: Integers
    size: Floats
    other_size: Floats
    tokens: Floats
    flops_per_token: Floats
    loss: Floats
    why: Integers

    @property
    def is_used(self) -> Flags:
        """True for the points that are used."""
        return np.asarray(self.why == USED, np.bool_)

    def leave_out(self, flags: Flags, reason: int) -> None:
        """Note the reason for points with this flag, unless they have one."""
        self.why[flags & self.is_used] = reason

    def of(self, places: Integers) -> LossPoints:
        """Return the points at these places."""
        return LossPoints(**{each.name: getattr(self, each.name)[places] for each in fields(self)})


def loss_points(
    view: ReleaseView,
    searches: Sequence[Search],
    *,
    size: SizeName,
    points: PointsName,
    after: float,
    with_all_runs: bool,
    most: int,
) -> LossPoints:
    """Return the points of the admitted trials of searches.

    Args:
        view: the release.
        searches: one for each workload.
        size: parameters with or without embeddings.
        points: the final evaluation of each trial, or all of them.
        after: of all evaluations, those beyond this share of the steps of their trial.
        with_all_runs: False: of trials of a workload with equal sizes and tokens at their end, only those of the
            setting with the least median loss are used.
        most: of all evaluations, about how many are used: of each trial equally many, evenly by step.
    """
    parts = [part for number, search in enumerate(searches) for part in _of_search(view, search, number, size)]
    if not parts:
        return _none()
    every = _joined(parts)
    every = every.of(np.lexsort([every.step, every.row, every.workload]))
    is_last = np.append((np.diff(every.row) != 0) | (np.diff(every.workload) != 0), True)[: len(every.row)]
    last = np.flatnonzero(is_last)
    ends = every.of(last)
    _leave_out_unknown(ends)
    if not with_all_runs:
        ends.leave_out(~_is_best(ends), NOT_BEST)
    if points == "final":
        return ends
    trial = np.cumsum(is_last) - is_last
    every.why[:] = np.where(ends.why == NO_LOSS, USED, ends.why)[trial]
    _leave_out_unknown(every)
    every.leave_out(every.step <= after * every.step[last][trial], EARLY)
    every.leave_out(~_thinned(trial, every.is_used, most), THINNED)
    return every


def _of_search(view: ReleaseView, search: Search, number: int, size: SizeName) -> Iterator[LossPoints]:
    """Yield the evaluations of the admitted trials of each study."""
    facts = search.facts
    resources = resources_of(view, facts)
    known = {
        name: np.asarray(resources[name].cast(pa.float64()).to_numpy(), np.float64)
        for name in ("n_parameters", "n_parameters_non_embedding", "tokens_per_example", "flops_per_token")
    }
    other: SizeName = "without" if size == "with" else "with"
    for _, study_rows, stored, index in facts.parts():
        rows = study_rows.start + np.flatnonzero(search.admitted[study_rows])
        trial_ids = facts.trials.trial_id[rows]
        tables = list(measurements(view.store, stored.files(index), search.metric, trial_ids.tolist()))
        if not len(rows) or not tables:
            continue
        trial_id, step, value = (np.concatenate([t[name].to_numpy() for t in tables]) for name in _COLUMNS)
        row = rows[np.searchsorted(trial_ids, trial_id)]
        if search.limits is not None:
            is_within = step <= search.limits[row]
            row, step, value = row[is_within], step[is_within], value[is_within]
        yield LossPoints(
            workload=np.full(len(row), number),
            row=row,
            step=step,
            setting=facts.trials.setting[row] + facts.study_of_trial[row] * (int(facts.trials.setting.max()) + 1),
            size=known[SIZES[size]][row],
            other_size=known[SIZES[other]][row],
            tokens=examples_of(view, facts, step, row) * known["tokens_per_example"][row],
            flops_per_token=known["flops_per_token"][row],
            loss=value.astype(np.float64),
            why=np.zeros(len(row), np.int64),
        )


_COLUMNS = ("trial_id", "step", "value")


def _none() -> LossPoints:
    whole, real = np.zeros(0, np.int64), np.zeros(0)
    return LossPoints(whole, whole, whole, whole, real, real, real, real, real, whole)


def _joined(parts: Sequence[LossPoints]) -> LossPoints:
    return LossPoints(
        **{each.name: np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(LossPoints)}
    )


def _leave_out_unknown(points: LossPoints) -> None:
    points.leave_out(~(np.isfinite(points.size) & (points.size > 0)), NO_SIZE)
    points.leave_out(np.isnan(points.tokens), NO_TOKENS)
    points.leave_out(~(points.tokens > 0), NO_STEP)
    points.leave_out(~(np.isfinite(points.loss) & (points.loss > 0)), NO_LOSS)


def _is_best(ends: LossPoints) -> Flags:
    """Return by trial whether its setting has the least median loss of those of its workload, size and tokens."""
    is_best, used = np.zeros(len(ends.row), np.bool_), np.flatnonzero(ends.is_used)
    cells: dict[tuple[int, float, float], dict[int, list[int]]] = {}
    for place in used.tolist():
        cell = (int(ends.workload[place]), float(ends.size[place]), float(ends.tokens[place]))
        cells.setdefault(cell, {}).setdefault(int(ends.setting[place]), []).append(place)
    for settings in cells.values():
        is_best[min(settings.values(), key=lambda places: float(np.median(ends.loss[places])))] = True
    return is_best


def _thinned(trial: Integers, is_used: Flags, most: int) -> Flags:
    """Return flags of points to keep: at most `most`, or one a trial; of each trial evenly, and its last."""
    kept, used = np.zeros(len(trial), np.bool_), np.flatnonzero(is_used)
    by_trial = np.split(used, np.flatnonzero(np.diff(trial[used])) + 1)
    of_each = max(1, most // max(1, len(by_trial)))
    for places in by_trial:
        from_last = np.linspace(0, len(places) - 1, min(of_each, len(places))).round().astype(np.int64)
        kept[places[len(places) - 1 - from_last]] = True
    return kept

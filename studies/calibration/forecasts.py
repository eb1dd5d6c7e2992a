"""Coverage of forecasts of running trials, on stored curves.

Of each workload and batch size with enough trials, some trials are held back, each with all trials of its setting, and
25%, 50% and 75% of their curves (of their steps) are given. It counts whether the best value at the end and the step of
the target lie in the bands, and compares interval scores of the 80% band (Gneiting and Raftery 2007, equation 43) with
two baselines, which have conformal bands of their residuals: the best value so far, and a power law a t^-b + c fitted
to the curve. For the step of the target, the first one is the steps of the other trials, whatever the curve. Each study
counts equally in ratios of scores.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from losslake.analysis.comparable import Comparable
from losslake.analysis.forecast import LEVELS, ForecastRefused, forecast
from losslake.analysis.forecast_levels import FILE
from losslake.analysis.neighbour_bands import groups_needed
from losslake.index.frontiers import COUNTED
from losslake.index.measurement_files import measurements
from losslake.lake.lake import Lake
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.comparable_trials import comparable_trials
from losslake.questions.trials.search import Search, open_search
from losslake.questions.trials.selection import Goal, Selection
from losslake_schema.names import Workload
from losslake_schema.reached import Floats, Integers
from losslake_schema.statuses import INFEASIBLE
from studies.calibration.baselines import Ends, PowerLaw, fitted, residual_band
from studies.calibration.document import DATA, write_table

NAME = "forecasts"
SHARES = (0.25, 0.5, 0.75)
MOST_HELD_BACK = 32
# Baselines are fitted to fewer trials: their bands depend little on the number.
MOST_OF_BASELINES = 150
SCORED = 0.8
COLLECTIONS = ("bundled", "stdlib_bytes", "algoperf", "mlperf-training", "mlperf-hpc", "modded-nanogpt")
METHODS = ("forecast", "last value", "power law")


@dataclass(frozen=True)
class Curves:
    """The trials of a workload and batch size, and by trial the steps and losses of its evaluations."""

    name: str
    collection: str
    comparable: Comparable
    evaluations: Sequence[tuple[Integers, Floats]]


@dataclass
class Tally:
    """The results of one study and part of the curves: by method and level, whether bands held; scores at SCORED."""

    final: dict[tuple[str, float], list[bool]] = field(default_factory=lambda: defaultdict(list))
    target: dict[tuple[str, float], list[bool]] = field(default_factory=lambda: defaultdict(list))
    final_scores: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    target_scores: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    n_refused: int = 0


def open_curves(view: ReleaseView, collections: Sequence[str]) -> Iterator[Curves]:
    """Yield the studies with a goal on the validation split and enough settings; AlgoPerf's submissions are pooled."""
    names = {
        Workload(w.collection, w.dataset, w.model, "*" if w.collection.startswith("algoperf") else w.optimizer)
        for w in view.workloads
        if w.collection.split("/")[0] in collections
    }
    for workload in sorted(names, key=str):
        members = {facts.workload for facts in view.matching(workload)}
        goals = {goal.metric: goal for goal in view.goals if goal.workload in members}
        for metric, goal in goals.items():
            if metric.startswith("val/") and view.metrics[metric].direction is not None:
                selection = Selection((workload,), metric, statuses=(*COUNTED, INFEASIBLE))
                search = open_search(view, selection, workload)
                yield from _of_search(view, search, Goal(goal.target, goal.comparator))


def _of_search(view: ReleaseView, search: Search, goal: Goal) -> Iterator[Curves]:
    for study, batch_size in enumerate(search.facts.batch_sizes):
        trials = comparable_trials(search, goal, study)
        if len(np.unique(trials.comparable.groups)) <= groups_needed(SCORED):
            continue
        evaluations = _evaluations(view, search, study)
        name = f"{search.facts.workload}/{batch_size} {search.metric}"
        collection = search.facts.workload.collection.split("/")[0]
        yield Curves(name, collection, trials.comparable, [evaluations[row] for row in trials.rows.tolist()])


def _evaluations(view: ReleaseView, search: Search, study: int) -> Mapping[int, tuple[Integers, Floats]]:
    """Return the steps and losses of every trial of a study by its row."""
    parts: dict[int, list[tuple[Integers, Floats]]] = defaultdict(list)
    trial_id = search.facts.trials.trial_id
    for number, rows, facts, index in search.facts.parts():
        if number != study:
            continue
        row_of = {int(trial_id[row]): row for row in range(rows.start, rows.stop)}
        files = view.measurement_files(facts, index)
        for table in measurements(view.store, files, search.metric, sorted(row_of)):
            ids, steps, values = (table[name].to_numpy() for name in ("trial_id", "step", "value"))
            losses = np.where(np.isfinite(values), values * search.sign, np.inf)
            for ends in np.split(np.arange(len(ids)), np.flatnonzero(np.diff(ids)) + 1):
                if len(ends):
                    parts[row_of[int(ids[ends[0]])]].append((steps[ends], losses[ends]))
    return {
        row: (np.concatenate([each[0] for each in of_trial]), np.concatenate([each[1] for each in of_trial]))
        for row, of_trial in parts.items()
    }


def held_back(curves: Curves, share: float) -> Tally:
    """Return how often bands held for the trials of a study, each held back with its setting."""
    tally, comparable = Tally(), curves.comparable
    fits: dict[tuple[int, int], PowerLaw | None] = {}
    n = len(comparable)
    for trial in np.unique(np.linspace(0, n - 1, MOST_HELD_BACK).round().astype(np.int64)).tolist():
        steps, losses = curves.evaluations[trial]
        count = int(np.searchsorted(steps, share * comparable.last_steps[trial], side="right"))
        if not count or not np.isfinite(losses[:count]).any() or steps[count - 1] >= comparable.last_steps[trial]:
            continue
        others = np.flatnonzero(comparable.groups != comparable.groups[trial])
        _hold_back(tally, curves, trial, count, others, fits)
    return tally


def _hold_back(
    tally: Tally,
    curves: Curves,
    trial: int,
    count: int,
    others: Integers,
    fits: dict[tuple[int, int], PowerLaw | None],
) -> None:
    comparable = curves.comparable
    steps, losses = (each[:count] for each in curves.evaluations[trial])
    try:
        result = forecast(comparable.chosen(others), steps, losses * comparable.sign)
    except ForecastRefused:
        tally.n_refused += 1
        return
    final, reached = float(comparable.final_losses[trial]), float(comparable.target_steps[trial])
    step, now = int(steps[-1]), float(np.min(losses))
    is_open = reached > step and not comparable.is_stopped[trial] and result.target is not None
    baselines = _baselines(curves, trial, count, others, fits)
    for band in result.bands:
        if band.final is None:
            continue
        bands = {"forecast": (band.final, band.target_steps), **baselines[band.level]}
        for method, (of_final, of_target) in bands.items():
            ends = of_final if method != "forecast" else _losses(of_final, comparable.sign)
            _count_final(tally, (method, band.level), (max(ends[0], _least(comparable)), min(ends[1], now)), final)
            if is_open and of_target is not None and band.target_steps is not None:
                tally.target[method, band.level].append(bool(of_target[0] <= reached <= of_target[1]))
                if band.level == SCORED:
                    most = 2.0 * float(comparable.last_steps.max())
                    ends = tuple(np.log(min(max(each, 1.0), most)) for each in of_target)
                    tally.target_scores[method].append(_score(ends, np.log(min(reached, most))))


def _count_final(tally: Tally, key: tuple[str, float], ends: Ends, final: float) -> None:
    slack = 1e-12 * max(1.0, abs(final))
    tally.final[key].append(bool(ends[0] - slack <= final <= ends[1] + slack))
    if key[1] == SCORED:
        tally.final_scores[key[0]].append(_score(ends, final))


def _score(ends: Ends, outcome: float) -> float:
    missed = max(ends[0] - outcome, 0.0) + max(outcome - ends[1], 0.0)
    return float(ends[1] - ends[0] + 2 / (1 - SCORED) * missed)


def _losses(ends: Ends, sign: float) -> Ends:
    first, last = sorted(sign * each for each in ends)
    return first, last


def _baselines(
    curves: Curves, trial: int, count: int, others: Integers, fits: dict[tuple[int, int], PowerLaw | None]
) -> Mapping[float, Mapping[str, tuple[Ends, Ends | None]]]:
    """Return by level and method the bands of the best loss at the end, and of the step of the target."""
    whole = curves.comparable
    step = int(curves.evaluations[trial][0][count - 1])
    running = others[(whole.last_steps[others] > step) & np.isfinite(whole.losses_at(step)[others])]
    kept = _kept(running)
    now, horizon = whole.losses_at(step), float(np.median(whole.last_steps[kept]))
    groups = np.unique(whole.groups[kept], return_inverse=True)[1]
    law = {each: _law(curves, each, step, fits) for each in (*kept.tolist(), trial)}
    least = _least(whole)
    ends = {i: max(min(fit.at(horizon), now[i]), least) if fit else now[i] for i, fit in law.items()}
    firsts = {i: max(fit.first_step(whole.bound), step) if fit else step for i, fit in law.items()}
    is_open = (whole.target_steps[kept] > step) & ~whole.is_stopped[kept]
    waits = np.log1p(whole.target_steps[kept])
    open_groups = np.unique(groups[is_open], return_inverse=True)[1]
    result: dict[float, dict[str, tuple[Ends, Ends | None]]] = {}
    for level in LEVELS:
        values = residual_band(now[trial], now[kept], whole.final_losses[kept], groups, level)
        laws = residual_band(ends[trial], _array(ends, kept), whole.final_losses[kept], groups, level)
        here, logs = float(np.log1p(step)), np.log1p(_array(firsts, kept))
        by_value: Ends | None = None
        by_law: Ends | None = None
        if is_open.any():
            by_value = residual_band(here, np.full(int(is_open.sum()), here), waits[is_open], open_groups, level)
            by_law = residual_band(float(np.log1p(firsts[trial])), logs[is_open], waits[is_open], open_groups, level)
        result[level] = {"last value": (values, _later(by_value, step)), "power law": (laws, _later(by_law, step))}
    return result


def _kept(running: Integers) -> Integers:
    """Return at most MOST_OF_BASELINES of the running trials, evenly chosen."""
    return running[np.linspace(0, len(running) - 1, min(len(running), MOST_OF_BASELINES)).round().astype(np.int64)]


def _least(comparable: Comparable) -> float:
    """Return the least loss by definition, or 0 for losses that are all positive: no method predicts less."""
    is_positive = bool((comparable.losses > 0).all())
    return 0.0 if is_positive and not np.isfinite(comparable.least_loss) else comparable.least_loss


def _array(values: Mapping[int, float], trials: Integers) -> Floats:
    return np.array([values[each] for each in trials.tolist()], np.float64)


def _later(ends: Ends | None, step: int) -> Ends | None:
    return (
        None
        if ends is None
        else (max(float(np.expm1(ends[0])) * (1 - 1e-9), step), float(np.expm1(ends[1])) * (1 + 1e-9))
    )


def _law(curves: Curves, trial: int, step: int, fits: dict[tuple[int, int], PowerLaw | None]) -> PowerLaw | None:
    steps, losses = curves.evaluations[trial]
    count = int(np.searchsorted(steps, step, side="right"))
    if (trial, count) not in fits:
        fits[trial, count] = fitted(steps[:count], losses[:count])
    return fits[trial, count]


def measure(studies: Sequence[Curves]) -> list[dict[str, Any]]:
    """Return a row for each collection and share: how often bands held, and geometric means of relative scores."""
    rows: list[dict[str, Any]] = []
    for collection in dict.fromkeys(each.collection for each in studies):
        for share in SHARES:
            tallies = [held_back(each, share) for each in studies if each.collection == collection]
            rows.append({"collection": collection, "share": share, **_row([t for t in tallies if t.final])})
    return rows


def _row(tallies: Sequence[Tally]) -> dict[str, Any]:
    def counted(name: str, method: str) -> dict[str, list[int]]:
        hits = {level: [flag for t in tallies for flag in getattr(t, name)[method, level]] for level in LEVELS}
        return {f"{100 * level:.0f}": [sum(flags), len(flags)] for level, flags in hits.items() if flags}

    return {
        "studies": len(tallies),
        "refused": sum(t.n_refused for t in tallies),
        "final": {method: counted("final", method) for method in METHODS},
        "target": {method: counted("target", method) for method in METHODS},
        "final_score": {m: _relative(tallies, "final_scores", m) for m in METHODS[1:]},
        "target_score": {m: _relative(tallies, "target_scores", m) for m in METHODS[1:]},
    }


def _relative(tallies: Sequence[Tally], name: str, method: str) -> float | None:
    """Return the geometric mean over studies of the mean score of forecasts by that of a baseline."""
    means = [
        [float(np.mean(getattr(t, name)[each])) for each in ("forecast", method)]
        for t in tallies
        if getattr(t, name)[method]
    ]
    ratios = [first / second for first, second in means if first > 0 and second > 0 and np.isfinite(first / second)]
    return round(float(np.exp(np.mean(np.log(ratios)))), 3) if ratios else None


def table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of the table."""
    heads = [f"{100 * level:.0f}%" for level in LEVELS]
    yield (
        f"| collection | part | studies | trials | value held, of {', '.join(heads)} | "
        f"step held, of {', '.join(heads)} | value: by last value | by power law | "
        "step: by other trials | by power law |"
    )
    yield f"|{' --- |' * 10}"
    for row in rows:
        final, target = (", ".join(_percents(row[name]["forecast"])) for name in ("final", "target"))
        scores = [row[name][method] for name in ("final_score", "target_score") for method in METHODS[1:]]
        n = row["final"]["forecast"]["80"][1]
        words = " | ".join("none" if each is None else f"{each:.2f}" for each in scores)
        yield f"| {row['collection']} | {row['share']:.0%} | {row['studies']} | {n:,} | {final} | {target} | {words} |"


def _percents(counts: Mapping[str, Sequence[int]]) -> Iterator[str]:
    for level in LEVELS:
        hits, n = counts.get(f"{100 * level:.0f}", (0, 0))
        yield f"{100 * hits / n:.0f}" if n else "none"


def measure_forecasts(folder: Path, *, is_quick: bool) -> None:
    """Write the levels as data and as a table in the docs, and print it; if quick, only print it for each 8th study."""
    lake = Lake.open(folder)
    studies = list(open_curves(ReleaseView.open(lake, lake.release(None)), COLLECTIONS))
    rows = measure(studies[::8] if is_quick else studies)
    if not is_quick:
        (DATA / FILE).write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
        write_table(NAME, table(rows))
    print("\n".join(table(rows)))

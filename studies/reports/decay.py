"""The report on decay of the learning rate: how often it flips the order of two optimizers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from itertools import combinations, groupby
from string import Template
from typing import Any

import numpy as np

from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.batch_size_words import joined
from losslake_schema.reached import Floats, Integers
from studies.reports.benchmarks import report_rows
from studies.reports.markdown import NOTHING, share, table

Place = tuple[str, str, str, int]
Curve = tuple[Integers, Floats]
_TEXT = resources.files("studies.reports").joinpath("decay.md")
_SAME_END = 0.01
"""Two schedules end together if their ends differ by at most this share."""
_N_DRAWS, _SEED, _LEVEL = 2000, 71, 0.9
_FEWEST_PLACES = 5
MOMENTS = ("before decay", "halfway")


@dataclass(frozen=True)
class Competitor:
    """An optimizer, or a recipe, in its setting with the best median loss at the end of its schedule.

    place: collection, dataset, model, batch size. curves: of its trials, steps and losses (lower is better).
    """

    name: str
    place: Place
    decay_start: int
    schedule_end: int
    curves: tuple[Curve, ...]

    def loss(self, step: int, trials: slice = slice(None)) -> float:
        """Return the median over trials of the last finite loss up to a step; NaN if any has none."""
        return float(np.median([last_loss(curve, step) for curve in self.curves[trials]]))

    @cached_property
    def final(self) -> float:
        """The loss at the end of the schedule."""
        return self.loss(self.schedule_end)


@dataclass(frozen=True)
class Pair:
    """Two competitors on one workload at one batch size, whose schedules end together.

    is_flipped: by moment, whether the order differs from that at the end; None without losses, or if they are equal.
    is_unstable: whether the order at the end differs between the two halves of their trials; None with fewer than 2.
    """

    place: Place
    is_flipped: tuple[bool | None, ...]
    is_unstable: bool | None


def last_loss(curve: Curve, step: int) -> float:
    """Return the last finite loss up to a step; NaN for none."""
    steps, losses = curve
    known = losses[(steps <= step) & np.isfinite(losses)]
    return float(known[-1]) if len(known) else np.nan


def competitors(rows: Iterable[Mapping[str, Any]]) -> Iterator[Competitor]:
    """Yield the competitors. rows: of scheduled_curves.sql, in its order."""

    def key(row: Mapping[str, Any]) -> tuple[Any, ...]:
        return *(row[name] for name in ("collection", "dataset", "model", "batch_size")), row["competitor"]

    for (*place, name), of_competitor in groupby(rows, key):
        settings = [
            Competitor(name, tuple(place), start, end, tuple(map(_curve, curves)))
            for (_, start, end), curves in _by_setting(of_competitor).items()
        ]
        known = [each for each in settings if np.isfinite(each.final)]
        if known:
            yield min(known, key=lambda each: each.final)


def _by_setting(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, int, int], list[list[Mapping[str, Any]]]]:
    settings: dict[tuple[str, int, int], dict[str, list[Mapping[str, Any]]]] = {}
    for row in rows:
        setting = row["setting"], row["decay_start"], row["schedule_end"]
        settings.setdefault(setting, {}).setdefault(row["trial"], []).append(row)
    return {setting: [*trials.values()] for setting, trials in settings.items()}


def _curve(rows: Sequence[Mapping[str, Any]]) -> Curve:
    ordered = sorted((row["step"], row["loss"]) for row in rows)
    return np.array([step for step, _ in ordered], np.int64), np.array([loss for _, loss in ordered], np.float64)


def pairs(known: Iterable[Competitor]) -> Iterator[Pair]:
    """Yield the pairs that can be compared: at one place, with schedules that end together."""
    for place, group in groupby(sorted(known, key=lambda each: (each.place, each.name)), lambda each: each.place):
        for first, second in combinations(group, 2):
            end = min(first.schedule_end, second.schedule_end)
            if abs(first.schedule_end - second.schedule_end) <= _SAME_END * end:
                start = min(first.decay_start, second.decay_start)
                yield Pair(
                    place,
                    tuple(_is_flipped(first, second, at) for at in (start, (start + end) // 2)),
                    _unstable(first, second),
                )


def _is_flipped(first: Competitor, second: Competitor, step: int) -> bool | None:
    early, late = first.loss(step) - second.loss(step), first.final - second.final
    return None if not early * late or np.isnan(early) else bool(early * late < 0)


def _unstable(first: Competitor, second: Competitor) -> bool | None:
    if min(len(first.curves), len(second.curves)) < 2:
        return None
    halves = [
        first.loss(first.schedule_end, slice(half, None, 2)) - second.loss(second.schedule_end, slice(half, None, 2))
        for half in (0, 1)
    ]
    return None if not halves[0] * halves[1] else bool(halves[0] * halves[1] < 0)


def flip_range(flags: Sequence[tuple[Place, bool]]) -> tuple[float, float] | None:
    """Return the range of the share of flips in 90% of draws of whole workloads; None for fewer than 5 of them.

    Pairs of a workload share trials, so they are drawn together. flags: by pair, its place and whether it flips.
    """
    workloads: dict[tuple[str, ...], list[bool]] = {}
    for (_, dataset, model, _), flag in flags:
        workloads.setdefault((dataset, model), []).append(flag)
    if len(workloads) < _FEWEST_PLACES:
        return None
    flips, counts = (np.array([count(each) for each in workloads.values()]) for count in (sum, len))
    draws = np.random.default_rng(_SEED).integers(0, len(counts), (_N_DRAWS, len(counts)))
    shares = flips[draws].sum(axis=1) / counts[draws].sum(axis=1)
    lower, upper = np.quantile(shares, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return float(lower), float(upper)


def decay_report(view: ReleaseView, collections: Sequence[str]) -> str:
    """Return the report as Markdown: how often the order of two optimizers before decay isn't that at its end."""
    known = [*competitors(report_rows(view, "scheduled_curves", {"collections": [*collections]}))]
    compared = [*pairs(known)]
    values = {
        "n_competitors": str(len(known)),
        "n_pairs": str(len(compared)),
        "n_places": str(len({pair.place for pair in compared})),
        "same_end": f"{_SAME_END:.0%}",
        "unstable": _in_words(collections, compared),
        "table": table(
            ["collection", "compared", "pairs", "order flips", "90% of draws", "flips of pairs that agree"],
            [cells for name in collections for cells in _rows(name, compared)],
            2,
        ),
    }
    return Template(_TEXT.read_text("utf-8")).substitute(values)


def _in_words(collections: Sequence[str], compared: Sequence[Pair]) -> str:
    counts = (
        f"{share(*_counts(pair.is_unstable for pair in compared if pair.place[0] == name))} pairs of {name}"
        for name in collections
    )
    return joined([*counts])


def _counts(flags: Iterable[bool | None]) -> tuple[int, int]:
    known = [flag for flag in flags if flag is not None]
    return sum(known), len(known)


def _rows(collection: str, compared: Sequence[Pair]) -> Iterator[list[str]]:
    of_collection = [pair for pair in compared if pair.place[0] == collection]
    for index, moment in enumerate(MOMENTS):
        flags = [(pair.place, flag) for pair in of_collection if (flag := pair.is_flipped[index]) is not None]
        drawn = flip_range(flags)
        agreeing = (pair.is_flipped[index] for pair in of_collection if pair.is_unstable is False)
        yield [
            collection,
            moment,
            str(len(flags)),
            str(sum(flag for _, flag in flags)),
            f"{drawn[0]:.0%} to {drawn[1]:.0%}" if drawn else NOTHING,
            share(*_counts(agreeing)),
        ]

"""Bands for the best value of a running trial at its end, and for its step of the target, from stored trials.

A running trial is compared with the stored ones that ran beyond its last step. Most like it are those with a similar
best value there, and a similar improvement since half of these steps. What they went on to do gives the bands
(`losslake.analysis.neighbour_bands`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from losslake.analysis.comparable import Comparable, PartialCurve
from losslake.analysis.neighbour_bands import Neighbourhood, groups_needed
from losslake_schema.reached import Floats

LEVELS = (0.5, 0.8, 0.9)
# Without a band of this level there is no forecast.
REQUIRED_LEVEL = 0.8
# More would take longer than milliseconds.
MOST_TRIALS = 300
MOST_HELD_OUT = 40
# Of the improvement beside the value, both in units of their spread; docs/analysis.md says how it was chosen.
IMPROVEMENT_WEIGHT = 0.5
_LARGEST, _MOST = 1e150, 1.7e308
_ROUNDING, _NOTHING = 1e-12, 1e-9
Place = Literal["within", "better than all", "worse than all"]
Ends = tuple[float, float]


class ForecastRefused(ValueError):
    """A partial curve from which nothing can be forecast; the text says why."""


class TooFewSettings(ForecastRefused):
    """Too few settings ran beyond the last step of a partial curve."""


@dataclass(frozen=True)
class Band:
    """A band of one level; its ends are None where too few settings are known for it.

    final: the least and the greatest best value at the end. target_steps: the first and last step, inf for not reached.
    """

    level: float
    final: Ends | None
    target_steps: Ends | None


@dataclass(frozen=True)
class TargetForecast:
    """The forecast for the step of the target of a trial that hasn't reached it.

    n_trials, n_settings: that hadn't reached it at this step either, and of which it is known whether they did later.
    bands: by level; None for each where these are too few. median: inf for not reached; None likewise. n_alike: the
    most similar of these trials. n_alike_reached: of them, those that went on to reach it.
    """

    n_trials: int
    n_settings: int
    bands: tuple[Ends | None, ...]
    median: float | None = None
    n_alike: int = 0
    n_alike_reached: int = 0


@dataclass(frozen=True)
class Forecast:
    """The forecast that stored trials give of a running one.

    step: its last one. best: its best value so far. reached_at: the step at which it reached the target; None if it
    hasn't, and then target is the forecast for that. median: of the best value at the end. place: of its best value
    among those of the compared trials at this step. n_trials, n_settings: that were compared. Others weren't: n_ended
    by this step, n_unmeasured (without a number by then), n_beyond (the first MOST_TRIALS are compared).
    """

    step: int
    best: float
    reached_at: int | None
    bands: tuple[Band, ...]
    median: float
    place: Place
    target: TargetForecast | None
    n_trials: int
    n_settings: int
    n_ended: int
    n_unmeasured: int
    n_beyond: int


def forecast(
    comparable: Comparable, steps: npt.ArrayLike, values: npt.ArrayLike, levels: Sequence[float] = LEVELS
) -> Forecast:
    """Return the forecast for a partial curve; it takes milliseconds.

    Args:
        comparable: the stored trials, which all ran to their end.
        steps: of the evaluations so far, ascending.
        values: of the metric at these steps; NaN and infinities are never the best.
        levels: of the bands, each between 0 and 1.

    Raises ForecastRefused for a curve without a number, one past the last step of all comparable trials, and where too
    few settings ran beyond its last step for a band of REQUIRED_LEVEL; ValueError for steps that don't ascend.
    """
    curve = PartialCurve.of(np.asarray(steps, np.float64), np.asarray(values, np.float64), comparable.sign)
    return forecast_of(comparable, curve, levels)


def forecast_of(comparable: Comparable, curve: PartialCurve, levels: Sequence[float] = LEVELS) -> Forecast:
    """Return the forecast for a partial curve; raises ForecastRefused as `forecast` does."""
    if not len(curve.steps):
        raise ForecastRefused("no value of the partial curve is a number, so nothing can be compared")
    is_running = comparable.last_steps > curve.last_step
    has_value = np.isfinite(comparable.losses_at(curve.last_step))
    running = comparable.where(is_running & has_value)
    trials = running.at_most(MOST_TRIALS)
    n_settings = trials.n_settings
    _check_number(comparable, curve.last_step, n_settings)
    scale, loss = _Scale.of(trials, curve), float(curve.losses[-1])
    levels_now = trials.losses_at(curve.last_step)
    now = scale.of_losses(levels_now)
    neighbourhood = _neighbourhood(trials, curve, scale, now)
    changes = now - scale.of_losses(trials.final_losses)
    finals = neighbourhood.bands(changes, levels)
    reached_at = curve.first_step(comparable.bound)
    target = None if reached_at is not None else _target(trials, curve, scale, levels)
    target_bands = [None] * len(levels) if target is None else target.bands
    return Forecast(
        step=int(curve.last_step),
        best=comparable.sign * loss,
        reached_at=reached_at,
        bands=tuple(
            Band(level, None if final is None else _values(final, loss, scale, comparable.sign), band)
            for level, final, band in zip(levels, finals, target_bands, strict=True)
        ),
        median=comparable.sign * scale.after(loss, float(np.median(changes[neighbourhood.nearest]))),
        place=_place(loss, levels_now),
        target=target,
        n_trials=len(trials),
        n_settings=n_settings,
        n_ended=int((~is_running).sum()),
        n_unmeasured=int((is_running & ~has_value).sum()),
        n_beyond=len(running) - len(trials),
    )


@dataclass(frozen=True)
class HeldOut:
    """The coverage of a band among the compared trials themselves, each held out with all trials of its setting.

    n, n_held: trials, and those whose best value at the end was in the band. n_target, n_target_held: likewise for the
    step of the target, of trials that hadn't reached it.
    """

    level: float
    n: int
    n_held: int
    n_target: int
    n_target_held: int


def held_out(comparable: Comparable, step: float, levels: Sequence[float] = LEVELS) -> list[HeldOut]:
    """Return how often the bands at a step held, for MOST_HELD_OUT of the trials that ran beyond it, evenly chosen.

    It takes as long as that many forecasts.
    """
    now = comparable.losses_at(step)
    running = comparable.where((comparable.last_steps > step) & np.isfinite(now)).at_most(MOST_TRIALS)
    places = np.linspace(0, len(running) - 1, min(len(running), MOST_HELD_OUT)).round().astype(np.int64)
    finals: list[list[bool]] = [[] for _ in levels]
    targets: list[list[bool]] = [[] for _ in levels]
    for trial in places.tolist():
        others = running.where(running.groups != running.groups[trial])
        try:
            result = forecast_of(others, running.curve_until(trial, step), levels)
        except ForecastRefused:
            continue
        final, reached = float(running.sign * running.final_losses[trial]), float(running.target_steps[trial])
        for place, band in enumerate(result.bands):
            if band.final is not None:
                slack = _ROUNDING * max(1.0, abs(final))
                finals[place].append(band.final[0] - slack <= final <= band.final[1] + slack)
            if band.target_steps is not None and not running.is_stopped[trial]:
                targets[place].append(band.target_steps[0] <= reached <= band.target_steps[1])
    return [
        HeldOut(level, len(final), sum(final), len(target), sum(target))
        for level, final, target in zip(levels, finals, targets, strict=True)
    ]


def _check_number(comparable: Comparable, step: float, n_settings: int) -> None:
    longest, needed = int(comparable.last_steps.max(initial=-1)), groups_needed(REQUIRED_LEVEL)
    if len(comparable) and step >= longest:
        raise ForecastRefused(f"step {step:.0f} isn't before the last step of any comparable trial, {longest}")
    if n_settings < needed:
        noun = "setting has" if n_settings == 1 else "settings have"
        count = f"only {n_settings} comparable {noun} a number by step {step:.0f} and went on"
        raise TooFewSettings(f"{count}, and a band of {REQUIRED_LEVEL:.0%} needs {needed}")


@dataclass(frozen=True)
class _Scale:
    """The scale on which changes of losses are compared.

    The logarithm of the distance from the least loss that the metric can have, or from 0 where that isn't known and all
    losses are positive; distances below `floor` count as it. Otherwise the loss itself, in `unit`, so that no
    difference overflows.
    """

    least: float
    floor: float
    unit: float

    @staticmethod
    def of(trials: Comparable, curve: PartialCurve) -> _Scale:
        """Return the scale for these losses."""
        losses = np.concatenate([trials.losses, curve.losses])
        least = trials.least_loss
        if not np.isfinite(least) and (losses > 0).all():
            least = 0.0
        distances = losses - least
        positive = distances[distances > 0]
        if not np.isfinite(least) or (distances < 0).any() or not len(positive):
            largest = float(np.abs(losses).max())
            return _Scale(-np.inf, 0.0, largest if largest > _LARGEST else 1.0)
        return _Scale(least, float(positive.min()) / 2, 1.0)

    def of_losses(self, losses: Floats) -> Floats:
        """Return losses on this scale; inf stays inf."""
        if np.isfinite(self.least):
            return np.log(np.maximum(losses - self.least, self.floor))
        return losses / self.unit

    def after(self, loss: float, change: float) -> float:
        """Return the loss after an improvement on this scale; the loss itself for none, since it only improves."""
        if change <= 0:
            return loss
        if not np.isfinite(self.least):
            return max(loss - min(change * self.unit, _MOST), -_MOST)
        distance = max(loss - self.least, self.floor) * math.exp(-change)
        return self.least if distance <= self.floor else min(loss, self.least + distance)


def _neighbourhood(trials: Comparable, curve: PartialCurve, scale: _Scale, now: Floats) -> Neighbourhood:
    """Return the trials most like the running one at its last step. now: by trial, the loss there on this scale."""
    of_curve, spread = float(scale.of_losses(curve.losses[-1:])[0]), _spread(now)
    points, new = [now / spread], [of_curve / spread]
    half = curve.last_step / 2
    improvements = scale.of_losses(trials.losses_at(half)) - now
    is_known = np.isfinite(improvements)
    if np.isfinite(curve.loss_at(half)) and is_known.any():
        improvements[~is_known] = improvements[is_known].max()
        spread = _spread(improvements)
        points.append(improvements / spread * IMPROVEMENT_WEIGHT)
        improvement = float(scale.of_losses(np.array([curve.loss_at(half)]))[0]) - of_curve
        new.append(improvement / spread * IMPROVEMENT_WEIGHT)
    return Neighbourhood.of(np.stack(points, axis=1), np.array(new), trials.groups)


def _spread(values: Floats) -> float:
    """Return the interquartile range; the range where that is next to nothing of it; 1 if all values are equal."""
    ordered = np.sort(values)
    between = quantile(ordered, 0.75) - quantile(ordered, 0.25)
    whole = float(ordered[-1] - ordered[0])
    return (between if between > _NOTHING * whole else whole) or 1.0


def quantile(ordered: Floats, share: float) -> float:
    """Return the quantile of ascending values, as np.quantile interpolates it, which takes ten times as long."""
    place = (len(ordered) - 1) * share
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    part = place - math.floor(place)
    return float(low + (high - low) * part if part < 0.5 else high - (high - low) * (1 - part))


def _target(trials: Comparable, curve: PartialCurve, scale: _Scale, levels: Sequence[float]) -> TargetForecast:
    """Return the forecast of the step of the target from the trials that haven't reached it either."""
    open_ones = trials.where((trials.target_steps > curve.last_step) & ~trials.is_stopped)
    n_settings = open_ones.n_settings
    if n_settings < groups_needed(REQUIRED_LEVEL):
        return TargetForecast(len(open_ones), n_settings, (None,) * len(levels))
    now = scale.of_losses(open_ones.losses_at(curve.last_step))
    neighbourhood = _neighbourhood(open_ones, curve, scale, now)
    waits = np.log1p(open_ones.target_steps) - np.log1p(curve.last_step)
    bands = neighbourhood.bands(waits, levels)
    alike = np.sort(open_ones.target_steps[neighbourhood.nearest])
    # Beyond the longest trial, those that never reached it can't be told from those that would have later.
    longest = math.inf if np.isfinite(open_ones.target_steps).all() else float(open_ones.last_steps.max())
    return TargetForecast(
        n_trials=len(open_ones),
        n_settings=n_settings,
        bands=tuple(None if each is None else _steps(each, curve.last_step, longest) for each in bands),
        median=float(alike[(len(alike) - 1) // 2]),
        n_alike=len(alike),
        n_alike_reached=int(np.isfinite(alike).sum()),
    )


def _steps(waits: Ends, step: float, longest: float) -> Ends:
    """Return the steps after these waits, which are logarithms; inf for a last step beyond `longest`."""
    first, last = (math.inf if each == math.inf else (1 + step) * math.exp(max(each, 0.0)) - 1 for each in waits)
    lower = first if first == math.inf else max(step + 1, math.floor(min(first * (1 + _ROUNDING), longest)))
    upper = math.ceil(last * (1 - _ROUNDING)) if last * (1 - _ROUNDING) <= longest else math.inf
    return lower, max(lower, upper)


def _values(changes: Ends, loss: float, scale: _Scale, sign: float) -> Ends:
    """Return the least and the greatest value after these improvements."""
    ends = sorted(sign * scale.after(loss, each) for each in changes)
    return ends[0], ends[1]


def _place(loss: float, others: Floats) -> Place:
    if loss < others.min():
        return "better than all"
    return "worse than all" if loss > others.max() else "within"

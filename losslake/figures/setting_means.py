"""The mean curves of settings in a chart of curves: lines with bands over the curves of single trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from losslake.analysis.mean_curve import mean_curves
from losslake.figures.frame import Frame
from losslake.figures.layers import COUNT, DECIMAL, Channel, Layer, category, layer, tip
from losslake.figures.panel import ChartRow
from losslake.questions.release.view import ReleaseView
from losslake_schema.names import Trial
from losslake_schema.quantities import counted
from losslake_schema.reached import Integers

_CONFIDENCE = 0.95
# Of fewer, there is no interval.
_FEWEST = 2


def numbered_settings(view: ReleaseView, trials: Mapping[int, Trial]) -> dict[int, int]:
    """Return the number of the setting of each trial, by the number of the trial; settings of studies are their own."""
    numbers: dict[object, int] = {}
    of_studies = {}
    for trial in trials.values():
        if trial.study not in of_studies:
            facts, index = view.study(trial.study)
            rows = facts.rows_of(index)
            of_trials = facts.trials.trial_id[rows].tolist(), facts.trials.setting[rows].tolist()
            of_studies[trial.study] = dict(zip(*of_trials, strict=True))
    return {
        number: numbers.setdefault((trial.study, of_studies[trial.study][trial.trial_id]), len(numbers))
        for number, trial in trials.items()
    }


def mean_rows(rows: pa.Table, settings: Mapping[int, int], labels: Mapping[int, str]) -> list[ChartRow]:
    """Return a row for each setting and step of evaluation of which at least two trials have finite values.

    rows: of one metric, with evaluation (the step), step (the place on the axis), value and line, the number of the
    trial. settings, labels: by that number; a mean has the label of its setting's first trial. The step of a mean is
    the mean of their places: all are one, unless the axis shows times.
    """
    value, place = (rows[name].to_numpy().astype(np.float64) for name in ("value", "step"))
    finite = np.flatnonzero(np.isfinite(value) & np.isfinite(place))
    evaluation, setting = rows["evaluation"].to_numpy()[finite], _settings_of(rows, settings)[finite]
    means, places = (mean_curves(evaluation, each[finite], setting) for each in (value, place))
    half = means.half_width(_CONFIDENCE)
    firsts = {settings[number]: label for number, label in sorted(labels.items(), reverse=True)}
    drawn = np.flatnonzero((means.n >= _FEWEST) & np.isfinite(means.mean) & np.isfinite(half))
    columns = (means.setting, places.mean, means.mean, means.mean - half, means.mean + half, means.n)
    return [
        {"series": firsts[of], "setting": of, "step": at, "value": mean, "low": low, "high": high, "n": n}
        for of, at, mean, low, high, n in zip(*(column[drawn].tolist() for column in columns), strict=True)
    ]


def _settings_of(rows: pa.Table, settings: Mapping[int, int]) -> Integers:
    by_number: Integers = np.array([settings[number] for number in range(len(settings))], np.int64)
    return np.asarray(by_number[rows["line"].to_numpy()])


def mean_layers(rows: Sequence[ChartRow], frame: Frame, colour: Channel, place: Channel) -> tuple[Layer, list[Layer]]:
    """Return the bands, to be drawn below the lines of trials, and the lines of means with tooltips, above them.

    rows: from `mean_rows`, the lowest first. place: the tooltip field of a step.
    """
    of_setting = {"color": colour, "detail": category("setting")}
    low, high = frame.y_axis.limits
    ends = {"x": frame.x, "y": frame.y_of("bottom"), "y2": {"field": "top"}}
    # Clipped marks take long to render, as in `as_data`.
    is_clipped = frame.panel.x_limits is not None or any(not low <= row["value"] <= high for row in rows)
    within = [
        row | {"bottom": max(low, min(row["low"], high)), "top": max(low, min(row["high"], high))} for row in rows
    ]
    bands = layer(within, "area", ends | of_setting, opacity=1, fillOpacity=0.2, tooltip=None)
    tips = [
        tip("value", "Mean", DECIMAL),
        tip("low", f"{_CONFIDENCE:.0%} from", DECIMAL),
        tip("high", f"{_CONFIDENCE:.0%} to", DECIMAL),
    ]
    tooltip = frame.tooltip([*tips, tip("n", "Trials", COUNT), place])
    lines = layer(within, "line", frame.place | of_setting, order=False, strokeWidth=2.2, clip=is_clipped, tooltip=None)
    points = layer(within, "point", frame.place | of_setting | tooltip, size=60, opacity=0, clip=is_clipped)
    return bands, [lines, points]


def mean_notes(rows: Sequence[ChartRow], settings: Mapping[int, int], noun: str) -> list[str]:
    """Return sentences about the means: of how many trials they are, and what the bands are. rows: of all metrics."""
    if not rows:
        return ["No setting has finite values of 2 trials at one step, so there are no means."]
    sizes, numbers = Counter(settings.values()), [row["n"] for row in rows]
    least, most, n_settings = min(numbers), max(numbers), len({row["setting"] for row in rows})
    trials = f"{most:,}" if least == most else f"{least:,} to {most:,}"
    at = "" if noun in ("steps", "examples", "epochs") else f", drawn at the mean of their {noun}"
    of_settings = counted(n_settings, "setting")
    notes = [f"Bold: mean of {of_settings} over the {trials} trials with finite values at a step{at}."]
    if any(row["n"] < sizes[row["setting"]] for row in rows):
        notes.append("Where trials of a setting ended earlier or diverged, it is that of the others.")
    return [*notes, f"Band: {_CONFIDENCE:.0%} t interval of the mean."]

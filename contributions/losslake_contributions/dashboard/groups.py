"""Groups of runs, and the mean of each over its runs, such as seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from losslake.analysis.mean_curve import mean_curves
from losslake_contributions.dashboard.query import SETTINGS, Axis, facts_of, is_seed, per_step, varying
from losslake_contributions.dashboard.runs import LiveRun
from losslake_schema.reached import Floats


@dataclass(frozen=True)
class GroupMean:
    """The mean curve of a group, as far as all of its runs have values. deviation: the sample standard deviation.

    name: of the group. runs: that have the metric. at: places on the axis. width: of the steps that are averaged of
    each run, 1 for none. why_not: why there is no mean, if there is none.
    """

    name: str
    runs: Sequence[LiveRun]
    at: Floats
    mean: Floats
    deviation: Floats
    width: int = 1
    why_not: str = ""


def groups_of(runs: Sequence[LiveRun], by: str) -> dict[str, list[LiveRun]]:
    """Return the runs of each group by its name, in the order of the runs. by: as in the query; empty for none."""
    if not by:
        return {}
    names = [name for name in varying(runs) if not is_seed(name)] if by == SETTINGS else [by]
    groups: dict[str, list[LiveRun]] = {}
    for run in runs:
        facts = facts_of(run)
        if by == SETTINGS:
            label = ", ".join(f"{name} {facts[name]}" for name in names if name in facts) or "all others"
        else:
            label = f"{by} {facts[by]}" if by in facts else f"no {by}"
        groups.setdefault(label, []).append(run)
    return groups


def group_mean(name: str, runs: Sequence[LiveRun], metric: str, axis: Axis) -> GroupMean:
    """Return the mean curve of a group by step, shown on an axis. runs: those that measure the metric."""
    nothing = np.zeros(0)

    def none(why: str) -> GroupMean:
        return GroupMean(name, runs, nothing, nothing, nothing, why_not=why)

    if axis == "seconds":
        return none("runs have no seconds in common: choose another axis for means")
    scales = {per_step(run, axis) for run in runs}
    if len(scales) != 1 or None in scales:
        return none(f"the steps of its runs aren't the same {axis}: choose the axis of steps")
    (scale,) = scales
    assert scale is not None
    series = [run.series[metric] for run in runs]
    width = max(each.width for each in series)
    parts = [each.means(width) for each in series]
    means = mean_curves(
        np.concatenate([bucket for bucket, _ in parts]),
        np.concatenate([value for _, value in parts]),
        np.zeros(sum(len(bucket) for bucket, _ in parts), np.int64),
    )
    # Which runs end earlier or diverge depends on their values: a mean over the others would be of a selection.
    shared = means.n == len(series)
    if not shared.any():
        return none("its runs have no step in common")
    at = (means.step[shared] * width + (width - 1) / 2) * scale
    return GroupMean(name, runs, at, means.mean[shared], means.deviation[shared], width)

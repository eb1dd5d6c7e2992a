"""The runs behind the panels of one folder: a column's name split into run and metric, a run's columns put together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from losslake_ingest.run_log import LoggedRows, RunLog
from losslake_ingest.wandb_files.panels import BETWEEN, BOUND, Panel
from losslake_ingest.wandb_files.private import private_text
from losslake_schema.reached import Flags, Floats, Integers

_MOST_SPLITS = 16


@dataclass(frozen=True)
class PanelFile:
    """A panel export that was read."""

    path: str
    sha256: str
    panel: Panel


def panel_runs(folder: str, files: list[PanelFile]) -> list[RunLog]:
    """The runs of a folder's panels, each with its columns of all files, in order of their names."""
    files = sorted(files, key=lambda file: file.path)
    splits = _decided([list(file.panel.curves) for file in files])
    found: dict[str, list[tuple[PanelFile, dict[str, str]]]] = {}
    for file, split in zip(files, splits, strict=True):
        columns: dict[str, dict[str, str]] = {}
        for column, (run, metric) in split.items():
            columns.setdefault(run, {})[column] = metric
        for run, own in columns.items():
            found.setdefault(run, []).append((file, own))
    return [_run_log(folder, run, number, found[run]) for number, run in enumerate(sorted(found), 1)]


def _run_log(folder: str, run: str, number: int, parts: list[tuple[PanelFile, dict[str, str]]]) -> RunLog:
    kind = private_text(run)
    name = f"run {number}" if kind else run
    remarks: Counter[str] = Counter()
    for file, columns in parts:
        remarks.update(file.panel.remarks)
        remarks[BOUND] += sum(file.panel.bounds.get(column, 0) for column in columns)
    return RunLog(
        f"{folder}#{name}",
        {file.path: file.sha256 for file, _ in parts},
        [_rows(file.panel, columns) for file, columns in parts],
        {"run": name, "run_name": name},
        private=[kind] if kind else [],
        remarks=dict(+remarks),
    )


def _rows(panel: Panel, columns: Mapping[str, str]) -> LoggedRows:
    """A run's columns of one panel, at the places where any of them is filled."""
    curves = [(metric, *panel.curves[column]) for column, metric in columns.items()]
    places = curves[0][1]
    for _, others, _ in curves[1:]:
        if not np.array_equal(places, others):
            places = np.union1d(places, others)
    found: dict[str, Floats] = {}
    missing: dict[str, Flags] = {}
    for metric, own, values in curves:
        found[metric], holes = _spread(places, own, values)
        if holes.any():
            missing[metric] = holes
    # Where the axis is one of the run's own columns, the axis is the one that is never empty.
    missing.pop(panel.axis, None)
    return LoggedRows({panel.axis: panel.x[places]} | found | {panel.axis: panel.x[places]}, missing)


def _spread(places: Integers, own: Integers, values: Floats) -> tuple[Floats, Flags]:
    if len(own) == len(places):
        return values, np.zeros(len(places), np.bool_)
    at = np.searchsorted(places, own)
    floats = np.full(len(places), np.nan)
    floats[at] = values
    holes = np.ones(len(places), np.bool_)
    holes[at] = False
    return floats, holes


def _decided(files: list[list[str]]) -> list[dict[str, tuple[str, str]]]:
    """Run and metric of every column of every file.

    A name that can be split in one place only is certain. Where there are several, the metric of a certain column of
    the same file decides (a file's columns share it mostly), then a run that is certain elsewhere in the folder, then a
    metric that is; and otherwise the last place, since runs are named more freely than metrics.
    """
    ways = [{column: _ways(column) for column in columns} for columns in files]
    certain = [[found[0] for found in file.values() if len(found) == 1] for file in ways]
    runs = {run for file in certain for run, _ in file}
    metrics = {metric for file in certain for _, metric in file}
    decided = []
    for file, own in zip(ways, certain, strict=True):
        own_metrics = {metric for _, metric in own}
        decided.append({column: _best(found, own_metrics, runs, metrics) for column, found in file.items()})
    return decided


def _ways(column: str) -> list[tuple[str, str]]:
    """The ways to split a column's name, the last place first."""
    ways: list[tuple[str, str]] = []
    at = len(column)
    while len(ways) < _MOST_SPLITS and (at := column.rfind(BETWEEN, 0, at)) > 0:
        run, metric = column[:at].strip(), column[at + len(BETWEEN) :].strip()
        if run and metric:
            ways.append((run, metric))
    return ways or [(column.strip(), column.strip())]


def _best(ways: list[tuple[str, str]], own_metrics: set[str], runs: set[str], metrics: set[str]) -> tuple[str, str]:
    for way in ways:
        if way[1] in own_metrics:
            return way
    for way in ways:
        if way[0] in runs:
            return way
    return next((way for way in ways if way[1] in metrics), ways[0])

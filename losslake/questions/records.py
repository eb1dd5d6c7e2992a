"""The records of modded-nanogpt as a dated history: steps, seconds and seeds of each, by the rule of its track."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa

from losslake.analysis.crossings import Curves
from losslake.analysis.mean_curve import MeanCurves, mean_crossings, mean_curves
from losslake.output.answer import Answer
from losslake.output.rows import Row, shown
from losslake.questions.declaration.parameters import FieldsParameters, ReleaseParameters
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.summary import Finding, ReleaseSummary
from losslake.questions.release.view import ReleaseView
from losslake_schema.names import Workload
from losslake_schema.package_files import read_text
from losslake_schema.reached import NEVER, Flags, Integers

COLLECTION, METRIC = "modded-nanogpt", "val/cross_entropy_error"
_PREFIX = "gpt2_"
_DATE = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)[_-]?")
TrackName = Literal["track_1_short", "track_2_medium", "track_3_optimization"]


@dataclass(frozen=True)
class Track:
    """A track. margin: of the rule on the earliest step; None: the last evaluation counts. compares: the column."""

    title: str
    margin: float | None
    compares: Literal["seconds", "steps"]


# Source: KellerJordan/modded-nanogpt, README.md and records/track_3_optimization/README.md, at f411b3d346aa.
TRACKS: Mapping[TrackName, Track] = {
    "track_1_short": Track("Track 1: GPT-2 to a loss of 3.28, in the least time", None, "seconds"),
    "track_2_medium": Track("Track 2: GPT-2 Medium to a loss of 2.92, in the least time", None, "seconds"),
    "track_3_optimization": Track("Track 3: GPT-2 to a loss of 3.28, in the fewest steps", 0.004, "steps"),
}


class RecordsParameters(FieldsParameters, ReleaseParameters):
    """The tracks."""

    track: Annotated[TrackName | None, shown("track_1_short")] = None
    """Only this track; default: all."""


class RecordsRow(Row):
    """A setting of a record: runs that differ in their seeds."""

    track: Annotated[str, shown("track_1_short")]
    """The track of the speedrun."""
    record: Annotated[str, shown("2024-10-10_Muon")]
    """The folder or file of its logs in the repository."""
    number: Annotated[int | None, shown(4)]
    """Its number in the published history of the track; null if it isn't in it."""
    date: Annotated[str, shown("2024-10-11")]
    """Its date in that history; else that of its folder's name."""
    description: Annotated[str | None, shown("Muon improvements")]
    """Its change, as the published history has it; null if it isn't in it."""
    workload: str
    batch_size: int | None
    trial_id: int
    """Its first run."""
    n_runs: Annotated[int, shown(1, "runs")]
    """Runs of the setting, each with another seed."""
    target: float
    steps: Annotated[int | None, shown(6200, "steps")]
    """Track 3: the first step at which (target - mean) sqrt(n_runs) >= 0.004. Tracks 1 and 2: the last evaluation of
    all runs. Null for never."""
    mean: Annotated[float | None, shown(3.2785, "unit of the metric")]
    """Mean loss over the runs at `steps`; in track 3, if it never holds, at the last evaluation of all runs."""
    p_value: Annotated[float | None, shown(0.003, "none: a probability")]
    """The p-value of a one-sided t-test of the mean at `steps` against the target; null for one run. Track 1 requires
    less than 0.01, except of records that only make the same training faster."""
    holds: Annotated[bool, shown(True)]
    """True if the mean passes: in track 3 by its rule, else if it is at most the target."""
    seconds: Annotated[float | None, shown(1339.067, "seconds")]
    """Mean over the runs of the log's clock at `steps`; null where a log doesn't say. It stops during evaluations."""
    is_fastest: Annotated[bool, shown(True)]
    """True if it is in the published history, holds, and takes less than all earlier ones of which that is true: less
    time; in track 3, fewer steps."""
    published_seconds: Annotated[float | None, shown(1338.0, "seconds")]
    """The published time; null for none."""
    published_steps: Annotated[int | None, shown(3600, "steps")]
    """The published steps; null for none."""
    published_n_runs: Annotated[int | None, shown(1, "runs")]
    """The published number of runs; null for none."""


class RecordsSummary(ReleaseSummary, Finding):
    """The data that are left out."""


@dataclass(frozen=True)
class _Setting:
    """A setting: the rows of its runs in the table of runs. sources: of their logs."""

    model: str
    record: str
    workload: Workload
    batch_size: int
    trial_id: int
    sources: tuple[str, ...]


def _answer(view: ReleaseView, parameters: RecordsParameters) -> Answer:
    rows, left_out = view.kept("records", lambda: _computed(view))
    rows = [row for row in rows if parameters.track in (None, row["track"])]
    summary = {
        "release": view.number,
        "definition": QUESTION.definition,
        "n_used": sum(row["n_runs"] for row in rows),
        "left_out": [text for track, text in left_out if parameters.track in (None, track)],
        "warnings": [] if rows else [f"release {view.number} doesn't have the collection {COLLECTION}"],
    }
    return QUESTION.of_table(summary, pa.Table.from_pylist(rows, QUESTION.rows.schema))


QUESTION = Question(
    path="/v1/analysis/records",
    doc="The records of modded-nanogpt by date: steps, seconds and seeds, by the rule of each track.",
    parameters=RecordsParameters,
    row=RecordsRow,
    summary=RecordsSummary,
    compute=_answer,
)


def _computed(view: ReleaseView) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
    """Return the rows of all tracks by date, and what is left out, with its track."""
    if COLLECTION not in {workload.collection for workload in view.workloads}:
        return [], []
    table = view.table("evaluations_of_records", {"collection": COLLECTION, "metric": METRIC})
    rows: list[dict[str, Any]] = []
    left_out: list[tuple[str, str]] = []
    for name, track in TRACKS.items():
        mask = np.array([model == _PREFIX + name for model in table["model"].to_pylist()], np.bool_)
        of_track = _of_track(view, name, track, table.filter(pa.array(mask))) if mask.any() else []
        dated = sorted((row for row in of_track if row["date"]), key=lambda row: (row["date"], row["number"] or 0))
        _mark_fastest(dated, track.compares)
        rows += dated
        numbers = {row["number"] for row in dated}
        known = {each["number"]: each for each in published(name)}
        missing = [each for number, each in known.items() if number not in numbers]
        if of_track and missing:
            listed = ", ".join(f"{each['number']} ({each['date'] or 'no date'})" for each in missing[:3])
            more = (
                f" … up to {missing[-1]['number']} ({missing[-1]['date']})" if len(missing) > len(missing[:3]) else ""
            )
            left_out.append(
                (name, f"{name}: {len(missing)} of {len(known)} published records have no runs here: {listed}{more}")
            )
        if len(dated) < len(of_track):
            left_out.append((name, f"{name}: {len(of_track) - len(dated)} settings without a date"))
    return rows, left_out


def _of_track(view: ReleaseView, name: TrackName, track: Track, table: pa.Table) -> list[dict[str, Any]]:
    """Return a row for each setting of a track, unordered. table: the validations of its runs, by run and step."""
    settings, of_run, offsets = _settings(view, table)
    step = np.asarray(table["step"], np.int64)
    value, seconds = (np.asarray(table[column], np.float64) for column in ("value", "elapsed_s"))
    goals = view.goals_of(settings[0].workload, METRIC)
    target, comparator = goals[0].target, goals[0].comparator
    of_evaluation, sizes = np.repeat(of_run, np.diff(offsets)), np.bincount(of_run)
    means, times = (mean_curves(step, each, of_evaluation) for each in (value, seconds))
    last = _last_shared(means, sizes)
    crossed = mean_crossings(Curves(step, value, offsets), of_run, target, comparator, track.margin or 0.0)
    first_run = np.unique(of_run, return_index=True)[1]
    rows = []
    matched = _matches(name, settings)
    for number, setting in enumerate(settings):
        at, n = int(last[number]), int(sizes[number])
        steps, mean, holds = (int(means.step[at]), float(means.mean[at]), False) if at >= 0 else (None, None, False)
        if track.margin is None:
            holds = mean is not None and mean <= target
        elif crossed.step[first_run[number]] != NEVER:
            run = first_run[number]
            steps, mean, holds = int(crossed.step[run]), float(crossed.mean[run]), True
        else:
            steps = None
        known = matched.get(number, {})
        rows.append(
            {
                "track": name,
                "record": setting.record,
                "number": known.get("number"),
                "date": known.get("date") or _date_of(setting.record),
                "description": known.get("description"),
                "workload": str(setting.workload),
                "batch_size": setting.batch_size or None,
                "trial_id": setting.trial_id,
                "n_runs": n,
                "target": target,
                "steps": steps,
                "mean": mean,
                "p_value": _p_value(means, number, steps, n, target),
                "holds": holds,
                "seconds": _mean_at(times, number, steps, n),
                "is_fastest": False,
                "published_seconds": known.get("seconds"),
                "published_steps": known.get("steps"),
                "published_n_runs": known.get("n_runs"),
            }
        )
    return rows


def _settings(view: ReleaseView, table: pa.Table) -> tuple[list[_Setting], Integers, Integers]:
    """Return the settings, the number of that of each run, and the offsets of the runs in the table."""
    names = ("model", "optimizer", "batch_size", "trial_id", "recipe", "source")
    columns = [table[name].to_pylist() for name in names]
    keys = list(zip(*columns[:4], strict=True))
    starts = [row for row, key in enumerate(keys) if not row or key != keys[row - 1]]
    numbers: dict[tuple[Any, ...], int] = {}
    runs: list[list[int]] = []
    of_run = []
    for start in starts:
        model, optimizer, batch_size, trial_id = keys[start]
        facts = view.workload(Workload(COLLECTION, "fineweb_10b", model, optimizer))
        study = facts.batch_sizes.index(batch_size)
        rows = facts.rows_of(study)
        place = rows.start + int(np.searchsorted(facts.trials.trial_id[rows], trial_id))
        number = numbers.setdefault((optimizer, batch_size, int(facts.trials.setting[place])), len(numbers))
        if number == len(runs):
            runs.append([])
        runs[number].append(start)
        of_run.append(number)
    settings = [
        _Setting(
            model=keys[of_setting[0]][0],
            record=columns[4][of_setting[0]],
            workload=Workload(COLLECTION, "fineweb_10b", *keys[of_setting[0]][:2]),
            batch_size=keys[of_setting[0]][2],
            trial_id=keys[of_setting[0]][3],
            sources=tuple(columns[5][row].partition("#")[0] for row in of_setting),
        )
        for of_setting in runs
    ]
    return settings, np.array(of_run, np.int64), np.array([*starts, len(keys)], np.int64)


def _last_shared(means: MeanCurves, sizes: Integers) -> Integers:
    """Return by setting its last point at which all of its runs have a value; -1 for none."""
    last = np.full(len(sizes), -1, np.int64)
    shared = np.flatnonzero(means.n == sizes[means.setting])
    last[means.setting[shared]] = shared
    return last


def _point(means: MeanCurves, setting: int, steps: int | None, n: int) -> int | None:
    """Return the point of a setting at a step, if all n runs have a value there."""
    at: Flags = (means.setting == setting) & (means.step == steps) & (means.n == n)
    return int(np.flatnonzero(at)[0]) if steps is not None and at.any() else None


def _mean_at(means: MeanCurves, setting: int, steps: int | None, n: int) -> float | None:
    at = _point(means, setting, steps, n)
    return None if at is None else float(means.mean[at])


def _p_value(means: MeanCurves, setting: int, steps: int | None, n: int, target: float) -> float | None:
    """Return the p-value of Student's one-sided t test that the mean is above the target."""
    import scipy  # here, since most questions don't need it

    at = _point(means, setting, steps, n)
    if at is None or n < 2 or not means.deviation[at] > 0:
        return None
    t = (means.mean[at] - target) / (means.deviation[at] / np.sqrt(n))
    return float(scipy.special.stdtr(n - 1, t))


def _date_of(record: str) -> str | None:
    """Return the date at the start of a folder's name."""
    found = _DATE.match(record)
    return "-".join(found.groups()) if found else None


def _mark_fastest(rows: Sequence[dict[str, Any]], column: str) -> None:
    least: float = np.inf
    for row in rows:
        if row["number"] is not None and row["holds"] and row[column] is not None and row[column] < least:
            row["is_fastest"], least = True, row[column]


@cache
def published(track: str) -> Sequence[Mapping[str, Any]]:
    """Return the published history of a track.

    Source: KellerJordan/modded-nanogpt, README.md and records/track_3_optimization/README.md, at f411b3d346aa (MIT).
    """
    kinds = {"number": int, "seconds": float, "steps": int, "n_runs": int, "mean": float}
    rows = csv.DictReader(read_text("losslake.questions", "published_records.csv").splitlines())
    return [
        {name: (kinds.get(name, str)(text) if text else None) for name, text in row.items()}
        for row in rows
        if row["track"] == track
    ]


def _matches(track: str, settings: Sequence[_Setting]) -> dict[int, Mapping[str, Any]]:
    """Return the published record of settings.

    It is that of the setting with its log, or a log of the same name, since some folders were renamed; if the history
    names a folder, that of the folder's largest setting.
    """
    found: dict[int, Mapping[str, Any]] = {}
    for each in published(track):
        path = f"records/{each['path']}".removesuffix("/README.md")
        is_log = path.endswith((".txt", ".log"))
        for rule in (path.__eq__, _ends_with("/" + path.rpartition("/")[2]) if is_log else _starts_with(f"{path}/")):
            candidates = [number for number, setting in enumerate(settings) if any(map(rule, setting.sources))]
            if each["path"] and candidates:
                found[max(candidates, key=lambda number: len(settings[number].sources))] = each
                break
    return found


def _starts_with(start: str) -> Callable[[str], bool]:
    return lambda source: source.startswith(start)


def _ends_with(end: str) -> Callable[[str], bool]:
    return lambda source: source.endswith(end)

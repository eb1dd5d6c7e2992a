"""Runs in the logs of other tools, by the formats of the ingest: those whose files changed are read again."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import numpy as np

from losslake.questions.trials.batch_size_words import joined
from losslake_contributions.dashboard.runs import LiveRun, shown_parameters, shown_text
from losslake_contributions.dashboard.series import Series
from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import BadMapping, Refusal, Rule, SourceBroken
from losslake_ingest.contracts.run_log import Damage, LoggedRows, RunLog
from losslake_ingest.contracts.study import LARGEST_EXACT_INTEGER, Curves
from losslake_ingest.formats.format import Format
from losslake_ingest.mapping.mapping import MAPPING_NAME, LogMapping
from losslake_ingest.mapping.metrics import guess_metric
from losslake_ingest.mapping.place import PlacedRun, place
from losslake_ingest.pipeline.reading import Request, detect, with_defaults
from losslake_ingest.readers.recorded.attempts import last_written
from losslake_ingest.readers.safe_parsing import printable
from losslake_ingest.readers.side_files import SideFiles
from losslake_ingest.readers.text_logs.named_numbers import AXES
from losslake_ingest.sources.member import PartOfSource, Source
from losslake_ingest.sources.open import FolderSource
from losslake_schema.names import CHANGES
from losslake_schema.reached import Floats, Integers

_log = logging.getLogger(__name__)
Files = Mapping[str, tuple[int, float]]
"""Size and time of change by path."""
_LONGEST_NOTE = 400
_SETTLES_AFTER = 30.0  # seconds: a trainer writes in each checkpoint how it would have ended there
_SILENT_AFTER = 600.0  # seconds: such logs have no heartbeat, and evaluations can be rare


class LoggedReader:
    """A reader of the logs below a folder. runs: by path. changed: those of the last call of `refresh`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, tuple[int, float]] = {}
        self._parts: dict[str, str] = {}  # the folder of each run's files
        self.runs: dict[str, LiveRun] = {}
        self.changed: list[LiveRun] = []

    def refresh(self, files: Files) -> set[str]:
        """Read the runs whose files changed; return the paths of those that are gone."""
        changed = {path for path in files.keys() | self._files.keys() if files.get(path) != self._files.get(path)}
        self._files, self.changed = dict(files), []
        gone: set[str] = set()
        known = {part for run in self._parts.values() for part in _with_folders(run)}
        runs = set(self._parts.values())
        for part in sorted({_part_of(path, runs, known) for path in changed}):
            try:
                gone |= self._read(part)
            except Exception:  # noqa: BLE001 - whatever a log makes of a reader, the other runs are shown
                _log.exception("the logs in a folder can't be read")
                path = printable(part) or "."
                self.changed.append(LiveRun(path, path, 0.0, notes=("It can't be read: see the log of the service.",)))
        return gone

    def _read(self, part: str) -> set[str]:
        """Read the runs in a part of the folder; return the paths of those that are gone."""
        before = {path for path, folder in self._parts.items() if folder == part or _is_below(folder, part)}
        runs = {run.path: (run, folder) for run, folder in self._runs_in(part)}
        if not runs and before and (above := part.partition("/")[0]) != part:
            return self._read(above)  # its format needs what is beside it
        for path, (run, folder) in runs.items():
            self._parts[path] = folder
            self.runs[path] = run
            self.changed.append(run)
        for path in before - runs.keys():
            del self._parts[path], self.runs[path]
        return before - runs.keys()

    def _runs_in(self, part: str) -> Iterator[tuple[LiveRun, str]]:
        """Yield the runs in a part, and the folder of each one's files. part: empty for files in the folder itself."""
        prefix = f"{part}/" if part else ""
        # A part without a file, as one that was removed, isn't read.
        if not any(self._belongs(prefix, path) for path in self._files):
            return
        source = PartOfSource(
            FolderSource(self._folder / part, part),
            lambda path: f"{prefix}{path}" in self._files and self._belongs(prefix, f"{prefix}{path}"),
        )
        try:
            mapped = self._mapped(part)
            mapping = Request().mapping_for(mapped) if mapped is not None else LogMapping()
            every = Request().formats_for(mapping)
            detected = detect(source, list(every.values()), lambda _: True)
            for name in detected.files:
                yield from self._of_format(PartOfSource(source, detected.belongs(name)), every[name], mapping, prefix)
        except (BadMapping, SourceBroken) as error:
            note = _sentence(str(error).replace(f"{self._folder}/", ""))
            yield LiveRun(part or ".", part or ".", self._seen_at([prefix]), notes=(note,)), part

    def _belongs(self, prefix: str, path: str) -> bool:
        return path.startswith(prefix) if prefix else "/" not in path

    def _mapped(self, part: str) -> Path | None:
        """Return the nearest folder with a mapping that is no link, from a part up to the folder that is shown."""
        for folder in (*reversed([*_with_folders(part)]), ""):
            if f"{folder}/{MAPPING_NAME}".lstrip("/") in self._files:
                return self._folder / folder
        return None

    def _of_format(
        self, source: Source, each: Format, mapping: LogMapping, prefix: str
    ) -> Iterator[tuple[LiveRun, str]]:
        """Yield the runs of a format in a part. Raises SourceBroken."""
        mapping = with_defaults(mapping, each)
        side = SideFiles(source, mapping.files.side)
        for item in each.read(source, mapping):
            if isinstance(item, RunLog):
                paths = [f"{prefix}{path}" for path in item.files]
                run = self._run(replace(item, run=f"{prefix}{item.run}".removesuffix("/.")), item, mapping, side)
                yield replace(run, seen_at=self._seen_at(paths)), _folder_of(paths)
            elif isinstance(item, Quarantined) and item.rule != Rule.NOT_A_FILE:
                path = printable(f"{prefix}{item.path}")
                yield LiveRun(path, path, self._seen_at([path]), notes=(_sentence(item.message),)), _folder_of([path])

    def _run(self, log: RunLog, logged: RunLog, mapping: LogMapping, side: SideFiles) -> LiveRun:
        """Return a run as an ingest would store it; as it was logged, and why, if it wouldn't."""
        path = printable(log.run)
        run = LiveRun(
            path, shown_text(log.fields.get("run_name")) or _name(path, path in self._files), 0.0,
            status=shown_text(log.status) or None,
            group=shown_text(log.fields.get("run_group")),
            parameters=shown_parameters(log.parameters),
            directions=log.directions,
            silent_after=_SILENT_AFTER,
            settles_after=_SETTLES_AFTER,
            notes=tuple(_sentence(remark) for remark in log.remarks if isinstance(remark, Damage)),
        )  # fmt: skip
        try:
            beside = side.beside(logged.run)
            placed = place(log, mapping, str(self._folder.resolve()).lstrip("/"), beside)
        except Refusal as refusal:
            series, axis = _raw(log.rows, mapping)
            notes = (*run.notes, self._why(refusal), *([axis] if series and axis else []))
            parameters = {**shown_parameters(beside), **run.parameters}
            return replace(run, parameters=parameters, series=series, notes=notes)
        return _with_place(run, placed)

    def _why(self, refusal: Refusal) -> str:
        """Return why an ingest would refuse a run, as a sentence."""
        missing = [each.what.removesuffix(" is unknown") for each in refusal.missing]
        if missing:
            return f"It doesn't state {joined(missing)}: shown as it was logged."
        return _sentence(refusal.message.replace(str(self._folder), ""))

    def _seen_at(self, paths: Collection[str]) -> float:
        return max((self._files[path][1] for path in paths if path in self._files), default=0.0)


def _with_place(run: LiveRun, placed: PlacedRun) -> LiveRun:
    """Return a run with what an ingest would store of it."""
    size = placed.study.batch_size
    return replace(
        run,
        workload=printable(str(placed.study.workload)),
        batch_size=None if size == CHANGES else size,
        batch_unit=placed.facts.batch_unit,
        parameters={**run.parameters, **shown_parameters(placed.parameters)},
        directions={**run.directions, **dict(placed.directions)},
        series=_series(placed.curve),
    )


def _series(curve: Curves) -> dict[str, Series]:
    """Return the series of the curves of one trial."""
    series = {}
    for name, values in curve.values.items():
        missing = curve.missing.get(name)
        at = np.flatnonzero(~missing) if missing is not None else np.arange(len(values))
        if len(at):
            elapsed = curve.elapsed_s[at] if curve.elapsed_s is not None else None
            series[name] = Series.of(curve.steps[at], values[at], elapsed)
    return series


def _raw(rows: Sequence[LoggedRows], mapping: LogMapping) -> tuple[dict[str, Series], str]:
    """Return the columns of rows as they were logged, and a sentence about their steps if they may not be."""
    columns = {name: None for each in rows for name in each.columns}
    axes = dict.fromkeys((*(axis.column for axis in mapping.axis), *AXES["steps"], *AXES["epochs"]))
    axis = next((name for name in axes if name in columns and _is_whole(rows, name)), None)
    others = columns.keys() - axes.keys() - set(mapping.time.columns)
    pieces: dict[str, list[tuple[Integers, Floats]]] = {}
    first = 0
    for each in rows:
        n = len(next(iter(each.columns.values()), ()))
        if axis is None:
            steps, known = np.arange(first, first + n), np.ones(n, np.bool_)
        elif axis in each.columns:
            known = each.known(axis)
            steps = np.where(known, each.columns[axis], 0).astype(np.int64)
        else:
            continue
        first += n
        for name in each.columns:
            at = np.flatnonzero(known & each.known(name))
            if name in others and len(at):
                pieces.setdefault(guess_metric(name) or printable(name), []).append((steps[at], each.columns[name][at]))
    series = {}
    for name, parts in pieces.items():
        step, value = (np.concatenate(column) for column in zip(*parts, strict=True))
        last = last_written(step)
        series[name] = Series.of(step[last], value[last])
    if axis in AXES["steps"]:
        return series, ""
    return series, f"Its steps are {'the numbers of its rows' if axis is None else f'the column {printable(axis)}'}."


def _is_whole(rows: Sequence[LoggedRows], name: str) -> bool:
    """Return True if a column has whole numbers from 0 only, and any."""
    known = [each.columns[name][each.known(name)] for each in rows if name in each.columns]
    values = np.concatenate(known)
    return bool(
        len(values) and ((values >= 0) & (values <= LARGEST_EXACT_INTEGER) & (values == np.floor(values))).all()
    )


def _folder_of(paths: Sequence[str]) -> str:
    """Return the folder that has all of some files."""
    parts = [path.split("/")[:-1] for path in paths]
    shared = []
    for names in zip(*parts, strict=False):
        if len(set(names)) > 1:
            break
        shared.append(names[0])
    return "/".join(shared)


def _part_of(path: str, runs: Collection[str], known: Collection[str]) -> str:
    """Return the folder to read again if a file changes: that of its run, else the highest one that has no other run.

    runs: the folders of runs. known: these, and the folders above them.
    """
    folders = [*reversed([*_with_folders(path.rpartition("/")[0])])]
    return next((each for each in folders if each in runs), "") or next(
        (each for each in reversed(folders) if each not in known), folders[0] if folders else ""
    )


def _with_folders(folder: str) -> Iterator[str]:
    """Yield a folder and those above it, the highest first; nothing for the folder that is shown."""
    return accumulate(folder.split("/"), "{}/{}".format) if folder else iter(())


def _name(path: str, is_file: bool) -> str:
    """Return the end of a path: of a file with its folder, as files of many runs have the same name."""
    return "/".join(path.split("/")[-2 if is_file else -1 :])


def _is_below(folder: str, above: str) -> bool:
    return folder.startswith(f"{above}/") if above else False


def _sentence(text: str) -> str:
    """Return a message as a short sentence."""
    text = printable(" ".join(text.split()))[:_LONGEST_NOTE]
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"

"""Preparation of folders and logs: recorded runs, and logs converted into runs with the same measurements.

Logs are read exactly as `losslake ingest` reads them. The name of a converted run is a UUID of version 8 (RFC 9562),
made from its content: converting the same logs again gives the same folders with the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from losslake.record.layout import ELAPSED, STEP, SegmentName, digest_entry, document_bytes, segment_bytes
from losslake.record.numbers import json_number
from losslake_contributions.client.prepared_run import PreparedRun, prepared
from losslake_contributions.client.privacy import cleaner_of, local_words, unused_name
from losslake_ingest.bundles.reading import reading_of
from losslake_ingest.contracts.report import Quarantined, SourceReport, with_unused
from losslake_ingest.contracts.rules import MissingField, SourceBroken
from losslake_ingest.contracts.study import Curves, StudyFacts, StudyPart, StudyRejected, TrialFacts
from losslake_ingest.mapping.mapping import MAPPING_NAME
from losslake_ingest.pipeline.gather import RunsPart, Stored
from losslake_ingest.pipeline.reading import Reading, Request, open_sources
from losslake_ingest.readers.recorded.folder import BadSpool, read_spool, spools_in
from losslake_ingest.sources.member import Source
from losslake_ingest.sources.open import FolderSource, Place
from losslake_schema.batch_schedule import ATTRIBUTE, NAME_ATTRIBUTE, BatchSchedule
from losslake_schema.errors import LossLakeError
from losslake_schema.names import CHANGES, Study
from losslake_schema.registry import metric_named

UNMEASURED = "was never evaluated, so there is nothing to send"
RECORDED = "record"  # the name of the format
_ROWS_OF_SEGMENT = 20_000


@dataclass
class Conversion:
    """The result for folders and logs. runs: by name. left_out: runs and trials that aren't sent, and why.

    missing: what a mapping has to add, with the number of runs.
    """

    runs: dict[str, PreparedRun] = field(default_factory=dict)
    quarantined: list[Quarantined] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    sources: list[SourceReport] = field(default_factory=list)
    missing: Counter[MissingField] = field(default_factory=Counter)

    def add(self, other: Conversion) -> None:
        """Add the result for other places."""
        self.runs |= other.runs
        self.quarantined += other.quarantined
        self.broken += other.broken
        self.left_out += other.left_out
        self.sources += other.sources
        self.missing += other.missing


def prepare(paths: Sequence[Path], request: Request, into: Path) -> Conversion:
    """Return what is sent of some paths, without private data.

    Recorded runs keep their names, and nothing is copied of them, unless a mapping applies to them. These, and a path
    without any, are read as by `losslake ingest`; each trial is written as a run below a folder. Raises LossLakeError.
    """
    words = local_words()
    recorded: dict[str, PreparedRun] = {}
    left_out: list[str] = []
    logs: dict[Request, list[Place]] = {}
    for path in paths:
        if not path.exists():
            raise LossLakeError(f"{path} doesn't exist: give a folder of runs, or logs")
        folders = spools_in(path)
        mapped = mapped_runs(path, folders, request)
        for of_mapping, place in dict.fromkeys(mapped.values()):
            logs.setdefault(of_mapping, []).append(place)
        for folder in folders:
            if folder in mapped:
                continue
            try:
                run = prepared(read_spool(folder), words)
            except (BadSpool, OSError) as error:
                left_out.append(
                    str(error) if isinstance(error, BadSpool) else f"{folder} can't be read: {error.strerror}"
                )
                continue
            if run.name in recorded:
                raise LossLakeError(f"the run {run.name} is given twice, the second time by {folder}: give it once")
            recorded[run.name] = run
        if not folders:
            logs.setdefault(request, []).append(str(path))
    result = Conversion(recorded, left_out=left_out)
    for of_logs, places in logs.items():
        result.add(convert(places, of_logs, into, words))
    return result


def mapped_runs(path: Path, runs: Sequence[Path], request: Request) -> dict[Path, tuple[Request, str]]:
    """Return the recorded runs to which a mapping applies, with the request and the place of their ingest.

    That of the request is for all runs. Without one, the nearest `losslake.toml` counts, from the folder of the run up
    to the path; if the path is that of a run, also one beside this folder.
    """
    if request.mapping is not None:
        return dict.fromkeys(runs, (request, str(path)))
    mapped: dict[Path, tuple[Request, str]] = {}
    for run in runs:
        places = [place for place in (run, *run.parents) if place == path or path in place.parents]
        folders = [place for place in places if _has_mapping(place)]
        if folders:
            mapped[run] = request, str(folders[-1])
        elif run == path and _has_mapping(run.parent):
            mapped[run] = replace(request, mapping=run.parent / MAPPING_NAME), str(run)
    return mapped


def _has_mapping(folder: Path) -> bool:
    file = folder / MAPPING_NAME
    return file.is_file() or file.is_symlink()


def convert(
    places: Sequence[Place], request: Request, into: Path, words: Mapping[str, str] | None = None
) -> Conversion:
    """Write each trial in some logs as a run below a folder, without private data.

    words: names of the user and the machine, by kind, to be removed as well. Raises UnknownSource, BadMapping and
    UnknownFormat.
    """
    result = Conversion()
    stored = Stored(None, [])
    for source in open_sources(places, request):
        reading = reading_of(source, request, stored)
        try:
            for item in reading.items():
                if isinstance(item, Quarantined):
                    result.quarantined.append(item)
                else:
                    _convert_part(item, reading, into, words, result)
        except SourceBroken as error:
            result.broken.append(f"{source.name}: {error}")
        result.sources.append(reading.report())
        result.missing += reading.missing
    result.sources = with_unused(result.sources)
    return result


def _convert_part(
    item: StudyPart, reading: Reading, into: Path, words: Mapping[str, str] | None, result: Conversion
) -> None:
    """Write the trials of a part of a study."""
    try:
        part = item.load()
    except StudyRejected as rejection:
        result.quarantined.append(rejection.reason)
        return
    result.quarantined.extend(part.quarantined)
    for index, trial in enumerate(part.trials):
        curve = part.curves.trial(index)
        if not len(curve.steps):
            result.left_out.append(f"{trial.source}: {UNMEASURED}")
            continue
        run = _write_run(trial.status, _facts(item, part.facts, trial, curve, reading), curve, into, words)
        recorded = _recorded_folder(reading.source, trial.source) if item.format == RECORDED else None
        result.runs[run.name] = replace(run, recorded=recorded)


def _recorded_folder(source: Source, run: str) -> Path | None:
    """Return the folder of a recorded run; None if it is in an archive. run: its path, as its trial names it."""
    if not isinstance(source, FolderSource):
        return None
    return source.path / run.removeprefix(f"{source.within}/" if source.within else "")


def _write_run(
    status: str, facts: Mapping[str, Any], curve: Curves, into: Path, words: Mapping[str, str] | None
) -> PreparedRun:
    """Write a trial as a run below a folder, under the name that its content gives; return it with its files."""
    cleaner = cleaner_of(facts, words)
    clean = cleaner.facts(facts)
    segments = {path: cleaner.segment(data) for path, data in _segments(curve).items()}
    digests = {path: digest_entry(data) for path, data in segments.items()}
    end = {"status": status, "ended_at": None, "n_dropped": 0, "segments": digests}
    run = PreparedRun(into, "", clean, end, segments, list(cleaner.removals))
    named = replace(run, name=_content_name(run.documents()))
    folder = named.write(into)
    return replace(named, folder=folder, segments={path: folder / path for path in segments})


def _facts(item: StudyPart, facts: StudyFacts, trial: TrialFacts, curve: Curves, reading: Reading) -> dict[str, Any]:
    """Return what run.json says of a trial, with the digests of its logs and its goals."""
    study = facts.study
    run = item.runs.get(trial.trial_id) if isinstance(item, RunsPart) else None
    collection = reading.collections.get(study.workload.collection)
    files = run.files if run is not None else {trial.source: trial.source_sha256}
    of_workload = [goal for goal in reading.goals if goal.workload == study.workload]
    goals = run.goals if run is not None and not reading.source.is_bundle else of_workload
    parameters: dict[str, Any] = {name: json_number(value) for name, value in trial.parameters.items()}
    attributes: dict[str, Any] = {}
    for name, text in trial.attributes.items():
        if name in (ATTRIBUTE, NAME_ATTRIBUTE):
            continue
        value = json.loads(text)
        # A number that a log states as an attribute, such as a part of its path, isn't a metaparameter.
        if isinstance(value, str | bool) and name not in parameters:
            parameters[name] = value
        else:
            attributes[name] = value
    directions = {
        metric: direction
        for metric, direction in sorted(reading.directions)
        if metric in curve.values and metric_named(metric).direction is None
    }
    stated = {
        **vars(study.workload),
        **_batch_size(study, trial),
        "batch_unit": facts.batch_unit,
        "licence": collection.licence if collection is not None and collection.licence else None,
        "started_at": None,
        "parameters": parameters,
        "attributes": attributes,
        "goals": [
            {"metric": goal.metric, "target": goal.target, "comparator": goal.comparator, "source": goal.source}
            for goal in goals
        ],
        "directions": directions,
        "steps": trial.steps,
        "train_steps": facts.train_steps,
        "origin": {"format": item.format, "files": _by_base_name(files)},
    }
    optional = ("attributes", "goals", "directions", "train_steps")
    return {name: value for name, value in stated.items() if value or name not in optional}


def _batch_size(study: Study, trial: TrialFacts) -> dict[str, Any]:
    """Return the batch size of a trial as run.json states it: as a number, or as sizes by step with their name."""
    if study.batch_size != CHANGES:
        return {"batch_size": study.batch_size}
    schedule, name = BatchSchedule.of_json(trial.attributes[ATTRIBUTE]), json.loads(trial.attributes[NAME_ATTRIBUTE])
    return {ATTRIBUTE: schedule.pieces, **({NAME_ATTRIBUTE: name} if name != schedule.name else {})}


def _by_base_name(files: Mapping[str, str]) -> dict[str, str]:
    """Return digests by base names, which are numbered where several files have one."""
    named: dict[str, str] = {}
    for path, digest in sorted(files.items()):
        base = path.partition("#")[0].rstrip("/").rpartition("/")[2] or "log"
        named[unused_name(base, named)] = digest
    return named


def _segments(curve: Curves) -> dict[str, bytes]:
    """Return the measurements of a trial as the segments of one attempt."""
    columns: list[tuple[str, list[Any]]] = [(STEP, curve.steps.tolist())]
    if curve.elapsed_s is not None:
        times = [None if np.isnan(value) else value for value in curve.elapsed_s.tolist()]
        columns.append((ELAPSED, times))
    for metric, values in sorted(curve.values.items()):
        absent = curve.missing.get(metric)
        flags = absent.tolist() if absent is not None else [False] * len(values)
        cells = zip(values.tolist(), flags, strict=True)
        columns.append((metric, [None if is_absent else json_number(value) for value, is_absent in cells]))
    rows = [{name: cells[row] for name, cells in columns if cells[row] is not None} for row in range(len(curve.steps))]
    return {
        SegmentName(1, number + 1).path: segment_bytes(rows[start : start + _ROWS_OF_SEGMENT])
        for number, start in enumerate(range(0, len(rows), _ROWS_OF_SEGMENT))
    }


def _content_name(files: Mapping[str, bytes]) -> str:
    """Return the UUID of version 8 (RFC 9562) of some documents, made from the first bits of their SHA-256."""
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())}
    number = int.from_bytes(hashlib.sha256(document_bytes(digests)).digest()[:16], "big")
    number = number & ~(0xF << 76) | 8 << 76
    number = number & ~(0x3 << 62) | 2 << 62
    return str(uuid.UUID(int=number))

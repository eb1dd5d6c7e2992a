"""Runs that `losslake.record` wrote: run.json, a folder of JSON lines for each attempt, and end.json.

An attempt that went back replaces what earlier ones measured from its first step on. The layout is documented in
losslake/record/spool.py.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from losslake_ingest.readers.safe_parsing import read_document
from losslake_ingest.formats.format import Glimpse, defaults_of, read_files
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Refusal, Rule
from losslake_ingest.contracts.run_log import Damage, LoggedRows, RunLog, Scalar, check_size
from losslake_ingest.sources.member import Member, Source, UntilBreak
from losslake_ingest.readers.tables.json_table import CUT_SHORT, read_json_lines
from losslake_ingest.readers.tables.table import TableFile, runs_of

STEP = "step"
_MARK = b'"format": "losslake-record/1"'
_RUN, _END = "run.json", "end.json"
_LARGEST_DOCUMENT = 1 << 20
_SEGMENT = re.compile(r"(?P<run>(?:.+/)?)(?P<attempt>\d{4,9})(?:-from-(?P<step>\d{1,18}))?/(?P<number>\d{6,9})\.jsonl")
_KILLED = "the run was killed while it wrote its last line: left out"
_REPLACED = "measurements that a later attempt replaces: left out"
_LOST = Damage("a segment isn't as it was when the run ended")
_MISSING = Damage("a segment that the run's end names is missing")
_UNREAD = Damage("a segment can't be read: left out")


@dataclass
class _Spool:
    """What was found of a run. files: SHA-256 by path. parts: by attempt and number of the segment."""

    run: Mapping[str, object] | None = None
    end: Mapping[str, object] | None = None
    files: dict[str, str] = field(default_factory=dict)
    parts: dict[tuple[int, int], tuple[str, RunLog]] = field(default_factory=dict)
    begins: dict[int, int] = field(default_factory=dict)
    unread: Counter[str] = field(default_factory=Counter)


class Record:
    """The format of losslake.record: one run per folder with a run.json."""

    name = "record"
    reads = "run.json, end.json and NNNN/NNNNNN.jsonl of losslake.record, a folder for each run"
    needs = "nothing but metrics that aren't named train/…, val/… or test/…"
    defaults = defaults_of("record")

    def detect(self, file: Glimpse) -> float:
        """Recognize a run.json by its first key, and a segment by its place."""
        if file.name == _RUN and _MARK in file.start[:100]:
            return 0.99
        return 0.9 if _SEGMENT.fullmatch(file.path) and file.start.startswith(b'{"step":') else 0.0

    def read(self, source: Source, mapping: LogMapping) -> Iterator[RunLog | Quarantined]:
        """Yield one run per folder."""
        spools: dict[str, _Spool] = {}
        n_cells = 0
        documents = source.members(lambda path: path.rpartition("/")[2] in (_RUN, _END), _LARGEST_DOCUMENT + 1)
        for member in UntilBreak(documents):
            if isinstance(member, Member):
                try:
                    _add_document(spools, member)
                except Refusal as error:
                    yield Quarantined(source.name, member.path, error.rule, error.message, error.line)

        def add(member: Member) -> Iterator[RunLog | Quarantined]:
            nonlocal n_cells
            match = _SEGMENT.fullmatch(member.path)
            assert match is not None
            spool = spools.get(match["run"])
            if spool is None:
                message = f"there is no {_RUN} of losslake.record beside its folder: copy the whole folder of the run"
                raise Refusal(Rule.MISSING_FACT, message)
            try:
                part = _part(source.name, member)
            except Refusal:
                spool.unread[member.path] += 1
                raise
            n_cells += sum(len(column) for rows in part.rows for column in rows.columns.values())
            check_size(n_cells, 1)
            place = int(match["attempt"]), int(match["number"])
            if place in spool.parts:
                raise Refusal(Rule.DUPLICATE_FILE, "the archive holds it twice: the first one is used")
            spool.parts[place] = member.path, part
            if match["step"] is not None:
                spool.begins[place[0]] = int(match["step"])
            return iter(())

        items = UntilBreak(read_files(source, lambda path: _SEGMENT.fullmatch(path) is not None, add))
        yield from items
        for folder, spool in sorted(spools.items()):
            yield _run(folder, spool)
        items.raise_break()


def _add_document(spools: dict[str, _Spool], member: Member) -> None:
    """Read a run.json or an end.json. Raises Refusal; other tools' run.json are left alone."""
    folder, _, name = member.path.rpartition("/")
    folder = f"{folder}/" if folder else ""
    if name == _RUN and _MARK not in member.data[:100]:
        return
    document = read_document(member.data)
    if not isinstance(document, dict):
        raise Refusal(Rule.UNREADABLE_LOG, "the JSON is no object: copy the file again")
    if name == _RUN:
        spool = spools.setdefault(folder, _Spool())
        spool.run = document
    elif isinstance(document.get("segments"), dict):
        spool = spools.setdefault(folder, _Spool())
        spool.end = document
    else:
        return
    spool.files[member.path] = hashlib.sha256(member.data).hexdigest()


def _part(source: str, member: Member) -> RunLog:
    """Return the rows of a segment. Raises Refusal."""
    file = TableFile(source, member.path, hashlib.sha256(member.data).hexdigest())
    (part,) = runs_of(read_json_lines(member.data), file, None)
    if isinstance(part, Quarantined):
        raise Refusal(part.rule, part.message, part.line)
    return part


def _run(folder: str, spool: _Spool) -> RunLog:
    """Return the run of a folder, without what later attempts replace."""
    facts = spool.run or {}
    remarks: Counter[str] = Counter()
    rows: list[LoggedRows] = []
    n_replaced = 0
    for (attempt, _), (path, part) in sorted(spool.parts.items()):
        until = min((step for later, step in spool.begins.items() if later > attempt), default=None)
        kept = [each if until is None else _before(each, until) for each in part.rows]
        n_replaced += sum(_length(each) for each in part.rows) - sum(_length(each) for each in kept)
        rows += [each for each in kept if _length(each)]
        spool.files |= part.files
        remarks.update({_KILLED if text == CUT_SHORT else text: count for text, count in part.remarks.items()})
    if n_replaced:
        remarks[_REPLACED] = n_replaced
    remarks.update(_faults(folder, spool))
    ended = (spool.end or {}).get("status", "no end.json")
    parameters = facts.get("parameters")
    started = facts.get("started_at")
    return RunLog(
        folder.rstrip("/") or ".",
        dict(sorted(spool.files.items())),
        rows,
        fields={name: value for name, value in facts.items() if isinstance(value, Scalar)},
        parameters=_scalars(parameters),
        status=str(ended),
        started_at=float(started) if isinstance(started, int | float) else None,
        remarks=remarks,
    )


def _faults(folder: str, spool: _Spool) -> Counter[str]:
    """Count the segments that aren't as the end of the run names them."""
    faults: Counter[str] = Counter({_UNREAD: len(spool.unread)} if spool.unread else {})
    named = (spool.end or {}).get("segments")
    for name, digest in named.items() if isinstance(named, dict) else ():
        path = f"{folder}{name}"
        if path not in spool.files:
            faults[_MISSING] += path not in spool.unread
        elif not isinstance(digest, dict) or digest.get("sha256") != spool.files[path]:
            faults[_LOST] += 1
    return +faults


def _before(rows: LoggedRows, step: int) -> LoggedRows:
    """Return the rows of steps below one."""
    if STEP not in rows.columns:
        return rows
    kept = np.flatnonzero(~(rows.columns[STEP] >= step))
    return LoggedRows(
        {name: values[kept] for name, values in rows.columns.items()},
        {name: flags[kept] for name, flags in rows.missing.items()},
        rows.texts,
        rows.fields,
    )


def _length(rows: LoggedRows) -> int:
    return len(next(iter(rows.columns.values()), ()))


def _scalars(document: object) -> dict[str, Scalar]:
    if not isinstance(document, dict):
        return {}
    return {str(name): value for name, value in document.items() if isinstance(value, Scalar)}


FORMAT = Record()

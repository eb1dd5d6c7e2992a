"""Logs of MLPerf training: `:::MLPv0.5.0`, `:::MLL` and `:::MLLOG` lines among other output of a job.

Source: MLCommons, "MLPerf logging rules"; three dialects, as in training_results_v0.5 to v5.1.
"""

from __future__ import annotations

import hashlib
import math
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Refusal, Rule
from losslake_ingest.contracts.run_log import Damage, LoggedGoal, LoggedRows, RunLog, Scalar, check_size
from losslake_ingest.formats.format import BundledFormat, Glimpse, read_files
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.readers.safe_parsing import read_json
from losslake_ingest.sources.member import Member, Source
from losslake_schema.names import real_number
from losslake_schema.reached import Floats

LONGEST_LINE = 1 << 20
# Decimals of so many digits are subtracted exactly.
_MOST_DIGITS = 28
LATEST = 1e15
_MARKED_LINE = re.compile(rb":::(MLPv0\.5\.0|MLLOG|MLL)\b([^\r\n]*)")
# The end of an entry as mlperf_logging writes it, by which an entry is recognized whose marker is damaged.
_ENTRY = re.compile(rb'"metadata": ?\{[^\r\n{}]*"lineno"[^\r\n{}]*\}\}')
# `:::MLL <seconds> <key>: {json}`, and `:::MLPv0.5.0 <benchmark> <seconds> (<file>:<line>) <key>[: <json>]`
_OLD = re.compile(rb"\s+(?:([\w-]+)\s+)?([0-9.]+)\s+(?:\([^)]*\)\s+)?([\w.\-]+)(?:\s*:\s*(.*))?$", re.DOTALL)
AXES = ("epoch_num", "samples_count", "step", "step_num")
TIME = "time"
NTH = "nth"
# The attribute with the time to train of a run that reached the target, from run_start to run_stop: what MLPerf scores.
RUN_SECONDS = "run_seconds"
_START, _STOP, _WITHOUT_STATUS = "run_start", "run_stop", "run_stop without status"
_STATISTICS = "tracked_stats"
_PLACES = (TIME, *AXES)
_WIDTH = 2 + len(_PLACES)
MOST_EPOCHS = 10_000  # some submitters log samples or steps as epoch_num
MOST_COLUMNS = 1_000
LONGEST_FACT = 1_000
LONGEST_LABEL = 100
MOST_LABELS = 1_000
MOST_KINDS = 20
_MARKED = re.compile(rb':::(MLLOG\s*\{\s*"|MLL\s+[0-9]|MLPv0\.5\.0\s+\S+\s+[0-9])')
_RESULT = re.compile(r"result_[0-9][0-9_-]*\.txt")
_ENDINGS = (".txt", ".log", ".out")
_TARGETS = ("target_accuracy", "quality_target", "target_quality", "eval_target")
_MUST_AGREE = ("global_batch_size", "submission_benchmark", *_TARGETS)
_PERSONAL = re.compile(r"(^|_)poc(_|$)|e_?mail|host|user", re.IGNORECASE)
# What MLPerf's scripts log as submitter and system where nobody filled them in.
_PLACEHOLDER = re.compile(r"([0-9]+x)?SUBMISSION_(ORG|PLATFORM)_PLACEHOLDER")
# An e-mail address, or the path of a file on the machine.
_PRIVATE = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+|^\s*(?:~[/\\]|/[\w.~-]|[A-Za-z]:\\)")


class Mllog(BundledFormat):
    """The format of MLPerf logs: one run per file, evaluations by epoch or by samples."""

    name = "mllog"

    def detect(self, file: Glimpse) -> float:
        """Recognize a log by a marked line, or by its name as a published result."""
        if file.name.endswith(_ENDINGS) and _MARKED.search(file.start):
            return 1.0
        return 0.6 if _RESULT.fullmatch(file.name) else 0.0

    def read(self, source: Source, mapping: LogMapping) -> Iterator[RunLog | Quarantined]:
        """Yield one run per log."""

        def runs(member: Member) -> Iterator[RunLog | Quarantined]:
            if _MARKED.search(member.data) or _RESULT.fullmatch(member.path.rpartition("/")[2]):
                yield _run(member, source.name)

        return read_files(source, lambda path: path.endswith(_ENDINGS), runs)


Labels = tuple[tuple[str, str], ...]


class _Log:
    """The content of one log, collected line by line.

    columns: the values of each key in the order logged, each followed by the number of its labels, its time and its
    position on every axis (NaN if it has none). labels: the texts in the metadata of values, such as `metric`.
    """

    def __init__(self) -> None:
        self.fields: dict[str, Scalar] = {}
        self.changing: set[str] = set()
        self.columns: dict[str, array[float]] = {}
        self.labels: dict[Labels, int] = {}
        self.stops: list[str] = []
        self.started_at: float | None = None
        self.moments: dict[str, set[Decimal | None]] = {_START: set(), _STOP: set()}
        self.remarks: Counter[str] = Counter()
        self.private: set[str] = set()

    def add(self, line: LogLine) -> None:
        """Add a line."""
        key = line.key
        if math.isnan(line.time):
            self.remarks["MLPerf line without a time: the seconds to it aren't known"] += 1
        if key.endswith(("_start", "_stop")) and key not in (_START, _STOP):
            return
        if key == _STOP:
            self.stops.append(_stop_word(line))
            self.moments[key].add(line.moment)
        elif key == _START:
            self.started_at = self.started_at if self.started_at is not None else line.time
            self.moments[key].add(line.moment)
        elif (key.startswith("eval_") and any(axis in line.metadata for axis in AXES)) or key == _STATISTICS:
            self._add_value(key, line.value, line)
        elif isinstance(line.value, (str, int, float, bool)):
            self._add_field(key, line.value)

    def _add_value(self, key: str, value: object, line: LogLine) -> None:
        if isinstance(value, dict):
            for name, inner in value.items():
                if inner is not None:
                    self._add_value(f"{key}.{name}", inner, line)
        elif isinstance(value, list) and len(value) == 1:
            self._add_value(key, value[0], line)
        else:
            number = _value(value)
            if number is None or (key not in self.columns and len(self.columns) >= MOST_COLUMNS):
                self._leave_out(key, f"value of {key} that isn't a number")
            else:
                entry = self.columns.setdefault(key, array("d")).append
                entry(number)
                entry(self._labels(line))
                entry(line.time)
                for axis in AXES:
                    written = line.metadata.get(axis)
                    place = _value(written)
                    if place is None and written is not None:
                        self._leave_out(key, f"{axis} of {key} isn't a number")
                    entry(math.nan if place is None else place)

    def run_seconds(self) -> str | None:
        """Return the seconds from run_start to run_stop, exactly as the times in the log differ; None where unknown.

        They are without either time, with several, where the clock goes back, and if the run missed the target.
        """
        if not set(self.stops) <= {"success", _WITHOUT_STATUS} or any(len(each) != 1 for each in self.moments.values()):
            return None
        (start,), (stop,) = self.moments[_START], self.moments[_STOP]
        return f"{stop - start:f}" if start is not None and stop is not None and stop > start else None

    def _leave_out(self, key: str, what: str) -> None:
        """Count what is left out; it is damage unless it is of statistics, which also come as "step": [2, 3125]."""
        remark = f"{what}: left out"
        self.remarks[remark if key.startswith(_STATISTICS) else Damage(remark)] += 1

    def _labels(self, line: LogLine) -> int:
        """Return the number of a line's labels, MOST_LABELS if there are too many in the log."""
        labels = tuple(
            (f"metadata.{name}", text)
            for name, text in line.metadata.items()
            if isinstance(text, str)
            and name != "file"
            and len(text) <= LONGEST_LABEL
            and not (_PERSONAL.search(name) or _PRIVATE.search(text))
        )
        if len(self.labels) < MOST_LABELS:
            return self.labels.setdefault(labels, len(self.labels))
        return self.labels.get(labels, MOST_LABELS)

    def rows(self) -> list[LoggedRows]:
        """Return the values of each key, by the labels of which there are few kinds."""
        kinds: dict[str, set[str]] = {}
        for labels in self.labels:
            for name, text in labels:
                kinds.setdefault(name, set()).add(text)
        few = {name for name, texts in kinds.items() if len(texts) <= MOST_KINDS and len(self.labels) < MOST_LABELS}
        fields = [{name: text for name, text in labels if name in few} for labels in self.labels]
        rows = []
        # A value that is lost would shift the numbers of those that follow.
        is_numbered = not any(isinstance(remark, Damage) for remark in self.remarks)
        for key, cells in self.columns.items():
            table = _table(cells)
            distinct = [fields[int(number)] if few else {} for number in np.unique(table[1])]
            for entry in {tuple(one.items()): one for one in distinct}.values():
                has_entry = np.array([one == entry for one in fields] or [True])
                chosen = table[:, has_entry[table[1].astype(np.int64)]] if few else table
                rows.append(_rows(key, chosen, entry, is_numbered))
        return rows

    def _add_field(self, key: str, value: Scalar) -> None:
        if _PERSONAL.search(key) or (isinstance(value, str) and _PRIVATE.search(value)):
            self.private.add("e-mail, names of people and machines, paths")
        elif isinstance(value, str) and len(value) > LONGEST_FACT:
            self.remarks["long text: left out"] += 1
        elif self.fields.setdefault(key, value) != value:
            self.changing.add(key)


def _run(member: Member, source: str) -> RunLog | Quarantined:
    log = _Log()
    sha256 = hashlib.sha256(member.data).hexdigest()
    for line in lines_of(member.data):
        if line is None:
            log.remarks[Damage("MLPerf line that can't be read: skipped")] += 1
        else:
            log.add(line)
    check_size(sum(map(len, log.columns.values())) // _WIDTH, 1)
    try:
        _check(log)
    except Refusal as error:
        return Quarantined(source, member.path, error.rule, error.message, sha256=sha256)
    fields = {_stated(key, value): value for key, value in log.fields.items() if key not in log.changing}
    for key in log.fields.keys() & log.columns.keys():
        log.remarks[f"value of {key} without {' or '.join(AXES)}: no part of its curve"] = 1
    seconds = log.run_seconds()
    if seconds is not None:
        fields[RUN_SECONDS] = seconds
    targets = {key: _value(fields.get(key)) for key in _TARGETS}
    stated = ((f"MLPerf log, {key}", target) for key, target in targets.items() if target is not None)
    goals = [LoggedGoal("eval_accuracy", target, source, "inclusive") for source, target in stated]
    return RunLog(
        run=member.path,
        files={member.path: sha256},
        rows=log.rows(),
        fields=fields,
        parameters={key: value for key, value in fields.items() if key != "global_batch_size"},
        status=log.stops[0] if log.stops else "no run_stop",
        started_at=log.started_at,
        goals=goals,
        private=sorted(log.private),
        remarks=dict(log.remarks),
        most_epochs=MOST_EPOCHS,
    )


def _stated(key: str, value: Scalar) -> str:
    """Return the name that a value is known by: as a placeholder, it states nothing, and is kept as it was written."""
    return f"{key}_as_written" if isinstance(value, str) and _PLACEHOLDER.fullmatch(value) else key


def _rows(key: str, table: Floats, fields: Mapping[str, Scalar], is_numbered: bool) -> LoggedRows:
    """Return values of a key that have these labels, with their positions on the axes, and their numbers from 1."""
    values, _, *axes = table
    absent = {axis: np.isnan(places) for axis, places in zip(_PLACES, axes, strict=True)}
    columns = {axis: places for axis, places in zip(_PLACES, axes, strict=True) if not absent[axis].all()}
    missing = {axis: absent[axis] for axis in columns if absent[axis].any()}
    if is_numbered:
        columns[NTH] = np.arange(1.0, len(values) + 1)
    return LoggedRows({key: values, **columns}, missing, fields=fields)


def _table(cells: array[float]) -> Floats:
    """Return an array with a row of values, of numbers of labels, of times, and a row per axis."""
    table: Floats = np.frombuffer(cells).reshape(-1, _WIDTH).T.copy()
    return table


def _check(log: _Log) -> None:
    """Raise Refusal if the log is contradictory or incomplete."""
    if not (log.fields or log.columns or log.stops):
        raise Refusal(Rule.UNREADABLE_LOG, "it has no readable MLPerf line (:::MLLOG, :::MLL, :::MLPv0.5.0)")
    for key in _MUST_AGREE:
        if key in log.changing:
            raise Refusal(Rule.FACTS_DISAGREE, f"{key} is logged with different values: the right one is unclear")
    if len(set(log.stops)) > 1:
        words = " and ".join(sorted(set(log.stops)))
        message = f"it has several run_stop lines, with {words}: the final status is unclear"
        raise Refusal(Rule.STATUS_UNDECIDED, message)


def _stop_word(line: LogLine) -> str:
    status = line.metadata.get("status")
    if status is None and isinstance(line.value, dict):
        status = line.value.get("status", line.value.get("success"))
    if isinstance(status, bool) or status in ("true", "false"):
        return "success" if status in (True, "true") else "aborted"
    return str(status)[:100] if status is not None else _WITHOUT_STATUS


def _value(value: object) -> float | None:
    """Return a number, or the number that a text represents; else None."""
    if isinstance(value, str):
        return real_number(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


class LogLine(NamedTuple):
    """A key and its value. time: Unix seconds, NaN if unknown. moment: these exactly, of run_start and run_stop."""

    key: str
    value: Any
    metadata: Mapping[str, Any]
    time: float
    moment: Decimal | None = None


def lines_of(data: bytes) -> Iterator[LogLine | None]:
    """Yield the MLPerf lines of a log, None for an unreadable one; text before a marker is ignored."""
    unmarked = len(_ENTRY.findall(data))
    for match in _MARKED_LINE.finditer(data):
        dialect, rest = match.groups()
        unmarked -= len(_ENTRY.findall(rest))
        if len(rest) > LONGEST_LINE:
            yield None
        elif dialect == b"MLLOG":
            yield _parse_mllog(rest)
        else:
            yield _parse_mll(rest, is_first=dialect != b"MLL")
    yield from repeat(None, unmarked)


def _parse_mllog(rest: bytes) -> LogLine | None:
    document = _entry(rest)
    if document is None or not isinstance(document.get("key"), str):
        return None
    time_ms = document.get("time_ms")
    if not isinstance(time_ms, (int, float)) or isinstance(time_ms, bool) or not abs(time_ms) <= LATEST:
        return LogLine(document["key"], document["value"], document["metadata"], math.nan)
    # The shortest text of a float is that of the log.
    moment = Decimal(repr(time_ms)) / 1000 if document["key"] in (_START, _STOP) else None
    return LogLine(document["key"], document["value"], document["metadata"], time_ms / 1000.0, moment)


def _parse_mll(rest: bytes, is_first: bool) -> LogLine | None:
    match = _OLD.match(rest)
    if match is None:
        return None
    benchmark, seconds, key, text = match.groups()
    time, text = real_number(seconds), (text or b"").strip()
    if time is None:
        return None
    is_exact = key in (b"run_start", b"run_stop") and len(seconds) <= _MOST_DIGITS
    moment = Decimal(seconds.decode()) if is_exact else None
    if is_first:
        return _first_dialect_line(key.decode(), read_json(text) if text else None, text, time)._replace(moment=moment)
    document = _entry(text)
    if document is None or benchmark is not None:
        return None
    return LogLine(key.decode(), document["value"], document["metadata"], time, moment)


def _first_dialect_line(key: str, document: Any, text: bytes | None, time: float) -> LogLine:
    """Parse a line of v0.5: the value stands alone, or with its `epoch` or `iteration`: `{"epoch": …, "value": …}`."""
    if isinstance(document, dict) and "value" in document:
        places = {"epoch_num": document.get("epoch"), "step_num": document.get("iteration")}
        metadata = {axis: place for axis, place in places.items() if place is not None}
        return LogLine(key, document["value"], metadata, time)
    if document is None and text:
        document = text.decode("utf-8", "replace").strip().strip('"')
    return LogLine(key, document, {}, time)


def _entry(text: bytes) -> dict[str, Any] | None:
    """Parse the JSON of an entry, which has a value, even null, and metadata; None for any other text."""
    document = read_json(text)
    is_entry = isinstance(document, dict) and "value" in document and isinstance(document.get("metadata"), dict)
    return document if is_entry else None


FORMAT = Mllog()

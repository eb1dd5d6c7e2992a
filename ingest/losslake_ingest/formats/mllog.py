"""MLPerf training results: `:::MLPv0.5.0`, `:::MLL` and `:::MLLOG` lines among whatever else a job printed.

Source: MLCommons, "MLPerf logging rules"; the three dialects as they occur in training_results_v0.5 to v5.1.
"""

from __future__ import annotations

import hashlib
import math
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from losslake_ingest.documents import read_json
from losslake_ingest.formats.format import Glimpse, defaults_of
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.report import Quarantined
from losslake_ingest.rules import Refusal, Rule
from losslake_ingest.run_log import LoggedGoal, LoggedRows, RunLog, Scalar
from losslake_ingest.sources.member import Member, Refused, Source
from losslake_schema.reached import Floats

LONGEST_LINE = 1 << 20
LATEST = 1e15
_MARKED_LINE = re.compile(rb":::(MLPv0\.5\.0|MLLOG|MLL)\b([^\r\n]*)")
# `:::MLL <seconds> <key>: {json}`, and `:::MLPv0.5.0 <benchmark> <seconds> (<file>:<line>) <key>[: <json>]`
_OLD = re.compile(rb"\s+(?:([\w-]+)\s+)?([0-9.]+)\s+(?:\([^)]*\)\s+)?([\w.\-]+)(?::\s*(.*))?$", re.DOTALL)
AXES = ("epoch_num", "samples_count", "step")
TIME = "time"
_PLACES = (TIME, *AXES)
MOST_EPOCHS = 10_000
MOST_COLUMNS = 1_000
LONGEST_FACT = 1_000
_MARKED = re.compile(rb':::(MLLOG\s*\{\s*"|MLL\s+[0-9]|MLPv0\.5\.0\s+\S+\s+[0-9])')
_RESULT = re.compile(r"result_[0-9]+\.txt")
_ENDINGS = (".txt", ".log", ".out")
_INTERVALS = ("_start", "_stop")
_TARGETS = ("target_accuracy", "quality_target", "target_quality", "eval_target")
_MUST_AGREE = ("global_batch_size", "submission_benchmark", *_TARGETS)
_PERSONAL = re.compile(r"(^|_)poc(_|$)|e_?mail|host|user", re.IGNORECASE)
_ADDRESS = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


class Mllog:
    """One run per file; a batch size per log, evaluations by epoch or by samples."""

    name = "mllog"
    reads = "MLPerf training logs (.txt, .log, .out) with lines :::MLLOG, :::MLL or :::MLPv0.5.0"
    needs = "collection, dataset, model, the metric that eval_accuracy is, examples in an epoch where epochs are logged"
    defaults = defaults_of("mllog")

    def detect(self, file: Glimpse) -> float:
        if file.name.endswith(_ENDINGS) and _MARKED.search(file.start):
            return 1.0
        return 0.6 if _RESULT.fullmatch(file.name) else 0.0

    def read(self, source: Source, mapping: LogMapping) -> Iterator[RunLog | Quarantined]:
        for member in source.members(lambda path: path.endswith(_ENDINGS)):
            if isinstance(member, Refused):
                yield Quarantined(source.name, member.path, member.rule, member.message)
            elif _MARKED.search(member.data) or _RESULT.fullmatch(member.path.rpartition("/")[2]):
                yield _run(member, source.name, mapping)


class _Log:
    """What the lines of one log say, as they come.

    columns: by key the values in the order logged, each followed by its time and its place on every axis (NaN where it
    has none).
    """

    def __init__(self) -> None:
        self.fields: dict[str, Scalar] = {}
        self.changing: set[str] = set()
        self.columns: dict[str, array[float]] = {}
        self.stops: list[str] = []
        self.started_at: float | None = None
        self.remarks: Counter[str] = Counter()
        self.private: set[str] = set()

    def add(self, line: LogLine) -> None:
        key = line.key
        if key.endswith(_INTERVALS) and key not in ("run_start", "run_stop"):
            return
        if key == "run_stop":
            self.stops.append(_stop_word(line))
        elif key == "run_start":
            self.started_at = self.started_at if self.started_at is not None else line.time
        elif (key.startswith("eval_") and any(axis in line.metadata for axis in AXES)) or key == "tracked_stats":
            self._measured(key, line.value, line)
        elif isinstance(line.value, (str, int, float, bool)):
            self._fact(key, line.value)

    def _measured(self, key: str, value: object, line: LogLine) -> None:
        if isinstance(value, dict):
            for name, inner in value.items():
                self._measured(f"{key}.{name}", inner, line)
        elif isinstance(value, list) and len(value) == 1:
            self._measured(key, value[0], line)
        elif value is not None:
            number = _value(value)
            if number is None or (key not in self.columns and len(self.columns) >= MOST_COLUMNS):
                self.remarks[f"value of {key} that is no number left out"] += 1
            else:
                entry = self.columns.setdefault(key, array("d")).append
                entry(number)
                entry(line.time)
                for axis in AXES:
                    place = _value(line.metadata[axis]) if axis in line.metadata else None
                    entry(math.nan if place is None else place)

    def _fact(self, key: str, value: Scalar) -> None:
        if _PERSONAL.search(key) or (isinstance(value, str) and _ADDRESS.search(value)):
            self.private.add("e-mail, names of people and machines")
        elif isinstance(value, str) and len(value) > LONGEST_FACT:
            self.remarks["long text left out"] += 1
        elif self.fields.setdefault(key, value) != value:
            self.changing.add(key)


def _run(member: Member, source: str, mapping: LogMapping) -> RunLog | Quarantined:
    log = _Log()
    sha256 = hashlib.sha256(member.data).hexdigest()
    for line in lines_of(member.data):
        if line is None:
            log.remarks["MLPerf line that can't be read passed over"] += 1
        else:
            log.add(line)
    try:
        _check(log, mapping)
    except Refusal as error:
        return Quarantined(source, member.path, error.rule, error.message, sha256=sha256)
    fields = {key: value for key, value in log.fields.items() if key not in log.changing}
    goals = [
        LoggedGoal("eval_accuracy", target, f"MLPerf log, {key}")
        for key in _TARGETS
        if (target := _value(fields.get(key))) is not None
    ]
    return RunLog(
        run=member.path,
        files={member.path: sha256},
        rows=[_rows(key, cells) for key, cells in log.columns.items()],
        fields=fields,
        parameters={key: value for key, value in fields.items() if key != "global_batch_size"},
        status=log.stops[0] if log.stops else "no run_stop",
        started_at=log.started_at,
        goals=goals,
        private=sorted(log.private),
        remarks=dict(log.remarks),
    )


def _rows(key: str, cells: array[float]) -> LoggedRows:
    """The values of a key, with their places on those axes that are logged with them."""
    values, *axes = _table(cells)
    absent = {axis: np.isnan(places) for axis, places in zip(_PLACES, axes, strict=True)}
    columns = {axis: places for axis, places in zip(_PLACES, axes, strict=True) if not absent[axis].all()}
    return LoggedRows({key: values, **columns}, {axis: absent[axis] for axis in columns if absent[axis].any()})


def _table(cells: array[float]) -> Floats:
    """A row each for the values, the times and every axis."""
    table: Floats = np.frombuffer(cells).reshape(-1, 1 + len(_PLACES)).T.copy()
    return table


def _check(log: _Log, mapping: LogMapping) -> None:
    """Raise Refusal where something of a log can't be decided."""
    if not (log.fields or log.columns or log.stops):
        message = "no MLPerf line (:::MLLOG, :::MLL, :::MLPv0.5.0) that can be read is in it"
        raise Refusal(Rule.UNREADABLE_LOG, message)
    changing = next((key for key in _MUST_AGREE if key in log.changing), None)
    if changing is not None:
        message = f"{changing} is logged with different values: which one holds can't be told"
        raise Refusal(Rule.FACTS_DISAGREE, message)
    if len(set(log.stops)) > 1:
        words = " and ".join(sorted(set(log.stops)))
        message = f"it has several run_stop, with {words}: how the run ended can't be told"
        raise Refusal(Rule.STATUS_UNDECIDED, message)
    # Some submitters log samples or steps as epoch_num; whoever maps them has to say so.
    if next((axis.counts for axis in mapping.axis if axis.column == "epoch_num"), "epochs") != "epochs":
        return
    for key, cells in log.columns.items():
        _, _, epochs, samples, _ = _table(cells)
        highest = float(np.nanmax(epochs[np.isnan(samples)], initial=0.0))
        if highest > MOST_EPOCHS:
            add = '[[axis]] column = "epoch_num", counts = "examples" (or "steps")'
            message = f"epoch_num of {key} reaches {highest:,.0f}: no epochs; add to the mapping: {add}"
            raise Refusal(Rule.STEP_UNKNOWN, message)


def _stop_word(line: LogLine) -> str:
    said = line.metadata.get("status")
    if said is None and isinstance(line.value, dict):
        said = line.value.get("status", line.value.get("success"))
    if isinstance(said, bool):
        return "success" if said else "aborted"
    return str(said)[:100] if said is not None else "run_stop without status"


def _value(value: object) -> float | None:
    """A number, or text that is one."""
    if type(value) is float:
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    if isinstance(value, str) and "_" in value:
        return None  # 1_000 is a number to Python alone
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


@dataclass(frozen=True)
class LogLine:
    """A key and what is logged with it; time: Unix seconds, NaN where none is given."""

    key: str
    value: Any
    metadata: Mapping[str, Any]
    time: float


def lines_of(data: bytes) -> Iterator[LogLine | None]:
    """The MLPerf lines of a log, None for one that can't be read; text before a marker is other output."""
    for match in _MARKED_LINE.finditer(data):
        dialect, rest = match.groups()
        if len(rest) > LONGEST_LINE:
            yield None
        elif dialect == b"MLLOG":
            yield _new(rest)
        else:
            yield _old(rest, is_first=dialect != b"MLL")


def _new(rest: bytes) -> LogLine | None:
    document = read_json(rest)
    if not isinstance(document, dict) or not isinstance(document.get("key"), str):
        return None
    time = _seconds(document.get("time_ms"))
    return LogLine(document["key"], document.get("value"), _object(document.get("metadata")), time)


def _seconds(milliseconds: object) -> float:
    if not isinstance(milliseconds, (int, float)) or abs(milliseconds) > LATEST:
        return math.nan
    return milliseconds / 1000.0


def _old(rest: bytes, is_first: bool) -> LogLine | None:
    match = _OLD.match(rest)
    if match is None:
        return None
    benchmark, seconds, key, text = match.groups()
    try:
        time = float(seconds)
    except ValueError:
        return None
    document = read_json(text.strip()) if text and text.strip() else None
    if is_first:
        return _first_line(key.decode(), document, text, time)
    if not isinstance(document, dict) or benchmark is not None:
        return None
    return LogLine(key.decode(), document.get("value"), _object(document.get("metadata")), time)


def _first_line(key: str, document: Any, text: bytes | None, time: float) -> LogLine:
    """The dialect of v0.5: the value stands alone, or as `{"epoch": …, "value": …}`."""
    if isinstance(document, dict) and "value" in document:
        metadata = {"epoch_num": document["epoch"]} if "epoch" in document else {}
        return LogLine(key, document["value"], metadata, time)
    if document is None and text:
        document = text.decode("utf-8", "replace").strip().strip('"')
    return LogLine(key, document, {}, time)


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


FORMAT = Mllog()

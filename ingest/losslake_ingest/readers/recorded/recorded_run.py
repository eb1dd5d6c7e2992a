"""A recorded run: its facts, the segments of its attempts, and how it ended."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from losslake.record.layout import STEP, SegmentName
from losslake.record.numbers import NUMBER_WORDS
from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Refusal, Rule
from losslake_ingest.contracts.run_log import LARGEST_CELLS, Damage, LoggedGoal, LoggedRows, RunLog, Scalar
from losslake_ingest.contracts.study import LARGEST_EXACT_INTEGER
from losslake_ingest.readers.recorded.attempts import counts_calls, current_rows, with_calls_as_axis
from losslake_ingest.readers.safe_parsing import printable, scalars
from losslake_ingest.readers.tables.json_table import read_json_lines
from losslake_ingest.readers.tables.runs import runs_of
from losslake_ingest.readers.tables.table import TableFile
from losslake_schema.batch_schedule import ATTRIBUTE, BatchSchedule
from losslake_schema.errors import LossLakeError
from losslake_schema.reached import comparator_named
from losslake_schema.registry import DIRECTIONS, Direction, metric_named

NO_END = "no end.json"
# The field with the batch sizes by step of a run; parameters of fetched runs have other names.
SCHEDULE = "recorded.batch_schedule"
KILLED = "the run was killed while it wrote its last line: left out"
REPLACED = "measurements that a later attempt replaces: left out"
REPEATED = "measurement written again for the same step: the last one counts"
ASSUMED = Damage(
    "rewind that the recorder assumed, as a step was below an earlier one of its metric",
    advice="record it again, with the number of updates so far as step, and run.rewind(step) where training went back",
)
LOST = Damage("a segment isn't as it was when the run ended")
MISSING = Damage("a segment is missing")
UNNAMED = Damage("a segment that the run's end doesn't name")
UNREAD = Damage("a segment can't be read: left out")
DROPPED = "measurements that weren't recorded"
_ADVICE = "they are lost, so this run stays so; docs/recording.md says how the next one is recorded completely"
_BAD_GOAL = "a goal of run.json that isn't a metric with a target: left out"
_UNMEASURED_GOAL = "a goal of a metric that isn't measured: left out"
_BAD_PARAMETER = "a parameter of run.json that isn't a number or a text: left out"
_MOST_GAPS = 20
_MOST_GOALS = 100


@dataclass
class RecordedRun:
    """A run of losslake.record, of which segments are added in any order.

    folder: of the run, with a slash at its end, or empty. files: SHA-256 by path. n_cells: of all segments.
    """

    folder: str
    sha256: str
    facts: Mapping[str, object]
    files: dict[str, str]
    end: Mapping[str, object] | None = None
    n_cells: int = 0
    segments: dict[tuple[int, int], Sequence[LoggedRows]] = field(default_factory=dict)
    empty: set[tuple[int, int]] = field(default_factory=set)  # segments without a whole line
    begins: dict[int, int | None] = field(default_factory=dict)  # the first step of each attempt
    remarks: Counter[str] = field(default_factory=Counter)
    unread: set[str] = field(default_factory=set)

    @property
    def has_segments(self) -> bool:
        """True if a segment was added."""
        return bool(self.segments or self.empty or self.unread)

    def set_end(self, document: Mapping[str, object], sha256: str, path: str) -> None:
        """Add end.json. Raises Refusal."""
        if not isinstance(document.get("status"), str) or not isinstance(document.get("segments"), dict):
            message = "it has no status and segments, as losslake.record writes them: copy the file again"
            raise Refusal(Rule.UNREADABLE_LOG, f"{message}; the run is INCOMPLETE without them")
        self.end = document
        self.files[path] = sha256

    def add(self, segment: SegmentName, path: str, data: bytes, source: str) -> int:
        """Add a segment; return the number of its cells. path: of its file in the source. Raises Refusal."""
        place = segment.attempt, segment.number
        digest = hashlib.sha256(data).hexdigest()
        if path in self.files:
            if self.files[path] != digest:
                self.unread.add(f"{path} twice")
            raise Refusal(Rule.DUPLICATE_FILE, "the archive holds it twice: the first one is used")
        if self.begins.get(segment.attempt, segment.from_step) != segment.from_step:
            self.unread.add(path)
            message = f"another folder holds attempt {segment.attempt} as well: remove the one that isn't the run's"
            raise Refusal(Rule.DUPLICATE_FILE, f"{message}; the first one is used")
        whole, newline, cut = data.rpartition(b"\n")
        self.remarks[KILLED] += bool(cut)
        if not newline:
            self.empty.add(place)
            self.files[path] = digest
            return 0
        try:
            (log,) = runs_of(read_json_lines(whole + newline), TableFile(source, path, digest), None)
            if isinstance(log, Quarantined):
                raise Refusal(Rule(log.rule), log.message, log.line)
        except Refusal:
            self.unread.add(path)
            raise
        self.files[path] = digest
        self.begins[segment.attempt] = segment.from_step
        self.segments[place] = log.rows
        self.remarks.update(log.remarks)
        n_cells = sum(len(column) for rows in log.rows for column in rows.columns.values())
        self.n_cells += n_cells
        return n_cells

    def log(self, metrics_with_axes: Sequence[str] = ()) -> RunLog:
        """Return the run as its log. Raises Refusal if it is too large, or its steps began again, or differ.

        metrics_with_axes: patterns of the metrics for which a mapping says what their step counts.
        """
        if self.n_cells > LARGEST_CELLS:
            most = f"at most {LARGEST_CELLS:,} are read: log less often"
            raise Refusal(Rule.FILE_TOO_LARGE, f"{self.n_cells:,} cells in all of its segments; {most}")
        self._check_steps()
        self._check_counters(metrics_with_axes)
        rows, n_replaced, n_repeated = current_rows(self.segments, self.begins)
        if counts_calls([each for of_segment in self.segments.values() for each in of_segment]):
            rows = with_calls_as_axis(rows)
        remarks = self.remarks + Counter({REPLACED: n_replaced, REPEATED: n_repeated}) + self._faults()
        stated = self.facts.get("parameters")
        parameters = _scalars(stated)
        remarks[_BAD_PARAMETER] += len(stated) - len(parameters) if isinstance(stated, dict) else 0
        fields = _scalars({name: value for name, value in self.facts.items() if name != "format"}) | self._schedule()
        return RunLog(
            self.folder.rstrip("/") or ".",
            dict(sorted(self.files.items())),
            rows,
            # A run that doesn't say what it is was fetched: its mapping finds that in its configuration.
            fields=fields if {"batch_size", SCHEDULE} & fields.keys() else {**parameters, **fields},
            parameters=parameters,
            status=printable(str(self.end["status"])) if self.end is not None else NO_END,
            started_at=_number(self.facts.get("started_at"), 0, 1e12),
            goals=list(self._goals(rows, remarks)),
            remarks=dict(+remarks),
            steps=_whole(self.facts.get("steps")),
            attributes=_attributes(self.facts.get("attributes")),
            directions=_directions(self.facts.get("directions")),
        )

    def _schedule(self) -> dict[str, Scalar]:
        """Return the batch sizes by step of a run that changes its own, as mappings state them. Raises Refusal."""
        pieces = self.facts.get(ATTRIBUTE)
        if pieces is None:
            return {}
        if self.facts.get("batch_size") is not None:
            raise Refusal(Rule.FACTS_DISAGREE, f"run.json has batch_size and {ATTRIBUTE}: leave one of them out")
        try:
            schedule = BatchSchedule.of_json(json.dumps(pieces))
        except ValueError as error:
            raise Refusal(Rule.BAD_FACT, f"{ATTRIBUTE} of run.json can't be read: {error}") from None
        return {SCHEDULE: " ".join(f"{start}:{size}" for start, size in schedule.pieces)}

    def _check_steps(self) -> None:
        """Raise Refusal if the recorder assumed a rewind to where the run began: steps of each epoch go back so."""
        end = self.end or {}
        if not _count(end.get("assumed_rewinds")) or end.get("began_again") == 0:
            return
        lowest = math.inf
        for (attempt, _), rows in sorted(self.segments.items()):
            begin = self.begins[attempt]
            if begin is not None and begin <= lowest < math.inf:
                what = f"step goes back to {begin:,}, where the run began, and run.rewind() wasn't called"
                advice = "log the number of updates so far as step, in all epochs, and record it again"
                raise Refusal(Rule.STEP_DOUBTFUL, f"{what}: {advice} (docs/recording.md)")
            steps = [each.columns[STEP][each.known(STEP)] for each in rows if STEP in each.columns]
            lowest = min([lowest, *(float(each.min()) for each in steps if len(each))])

    def _check_counters(self, metrics_with_axes: Sequence[str]) -> None:
        """Raise Refusal if the recorder found metrics whose step counts something else than that of the others."""
        others = (self.end or {}).get("other_counters")
        names = [name for name in others if isinstance(name, str)] if isinstance(others, list) else []
        unclear = [name for name in names if not any(fnmatchcase(name, each) for each in metrics_with_axes)]
        if unclear:
            shown = printable(unclear[0][:200])
            what = f"the step of {shown} rises by one where that of other metrics rises by more: it may count epochs"
            axis = f'[[axis]] with column = "step", metrics = ["{shown}"] and counts = "epochs"'
            advice = f"log the number of updates so far as step, and record it again; or add {axis} to a mapping"
            raise Refusal(Rule.STEP_DOUBTFUL, f"{what}: {advice} (docs/recording.md)")

    def _faults(self) -> Counter[str]:
        """Count what isn't as the end of the run names it, and what the recorder says is missing."""
        faults: Counter[str] = Counter({UNREAD: len(self.unread)})
        numbers: dict[int, set[int]] = {}
        for attempt, number in self.segments.keys() | self.empty:
            numbers.setdefault(attempt, set()).add(number)
        faults[MISSING] = sum(max(each) - len(each) for each in numbers.values()) if not self.unread else 0
        if self.end is None:
            return faults
        named = self.end["segments"]
        assert isinstance(named, dict)
        faults[MISSING] = 0
        stored = {path.removeprefix(self.folder) for path in self.files if path.endswith(".jsonl")}
        for name, digest in named.items():
            path = f"{self.folder}{name}"
            if name not in stored:
                faults[MISSING] += path not in self.unread
            elif not isinstance(digest, dict) or digest.get("sha256") != self.files[path]:
                faults[LOST] += 1
        faults[UNNAMED] = len(stored - named.keys())
        faults[ASSUMED] = _count(self.end.get("assumed_rewinds"))
        faults.update(self._gaps(self.end))
        faults.update(_left_out(self.end))
        return faults

    def _gaps(self, end: Mapping[str, object]) -> Mapping[str, int]:
        """Return the numbers of measurements that the recorder dropped, by a remark that says at which steps."""
        gaps: Counter[str] = Counter()
        rows = end.get("gaps")
        for row in rows[:_MOST_GAPS] if isinstance(rows, list) else ():
            if isinstance(row, dict) and _count(row.get("n")):
                first, last = row.get("first_step"), row.get("last_step")
                steps = f", steps {first:,} to {last:,}" if type(first) is int and type(last) is int else ""
                reason = printable(str(row.get("reason", "")))[:200]
                gaps[Damage(f"{DROPPED} ({reason}{steps})", advice=_ADVICE)] += _count(row.get("n"))
        rest = _count(end.get("n_dropped")) - sum(gaps.values())
        if rest > 0:
            gaps[Damage(DROPPED, advice=_ADVICE)] = rest
        return gaps

    def _goals(self, rows: Sequence[LoggedRows], remarks: Counter[str]) -> Iterator[LoggedGoal]:
        """Yield the goals of the run that a column is measured for."""
        stated = self.facts.get("goals")
        measured = {name for each in rows for name in each.columns}
        for goal in map(_goal, stated[:_MOST_GOALS] if isinstance(stated, list) else ()):
            if goal is None:
                remarks[_BAD_GOAL] += 1
            elif goal.column not in measured:
                remarks[_UNMEASURED_GOAL] += 1
            else:
                yield goal


def _left_out(end: Mapping[str, object]) -> Mapping[str, int]:
    """Return the numbers of values that are no measurements, by a remark that names them: the run is complete."""
    left_out: Counter[str] = Counter()
    rows = end.get("left_out")
    for row in rows[:_MOST_GAPS] if isinstance(rows, list) else ():
        if isinstance(row, dict) and _count(row.get("n")):
            name, kind = (printable(str(row.get(key, "")))[:200] for key in ("name", "kind"))
            left_out[f"value of {name} that is no number ({kind}): left out by the recorder"] += _count(row.get("n"))
    return left_out


def _goal(goal: object) -> LoggedGoal | None:
    """Return a goal of run.json; None if it isn't one."""
    if not isinstance(goal, dict):
        return None
    metric, source = goal.get("metric"), goal.get("source", "losslake.record")
    target = _number(goal.get("target"), -1e300, 1e300)
    if not (isinstance(metric, str) and isinstance(source, str)) or target is None:
        return None
    try:
        metric_named(metric)
    except LossLakeError:
        return None
    comparator = comparator_named(goal.get("comparator"))
    return None if comparator is None else LoggedGoal(metric, target, printable(source[:1000]), comparator)


def _scalars(document: object) -> dict[str, Scalar]:
    """Return the numbers and texts of an object; NaN and infinities are texts there."""
    stated = scalars(document.items()) if isinstance(document, dict) else {}
    return {name: NUMBER_WORDS.get(value, value) if isinstance(value, str) else value for name, value in stated.items()}


def _whole(value: object) -> int | None:
    """Return an integer from 0 to 2^53; None for anything else."""
    is_whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_EXACT_INTEGER
    return value if is_whole else None  # type: ignore[return-value]


def _attributes(document: object) -> dict[str, object]:
    """Return the attributes of an object, which are stored as JSON; texts as they can be printed."""
    if not isinstance(document, dict):
        return {}
    return {printable(name): value for name, value in document.items()} | _scalars(document)


def _directions(document: object) -> dict[str, Direction]:
    """Return the directions of metrics that an object states."""
    stated = document.items() if isinstance(document, dict) else ()
    return {str(name): direction for name, value in stated for direction in DIRECTIONS if value == direction}


def _number(value: object, lowest: float, highest: float) -> float | None:
    """Return a number of JSON if it lies between these; else None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not lowest <= value <= highest:
        return None
    return float(value)


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**53 else 0

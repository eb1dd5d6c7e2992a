"""Hugging Face Trainer: the `trainer_state.json` of a run and of its checkpoints.

Every checkpoint repeats the history of its run so far: `<run>/checkpoint-500/trainer_state.json`,
`<run>/checkpoint-1000/…`, and `<run>/trainer_state.json` at the end. The longest history is the run's.
Source: transformers, `Trainer._save_checkpoint` in src/transformers/trainer.py.

One `trainer_state.json`: its history as columns, and what it says of the run.

Source: transformers, `TrainerState` in src/transformers/trainer_callback.py and `Trainer.log` in trainer.py.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from losslake_ingest.formats.format import Glimpse, defaults_of
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.report import Quarantined
from losslake_ingest.rules import Rule
from losslake_ingest.run_log import LoggedRows, RunLog, Scalar
from losslake_ingest.sources.member import Member, Refused, Source, UntilBreak
from losslake_schema.reached import Flags, Floats

LARGEST_STATE = 64 * 2**20
LARGEST_TABLE = 2**25
_FIELDS = (
    "best_global_step",
    "best_metric",
    "epoch",
    "eval_steps",
    "global_step",
    "logging_steps",
    "max_steps",
    "num_input_tokens_seen",
    "num_train_epochs",
    "save_steps",
    "total_flos",
    "train_batch_size",
    "trial_name",
)
_NOT_A_NUMBER = "value that is no number left out"
_NOT_AN_ENTRY = "entry of log_history that is no object left out"
# From the finalizer of SplitMix64 (Steele et al. 2014).
_MIXERS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_NUMBERS = {int, float, type(None)}


class BadState(Exception):
    """A trainer_state.json that can't be used, with the reason; line counts from 1."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class State:
    """A run as one of its trainer_state.json tells it.

    entries: a number per entry of the history; only equal entries have equal numbers, chance aside.
    """

    path: str
    sha256: str
    rows: LoggedRows
    entries: npt.NDArray[np.uint64]
    global_step: int
    is_finished: bool
    fields: Mapping[str, Scalar]
    parameters: Mapping[str, Scalar]
    private: Sequence[str]
    remarks: Mapping[str, int] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Bytes in memory, about."""
        columns = sum(9 * len(column) for column in self.rows.columns.values())
        return columns + self.entries.nbytes + 4096

    def begins(self, other: State) -> bool:
        """Whether this history is how the other one begins."""
        return np.array_equal(self.entries, other.entries[: len(self.entries)])


def parse_state(path: str, data: bytes) -> State:
    """The state in a file; raises BadState."""
    try:
        return _state(path, data, _document(data))
    except RecursionError:
        raise BadState("the JSON is nested too deeply: it is no trainer state") from None


def _document(data: bytes) -> dict[str, Any]:
    try:
        document = orjson.loads(data)
    except ValueError:
        document = _tolerant(data)
    if not isinstance(document, dict) or not isinstance(document.get("log_history"), list):
        raise BadState("the JSON has no list `log_history`: it is no trainer state, or is not whole")
    return document


def _tolerant(data: bytes) -> object:
    """The JSON as Python writes it, which has NaN and Infinity."""
    try:
        return json.loads(data)
    except json.JSONDecodeError as error:
        message = f"the JSON is damaged or cut short ({error.msg}): copy the file again, or remove it"
        raise BadState(message, error.lineno) from None
    except ValueError as error:
        raise BadState(f"the JSON can't be read ({error}): copy the file again, or remove it") from None


def _state(path: str, data: bytes, document: dict[str, Any]) -> State:
    remarks: Counter[str] = Counter()
    history = document["log_history"]
    entries = [entry for entry in history if isinstance(entry, dict)]
    remarks[_NOT_AN_ENTRY] += len(history) - len(entries)
    names = list(dict.fromkeys(chain.from_iterable(entries)))
    if len(names) * len(entries) > LARGEST_TABLE:
        raise BadState(f"{len(entries):,} entries with {len(names):,} names are more than LossLake reads of one run")
    columns, missing = {}, {}
    for name in names:
        column, absent = _column([entry.get(name) for entry in entries], remarks)
        columns[_printable(name)] = column
        if absent is not None:
            missing[_printable(name)] = absent
    global_step, max_steps = _count(document.get("global_step")), _count(document.get("max_steps"))
    return State(
        path=path,
        sha256=hashlib.sha256(data).hexdigest(),
        rows=LoggedRows(columns, missing),
        entries=_fingerprints(columns, missing, len(entries)),
        global_step=global_step,
        is_finished=global_step >= max_steps > 0 or "train_runtime" in columns,
        fields=_fields(document),
        parameters=_parameters(document.get("trial_params")),
        private=["paths of the machine"] if document.get("best_model_checkpoint") else [],
        remarks={sentence: count for sentence, count in remarks.items() if count},
    )


def _column(values: list[Any], remarks: Counter[str]) -> tuple[Floats, Flags | None]:
    """The values as float64, and which of them are missing."""
    kinds = set(map(type, values))
    if not kinds <= _NUMBERS:
        remarks[_NOT_A_NUMBER] += sum(type(value) not in _NUMBERS for value in values)
        values = [value if type(value) in _NUMBERS else None for value in values]
    try:
        column = np.array(values, np.float64)
    except OverflowError:
        column = np.array([_widened(value) for value in values], np.float64)
    if kinds <= {int, float}:
        return column, None
    return column, np.fromiter((value is None for value in values), np.bool_, len(values))


def _fingerprints(columns: Mapping[str, Floats], missing: Mapping[str, Flags], length: int) -> npt.NDArray[np.uint64]:
    """A number per row that its cells and their columns decide, whatever other columns there are."""
    total = np.zeros(length, np.uint64)
    for name, column in columns.items():
        mixed = column.view(np.uint64) ^ np.uint64(zlib.crc32(name.encode()) << 20)
        for factor in _MIXERS:
            mixed = (mixed ^ (mixed >> np.uint64(31))) * factor
        absent = missing.get(name)
        total += mixed if absent is None else np.where(absent, np.uint64(0), mixed)
    return total


def _widened(value: float | None) -> float | None:
    """The nearest float64 of a number of any length."""
    try:
        return None if value is None else float(value)
    except OverflowError:
        return float("inf") if value is not None and value > 0 else float("-inf")


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _fields(document: Mapping[str, Any]) -> dict[str, Scalar]:
    fields = _scalars({name: document.get(name) for name in _FIELDS})
    # The batch of one process's data loader: `per_device_train_batch_size` times the GPUs that the process drives
    # itself, one as a rule. Processes and gradient accumulation, which make the global batch, are not in the file.
    if "train_batch_size" in fields:
        fields["per_device_train_batch_size"] = fields["train_batch_size"]
    return fields


def _parameters(trial: object) -> dict[str, Scalar]:
    """The metaparameters that a hyperparameter search chose."""
    return _scalars(trial) if isinstance(trial, dict) else {}


def _scalars(values: Mapping[str, object]) -> dict[str, Scalar]:
    scalars = {_printable(name): value for name, value in values.items() if isinstance(value, Scalar)}
    return {name: _printable(value) if isinstance(value, str) else value for name, value in scalars.items()}


def _printable(text: str) -> str:
    """The text, with half of a surrogate pair, which JSON can escape and UTF-8 can't hold, spelled out."""
    return text.encode("utf-8", "backslashreplace").decode()


LARGEST_PENDING = 64 * 2**20
_FILE = "trainer_state.json"
_CHECKPOINT = re.compile(r"checkpoint-\d+")
_SHORTER = "shorter history of the same run passed over"
_DIFFERENT = "shorter history of the same run is not how the longest begins: the run was restarted differently"


class HuggingFaceTrainer:
    """Runs of the Hugging Face Trainer."""

    name = "hf_trainer"
    reads = "trainer_state.json of the Hugging Face Trainer and its checkpoints"
    needs = "collection, dataset, model, optimizer, and batch_size: the file knows the batch of one process only"
    defaults = defaults_of("hf_trainer")

    def detect(self, file: Glimpse) -> float:
        """How surely this is a trainer state."""
        if b'"log_history"' in file.start and file.start.lstrip().startswith(b"{"):
            return 0.95
        return 0.5 if file.name == _FILE else 0.0

    def read(self, source: Source, mapping: LogMapping) -> Iterator[RunLog | Quarantined]:
        """One run per folder that holds a trainer_state.json or checkpoints with one."""
        return _Reader(source).read()


class _Reader:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._pending: dict[str, list[State]] = {}
        self._size = 0
        self._handed_on: set[str] = set()

    def read(self) -> Iterator[RunLog | Quarantined]:
        members = UntilBreak(self._source.members(lambda path: path.rpartition("/")[2] == _FILE))
        for member in members:
            refusal = self._take(member)
            if refusal:
                yield refusal
            if self._size > LARGEST_PENDING:
                yield from self._hand_on(f"{_run_of(member.path)}/")
        yield from self._hand_on()
        members.tell()

    def _take(self, member: Member | Refused) -> Quarantined | None:
        """Keep a file's state until its run is whole."""
        if isinstance(member, Refused):
            return self._quarantined(member.path, member.rule, member.message)
        run = _run_of(member.path)
        if run in self._handed_on:
            message = "it lies apart from its run's other files, which are read already: sort the archive by path"
            return self._quarantined(member.path, Rule.DUPLICATE_FILE, message)
        if len(member.data) > LARGEST_STATE:
            message = f"{len(member.data):,} bytes; at most {LARGEST_STATE:,} are read of a {_FILE}"
            return self._quarantined(member.path, Rule.FILE_TOO_LARGE, message)
        try:
            state = parse_state(member.path, member.data)
        except BadState as error:
            return self._quarantined(member.path, Rule.UNREADABLE_LOG, str(error), error.line)
        self._pending.setdefault(run, []).append(state)
        self._size += state.size
        return None

    def _hand_on(self, current: str | None = None) -> Iterator[RunLog | Quarantined]:
        """The runs that are pending, in order of path; not those that the current path may still belong to."""
        for run in sorted(self._pending):
            if current is not None and (run == "." or current.startswith(f"{run}/")):
                continue
            states = self._pending.pop(run)
            self._handed_on.add(run)
            self._size -= sum(state.size for state in states)
            yield self._told(run, states)

    def _told(self, run: str, states: list[State]) -> RunLog | Quarantined:
        best = min(states, key=_preference)
        if not best.rows.columns:
            return self._quarantined(best.path, Rule.NO_MEASUREMENTS, "log_history is empty: nothing was logged")
        remarks = Counter(best.remarks)
        for state in states:
            if state is not best:
                remarks[_SHORTER] += 1
                if not state.begins(best):
                    remarks[_DIFFERENT] += 1
        return RunLog(
            run=run,
            files={state.path: state.sha256 for state in sorted(states, key=lambda state: state.path)},
            rows=[best.rows],
            fields=best.fields,
            parameters=best.parameters,
            status="finished" if best.is_finished else "stopped",
            private=best.private,
            remarks=dict(remarks),
        )

    def _quarantined(self, path: str, rule: Rule, message: str, line: int | None = None) -> Quarantined:
        return Quarantined(self._source.name, path, rule, message, line)


def _run_of(path: str) -> str:
    """The folder that holds a run's checkpoints."""
    folder = path.rpartition("/")[0]
    above, _, last = folder.rpartition("/")
    return (above if _CHECKPOINT.fullmatch(last) else folder) or "."


def _preference(state: State) -> tuple[int, int, bool, str]:
    """The longest history comes first, then the one that got furthest, then the one of no checkpoint."""
    folder = state.path.rpartition("/")[0].rpartition("/")[2]
    return -len(state.entries), -state.global_step, bool(_CHECKPOINT.fullmatch(folder)), state.path


FORMAT = HuggingFaceTrainer()

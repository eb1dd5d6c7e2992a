"""Logs of Hugging Face Trainer: the `trainer_state.json` of a run and of its checkpoints.

Every checkpoint repeats the history of its run so far: `<run>/checkpoint-500/trainer_state.json`,
`<run>/checkpoint-1000/…`, and `<run>/trainer_state.json` at the end. The longest history is used.
Source: transformers, `Trainer._save_checkpoint` and `Trainer.log` in src/transformers/trainer.py, `TrainerState` in
trainer_callback.py.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Refusal, Rule
from losslake_ingest.contracts.run_log import Damage, LoggedRows, RunLog, Scalar, check_size
from losslake_ingest.formats.format import BundledFormat, Glimpse, read_all_files
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.readers.safe_parsing import number_column, printable, read_document, scalars
from losslake_ingest.sources.member import Member, Source
from losslake_schema.reached import Flags, Floats

LARGEST_STATE = 64 * 2**20
LARGEST_PENDING = 64 * 2**20
_FILE = "trainer_state.json"
_CHECKPOINT = re.compile(r"checkpoint-\d+")
_FIELDS = (
    "best_global_step", "best_metric", "epoch", "eval_steps", "global_step", "logging_steps", "max_steps",
    "num_input_tokens_seen", "num_train_epochs", "save_steps", "total_flos", "train_batch_size", "trial_name",
)  # fmt: skip
_NUMBERS = {int, float, type(None)}
_SHORTER = "shorter history of the same run: skipped"
_DIFFERENT = "shorter history of the same run isn't a prefix of the longest: the run was restarted differently"


class HuggingFaceTrainer(BundledFormat):
    """The format of the Hugging Face Trainer."""

    name = "hf_trainer"

    def detect(self, file: Glimpse) -> float:
        """Recognize a trainer state by its `log_history`, or else by its name."""
        if b'"log_history"' in file.start and file.start.lstrip().startswith(b"{"):
            return 0.95
        return 0.5 if file.name == _FILE else 0.0

    def read(self, source: Source, mapping: LogMapping) -> Iterator[RunLog | Quarantined]:
        """Yield one run per folder with a trainer_state.json or with checkpoints that have one."""
        return _Reader(source).read()


class _Reader:
    """Collects the states of each run until the run is complete."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._pending: dict[str, list[_State]] = {}
        self._size = 0
        self._finished: set[str] = set()

    def read(self) -> Iterator[RunLog | Quarantined]:
        """Yield the runs of the source."""
        return read_all_files(self._source, lambda path: path.rpartition("/")[2] == _FILE, self._add, self._flush)

    def _add(self, member: Member) -> Iterator[RunLog | Quarantined]:
        """Collect the state of a file; yield runs when too much memory is held. Raises Refusal."""
        run = _run_of(member.path)
        if run in self._finished:
            message = "its run's other files come much earlier in the archive: sort the archive by path"
            raise Refusal(Rule.DUPLICATE_FILE, message)
        if len(member.data) > LARGEST_STATE:
            message = f"{len(member.data):,} bytes; at most {LARGEST_STATE:,} are read from a {_FILE}"
            raise Refusal(Rule.FILE_TOO_LARGE, message)
        state = _parse_state(member.path, member.data)
        self._pending.setdefault(run, []).append(state)
        self._size += state.size
        if self._size > LARGEST_PENDING:
            yield from self._flush(f"{run}/")

    def _flush(self, current: str | None = None) -> Iterator[RunLog | Quarantined]:
        """Yield the pending runs in order of path, except those that `current` may belong to."""
        for run in sorted(self._pending):
            if current is not None and (run == "." or current.startswith(f"{run}/")):
                continue
            states = self._pending.pop(run)
            self._finished.add(run)
            self._size -= sum(state.size for state in states)
            yield self._log(run, states)

    def _log(self, run: str, states: list[_State]) -> RunLog | Quarantined:
        best = min(states, key=_preference)
        if not best.rows.columns:
            message = "log_history is empty: nothing was logged"
            return Quarantined(self._source.name, best.log.run, Rule.NO_MEASUREMENTS, message)
        others = [state for state in states if state is not best]
        remarks = Counter({_SHORTER: len(others), _DIFFERENT: sum(not state.is_prefix_of(best) for state in others)})
        files = {state.log.run: state.log.files[state.log.run] for state in states}
        return replace(
            best.log, run=run, files=dict(sorted(files.items())), remarks=dict(remarks + Counter(best.log.remarks))
        )


class _State(NamedTuple):
    """The state of a run in one trainer_state.json: its log, by the path of the file, and its length."""

    log: RunLog
    length: int
    global_step: int

    @property
    def rows(self) -> LoggedRows:
        """The history."""
        return self.log.rows[0]

    @property
    def size(self) -> int:
        """The approximate size in memory, in bytes."""
        return sum(9 * len(column) for column in self.rows.columns.values()) + 4096

    def is_prefix_of(self, other: _State) -> bool:
        """Return True if this history is a prefix of the other one, which is at least as long."""
        for name in self.rows.columns.keys() | other.rows.columns.keys():
            cells, missing = _cells(self.rows, name, self.length)
            others, others_missing = _cells(other.rows, name, self.length)
            if not (np.array_equal(missing, others_missing) and np.array_equal(cells, others, equal_nan=True)):
                return False
        return True


def _cells(rows: LoggedRows, name: str, length: int) -> tuple[Floats, Flags]:
    """Return the first cells of a column, 0 where missing, and flags of missing cells."""
    if name not in rows.columns:
        return np.zeros(length), np.ones(length, np.bool_)
    missing = rows.missing.get(name, np.zeros(length, np.bool_))[:length]
    return np.where(missing, 0.0, rows.columns[name][:length]), missing


def _parse_state(path: str, data: bytes) -> _State:
    """Parse a trainer state. Raises Refusal."""
    document = read_document(data)
    if not isinstance(document, dict) or not isinstance(document.get("log_history"), list):
        message = "the JSON has no list `log_history`: it isn't a trainer state, or is incomplete"
        raise Refusal(Rule.UNREADABLE_LOG, message)
    remarks: Counter[str] = Counter()
    history = document["log_history"]
    entries = [entry for entry in history if isinstance(entry, dict)]
    remarks[Damage("entry of log_history that isn't an object: left out")] += len(history) - len(entries)
    names = list(dict.fromkeys(chain.from_iterable(entries)))
    check_size(len(entries), len(names))
    columns = {printable(name): _column([entry.get(name) for entry in entries], remarks) for name in names}
    global_step, max_steps = _count(document.get("global_step")), _count(document.get("max_steps"))
    trial = document.get("trial_params")
    is_finished = global_step >= max_steps > 0 or "train_runtime" in columns
    log = RunLog(
        path,
        {path: hashlib.sha256(data).hexdigest()},
        [LoggedRows.of(columns)],
        _fields(document),
        parameters=scalars(trial.items()) if isinstance(trial, dict) else {},
        status="finished" if is_finished else "stopped",
        private=["paths of the machine"] if document.get("best_model_checkpoint") else [],
        remarks=remarks,
    )
    return _State(log, len(entries), global_step)


def _column(values: list[Any], remarks: Counter[str]) -> tuple[Floats, Flags | None]:
    """Convert the values to float64, with flags of missing ones."""
    kinds = set(map(type, values))
    if not kinds <= _NUMBERS:
        remarks[Damage("value that isn't a number: left out")] += sum(type(value) not in _NUMBERS for value in values)
        values = [value if type(value) in _NUMBERS else None for value in values]
    return number_column(values, not kinds <= {int, float})


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _fields(document: Mapping[str, Any]) -> dict[str, Scalar]:
    fields = scalars((name, document.get(name)) for name in _FIELDS)
    # The batch of one process's data loader: `per_device_train_batch_size` times the GPUs of the process, usually
    # one. The number of processes and gradient accumulation, which make the global batch, are not in the file.
    if "train_batch_size" in fields:
        fields["per_device_train_batch_size"] = fields["train_batch_size"]
    return fields


def _run_of(path: str) -> str:
    """Return the folder of a run's checkpoints."""
    folder = path.rpartition("/")[0]
    above, _, last = folder.rpartition("/")
    return (above if _CHECKPOINT.fullmatch(last) else folder) or "."


def _preference(state: _State) -> tuple[int, int, bool, str]:
    """Return a sort key: longest history first, then furthest step, then files outside checkpoints."""
    folder = state.log.run.rpartition("/")[0].rpartition("/")[2]
    return -state.length, -state.global_step, bool(_CHECKPOINT.fullmatch(folder)), state.log.run


FORMAT = HuggingFaceTrainer()

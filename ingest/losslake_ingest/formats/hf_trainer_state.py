"""One `trainer_state.json`: its history as columns, and what it says of the run.

Source: transformers, `TrainerState` in src/transformers/trainer_callback.py and `Trainer.log` in trainer.py.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from losslake_ingest.run_log import LoggedRows, Scalar
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

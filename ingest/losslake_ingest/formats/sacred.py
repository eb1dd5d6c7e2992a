"""Runs of Sacred's FileStorageObserver: `metrics.json`, and `run.json` and `config.json` beside it.

Source: sacred, `FileStorageObserver.log_metrics` in observers/file_storage.py; times are UTC without a zone. NumPy's
numbers may be objects of jsonpickle, which are read as data.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Refusal, Rule, shown
from losslake_ingest.contracts.run_log import LoggedRows, RunLog, Scalar, TextCell, check_size
from losslake_ingest.formats.format import BundledFormat, Glimpse, read_files
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.readers.safe_parsing import printable, read_document, unix_seconds
from losslake_ingest.readers.side_files import LARGEST_SIDE_FILE, fields_in
from losslake_ingest.readers.tables.json_table import list_column
from losslake_ingest.sources.member import Member, Source, UntilBreak
from losslake_schema.reached import Flags, Floats

STEP, TIME = "step", "timestamp"
_FILE, _BESIDE = "metrics.json", ("run.json", "config.json")
_START = re.compile(rb'\s*\{\s*"[^"\n]{1,400}"\s*:\s*\{\s*"(?:name|steps|timestamps|values)"\s*:\s*["\[]')
_EXPERIMENT = "experiment.name"

# The SHA-256 and the values of the files beside a metrics.json, by path.
Beside = Mapping[str, tuple[str, Mapping[str, Scalar]]]


class Sacred(BundledFormat):
    """The format of Sacred: one run per folder with a metrics.json."""

    name = "sacred"

    def detect(self, file: Glimpse) -> float:
        """Recognize a metrics.json by its first metric."""
        return 0.95 if file.name == _FILE and _START.match(file.start) else 0.0

    def read(self, source: Source, mapping: LogMapping) -> Iterator[RunLog | Quarantined]:
        """Yield one run per metrics.json."""
        beside: dict[str, tuple[str, Mapping[str, Scalar]]] = {}
        for member in UntilBreak(source.members(lambda path: _name(path) in _BESIDE, LARGEST_SIDE_FILE + 1)):
            try:
                if isinstance(member, Member):
                    if not member.data.lstrip().startswith(b"{"):
                        raise ValueError("it isn't a JSON object")
                    sha256 = hashlib.sha256(member.data).hexdigest()
                    beside[member.path] = sha256, fields_in(member.data, member.path)
            except ValueError as error:
                message = f"{' '.join(str(error).split())[:200]}: correct it, or copy it again"
                yield Quarantined(source.name, member.path, Rule.UNREADABLE_SIDE_FILE, message)
        yield from read_files(
            source, lambda path: _name(path) == _FILE, lambda member: [_run(member, beside)], once=True
        )


def _run(member: Member, beside: Beside) -> RunLog:
    """Return the run of a metrics.json. Raises Refusal."""
    document = read_document(member.data)
    if not isinstance(document, dict):
        message = "the JSON isn't an object with a key for each metric: Sacred didn't write it"
        raise Refusal(Rule.UNREADABLE_LOG, message)
    rows = [_rows(printable(name), series) for name, series in document.items()]
    check_size(sum(len(each.columns[STEP]) for each in rows), 3)
    paths = [member.path.removesuffix(_FILE) + name for name in _BESIDE]
    state, config = (dict(beside[path][1]) if path in beside else {} for path in paths)
    experiment = {"experiment": state[_EXPERIMENT]} if _EXPERIMENT in state else {}
    return RunLog(
        member.path,
        {member.path: hashlib.sha256(member.data).hexdigest()} | {p: beside[p][0] for p in paths if p in beside},
        rows,
        fields={**experiment, **config},
        parameters=config,
        status=str(state.get("status", "no status in run.json")),
        started_at=unix_seconds(state.get("start_time")),
    )


def _rows(name: str, series: Any) -> LoggedRows:
    """Return the rows of a metric. Raises Refusal."""
    keys = ("steps", "values", "timestamps")
    lists = [series[key] for key in keys if isinstance(series.get(key), list)] if isinstance(series, dict) else []
    if len(lists) < len(keys) or len(set(map(len, lists))) > 1:
        message = f"{shown(name)} doesn't have lists of steps, values and timestamps of equal length"
        raise Refusal(Rule.UNREADABLE_LOG, f"{message}: copy the file again")
    steps, values, times = lists
    columns: dict[str, tuple[Floats, Flags | None]] = {TIME: (np.array([*map(unix_seconds, times)], np.float64), None)}
    texts: dict[str, TextCell] = {}
    for column, cells in ((name, [_number(value) for value in values]), (STEP, steps)):
        numbers, text = list_column(cells)
        columns[column] = numbers or (np.full(len(cells), np.nan), np.ones(len(cells), np.bool_))
        if text is not None:
            texts[column] = TextCell(text, None)
    return replace(LoggedRows.of(columns), texts=texts)


def _number(value: object) -> object:
    """Return the number in what jsonpickle writes of a NumPy scalar; any other value as it is."""
    if isinstance(value, dict) and str(value.get("py/object", "")).startswith("numpy"):
        return value.get("value", value)
    return value


def _name(path: str) -> str:
    return path.rpartition("/")[2]


FORMAT = Sacred()

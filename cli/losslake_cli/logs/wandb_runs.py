"""The runs of a Weights & Biases project as recorded runs, read by the public API of the library wandb.

Each run becomes the folder ENTITY/PROJECT/ID, in the layout of `losslake.record`. Its lines have the columns of the
history. Metrics that `define_metric` gives a step metric are in segments of their own, with that column and without
W&B's `_step`, so that nothing can place them by a count of calls. A run is moved to its place when it is complete.
Source: https://docs.wandb.ai/ref/python/public-api (Api, Run).
"""

from __future__ import annotations

import fnmatch
import math
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from losslake.extras import how_to_install
from losslake.record.gaps import NOT_A_NUMBER, Gaps
from losslake.record.layout import ELAPSED, END, STEP, document_bytes, segment_bytes
from losslake.record.numbers import json_number
from losslake.record.spool import Spool, facts_of
from losslake_cli.console import printable
from losslake_ingest.contracts.rules import Refusal
from losslake_ingest.contracts.run_log import Damage, LoggedRows
from losslake_ingest.formats.format import defaults_of
from losslake_ingest.mapping.mapping import parse_mapping
from losslake_ingest.readers import private
from losslake_ingest.readers.private import without_words
from losslake_ingest.readers.recorded.folder import LARGEST_DOCUMENT
from losslake_ingest.readers.safe_parsing import unix_seconds
from losslake_ingest.readers.wandb_files.config import Config
from losslake_ingest.readers.wandb_files.history import HistoryTable
from losslake_ingest.readers.wandb_files.step_metrics import RUNTIME, rows_by_axis
from losslake_schema.errors import LossLakeError
from losslake_schema.reached import Flags, Floats
from losslake_schema.statuses import COMPLETE, INCOMPLETE

PREFIX = "wandb:"
KNOWN_AXES = {"_step", "trainer/global_step", "train/global_step"}  # those in the defaults of the format record
_ADDRESS = re.compile(r"wandb:([^/\\#?%:\s][^/\\#?%:]{0,127})/([^/\\#?%:\s][^/\\#?%:]{0,127})")
_INTERNAL = ("_wandb", "wandb_version")
# Columns that have the recorder's names are given others: whether such a step counts updates isn't known.
_RENAMED = {RUNTIME: ELAPSED, STEP: f"logged/{STEP}", ELAPSED: f"logged/{ELAPSED}"}
_NO_TIME = json_number(math.nan)
_MOST_TAGS = 100
_LONGEST_TEXT = 1000
_LONGEST_FILE_NAME = 200
_ROWS_OF_BATCH = 1000
_FEWER_ROWS = "a row of the history that W&B counts, and didn't send"
_UNREAD = "wandb can't read {what} ({why}): run the same command again, which goes on with the runs that are missing"


@dataclass(frozen=True)
class Project:
    """A project of W&B."""

    entity: str
    project: str

    @staticmethod
    def parse(address: str) -> Project:
        """Return the project of an address, wandb:ENTITY/PROJECT. Raises LossLakeError."""
        match = _ADDRESS.fullmatch(address)
        if match is None:
            raise LossLakeError(f"'{address}' isn't a project of W&B: give wandb:ENTITY/PROJECT, as in its URL")
        return Project(*match.groups())

    @property
    def path(self) -> str:
        """The project as W&B writes it."""
        return f"{self.entity}/{self.project}"

    def folder(self, within: Path) -> Path:
        """Return the folder of the project's runs."""
        return within / _file_name(self.entity) / _file_name(self.project)


@dataclass
class FetchedRuns:
    """The outcome of a fetch.

    unchanged: runs that were there already. empty: those without a number in their history. left_out: why others
    couldn't be fetched, by run. remarks: on histories and configs, with their counts. private: kinds of data that were
    dropped. axes: the number of runs with each axis.
    """

    fetched: int = 0
    unchanged: int = 0
    empty: int = 0
    left_out: dict[str, str] = field(default_factory=dict)
    remarks: Counter[str] = field(default_factory=Counter)
    private: set[str] = field(default_factory=set)
    axes: Counter[str] = field(default_factory=Counter)


def fetch_runs(
    project: Project,
    within: Path,
    licence: str,
    pattern: str = "*",
    limit: int | None = None,
    note: Callable[[str], None] | None = None,
) -> FetchedRuns:
    """Write the runs of a project below a folder, except those that are there as they are now.

    pattern: of the runs' names or identifiers, with `*` for any text. limit: of the runs that are looked at, oldest
    first. note: is called with a line before each run. A run that can't be read or written is left out. Raises
    LossLakeError if the project can't be read, or wandb isn't installed.
    """
    result = FetchedRuns()
    folder, staging = project.folder(within), within.resolve().with_name(f"{within.resolve().name}.partial")
    for run in islice(_listed(project, pattern), limit):
        name = _text(run.id)
        try:
            place = folder / _file_name(name)
            if _is_current(place, run):
                result.unchanged += 1
                continue
            if note is not None:
                note(f"{project.path}/{name}")
            read = _read(run, project, licence, result)
            if not read.parts:
                result.empty += 1
                continue
            _write(read, staging, place)
        except (LossLakeError, Refusal) as error:
            result.left_out[name] = str(error)
        except OSError as error:
            result.left_out[name] = f"{place} can't be written ({error.strerror})"
        else:
            result.fetched += 1
    shutil.rmtree(staging, ignore_errors=True)
    return result


def _listed(project: Project, pattern: str) -> Iterator[Any]:
    """Yield the runs of a project whose name or identifier fits a pattern. Raises LossLakeError."""
    try:
        import wandb
    except ModuleNotFoundError:
        raise LossLakeError(how_to_install(f"losslake fetch {PREFIX}…", "wandb")) from None
    with _answering(f"the project {project.path}"):
        runs = iter(wandb.Api().runs(project.path))
    with _scratch_folder():
        while True:
            with _answering(f"the list of runs of {project.path}"):
                run = next(runs, None)
                if run is None:
                    return
                is_wanted = any(fnmatch.fnmatchcase(_text(each), pattern) for each in (run.id, run.name))
            if is_wanted:
                yield run


@contextmanager
def _scratch_folder() -> Iterator[None]:
    """Give the library a folder that is removed afterwards: it makes one for each run, else in that of all programs."""
    if "WANDB_DIR" in os.environ:
        yield
        return
    with TemporaryDirectory(prefix="losslake-wandb-") as scratch:
        os.environ["WANDB_DIR"] = scratch
        try:
            yield
        finally:
            del os.environ["WANDB_DIR"]


@contextmanager
def _answering(what: str) -> Iterator[None]:
    """Turn whatever the library raises, for answers of any kind, into a LossLakeError of one line."""
    try:
        yield
    except (LossLakeError, Refusal):
        raise
    except Exception as error:  # noqa: BLE001 - wandb raises what its parsers and its server raise
        why = printable(next(iter(str(error).splitlines()), "") or type(error).__name__)[:300]
        raise LossLakeError(_UNREAD.format(what=printable(what), why=why)) from None


@dataclass(frozen=True)
class _Run:
    """A run as it is written. parts: rows with the column that is their axis. gaps: values that weren't numbers."""

    facts: Mapping[str, Any]
    status: str
    parts: Sequence[tuple[str, LoggedRows]]
    gaps: Gaps


def _read(run: Any, project: Project, licence: str, result: FetchedRuns) -> _Run:
    """Return a run with its whole history. Raises LossLakeError and Refusal."""
    what = f"the run {project.path}/{_text(run.id)}"
    remarks: Counter[str] = Counter()
    kinds: set[str] = set()
    with _answering(what):
        run.load_full_data(force=True)
        raw, table = run.rawconfig, HistoryTable(kinds, remarks)
        facts = _facts(run, project, licence, Config(kinds, remarks))
        n_rows, last = 0, -1
        history = (row for row in run.scan_history(use_cache=False))  # iter() of the library's object starts again
        while batch := list(islice(history, _ROWS_OF_BATCH)):
            n_rows, last = n_rows + len(batch), batch[-1].get("_step", last)
            table.add(batch)
        stated, n_stated = run.lastHistoryStep, run.history_line_count
    if last < stated:
        raise LossLakeError(f"its history came up to _step {last:,} of {stated:,}: run the same command again")
    remarks[_FEWER_ROWS] += max(0, n_stated - n_rows)
    size = len(document_bytes(facts))
    if size > LARGEST_DOCUMENT:
        raise LossLakeError(f"its config and summary have {size:,} bytes; at most {LARGEST_DOCUMENT:,} are read")
    internal = raw.get("_wandb") if isinstance(raw, dict) else None
    parts = list(rows_by_axis(table.rows(), internal.get("m") if isinstance(internal, dict) else None, remarks))
    gaps = Gaps()
    for remark, count in (+remarks).items():
        if isinstance(remark, Damage):
            gaps.add(NOT_A_NUMBER, count)
    result.remarks += remarks
    result.private |= kinds
    result.axes.update(dict.fromkeys({axis for axis, _ in parts}, 1))
    return _Run(facts, _status(_text(run.state)), parts, gaps)


def _facts(run: Any, project: Project, licence: str, config: Config) -> dict[str, Any]:
    """Return what run.json says of a run. Names of people and machines are removed from its texts."""
    raw = run.rawconfig if isinstance(run.rawconfig, dict) else {}
    for key, value in raw.items():
        if key not in _INTERNAL:
            config.set(key, value)
    summary, totals = Config(), run.summary_metrics
    for key, value in totals.items() if isinstance(totals, dict) else ():
        if not key.startswith("_"):
            summary.set(key, value)
    words = _words(run, raw.get("_wandb"))
    parameters, kinds = without_words(config.fields, words)
    names, more = without_words(
        {
            name: _text(value)
            for name, value in {
                "run_name": run.name,
                "run_group": run.group,
                "job_type": run.job_type,
                "sweep_id": run.sweep_name,
            }.items()
            if value
        },
        words,
    )
    config.private |= kinds | more
    numbers = {name: value for name, value in summary.fields.items() if not isinstance(value, str)}
    tags = [_text(tag) for tag in (run.tags if isinstance(run.tags, list) else [])[:_MOST_TAGS]]
    attributes = {
        **names,
        "run_path": f"{project.path}/{_text(run.id)}",
        "source_url": _text(run.url),
        "state": _text(run.state),
        "tags": tags,
        "summary": _plain(numbers),
    }
    return {
        "collection": f"wandb/{project.path}",
        "licence": licence,
        "started_at": unix_seconds(run.created_at),
        "project": project.project,
        "run_id": _text(run.id),
        **names,
        "wandb": _version(run),
        "parameters": _plain(parameters),
        "attributes": {name: value for name, value in attributes.items() if value},
    }


def _words(run: Any, internal: object) -> dict[str, str]:
    """Return the names of the run's user and machines, with what kind of name each is."""
    username = getattr(getattr(run, "user", None), "username", None)
    words = {_text(username): private.USER} if username else {}
    sessions = internal.get("e") if isinstance(internal, dict) else None
    for session in list(sessions.values())[:_MOST_TAGS] if isinstance(sessions, dict) else ():
        host = session.get("host") if isinstance(session, dict) else None
        if isinstance(host, str):
            words[_text(host)] = private.HOST
    return words


def _plain(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: json_number(value) if isinstance(value, float) else value for name, value in fields.items()}


def _write(run: _Run, staging: Path, place: Path) -> None:
    """Write a run beside the folder of all runs, and move it to its place when it is complete. Raises OSError."""
    shutil.rmtree(staging, ignore_errors=True)
    spool = Spool(staging, run.facts)
    spool.begin_attempt(None)
    for axis, rows in run.parts:
        for text in _lines(axis, rows):
            spool.append(text)
        spool.close()  # the next axis has a segment of its own
    segments, _ = spool.digests()
    status = INCOMPLETE if run.gaps.count and run.status == COMPLETE else run.status
    end = {"status": status, "ended_at": None, "n_dropped": run.gaps.count, "segments": segments}
    spool.end(end | ({"gaps": run.gaps.rows()} if run.gaps.count else {}))
    place.parent.mkdir(parents=True, exist_ok=True)
    former = staging.with_name(f"{staging.name}.former")
    if place.exists():
        place.rename(former)
    staging.rename(place)
    shutil.rmtree(former, ignore_errors=True)


def _lines(axis: str, rows: LoggedRows) -> Iterator[bytes]:
    """Yield the rows as lines, some at a time: the time, by which a segment is recognized, and the axis first."""
    names = dict.fromkeys([*(name for name in (axis,) if name in rows.columns), *rows.columns])
    columns = [(_RENAMED.get(name, name), _cells(rows.columns[name], rows.known(name))) for name in names]
    times = dict(columns).get(ELAPSED, [])
    n_rows = len(columns[0][1])
    for start in range(0, n_rows, _ROWS_OF_BATCH):
        yield segment_bytes(
            {ELAPSED: _NO_TIME if not times or times[row] is None else times[row]}
            | {name: cells[row] for name, cells in columns if cells[row] is not None}
            for row in range(start, min(start + _ROWS_OF_BATCH, n_rows))
        )


def _cells(values: Floats, known: Flags) -> list[float | str | None]:
    return [json_number(value) if is_known else None for value, is_known in zip(values.tolist(), known, strict=True)]


def _is_current(place: Path, run: Any) -> bool:
    """Return True if the run in a folder is complete, and W&B has had no news of it since."""
    if not (place / END).is_file():
        return False
    try:
        return facts_of(place).get("wandb") == _version(run)
    except ValueError:
        return False


def _version(run: Any) -> dict[str, str]:
    """Return what changes while a run goes on."""
    return {"state": _text(run.state), "heartbeat_at": _text(getattr(run, "heartbeat_at", None))}


def _status(state: str) -> str:
    """Return the status of a state of W&B, as the format of its own files has it."""
    words = parse_mapping(defaults_of("wandb").encode(), "defaults of wandb").status
    return words.get(state, INCOMPLETE)


def _text(value: object) -> str:
    """Return a name that the server gives as it can be printed and stored."""
    return printable(str(value if value is not None else ""))[:_LONGEST_TEXT]


def _file_name(name: str) -> str:
    """Return a name as that of a file, a different one for each name. Raises LossLakeError if it is none."""
    quoted = quote(name, safe="")
    if not quoted.strip(".") or len(quoted) > _LONGEST_FILE_NAME:
        raise LossLakeError(f"the name {printable(name)[:80]!r} can't be that of a folder")
    return quoted

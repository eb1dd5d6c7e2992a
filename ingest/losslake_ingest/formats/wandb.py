"""Logs of Weights & Biases: panel exports (CSV), histories (JSON lines, Parquet), offline runs (`.wandb`).

wandb-metadata.json is never read: it names people, machines and code. Each kind of file has its own module, which
states its source.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence, Sized
from dataclasses import dataclass, field

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Refusal, Rule
from losslake_ingest.contracts.run_log import LoggedRows, RunLog
from losslake_ingest.formats.format import GLIMPSE, BundledFormat, Glimpse, read_all_files
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.readers.wandb_files.config import LARGEST_CONFIG, Config, read_config_yaml
from losslake_ingest.readers.wandb_files.history import History, read_json_lines, read_parquet
from losslake_ingest.readers.wandb_files.offline import OfflineRun
from losslake_ingest.readers.wandb_files.panels import Panel, panel_confidence, panel_runs, read_panel
from losslake_ingest.readers.wandb_files.records import HEADER
from losslake_ingest.sources.member import Member, Source

_CONFIG = "config.yaml"
_EVENTS = "wandb-events.jsonl"
LARGEST_PENDING = 1 << 27
_PER_FILE = 8000


class Wandb(BundledFormat):
    """The format of Weights & Biases."""

    name = "wandb"

    def detect(self, file: Glimpse) -> float:
        """Recognize a file with a run. config.yaml doesn't count, since it only accompanies one."""
        if file.name.endswith(".wandb"):
            return 1.0 if file.start.startswith(HEADER) else 0.0
        if file.name.endswith(".csv"):
            return panel_confidence(file.start, len(file.start) < GLIMPSE)
        if file.name.endswith(".jsonl") and file.name != _EVENTS:
            return _history_confidence(file)
        if file.name.endswith(".parquet") and file.start.startswith(b"PAR1"):
            # The column names are at the end of the file, which detection doesn't see.
            return 0.5 if "wandb" in file.path.lower() or "history" in file.path.lower() else 0.3
        return 0.0

    def read(self, source: Source, mapping: LogMapping) -> Iterator[RunLog | Quarantined]:
        """Yield the runs of a source in order of their paths."""
        return _Reader(source).read()


def _history_confidence(file: Glimpse) -> float:
    line, end, _ = file.start.partition(b"\n")
    if not line.lstrip().startswith(b"{"):
        return 0.0
    if b'"_step"' in line:
        return 0.95
    return 0.9 if not end and file.name == "wandb-history.jsonl" else 0.0


@dataclass
class _Folder:
    """The files of a folder: its panels, its histories with their path and SHA-256, and its config.yaml.

    size: in memory, in bytes.
    """

    panels: list[Panel] = field(default_factory=list)
    histories: list[tuple[str, str, History]] = field(default_factory=list)
    config: Member | None = None
    size: int = 0


class _Reader:
    """Collects panels, histories and configurations by folder."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._seen: set[str] = set()
        self._folders: dict[str, _Folder] = {}
        self._runs: list[RunLog] = []
        self._finished: set[str] = set()

    def read(self) -> Iterator[RunLog | Quarantined]:
        """Yield the runs of the source."""
        return read_all_files(self._source, _is_wanted, self._add, self._flush)

    def _flush(self, except_for: str | None = None) -> Iterator[RunLog | Quarantined]:
        """Yield the runs of all folders but one."""
        for folder in [folder for folder in self._folders if folder != except_for]:
            files = self._folders.pop(folder)
            self._runs += panel_runs(folder, files.panels)
            yield from self._finish(files)
            self._finished.add(folder)
        runs, self._runs = self._runs, []
        yield from sorted(runs, key=lambda run: run.run)

    def _add(self, member: Member) -> Iterator[RunLog | Quarantined]:
        """Add a file; yield the runs of other folders when too much memory is held. Raises Refusal."""
        folder = member.path.rpartition("/")[0]
        if folder in self._finished:
            message = "other files of its folder came long before it: sort the archive by path"
            raise Refusal(Rule.UNREADABLE_LOG, message)
        files = self._folders.setdefault(folder, _Folder())
        if files.size > LARGEST_PENDING:
            message = f"the files of its folder have more than {LARGEST_PENDING:,} bytes of numbers: split the folder"
            raise Refusal(Rule.FILE_TOO_LARGE, message)
        files.size += _PER_FILE
        self._read(member, files)
        del member
        if sum(each.size for each in self._folders.values()) > LARGEST_PENDING:
            yield from self._flush(folder)

    def _read(self, member: Member, files: _Folder) -> None:
        """Add a file to the runs of its folder; skip what isn't a W&B log. Raises Refusal."""
        path, data = member
        if path in self._seen:
            raise Refusal(Rule.DUPLICATE_FILE, "the source holds it twice: the first one is used")
        self._seen.add(path)
        name = path.rpartition("/")[2]
        if name == _CONFIG:
            files.config = Member(path, data[: LARGEST_CONFIG + 1])
            files.size += len(files.config.data)
            return
        if not data:
            raise Refusal(Rule.EMPTY_FILE, "the file is empty")
        sha256 = hashlib.sha256(data).hexdigest()
        if name.endswith(".csv"):
            _add_panel(files, read_panel(path, sha256, data))
        elif name.endswith(".wandb"):
            if not data.startswith(HEADER):
                why = "it doesn't begin with `:W&B` as .wandb files do: it is damaged, or of an unknown version"
                raise Refusal(Rule.UNREADABLE_LOG, why)
            run = OfflineRun(data).run_log(path, sha256)
            _check_any(run.rows)
            files.size += _size(run.rows)
            self._runs.append(run)
        else:
            history = read_parquet(data) if name.endswith(".parquet") else read_json_lines(data)
            if history is None:
                if _history_confidence(Glimpse(path, data[:GLIMPSE])):
                    raise Refusal(Rule.UNREADABLE_LOG, "it has no column _step: it is cut short, or damaged")
            else:
                _check_any(history.rows)
                files.size += _size(history.rows)
                files.histories.append((path, sha256, history))

    def _finish(self, files: _Folder) -> Iterator[Quarantined]:
        """Add the runs of a folder's histories. A config.yaml is used only if there is exactly one history."""
        config, digests, beside = Config(), {}, files.config
        if beside is not None and len(files.histories) > 1:
            config.remarks["config.yaml is beside more than one history: left out"] += 1
        elif beside is not None:
            try:
                config = read_config_yaml(beside.data)
                digests = {beside.path: hashlib.sha256(beside.data).hexdigest()}
            except ValueError as error:
                message = f"{error}: its run is read without it"
                yield Quarantined(self._source.name, beside.path, Rule.UNREADABLE_LOG, message)
        for path, sha256, history in files.histories:
            private, remarks = sorted(history.private | config.private), dict(history.remarks + config.remarks)
            fields, hashes = config.fields, {path: sha256, **digests}
            self._runs.append(RunLog(path, hashes, history.rows, fields, fields, private=private, remarks=remarks))


def _add_panel(files: _Folder, panel: Panel | None) -> None:
    if panel is None:
        return
    if panel.curves:
        files.size += sum(place.nbytes + y.nbytes for place, y in panel.curves.values()) + panel.x.nbytes
        files.panels.append(panel)
    duplicates = panel.header.duplicates
    if duplicates:
        why = f"{len(duplicates)} names belong to more than one column, such as {duplicates[0][:100]!r}: left out"
        raise Refusal(Rule.BAD_HEADER, f"{why}; give the runs different names and export again", 1)
    _check_any(panel.curves)


def _size(pieces: Sequence[LoggedRows]) -> int:
    """Return the approximate size of rows in memory, in bytes."""
    return sum(9 * len(column) + 512 for rows in pieces for column in rows.columns.values())


def _check_any(measurements: Sized) -> None:
    if not measurements:
        raise Refusal(Rule.NO_MEASUREMENTS, "it contains no numbers, so there is nothing to store")


def _is_wanted(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name == _CONFIG or (name.endswith((".wandb", ".csv", ".jsonl", ".parquet")) and name != _EVENTS)


FORMAT = Wandb()

"""Logs of Weights & Biases: panel exports (CSV), histories (JSON lines, Parquet), offline runs (`.wandb`).

wandb-metadata.json is never read: it names people, machines and code. Each kind of file has its own module, which
states its source.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence, Sized

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Refusal, Rule
from losslake_ingest.contracts.run_log import LoggedRows, RunLog
from losslake_ingest.formats.format import GLIMPSE, Glimpse, defaults_of, read_all_files
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


class Wandb:
    """The format of Weights & Biases."""

    name = "wandb"
    reads = "Weights & Biases: CSV exports of line panels, histories (*.jsonl, *.parquet), offline runs (*.wandb)"
    needs = "collection, dataset, model, optimizer and batch_size, often in the config, the run's name or the path"
    defaults = defaults_of("wandb")

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


class _Reader:
    """Collects panels, histories and configurations by folder."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._seen: set[str] = set()
        self._panels: dict[str, list[Panel]] = {}
        self._histories: dict[str, list[tuple[str, str, History]]] = {}
        self._configs: dict[str, Member] = {}
        self._runs: list[RunLog] = []
        self._sizes: Counter[str] = Counter()  # by folder, in bytes
        self._finished: set[str] = set()

    def read(self) -> Iterator[RunLog | Quarantined]:
        """Yield the runs of the source."""
        return read_all_files(self._source, _is_wanted, self._add, self._flush)

    def _flush(self, except_for: str | None = None) -> Iterator[RunLog | Quarantined]:
        """Yield the runs of all folders but one."""
        for folder in [folder for folder in self._sizes if folder != except_for]:
            self._runs += panel_runs(folder, self._panels.pop(folder, []))
            yield from self._finish(folder, self._histories.pop(folder, []))
            self._finished.add(folder)
            del self._sizes[folder]
        runs, self._runs = self._runs, []
        yield from sorted(runs, key=lambda run: run.run)

    def _add(self, member: Member) -> Iterator[RunLog | Quarantined]:
        """Add a file; yield the runs of other folders when too much memory is held. Raises Refusal."""
        folder = member.path.rpartition("/")[0]
        if folder in self._finished:
            message = "other files of its folder came long before it: sort the archive by path"
            raise Refusal(Rule.UNREADABLE_LOG, message)
        if self._sizes[folder] > LARGEST_PENDING:
            message = f"the files of its folder have more than {LARGEST_PENDING:,} bytes of numbers: split the folder"
            raise Refusal(Rule.FILE_TOO_LARGE, message)
        self._sizes[folder] += _PER_FILE
        self._read(member)
        del member
        if sum(self._sizes.values()) > LARGEST_PENDING:
            yield from self._flush(folder)

    def _read(self, member: Member) -> None:
        """Add a file to the runs of its folder; skip what isn't a W&B log. Raises Refusal."""
        path, data = member
        if path in self._seen:
            raise Refusal(Rule.DUPLICATE_FILE, "the source holds it twice: the first one is used")
        self._seen.add(path)
        folder, _, name = path.rpartition("/")
        if name == _CONFIG:
            self._configs[folder] = Member(path, data[: LARGEST_CONFIG + 1])
            self._sizes[folder] += len(self._configs[folder].data)
            return
        if not data:
            raise Refusal(Rule.EMPTY_FILE, "the file is empty")
        sha256 = hashlib.sha256(data).hexdigest()
        if name.endswith(".csv"):
            self._add_panel(folder, read_panel(path, sha256, data))
        elif name.endswith(".wandb"):
            self._add_offline(path, sha256, data)
        else:
            history = read_parquet(data) if name.endswith(".parquet") else read_json_lines(data)
            if history is None:
                if _history_confidence(Glimpse(path, data[:GLIMPSE])):
                    raise Refusal(Rule.UNREADABLE_LOG, "it has no column _step: it is cut short, or damaged")
            else:
                _check_any(history.rows)
                self._sizes[folder] += _size(history.rows)
                self._histories.setdefault(folder, []).append((path, sha256, history))

    def _add_panel(self, folder: str, panel: Panel | None) -> None:
        if panel is None:
            return
        if panel.curves:
            self._sizes[folder] += sum(place.nbytes + y.nbytes for place, y in panel.curves.values()) + panel.x.nbytes
            self._panels.setdefault(folder, []).append(panel)
        duplicates = panel.header.duplicates
        if duplicates:
            why = f"{len(duplicates)} names belong to more than one column, such as {duplicates[0][:100]!r}: left out"
            raise Refusal(Rule.BAD_HEADER, f"{why}; give the runs different names and export again", 1)
        _check_any(panel.curves)

    def _add_offline(self, path: str, sha256: str, data: bytes) -> None:
        if not data.startswith(HEADER):
            why = "it doesn't begin with `:W&B` as .wandb files do: it is damaged, or of an unknown version"
            raise Refusal(Rule.UNREADABLE_LOG, why)
        run = OfflineRun(data).run_log(path, sha256)
        _check_any(run.rows)
        self._sizes[path.rpartition("/")[0]] += _size(run.rows)
        self._runs.append(run)

    def _finish(self, folder: str, histories: list[tuple[str, str, History]]) -> Iterator[Quarantined]:
        """Add the runs of a folder's histories. A config.yaml is used only if there is exactly one history."""
        config, digests = Config(), {}
        beside = self._configs.get(folder)
        if beside is not None and len(histories) > 1:
            config.remarks["config.yaml is beside more than one history: left out"] += 1
        elif beside is not None:
            try:
                config = read_config_yaml(beside.data)
                digests = {beside.path: hashlib.sha256(beside.data).hexdigest()}
            except ValueError as error:
                message = f"{error}: its run is read without it"
                yield Quarantined(self._source.name, beside.path, Rule.UNREADABLE_LOG, message)
        for path, sha256, history in histories:
            private, remarks = sorted(history.private | config.private), dict(history.remarks + config.remarks)
            files, fields = {path: sha256, **digests}, config.fields
            self._runs.append(RunLog(path, files, history.rows, fields, fields, private=private, remarks=remarks))


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

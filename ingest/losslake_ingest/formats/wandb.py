"""What people have of their runs in Weights & Biases: panel exports (CSV), histories (JSON lines, Parquet), `.wandb`.

wandb-metadata.json is never read: it names people, machines and code. Each kind of file has a module of its own, which
names its source.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence, Sized

from losslake_ingest.formats.format import GLIMPSE, Glimpse, defaults_of, read_files
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.report import Quarantined
from losslake_ingest.rules import Refusal, Rule
from losslake_ingest.run_log import RunLog
from losslake_ingest.sources.member import Member, Source, UntilBreak
from losslake_ingest.wandb_files.config import Config, read_config_yaml
from losslake_ingest.wandb_files.history import History, read_json_lines, read_parquet
from losslake_ingest.wandb_files.offline import OfflineRun
from losslake_ingest.wandb_files.panels import Panel, how_surely_a_panel, panel_runs, read_panel
from losslake_ingest.wandb_files.records import HEADER

_CONFIG = "config.yaml"
_EVENTS = "wandb-events.jsonl"
_PARQUET = b"PAR1"
_ENDS = (".wandb", ".csv", ".jsonl", ".parquet")


class Wandb:
    """Reads Weights & Biases."""

    name = "wandb"
    reads = "Weights & Biases: CSV exports of line panels, histories (*.jsonl, *.parquet), offline runs (*.wandb)"
    needs = "collection, dataset, model, optimizer and batch_size, often in the config, the run's name or the path"
    defaults = defaults_of("wandb")

    def detect(self, file: Glimpse) -> float:
        """How surely a run is read from this file; config.yaml counts for nothing, since it only lies beside one."""
        if file.name.endswith(".wandb"):
            return 1.0 if file.start.startswith(HEADER) else 0.0
        if file.name.endswith(".csv"):
            return how_surely_a_panel(file.start, len(file.start) < GLIMPSE)
        if file.name.endswith(".jsonl") and file.name != _EVENTS:
            return _how_surely_a_history(file)
        if file.name.endswith(".parquet") and file.start.startswith(_PARQUET):
            # What the columns are stands at the end of the file, out of sight.
            return 0.5 if "wandb" in file.path.lower() or "history" in file.path.lower() else 0.3
        return 0.0

    def read(self, source: Source, mapping: LogMapping) -> Iterator[RunLog | Quarantined]:
        """The runs of a source, in order of their paths."""
        return _Reader(source).read()


def _how_surely_a_history(file: Glimpse) -> float:
    line, end, _ = file.start.partition(b"\n")
    if not line.lstrip().startswith(b"{"):
        return 0.0
    if b'"_step"' in line:
        return 0.95
    return 0.9 if not end and file.name == "wandb-history.jsonl" else 0.0


class _Reader:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._seen: set[str] = set()
        self._panels: dict[str, list[Panel]] = {}
        self._histories: dict[str, list[tuple[str, str, History]]] = {}
        self._configs: dict[str, Member] = {}
        self._runs: list[RunLog] = []

    def read(self) -> Iterator[RunLog | Quarantined]:
        whole = UntilBreak(read_files(self._source, _is_wanted, self._add))
        yield from whole
        for folder, panels in self._panels.items():
            self._runs += panel_runs(folder, panels)
        for folder, histories in self._histories.items():
            yield from self._finish(folder, histories)
        yield from sorted(self._runs, key=lambda run: run.run)
        whole.tell()

    def _add(self, member: Member) -> Sequence[RunLog]:
        """Read a file into the runs of its folder; what is no log of W&B's is passed over. Raises Refusal."""
        path, data = member
        if path in self._seen:
            raise Refusal(Rule.DUPLICATE_FILE, "it is there twice: the first one counts")
        self._seen.add(path)
        folder, _, name = path.rpartition("/")
        if name == _CONFIG:
            self._configs[folder] = member
            return ()
        if not data:
            raise Refusal(Rule.EMPTY_FILE, "the file is empty")
        sha256 = hashlib.sha256(data).hexdigest()
        if name.endswith(".csv"):
            self._add_panel(folder, read_panel(path, sha256, data))
        elif name.endswith(".wandb"):
            self._add_offline(path, sha256, data)
        else:
            history = read_parquet(data) if name.endswith(".parquet") else read_json_lines(data)
            if history is not None:
                _check_any(history.rows)
                self._histories.setdefault(folder, []).append((path, sha256, history))
        return ()

    def _add_panel(self, folder: str, panel: Panel | None) -> None:
        if panel is None:
            return
        if panel.curves:
            self._panels.setdefault(folder, []).append(panel)
        twice = panel.header.twice
        if twice:
            why = (
                f"{len(twice)} names stand on more than one column, such as {twice[0][:100]!r}: these were left out;"
                " give the runs different names and export again"
            )
            raise Refusal(Rule.BAD_HEADER, why, 1)
        _check_any(panel.curves)

    def _add_offline(self, path: str, sha256: str, data: bytes) -> None:
        if not data.startswith(HEADER):
            why = "it doesn't begin as a .wandb file does (`:W&B`): it is damaged, or of an unknown version"
            raise Refusal(Rule.UNREADABLE_LOG, why)
        run = OfflineRun(data).run_log(path, sha256)
        _check_any(run.rows)
        self._runs.append(run)

    def _finish(self, folder: str, histories: list[tuple[str, str, History]]) -> Iterator[Quarantined]:
        """Make runs of a folder's histories; a config.yaml belongs to a history only where there is one."""
        config, digests = Config(), {}
        beside = self._configs.get(folder)
        if beside is not None and len(histories) > 1:
            config.remarks["config.yaml lies beside more than one history: it was left out"] += 1
        elif beside is not None:
            try:
                config = read_config_yaml(beside.data)
                digests = {beside.path: hashlib.sha256(beside.data).hexdigest()}
            except ValueError as error:
                message = f"{error}: its run is read without it"
                yield Quarantined(self._source.name, beside.path, Rule.UNREADABLE_LOG, message)
        for path, sha256, history in histories:
            self._runs.append(
                RunLog(
                    path,
                    {path: sha256, **digests},
                    history.rows,
                    config.fields,
                    config.fields,
                    private=sorted(history.private | config.private),
                    remarks=dict(history.remarks + config.remarks),
                )
            )


def _check_any(measurements: Sized) -> None:
    if not measurements:
        raise Refusal(Rule.NO_MEASUREMENTS, "it logs no numbers: there is nothing to store")


def _is_wanted(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name == _CONFIG or (name.endswith(_ENDS) and name != _EVENTS)


FORMAT = Wandb()

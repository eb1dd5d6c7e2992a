"""What people have of their runs in Weights & Biases: panel exports (CSV), histories (JSON lines, Parquet), `.wandb`.

wandb-metadata.json is never read: it names people, machines and code. Each kind of file has a module of its own, which
names its source.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from losslake_ingest.formats.format import GLIMPSE, Glimpse, defaults_of
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.report import Quarantined
from losslake_ingest.rules import Rule
from losslake_ingest.run_log import RunLog
from losslake_ingest.sources.member import Member, Refused, Source, UntilBreak
from losslake_ingest.wandb_files.config import BadConfig, Config, read_config_yaml
from losslake_ingest.wandb_files.history import History, NoHistory, Unreadable, read_json_lines, read_parquet
from losslake_ingest.wandb_files.offline import HEADER, OfflineRun
from losslake_ingest.wandb_files.panels import BadPanel, NoPanel, PanelFile, how_surely_a_panel, panel_runs, read_panel

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
        self._panels: dict[str, list[PanelFile]] = {}
        self._histories: dict[str, list[tuple[str, str, History]]] = {}
        self._configs: dict[str, Member] = {}
        self._offline: list[RunLog] = []

    def read(self) -> Iterator[RunLog | Quarantined]:
        members = UntilBreak(self._source.members(_is_wanted))
        for member in members:
            if isinstance(member, Refused):
                yield self._quarantined(member.path, member.rule, member.message)
            elif member.path in self._seen:
                yield self._quarantined(member.path, Rule.DUPLICATE_FILE, "it is there twice: the first one counts")
            else:
                self._seen.add(member.path)
                yield from self._take(member)
        runs = list(self._offline)
        for folder, panels in self._panels.items():
            runs += panel_runs(folder, panels)
        for folder, histories in self._histories.items():
            yield from self._finish(folder, histories, runs)
        yield from sorted(runs, key=lambda run: run.run)
        members.tell()

    def _take(self, member: Member) -> Iterator[Quarantined]:
        """Read a file; what can't be read is quarantined, and what is no log of W&B's passed over."""
        path, data = member
        folder, _, name = path.rpartition("/")
        if name == _CONFIG:
            self._configs[folder] = member
            return
        digest = hashlib.sha256(data).hexdigest()
        if not data:
            yield self._quarantined(path, Rule.EMPTY_FILE, "the file is empty")
        elif name.endswith(".csv"):
            yield from self._take_panel(folder, path, data, digest)
        elif name.endswith(".wandb"):
            yield from self._take_offline(path, data, digest)
        else:
            try:
                history = read_parquet(data) if name.endswith(".parquet") else read_json_lines(data)
            except NoHistory:
                return
            except Unreadable as error:
                yield self._quarantined(path, Rule.UNREADABLE_LOG, str(error))
                return
            if history.rows:
                self._histories.setdefault(folder, []).append((path, digest, history))
            else:
                yield self._no_measurements(path)

    def _take_panel(self, folder: str, path: str, data: bytes, digest: str) -> Iterator[Quarantined]:
        try:
            panel = read_panel(data)
        except NoPanel:
            return
        except BadPanel as error:
            yield self._quarantined(path, error.rule, str(error), error.line)
            return
        if panel.twice:
            why = (
                f"{len(panel.twice)} names stand on more than one column, such as {panel.twice[0][:100]!r}: these were"
                " left out; give the runs different names and export again"
            )
            yield self._quarantined(path, Rule.BAD_HEADER, why, 1)
        if panel.curves:
            self._panels.setdefault(folder, []).append(PanelFile(path, digest, panel))
        elif not panel.twice:
            yield self._no_measurements(path)

    def _take_offline(self, path: str, data: bytes, digest: str) -> Iterator[Quarantined]:
        if not data.startswith(HEADER):
            why = "it doesn't begin as a .wandb file does (`:W&B`): it is damaged, or of an unknown version"
            yield self._quarantined(path, Rule.UNREADABLE_LOG, why)
            return
        run = OfflineRun(data).run_log(path, digest)
        if run.rows:
            self._offline.append(run)
        else:
            yield self._no_measurements(path)

    def _finish(
        self, folder: str, histories: list[tuple[str, str, History]], runs: list[RunLog]
    ) -> Iterator[Quarantined]:
        """Make runs of a folder's histories; a config.yaml belongs to a history only where there is one."""
        config, digests = Config(), {}
        beside = self._configs.get(folder)
        if beside is not None and len(histories) > 1:
            config.remarks["config.yaml lies beside more than one history: it was left out"] += 1
        elif beside is not None:
            try:
                config = read_config_yaml(beside.data)
                digests = {beside.path: hashlib.sha256(beside.data).hexdigest()}
            except BadConfig as error:
                message = f"{error}: its run is read without it"
                yield self._quarantined(beside.path, Rule.UNREADABLE_LOG, message)
        for path, digest, history in histories:
            runs.append(
                RunLog(
                    path,
                    {path: digest, **digests},
                    history.rows,
                    config.fields,
                    config.fields,
                    private=sorted(history.private | config.private),
                    remarks=dict(history.remarks + config.remarks),
                )
            )

    def _no_measurements(self, path: str) -> Quarantined:
        return self._quarantined(path, Rule.NO_MEASUREMENTS, "it logs no numbers: there is nothing to store")

    def _quarantined(self, path: str, rule: Rule, message: str, line: int | None = None) -> Quarantined:
        return Quarantined(self._source.name, path, rule, message, line)


def _is_wanted(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name == _CONFIG or (name.endswith(_ENDS) and name != _EVENTS)


FORMAT = Wandb()

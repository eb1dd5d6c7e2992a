"""Reader of MLflow's file store: `mlruns/<experiment_id>/<run_id>/{meta.yaml, metrics, params, tags}/<name>`.

Names with slashes are in sub-folders; meta.yaml is a flat mapping. Source: mlflow/store/tracking/file_store.py.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

import yaml

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Refusal, Rule, SourceBroken
from losslake_ingest.contracts.run_log import RunLog, check_size
from losslake_ingest.readers.mlflow_stores.metric_file import parse_metric_files
from losslake_ingest.readers.mlflow_stores.stored_run import DELETED, StoredRun, is_used_tag, private_kind
from losslake_ingest.readers.safe_parsing import read_yaml
from losslake_ingest.sources.member import LARGEST_FILE, Member, Source

LARGEST_META = 2**14
LARGEST_PENDING = 64 * 2**20
LARGEST_TEXT = 2**16
META = "meta.yaml"
_METRICS, _PARAMS, _TAGS = "metrics", "params", "tags"
_KINDS = (_METRICS, _PARAMS, _TAGS)
_RUN_ID = re.compile(r"[0-9a-f]{32}")
_NO_RUNS = ("models", "traces", "datasets")
_PER_FILE = 500


class Place(NamedTuple):
    """The place of a file: its run's folder, its kind (metric, param, tag or meta.yaml), and its name."""

    folder: str
    kind: str
    name: str


@dataclass
class _Run:
    """The files of a run or an experiment read so far."""

    meta: dict[str, str | None] | None = None
    metrics: dict[str, bytes] = field(default_factory=dict)
    params: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    long_texts: int = 0
    files: dict[str, str] = field(default_factory=dict)
    size: int = 0


def place_of(path: str) -> Place | None:
    """Return the place of a path; None for artifacts, models, traces and other files."""
    parts = path.split("/")
    if parts[-1] == META and (len(parts) < 2 or parts[-2] not in _KINDS):
        return Place("/".join(parts[:-1]), META, META)
    candidates = [at for at, part in enumerate(parts[:-1]) if at and part in (*_KINDS, "artifacts")]
    certain = [at for at in candidates if _RUN_ID.fullmatch(parts[at - 1])]
    at = next(iter(certain or candidates), None)
    if at is None or parts[at] == "artifacts" or any(part in _NO_RUNS for part in parts[max(at - 2, 0) : at]):
        return None
    return Place("/".join(parts[:at]), parts[at], "/".join(parts[at + 1 :]))


def is_of_file_store(path: str) -> bool:
    """Return True if this file can belong to a run."""
    place = place_of(path)
    if place is None or place.kind != _TAGS:
        return place is not None
    return is_used_tag(place.name) or private_kind(place.name) is not None


class FileStoreReader:
    """A collector of the files of runs; it yields runs once the source has moved past them."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._runs: dict[str, _Run] = {}
        self._experiments: dict[str, _Run] = {}
        self._size = 0
        self._deleted = 0
        self._finished: set[str] = set()
        self._has_read_experiments = False
        self._current: str | None = None

    def add(self, member: Member) -> Iterator[RunLog | Quarantined]:
        """Add a file; yield complete runs when too much memory is held. Raises Refusal."""
        place = place_of(member.path)
        if place is None:
            return
        self._current = place.folder
        self._keep(place, member)
        if self._size > LARGEST_PENDING:
            self._read_experiments()
            yield from self.flush(place.folder)

    def flush(self, except_for: str | None = None) -> Iterator[RunLog | Quarantined]:
        """Yield the pending runs in order of path, except for one."""
        for folder in sorted(self._runs):
            if folder == except_for:
                continue
            run = self._runs.pop(folder)
            self._size -= run.size
            self._finished.add(folder)
            yield from self._log(folder, run)

    def flush_broken(self) -> Iterator[RunLog | Quarantined]:
        """Yield the complete runs of a broken source; the last one may lack files and is quarantined."""
        yield from self.flush(self._current)
        if self._current in self._runs:
            message = "the source ends among the run's files: provide the complete source"
            yield self._quarantined(self._current, Rule.MISSING_FILE, message)

    def _keep(self, place: Place, member: Member) -> None:
        """Add a file; of a private tag, only that it exists. Raises Refusal."""
        if place.folder in self._finished:
            message = "its run's other files come much earlier in the archive: sort the archive by path"
            raise Refusal(Rule.DUPLICATE_FILE, message)
        if place.kind == META:
            self._keep_meta(place.folder, member)
            return
        is_left_out = place.kind != _METRICS and len(member.data) > LARGEST_TEXT
        size = 0 if is_left_out else len(member.data)
        if self._runs.get(place.folder, _Run()).size + size > LARGEST_FILE:
            raise Refusal(Rule.FILE_TOO_LARGE, f"its run's files have more than {LARGEST_FILE:,} bytes: log less often")
        run = self._run_with(place.folder, size + _PER_FILE)
        if place.kind == _TAGS and not is_used_tag(place.name):
            run.tags[place.name] = ""
            return
        run.files[member.path] = hashlib.sha256(member.data).hexdigest()
        if place.kind == _METRICS:
            run.metrics[place.name] = member.data
        elif is_left_out:
            run.long_texts += 1
        else:
            texts = run.params if place.kind == _PARAMS else run.tags
            texts[place.name] = member.data.decode("utf-8", "backslashreplace")

    def _keep_meta(self, folder: str, member: Member) -> None:
        """Add the meta.yaml of a run or an experiment, and ignore that of a logged model."""
        try:
            meta = flat_yaml(member.data)
        except ValueError as error:
            message = f"the YAML can't be read ({error}): restore the file, or remove the run"
            raise Refusal(Rule.UNREADABLE_LOG, message) from None
        sha256 = hashlib.sha256(member.data).hexdigest()
        if meta.get("model_id"):
            return
        if meta.get("run_id") or meta.get("run_uuid"):
            run = self._run_with(folder, _PER_FILE)
            run.meta = meta
            run.files[member.path] = sha256
        elif meta.get("experiment_id"):
            self._experiments[folder] = _Run(meta, files={member.path: sha256})

    def _run_with(self, folder: str, size: int) -> _Run:
        """Return the run of a folder, and count `size` more bytes for it."""
        run = self._runs.setdefault(folder, _Run())
        run.size += size
        self._size += size
        return run

    def _read_experiments(self) -> None:
        """Read the meta.yaml of all experiments: in order of path they come after all of their runs."""
        if self._has_read_experiments:
            return
        self._has_read_experiments = True
        with suppress(SourceBroken):
            for member in self._source.members(_may_be_of_an_experiment):
                if isinstance(member, Member):
                    with suppress(Refusal):
                        self._keep_meta(member.path.rpartition("/")[0], member)

    def _log(self, folder: str, run: _Run) -> Iterator[RunLog | Quarantined]:
        """Yield the log of a run; nothing if it is deleted or isn't a run."""
        above = self._experiments.get(folder.rpartition("/")[0], _Run())
        experiment = above.meta or {}
        if run.meta is None:
            if folder not in self._experiments and run.metrics:
                message = f"{META} is missing or unreadable: without it the folder isn't a run of MLflow"
                yield self._quarantined(f"{folder}/{META}", Rule.MISSING_FILE, message)
            return
        if "deleted" in (run.meta.get("lifecycle_stage"), experiment.get("lifecycle_stage")):
            self._deleted += 1
            return
        experiment_id = run.meta.get("experiment_id") or experiment.get("experiment_id")
        stored = StoredRun(folder or ".", run.meta, experiment.get("name"), experiment_id, run.params, run.tags)
        names = sorted(run.metrics)
        try:
            check_size(sum(data.count(b"\n") for data in run.metrics.values()), 3)
        except Refusal as refusal:
            yield self._quarantined(f"{folder}/{_METRICS}", refusal.rule, refusal.message)
            return
        metrics = parse_metric_files({f"{_METRICS}/{name}": run.metrics[name] for name in names}, stored.remarks)
        for name, metric in zip(names, metrics, strict=True):
            if len(metric.values):
                stored.add(name, metric)
        filled = next((name for name in names if run.metrics[name]), None)
        if stored.rows:
            stored.remarks[DELETED] += self._deleted
            stored.remarks["param or tag of more than 64 KiB: left out"] += run.long_texts
            self._deleted = 0
            yield stored.log(dict(sorted((run.files | above.files).items())))
        elif filled is None:
            yield self._quarantined(f"{folder}/{META}", Rule.NO_MEASUREMENTS, "the run has no metrics")
        else:
            message = "no line of the run's metrics is `timestamp value step`: restore the files"
            yield self._quarantined(f"{folder}/{_METRICS}/{filled}", Rule.UNREADABLE_LOG, message, 1)

    def _quarantined(self, path: str, rule: Rule, message: str, line: int | None = None) -> Quarantined:
        return Quarantined(self._source.name, path.lstrip("/"), rule, message, line)


def _may_be_of_an_experiment(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    return name == META and not _RUN_ID.fullmatch(folder.rpartition("/")[2])


def flat_yaml(data: bytes) -> dict[str, str | None]:
    """Return the scalars of a YAML mapping as text, without nested values. Raises ValueError."""
    if len(data) > LARGEST_META:
        raise ValueError(f"it has {len(data):,} bytes, at most {LARGEST_META:,} are read")
    try:
        document = read_yaml(data, _text, 1)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None
    except UnicodeDecodeError as error:
        raise ValueError(f"it isn't UTF-8: {error.reason}") from None
    if not isinstance(document, dict | None):
        raise ValueError("it isn't a mapping")
    return document or {}


def _text(event: yaml.Event) -> str | None:
    if not isinstance(event, yaml.ScalarEvent) or (not event.style and event.value in ("", "~", "null")):
        return None
    return str(event.value)

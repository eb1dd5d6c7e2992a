"""MLflow's file store: `mlruns/<experiment_id>/<run_id>/{meta.yaml, metrics/<name>, params/<name>, tags/<name>}`.

Names with slashes lie in sub-folders; meta.yaml is a flat mapping. Source: mlflow/store/tracking/file_store.py.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

import yaml

from losslake_ingest.documents import read_yaml
from losslake_ingest.mlflow_stores.metric_file import parse_metric_files
from losslake_ingest.mlflow_stores.run import DELETED, StoredRun, is_kept_tag, private_kind
from losslake_ingest.report import Quarantined
from losslake_ingest.rules import Refusal, Rule, SourceBroken
from losslake_ingest.run_log import RunLog
from losslake_ingest.sources.member import Member, Source

LARGEST_META = 2**14
_NO_VALUE = ("", "~", "null")


LARGEST_PENDING = 64 * 2**20
LARGEST_TEXT = 2**16
META = "meta.yaml"
_METRICS, _PARAMS, _TAGS = "metrics", "params", "tags"
_KINDS = (_METRICS, _PARAMS, _TAGS)
_RUN_ID = re.compile(r"[0-9a-f]{32}")
_NO_RUNS = ("models", "traces", "datasets")
_LONG = "param or tag of more than 64 KiB left out"
_PER_FILE = 500


class Place(NamedTuple):
    """What a file is: the folder of its run, whether it is a metric, a param, a tag or the meta.yaml, and its name."""

    folder: str
    kind: str
    name: str


@dataclass
class _Run:
    """What has been read of a run."""

    meta: dict[str, str | None] | None = None
    metrics: dict[str, bytes] = field(default_factory=dict)
    params: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    long_texts: int = 0
    files: dict[str, str] = field(default_factory=dict)
    size: int = 0


@dataclass(frozen=True)
class _Experiment:
    """The meta.yaml of an experiment, and its digest by its path."""

    meta: dict[str, str | None] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)


def place_of(path: str) -> Place | None:
    """What a path of a file store is; None for artifacts, models, traces and whatever else lies there."""
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
    """Whether anything of a run can be in this file."""
    place = place_of(path)
    if place is None or place.kind != _TAGS:
        return place is not None
    return is_kept_tag(place.name) or private_kind(place.name) is not None


class FileStoreReader:
    """Collects the files of runs, and hands runs on when the source has moved past them."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._runs: dict[str, _Run] = {}
        self._experiments: dict[str, _Experiment] = {}
        self._size = 0
        self._deleted = 0
        self._handed_on: set[str] = set()
        self._has_looked_ahead = False
        self._current: str | None = None

    def add(self, member: Member) -> Iterator[RunLog | Quarantined]:
        """Keep a file until its run is whole; yields runs that are, when much is kept. Raises Refusal."""
        place = place_of(member.path)
        if place is None:
            return
        self._current = place.folder
        self._keep(place, member)
        if self._size > LARGEST_PENDING:
            self._look_ahead()
            yield from self.hand_on(place.folder)

    def hand_on(self, but: str | None = None) -> Iterator[RunLog | Quarantined]:
        """The runs that are pending, in order of path, but for one that is still read."""
        for folder in sorted(self._runs):
            if folder == but:
                continue
            run = self._runs.pop(folder)
            self._size -= run.size
            self._handed_on.add(folder)
            result = self._log(folder, run)
            if result:
                yield result

    def break_off(self) -> Iterator[RunLog | Quarantined]:
        """The runs that are whole, when the source broke: of the last one files may be missing."""
        yield from self.hand_on(self._current)
        if self._current in self._runs:
            message = "the source breaks off among the run's files: offer it whole"
            yield self._quarantined(self._current, Rule.MISSING_FILE, message)

    def _keep(self, place: Place, member: Member) -> None:
        """Keep a file; of a tag that is personal only that it was there. Raises Refusal."""
        if place.folder in self._handed_on:
            message = "it lies apart from its run's other files, which are read already: sort the archive by path"
            raise Refusal(Rule.DUPLICATE_FILE, message)
        if place.kind == META:
            self._keep_meta(place.folder, member)
            return
        run = self._grown(place.folder, len(member.data) + _PER_FILE)
        if place.kind == _TAGS and not is_kept_tag(place.name):
            run.tags[place.name] = ""
            return
        run.files[member.path] = hashlib.sha256(member.data).hexdigest()
        if place.kind == _METRICS:
            run.metrics[place.name] = member.data
        elif len(member.data) > LARGEST_TEXT:
            run.long_texts += 1
        else:
            texts = run.params if place.kind == _PARAMS else run.tags
            texts[place.name] = member.data.decode("utf-8", "backslashreplace")

    def _keep_meta(self, folder: str, member: Member) -> None:
        """Keep the meta.yaml of a run or an experiment; a logged model has one too."""
        try:
            meta = flat_yaml(member.data)
        except ValueError as error:
            message = f"the YAML can't be read ({error}): restore the file, or remove the run"
            raise Refusal(Rule.UNREADABLE_LOG, message) from None
        sha256 = hashlib.sha256(member.data).hexdigest()
        if meta.get("model_id"):
            return
        if meta.get("run_id") or meta.get("run_uuid"):
            run = self._grown(folder, _PER_FILE)
            run.meta = meta
            run.files[member.path] = sha256
        elif meta.get("experiment_id"):
            self._experiments[folder] = _Experiment(meta, {member.path: sha256})

    def _grown(self, folder: str, size: int) -> _Run:
        """The run of a folder, of which so many more bytes are kept."""
        run = self._runs.setdefault(folder, _Run())
        run.size += size
        self._size += size
        return run

    def _look_ahead(self) -> None:
        """Read the experiments' meta.yaml ahead: sorted by path they come after all of their runs."""
        if self._has_looked_ahead:
            return
        self._has_looked_ahead = True
        with suppress(SourceBroken):
            for member in self._source.members(_may_be_of_an_experiment):
                if isinstance(member, Member):
                    with suppress(Refusal):
                        self._keep_meta(member.path.rpartition("/")[0], member)

    def _log(self, folder: str, run: _Run) -> RunLog | Quarantined | None:
        """The run of a folder; None if it is deleted, or no run's."""
        experiment = self._experiments.get(folder.rpartition("/")[0], _Experiment())
        if run.meta is None:
            if folder in self._experiments or not run.metrics:
                return None
            message = f"{META} is missing, or unreadable: without it the folder is no run of MLflow"
            return self._quarantined(f"{folder}/{META}", Rule.MISSING_FILE, message)
        if "deleted" in (run.meta.get("lifecycle_stage"), experiment.meta.get("lifecycle_stage")):
            self._deleted += 1
            return None
        experiment_id = run.meta.get("experiment_id") or experiment.meta.get("experiment_id")
        name = experiment.meta.get("name")
        stored = StoredRun(folder or ".", run.meta, name, experiment_id, run.params, run.tags)
        names = sorted(run.metrics)
        metrics = parse_metric_files([run.metrics[name] for name in names], stored.remarks)
        for name, metric in zip(names, metrics, strict=True):
            if len(metric.values):
                stored.add(name, metric)
        if not stored.rows:
            return self._without_values(folder, run)
        stored.remarks[DELETED] += self._deleted
        stored.remarks[_LONG] += run.long_texts
        self._deleted = 0
        return stored.log(dict(sorted((run.files | experiment.files).items())))

    def _without_values(self, folder: str, run: _Run) -> Quarantined:
        filled = next((name for name in sorted(run.metrics) if run.metrics[name]), None)
        if filled is None:
            return self._quarantined(f"{folder}/{META}", Rule.NO_MEASUREMENTS, "the run has no metrics")
        message = "no line of the run's metrics is `timestamp value step`: restore the files"
        return self._quarantined(f"{folder}/{_METRICS}/{filled}", Rule.UNREADABLE_LOG, message, 1)

    def _quarantined(self, path: str, rule: Rule, message: str, line: int | None = None) -> Quarantined:
        return Quarantined(self._source.name, path.lstrip("/"), rule, message, line)


def _may_be_of_an_experiment(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    return name == META and not _RUN_ID.fullmatch(folder.rpartition("/")[2])


def flat_yaml(data: bytes) -> dict[str, str | None]:
    """The scalars of a YAML mapping as text, what is nested left out; raises ValueError."""
    if len(data) > LARGEST_META:
        raise ValueError(f"it has {len(data):,} bytes, at most {LARGEST_META:,} are read")
    try:
        document = read_yaml(data, _text, 1)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None
    except UnicodeDecodeError as error:
        raise ValueError(f"it is no UTF-8: {error.reason}") from None
    if not isinstance(document, dict | None):
        raise ValueError("it is no mapping")
    return document or {}


def _text(event: yaml.Event) -> str | None:
    if not isinstance(event, yaml.ScalarEvent) or (not event.style and event.value in _NO_VALUE):
        return None
    return str(event.value)

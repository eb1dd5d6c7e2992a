"""Some or all trials of one study of a `batch_science` archive: their files as offered, and how they are read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from losslake_ingest.csv_curves import read_curves
from losslake_ingest.report import Quarantined, shown
from losslake_ingest.rules import Rule
from losslake_ingest.study import LoadedPart, StudyFacts, StudyRejected, TrialFacts, is_exact_float
from losslake_schema.names import LARGEST_INTEGER, Study
from losslake_schema.tables import STATUSES

NAME = "batch_science"
READER_VERSION = f"{NAME}/1"
_LARGEST_JSON = 1 << 20


@dataclass
class TrialFiles:
    """The two files of a trial, as far as they have come in, and the folder they lie in."""

    trial_id: int
    folder: str
    metadata: bytes | None = None
    curve: bytes | None = None

    @property
    def is_whole(self) -> bool:
        return self.metadata is not None and self.curve is not None

    @property
    def size(self) -> int:
        return len(self.metadata or b"") + len(self.curve or b"")

    def add(self, is_curve: bool, data: bytes) -> bool:
        """Keep a file; False if that file is already there."""
        if is_curve:
            fresh, self.curve = self.curve is None, data if self.curve is None else self.curve
        else:
            fresh, self.metadata = self.metadata is None, data if self.metadata is None else self.metadata
        return fresh


@dataclass(frozen=True)
class BatchSciencePart:
    """Trials of one study with their files."""

    study: Study
    source: str
    folder: str
    study_file: bytes
    trials: Mapping[int, TrialFiles]
    _sha256: dict[str, str] = field(default_factory=dict)

    format = NAME
    reader_version = READER_VERSION

    @property
    def n_trials(self) -> int:
        return len(self.trials)

    @property
    def size(self) -> int:
        return sum(files.size for files in self.trials.values())

    def file_digests(self) -> Mapping[str, str]:
        if not self._sha256:
            self._sha256["study.json"] = hashlib.sha256(self.study_file).hexdigest()
            for trial_id, files in self.trials.items():
                self._sha256[f"{trial_id}/metadata.json"] = hashlib.sha256(files.metadata or b"").hexdigest()
                self._sha256[f"{trial_id}/measurements.csv"] = hashlib.sha256(files.curve or b"").hexdigest()
        return self._sha256

    def load(self) -> LoadedPart:
        facts = self._study_facts()
        quarantined = []
        trials: list[TrialFacts] = []
        for files in self.trials.values():
            try:
                trials.append(self._trial_facts(files))
            except _Refusal as refusal:
                quarantined.append(self._quarantined(f"{files.folder}/metadata.json", refusal, files.trial_id))
        curves, good, faults = read_curves([self.trials[trial.trial_id].curve or b"" for trial in trials])
        for position, fault in sorted(faults.items()):
            files = self.trials[trials[position].trial_id]
            path, broken = f"{files.folder}/measurements.csv", _Refusal(fault.rule, fault.message)
            quarantined.append(self._quarantined(path, broken, files.trial_id, fault.line))
        return LoadedPart(facts, [trials[position] for position in good], curves, quarantined)

    def _quarantined(
        self, path: str, refusal: _Refusal, trial_id: int | None = None, line: int | None = None
    ) -> Quarantined:
        sha256 = self.file_digests().get(path.removeprefix(f"{self.folder}/"))
        return Quarantined(self.source, path, refusal.rule, refusal.message, line, str(self.study), trial_id, sha256)

    def _study_facts(self) -> StudyFacts:
        """What study.json says; raises StudyRejected, because then nothing can be said of the trials either."""
        try:
            document = _json_object(self.study_file)
            self._check_agreement(document)
            configs = document.get("parameter_configs") or {}
            if not isinstance(configs, (dict, list)):
                raise _Refusal(Rule.BAD_FIELD, "parameter_configs is neither an object nor a list")
            train_steps = _integer(document, "train_steps")
            early_stopping = document.get("early_stopping", False)
            if not isinstance(early_stopping, bool):
                raise _Refusal(Rule.BAD_FIELD, f"early_stopping is {early_stopping!r}, not true or false")
        except _Refusal as refusal:
            raise StudyRejected(self._quarantined(f"{self.folder}/study.json", refusal)) from None
        return StudyFacts(self.study, "examples", train_steps, early_stopping, json.dumps(configs, sort_keys=True))

    def _check_agreement(self, document: Mapping[str, Any]) -> None:
        """Raise unless study.json names the study that its folder names."""
        batch_size = _integer(document, "batch_size")
        if batch_size != self.study.batch_size:
            message = f"batch_size is {batch_size}, its folder says {self.study.batch_size}: correct one of them"
            raise _Refusal(Rule.BATCH_SIZE_DISAGREES, message)
        for name in ("dataset", "model", "optimizer"):
            stated, expected = document.get(name), getattr(self.study.workload, name)
            if stated != expected and not (name == "dataset" and self._is_subset_of(stated)):
                message = f"{name} is {shown(stated)}, its folder says {expected!r}: correct one of them"
                raise _Refusal(Rule.WORKLOAD_DISAGREES, message)

    def _is_subset_of(self, dataset: object) -> bool:
        """Whether the folder is that of a part of a data set: imagenet_half_images, which may say where it is kept."""
        workload = self.study.workload
        if not isinstance(dataset, str) or not dataset:
            return False
        is_with_base = f"/{workload.collection}/{workload.dataset}".endswith(f"/{dataset}")
        return is_with_base or workload.dataset.startswith(f"{dataset}_")

    def _trial_facts(self, files: TrialFiles) -> TrialFacts:
        document = _json_object(files.metadata or b"")
        trial_id = _integer(document, "trial_id")
        if trial_id != files.trial_id:
            message = f"trial_id is {trial_id}, its folder says {files.trial_id}: correct one of them"
            raise _Refusal(Rule.TRIAL_ID_DISAGREES, message)
        status = document.get("status")
        if status not in STATUSES:
            raise _Refusal(Rule.UNKNOWN_STATUS, f"status is {shown(status)}, not one of {', '.join(STATUSES)}")
        given = document.get("parameters", {})
        if not isinstance(given, dict):
            raise _Refusal(Rule.BAD_FIELD, "parameters is not an object")
        numbers = {name: float(value) for name, value in given.items() if is_exact_float(value)}
        others = {name: json.dumps(value, sort_keys=True) for name, value in given.items() if name not in numbers}
        sha256 = self.file_digests()[f"{trial_id}/measurements.csv"]
        source = f"{files.folder}/measurements.csv"
        return TrialFacts(trial_id, str(status), _integer(document, "steps"), numbers, others, source, sha256)


class _Refusal(Exception):
    """A file that can't be accepted: the rule it breaks and why."""

    def __init__(self, rule: Rule, message: str) -> None:
        super().__init__(message)
        self.rule = rule
        self.message = message


def _json_object(data: bytes) -> dict[str, Any]:
    if len(data) > _LARGEST_JSON:
        raise _Refusal(Rule.FILE_TOO_LARGE, f"{len(data):,} bytes of JSON; at most {_LARGEST_JSON:,} are read")
    try:
        document = json.loads(data)
        if b"\\u" in data:
            json.dumps(document, ensure_ascii=False).encode()  # a lone surrogate is no text that could be stored
    except (ValueError, RecursionError) as error:
        raise _Refusal(Rule.BAD_JSON, f"this is no JSON ({shown(str(error))})") from None
    if not isinstance(document, dict):
        raise _Refusal(Rule.BAD_JSON, "the JSON is not an object")
    return document


def _integer(document: Mapping[str, Any], name: str) -> int:
    value = document.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST_INTEGER:
        raise _Refusal(Rule.BAD_FIELD, f"{name} is {shown(value)}, not an integer from 0 to 2^63 - 1")
    return value

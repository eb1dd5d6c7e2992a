"""The format of the published archive of Shallue et al. 2019, `batch_science`.

Layout: `[base/…/]dataset/model/optimizer/batch_size/study.json` and `…/batch_size/trial_id/{metadata.json,
measurements.csv}`. The first base folder names the collection (`batch_science` is `shallue2018`); further ones, such as
`mnist_subsets/`, are sub-collections.

Some or all trials of one study of a `batch_science` archive: their files as offered, and how they are read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from losslake_ingest.formats.format import Glimpse
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.report import Quarantined
from losslake_ingest.rules import Refusal, Rule, shown
from losslake_ingest.sources.member import Refused, Source, UntilBreak
from losslake_ingest.study import LoadedPart, StudyFacts, StudyRejected, TrialFacts, is_exact_float
from losslake_ingest.tables.csv_curves import read_curves
from losslake_schema.names import LARGEST_INTEGER, Study, Workload, natural_number, why_bad_name
from losslake_schema.registry import collections
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
            except Refusal as refusal:
                quarantined.append(self._quarantined(f"{files.folder}/metadata.json", refusal, files.trial_id))
        curves, good, faults = read_curves([self.trials[trial.trial_id].curve or b"" for trial in trials])
        for position, fault in sorted(faults.items()):
            files = self.trials[trials[position].trial_id]
            quarantined.append(self._quarantined(f"{files.folder}/measurements.csv", fault, files.trial_id))
        return LoadedPart(facts, [trials[position] for position in good], curves, quarantined)

    def _quarantined(self, path: str, refusal: Refusal, trial_id: int | None = None) -> Quarantined:
        sha256 = self.file_digests().get(path.removeprefix(f"{self.folder}/"))
        return Quarantined(
            self.source, path, refusal.rule, refusal.message, refusal.line, str(self.study), trial_id, sha256
        )

    def _study_facts(self) -> StudyFacts:
        """What study.json says; raises StudyRejected, because then nothing can be said of the trials either."""
        try:
            document = _json_object(self.study_file)
            self._check_agreement(document)
            configs = document.get("parameter_configs") or {}
            if not isinstance(configs, (dict, list)):
                raise Refusal(Rule.BAD_FIELD, "parameter_configs is neither an object nor a list")
            train_steps = _integer(document, "train_steps")
            early_stopping = document.get("early_stopping", False)
            if not isinstance(early_stopping, bool):
                raise Refusal(Rule.BAD_FIELD, f"early_stopping is {early_stopping!r}, not true or false")
        except Refusal as refusal:
            raise StudyRejected(self._quarantined(f"{self.folder}/study.json", refusal)) from None
        return StudyFacts(self.study, "examples", train_steps, early_stopping, json.dumps(configs, sort_keys=True))

    def _check_agreement(self, document: Mapping[str, Any]) -> None:
        """Raise unless study.json names the study that its folder names."""
        batch_size = _integer(document, "batch_size")
        if batch_size != self.study.batch_size:
            message = f"batch_size is {batch_size}, its folder says {self.study.batch_size}: correct one of them"
            raise Refusal(Rule.BATCH_SIZE_DISAGREES, message)
        for name in ("dataset", "model", "optimizer"):
            stated, expected = document.get(name), getattr(self.study.workload, name)
            if stated != expected and not (name == "dataset" and self._is_subset_of(stated)):
                message = f"{name} is {shown(stated)}, its folder says {expected!r}: correct one of them"
                raise Refusal(Rule.WORKLOAD_DISAGREES, message)

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
            raise Refusal(Rule.TRIAL_ID_DISAGREES, message)
        status = document.get("status")
        if status not in STATUSES:
            raise Refusal(Rule.UNKNOWN_STATUS, f"status is {shown(status)}, not one of {', '.join(STATUSES)}")
        given = document.get("parameters", {})
        if not isinstance(given, dict):
            raise Refusal(Rule.BAD_FIELD, "parameters is not an object")
        numbers = {name: float(value) for name, value in given.items() if is_exact_float(value)}
        others = {name: json.dumps(value, sort_keys=True) for name, value in given.items() if name not in numbers}
        sha256 = self.file_digests()[f"{trial_id}/measurements.csv"]
        source = f"{files.folder}/measurements.csv"
        return TrialFacts(trial_id, str(status), _integer(document, "steps"), numbers, others, source, sha256)


def _json_object(data: bytes) -> dict[str, Any]:
    if len(data) > _LARGEST_JSON:
        raise Refusal(Rule.FILE_TOO_LARGE, f"{len(data):,} bytes of JSON; at most {_LARGEST_JSON:,} are read")
    try:
        document = json.loads(data)
        if b"\\u" in data:
            json.dumps(document, ensure_ascii=False).encode()  # a lone surrogate is no text that could be stored
    except (ValueError, RecursionError) as error:
        raise Refusal(Rule.BAD_JSON, f"this is no JSON ({shown(str(error))})") from None
    if not isinstance(document, dict):
        raise Refusal(Rule.BAD_JSON, "the JSON is not an object")
    return document


def _integer(document: Mapping[str, Any], name: str) -> int:
    value = document.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST_INTEGER:
        raise Refusal(Rule.BAD_FIELD, f"{name} is {shown(value)}, not an integer from 0 to 2^63 - 1")
    return value


LARGEST_PART = 64 * 2**20
LARGEST_PENDING = 512 * 2**20
_STUDY_FILE, _METADATA_FILE, _CURVE_FILE = "study.json", "metadata.json", "measurements.csv"


@dataclass(frozen=True)
class _Place:
    """Where a file belongs: its study, and its trial unless it is the study's own file."""

    study: Study
    trial_id: int | None


@dataclass
class _Pending:
    """What has come in of a study and is not yet handed on."""

    folder: str
    study_file: bytes | None = None
    new_trials: dict[int, TrialFiles] = field(default_factory=dict)
    seen_trials: set[int] = field(default_factory=set)
    size: int = 0

    def whole_trials(self) -> list[int]:
        return [trial_id for trial_id, files in self.new_trials.items() if files.is_whole]


class BatchScience:
    """Whole studies, as published; they say everything themselves."""

    name = NAME
    reads = "study.json, and metadata.json and measurements.csv per trial: the archive of Shallue et al. 2019"
    needs = "nothing"
    defaults = ""

    def detect(self, file: Glimpse) -> float:
        sure = {
            _STUDY_FILE: b'"train_steps"' in file.start or b'"batch_size"' in file.start,
            _METADATA_FILE: b'"trial_id"' in file.start,
            _CURVE_FILE: file.start.startswith((b"step,", b'"step",', b"\xef\xbb\xbfstep,")),
        }
        return 0.0 if file.name not in sure else 0.9 if sure[file.name] else 0.4

    def read(self, source: Source, mapping: LogMapping) -> Iterator[BatchSciencePart | Quarantined]:
        """The parts of the studies in a source, each study's trials together as far as they lie together.

        A study is handed on when files of another one begin, once its study.json is there. Raises SourceBroken at the
        end if the source broke; everything before the break has been handed on.
        """
        name = mapping.collection.name
        return _Reader(source, str(name.text) if name is not None and not name.names else None).read()


class _Reader:
    def __init__(self, source: Source, collection: str | None) -> None:
        self._source = source
        self._name = source.name
        self._roots = {known.root: known.collection for known in collections()}
        self._collection = collection
        self._last_folder: str | None = None
        self._last_study: Study | str = ""
        self._studies: dict[Study, _Pending] = {}
        self._pending_size = 0

    def read(self) -> Iterator[BatchSciencePart | Quarantined]:
        current: Study | None = None
        members = UntilBreak(self._source.members(_is_wanted))
        for member in members:
            if isinstance(member, Refused):
                yield self._quarantined(member.path, member.rule, member.message)
                continue
            place = self._place(member.path)
            if isinstance(place, Quarantined):
                yield place
                continue
            if current is not None and place.study != current:
                yield from self._hand_on(current, at_end=False)
            current = place.study
            refusal = self._take(place, member.path, member.data)
            if refusal:
                yield refusal
            if self._studies[current].size > LARGEST_PART or self._pending_size > LARGEST_PENDING:
                yield from self._hand_on(current, at_end=False)
            if self._pending_size > LARGEST_PENDING:
                yield from self._give_up_the_scattered()
        for study in list(self._studies):
            yield from self._hand_on(study, at_end=True, is_broken=members.broken is not None)
        members.tell()

    def _place(self, path: str) -> _Place | Quarantined:
        """Where a file belongs, by its path."""
        folder, _, name = path.rpartition("/")
        trial_id = None
        if name != _STUDY_FILE:
            folder, _, last = folder.rpartition("/")
            trial_id = natural_number(last)
            if trial_id is None:
                why = "no …/batch_size/trial_id/ folder holds it: see the layout"
                return self._quarantined(path, Rule.BAD_NAME, why)
        if folder != self._last_folder:
            self._last_folder, self._last_study = folder, self._study_at(folder)
        if isinstance(self._last_study, str):
            return self._quarantined(path, Rule.BAD_NAME, self._last_study)
        return _Place(self._last_study, trial_id)

    def _study_at(self, folder: str) -> Study | str:
        """The study whose folder this is, or why it is none."""
        parts = folder.split("/")
        if len(parts) < 4 or (batch_size := natural_number(parts[-1])) is None or batch_size == 0:
            return "no dataset/model/optimizer/batch_size/ folder holds it"
        base, (dataset, model, optimizer) = parts[:-4], parts[-4:-1]
        own = self._root_name()
        if not base or (own in self._roots and base[0] not in self._roots):
            base = [own, *base]
        root = base[0]
        first = self._collection or self._roots.get(root, root)
        for name in (*first.split("/"), *base[1:], dataset, model, optimizer):
            why = why_bad_name(name)
            if why:
                return f"the name {name!r} {why}: rename the folder"
        return Study(Workload("/".join([first, *base[1:]]), dataset, model, optimizer), batch_size)

    def _root_name(self) -> str:
        """The name of the folder or archive itself, which is the root when that was offered without its parent."""
        return self._source.path.resolve().name.split(".")[0]

    def _take(self, place: _Place, path: str, data: bytes) -> Quarantined | None:
        folder, _, name = path.rpartition("/")
        pending = self._studies.setdefault(place.study, _Pending(folder.rpartition("/")[0]))
        twice = f"the archive holds {name} twice: the first one counts"
        if place.trial_id is None:
            if pending.study_file is not None:
                return self._quarantined(path, Rule.DUPLICATE_FILE, twice, place.study)
            pending.folder, pending.study_file = folder, data
            return None
        if place.trial_id in pending.seen_trials:
            return self._quarantined(path, Rule.DUPLICATE_FILE, twice, place.study, place.trial_id)
        files = pending.new_trials.setdefault(place.trial_id, TrialFiles(place.trial_id, folder))
        if not files.add(name == _CURVE_FILE, data):
            return self._quarantined(path, Rule.DUPLICATE_FILE, twice, place.study, place.trial_id)
        pending.size += len(data)
        self._pending_size += len(data)
        return None

    def _hand_on(self, study: Study, at_end: bool, is_broken: bool = False) -> Iterator[BatchSciencePart | Quarantined]:
        """The study's whole trials as a part; what is still incomplete waits, and at the end is quarantined."""
        pending = self._studies[study]
        if pending.study_file is None:
            if at_end:
                trials = len(pending.new_trials)
                message = f"{_STUDY_FILE} is missing: {trials} trials can't be stored without it"
                yield self._quarantined(f"{pending.folder}/{_STUDY_FILE}", Rule.MISSING_FILE, message, study)
            return
        whole = pending.whole_trials()
        if at_end and not (pending.new_trials or pending.seen_trials):
            yield self._quarantined(pending.folder, Rule.MISSING_FILE, "the study has no trials: pack them too", study)
        if whole:
            files = {trial_id: pending.new_trials.pop(trial_id) for trial_id in sorted(whole)}
            pending.seen_trials.update(files)
            handed = sum(trial.size for trial in files.values())
            pending.size -= handed
            self._pending_size -= handed
            yield BatchSciencePart(study, self._name, pending.folder, pending.study_file, files)
        if at_end:
            for trial in pending.new_trials.values():
                lacking = _CURVE_FILE if trial.curve is None else _METADATA_FILE
                why = "the archive breaks off before it" if is_broken else "pack it too"
                message = f"{lacking} is missing: {why}"
                yield self._quarantined(f"{trial.folder}/{lacking}", Rule.MISSING_FILE, message, study, trial.trial_id)

    def _give_up_the_scattered(self) -> Iterator[Quarantined]:
        """Free the memory of studies whose files lie so scattered that too much of them waits for the rest."""
        for study, pending in self._studies.items():
            for trial in pending.new_trials.values():
                message = f"its other files are not within {LARGEST_PENDING:,} bytes: sort the archive by path"
                yield self._quarantined(trial.folder, Rule.MISSING_FILE, message, study, trial.trial_id)
            self._pending_size -= pending.size
            pending.seen_trials.update(pending.new_trials)
            pending.new_trials, pending.size = {}, 0

    def _quarantined(
        self, path: str, rule: Rule, message: str, study: Study | None = None, trial_id: int | None = None
    ) -> Quarantined:
        return Quarantined(self._name, path, rule, message, None, str(study) if study else None, trial_id)


def _is_wanted(path: str) -> bool:
    return path.rpartition("/")[2] in (_STUDY_FILE, _METADATA_FILE, _CURVE_FILE)


FORMAT = BatchScience()

"""The format of the published archive of Shallue et al. 2019, `batch_science`.

Layout: `[base/…/]dataset/model/optimizer/batch_size/study.json` and `…/batch_size/trial_id/{metadata.json,
measurements.csv}`. The first base folder names the collection (`batch_science` is `shallue2018`); further ones, such as
`mnist_subsets/`, are sub-collections.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from losslake_ingest.formats.format import Glimpse, read_files
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.report import Quarantined
from losslake_ingest.rules import Refusal, Rule, shown
from losslake_ingest.sources.member import Member, Source, UntilBreak
from losslake_ingest.study import LoadedPart, StudyFacts, StudyRejected, TrialFacts, is_exact_float
from losslake_ingest.tables.csv_curves import read_curves
from losslake_schema.names import LARGEST_INTEGER, Study, Workload, natural_number, why_bad_name
from losslake_schema.registry import collections
from losslake_schema.tables import STATUSES

NAME = "batch_science"
READER_VERSION = f"{NAME}/1"
LARGEST_PART = 64 * 2**20
LARGEST_PENDING = 512 * 2**20
_LARGEST_JSON = 1 << 20
_STUDY_FILE, _METADATA_FILE, _CURVE_FILE = "study.json", "metadata.json", "measurements.csv"


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
        self._current: Study | None = None
        self._studies: dict[Study, _Pending] = {}
        self._pending_size = 0

    def read(self) -> Iterator[BatchSciencePart | Quarantined]:
        whole = UntilBreak(read_files(self._source, _is_wanted, self._add))
        yield from whole
        for study in list(self._studies):
            yield from self._hand_on(study, at_end=True, is_broken=whole.broken is not None)
        whole.tell()

    def _add(self, member: Member) -> Iterator[BatchSciencePart | Quarantined]:
        """Keep a file, and hand on what is whole when another study begins or much is kept; raises Refusal."""
        study, trial_id = self._place(member.path)
        if self._current is not None and study != self._current:
            yield from self._hand_on(self._current, at_end=False)
        self._current = study
        if not self._keep(study, trial_id, member):
            message = f"the archive holds {member.path.rpartition('/')[2]} twice: the first one counts"
            yield self._quarantined(member.path, Rule.DUPLICATE_FILE, message, study, trial_id)
        if self._studies[study].size > LARGEST_PART or self._pending_size > LARGEST_PENDING:
            yield from self._hand_on(study, at_end=False)
        if self._pending_size > LARGEST_PENDING:
            yield from self._give_up_the_scattered()

    def _place(self, path: str) -> tuple[Study, int | None]:
        """The study of a file, and its trial unless it is the study's own file; raises Refusal."""
        folder, _, name = path.rpartition("/")
        trial_id = None
        if name != _STUDY_FILE:
            folder, _, last = folder.rpartition("/")
            trial_id = natural_number(last)
            if trial_id is None:
                raise Refusal(Rule.BAD_NAME, "no …/batch_size/trial_id/ folder holds it: see the layout")
        if folder != self._last_folder:
            self._last_folder, self._last_study = folder, self._study_at(folder)
        if isinstance(self._last_study, str):
            raise Refusal(Rule.BAD_NAME, self._last_study)
        return self._last_study, trial_id

    def _study_at(self, folder: str) -> Study | str:
        """The study whose folder this is, or why it is none."""
        parts = folder.split("/")
        if len(parts) < 4 or (batch_size := natural_number(parts[-1])) is None or batch_size == 0:
            return "no dataset/model/optimizer/batch_size/ folder holds it"
        base, (dataset, model, optimizer) = parts[:-4], parts[-4:-1]
        # The folder or archive itself is the root when it was offered without its parent.
        offered = self._source.path.resolve().name.split(".")[0]
        if not base or (offered in self._roots and base[0] not in self._roots):
            base = [offered, *base]
        root = base[0]
        first = self._collection or self._roots.get(root, root)
        for name in (*first.split("/"), *base[1:], dataset, model, optimizer):
            why = why_bad_name(name)
            if why:
                return f"the name {name!r} {why}: rename the folder"
        return Study(Workload("/".join([first, *base[1:]]), dataset, model, optimizer), batch_size)

    def _keep(self, study: Study, trial_id: int | None, member: Member) -> bool:
        """Keep a file; False if that file is already there."""
        folder, _, name = member.path.rpartition("/")
        pending = self._studies.setdefault(study, _Pending(folder.rpartition("/")[0]))
        if trial_id is None:
            if pending.study_file is not None:
                return False
            pending.folder, pending.study_file = folder, member.data
            return True
        if trial_id in pending.seen_trials:
            return False
        trial = pending.new_trials.setdefault(trial_id, TrialFiles(trial_id, folder))
        if name in trial.files:
            return False
        trial.files[name] = member.data
        pending.size += len(member.data)
        self._pending_size += len(member.data)
        return True

    def _hand_on(self, study: Study, at_end: bool, is_broken: bool = False) -> Iterator[BatchSciencePart | Quarantined]:
        """The study's whole trials as a part; what is still incomplete waits, and at the end is quarantined."""
        pending = self._studies[study]
        if pending.study_file is None:
            if at_end:
                trials = len(pending.new_trials)
                message = f"{_STUDY_FILE} is missing: {trials} trials can't be stored without it"
                yield self._quarantined(f"{pending.folder}/{_STUDY_FILE}", Rule.MISSING_FILE, message, study)
            return
        whole = sorted(trial_id for trial_id, trial in pending.new_trials.items() if trial.is_whole)
        if at_end and not (pending.new_trials or pending.seen_trials):
            yield self._quarantined(pending.folder, Rule.MISSING_FILE, "the study has no trials: pack them too", study)
        if whole:
            files = {trial_id: pending.new_trials.pop(trial_id) for trial_id in whole}
            pending.seen_trials.update(files)
            handed = sum(trial.size for trial in files.values())
            pending.size -= handed
            self._pending_size -= handed
            yield BatchSciencePart(study, self._name, pending.folder, pending.study_file, files)
        if at_end:
            for trial in pending.new_trials.values():
                missing = _METADATA_FILE if _CURVE_FILE in trial.files else _CURVE_FILE
                why = "the archive breaks off before it" if is_broken else "pack it too"
                message = f"{missing} is missing: {why}"
                yield self._quarantined(f"{trial.folder}/{missing}", Rule.MISSING_FILE, message, study, trial.trial_id)

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
        self, path: str, rule: Rule, message: str, study: Study, trial_id: int | None = None
    ) -> Quarantined:
        return Quarantined(self._name, path, rule, message, None, str(study), trial_id)


@dataclass
class _Pending:
    """What has been read of a study and is not yet handed on."""

    folder: str
    study_file: bytes | None = None
    new_trials: dict[int, TrialFiles] = field(default_factory=dict)
    seen_trials: set[int] = field(default_factory=set)
    size: int = 0


@dataclass
class TrialFiles:
    """The two files of a trial by name, as far as they have been read, and the folder they lie in."""

    trial_id: int
    folder: str
    files: dict[str, bytes] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        return len(self.files) == 2

    @property
    def size(self) -> int:
        return sum(map(len, self.files.values()))


@dataclass(frozen=True)
class BatchSciencePart:
    """Trials of one study with their files."""

    study: Study
    source: str
    folder: str
    study_file: bytes
    trials: Mapping[int, TrialFiles]

    format = NAME
    reader_version = READER_VERSION

    @property
    def n_trials(self) -> int:
        return len(self.trials)

    @property
    def size(self) -> int:
        return sum(files.size for files in self.trials.values())

    def file_digests(self) -> Mapping[str, str]:
        return self._sha256

    @cached_property
    def _sha256(self) -> dict[str, str]:
        files = {_STUDY_FILE: self.study_file}
        for trial_id, trial in self.trials.items():
            files |= {f"{trial_id}/{name}": trial.files[name] for name in (_METADATA_FILE, _CURVE_FILE)}
        return {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}

    def load(self) -> LoadedPart:
        facts = self._study_facts()
        quarantined = []
        trials: list[TrialFacts] = []
        for trial in self.trials.values():
            try:
                trials.append(self._trial_facts(trial))
            except Refusal as error:
                quarantined.append(self._quarantined(f"{trial.folder}/{_METADATA_FILE}", error, trial.trial_id))
        curves, good, faults = read_curves([self.trials[trial.trial_id].files[_CURVE_FILE] for trial in trials])
        for position, fault in sorted(faults.items()):
            quarantined.append(self._quarantined(trials[position].source, fault, trials[position].trial_id))
        return LoadedPart(facts, [trials[position] for position in good], curves, quarantined)

    def _quarantined(self, path: str, error: Refusal, trial_id: int | None = None) -> Quarantined:
        sha256 = self._sha256.get(path.removeprefix(f"{self.folder}/"))
        return Quarantined(self.source, path, error.rule, error.message, error.line, str(self.study), trial_id, sha256)

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
        except Refusal as error:
            raise StudyRejected(self._quarantined(f"{self.folder}/{_STUDY_FILE}", error)) from None
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

    def _trial_facts(self, trial: TrialFiles) -> TrialFacts:
        document = _json_object(trial.files[_METADATA_FILE])
        trial_id = _integer(document, "trial_id")
        if trial_id != trial.trial_id:
            message = f"trial_id is {trial_id}, its folder says {trial.trial_id}: correct one of them"
            raise Refusal(Rule.TRIAL_ID_DISAGREES, message)
        status = document.get("status")
        if status not in STATUSES:
            raise Refusal(Rule.UNKNOWN_STATUS, f"status is {shown(status)}, not one of {', '.join(STATUSES)}")
        given = document.get("parameters", {})
        if not isinstance(given, dict):
            raise Refusal(Rule.BAD_FIELD, "parameters is not an object")
        numbers = {name: float(value) for name, value in given.items() if is_exact_float(value)}
        others = {name: json.dumps(value, sort_keys=True) for name, value in given.items() if name not in numbers}
        sha256 = self._sha256[f"{trial_id}/{_CURVE_FILE}"]
        source = f"{trial.folder}/{_CURVE_FILE}"
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


def _is_wanted(path: str) -> bool:
    return path.rpartition("/")[2] in (_STUDY_FILE, _METADATA_FILE, _CURVE_FILE)


FORMAT = BatchScience()

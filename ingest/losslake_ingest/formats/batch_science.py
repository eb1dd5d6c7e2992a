"""The format `batch_science` of the archive published by Shallue et al. 2019.

Layout: `[base/…/]dataset/model/optimizer/batch_size/study.json` and `…/batch_size/trial_id/{metadata.json,
measurements.csv}`. The first base folder names the collection (`batch_science` is `shallue2018`); further ones, such as
`mnist_subsets/`, are sub-collections.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Refusal, Rule, shown
from losslake_ingest.contracts.study import LoadedPart, StudyFacts, StudyRejected, TrialFacts, is_exact_float
from losslake_ingest.formats.format import BundledFormat, Glimpse, read_files
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.readers.repeated_keys import distinct_pairs
from losslake_ingest.readers.tables.csv_curves import count, read_curves
from losslake_ingest.sources.member import Member, Source, UntilBreak
from losslake_schema.names import LARGEST_INTEGER, Study, Workload, name_problem, natural_number
from losslake_schema.registry import collections
from losslake_schema.statuses import COMPLETE, STORED_STATUSES

NAME = "batch_science"
LARGEST_PART = 288 * 2**20  # of memory to convert it, about 64 MB of text
LARGEST_PENDING = 128 * 2**20  # of text; the largest published study has 57 MB
_PER_FILE, _MEMORY_PER_FILE = 1000, 4000
_LARGEST_JSON = 1 << 20
_STUDY_FILE, _METADATA_FILE, _CURVE_FILE = "study.json", "metadata.json", "measurements.csv"


class BatchScience(BundledFormat):
    """The format of the published archive: complete studies that need no mapping."""

    name = NAME

    def detect(self, file: Glimpse) -> float:
        """Recognize the three kinds of files by name and content."""
        sure = {
            _STUDY_FILE: b'"train_steps"' in file.start or b'"batch_size"' in file.start,
            _METADATA_FILE: b'"trial_id"' in file.start,
            _CURVE_FILE: file.start.startswith((b"step,", b'"step",', b"\xef\xbb\xbfstep,")),
        }
        return 0.0 if file.name not in sure else 0.9 if sure[file.name] else 0.4

    def read(self, source: Source, mapping: LogMapping) -> Iterator[BatchSciencePart | Quarantined]:
        """Yield the parts of the studies in a source; trials that are close together form one part.

        A study is yielded when the files of another one begin and its study.json is known. If the source breaks, raises
        SourceBroken at the end, after everything before the break.
        """
        name = mapping.collection.name
        return _Reader(source, str(name.text) if name is not None and not name.names else None).read()


class _Reader:
    """Collects the files of trials until both files of a trial are known."""

    def __init__(self, source: Source, collection: str | None) -> None:
        self._source = source
        self._roots = {each.root: each.collection for each in collections()}
        self._collection = collection
        self._study_of = lru_cache(1)(self._study_at)
        self._current: Study | None = None
        self._studies: dict[Study, _Pending] = {}
        self._pending_size = 0

    def read(self) -> Iterator[BatchSciencePart | Quarantined]:
        """Yield the parts of the studies in the source."""
        items = UntilBreak(read_files(self._source, _is_wanted, self._add))
        yield from items
        for study in list(self._studies):
            yield from self._flush(study, at_end=True, is_broken=items.broken is not None)
        items.raise_break()

    def _add(self, member: Member) -> Iterator[BatchSciencePart | Quarantined]:
        """Add a file; yield complete trials when another study begins or too much memory is held. Raises Refusal."""
        study, trial_id = self._place(member.path)
        if self._current is not None and study != self._current:
            yield from self._flush(self._current, at_end=False)
        self._current = study
        if not self._keep(study, trial_id, member):
            message = f"the archive holds {member.path.rpartition('/')[2]} twice: the first one is used"
            yield self._quarantined(member.path, Rule.DUPLICATE_FILE, message, study, trial_id)
        if self._studies[study].footprint > LARGEST_PART or self._pending_size > LARGEST_PENDING:
            yield from self._flush(study, at_end=False)
        if self._pending_size > LARGEST_PENDING:
            yield from self._drop_scattered()

    def _place(self, path: str) -> tuple[Study, int | None]:
        """Return the study of a file, and its trial unless it is a study.json. Raises Refusal."""
        folder, _, name = path.rpartition("/")
        trial_id = None
        if name != _STUDY_FILE:
            folder, _, last = folder.rpartition("/")
            trial_id = natural_number(last)
            if trial_id is None:
                raise Refusal(Rule.BAD_NAME, "it isn't in a …/batch_size/trial_id/ folder: see the layout")
        return self._study_of(folder), trial_id

    def _study_at(self, folder: str) -> Study:
        """Return the study of a folder. Raises Refusal if it has none."""
        parts = folder.split("/")
        if len(parts) < 4 or (batch_size := natural_number(parts[-1])) is None or batch_size == 0:
            raise Refusal(Rule.BAD_NAME, "it isn't in a dataset/model/optimizer/batch_size/ folder")
        base, (dataset, model, optimizer) = parts[:-4], parts[-4:-1]
        # The folder or archive itself is the root if it was given without its parent.
        offered = self._source.path.resolve().name.split(".")[0]
        if not base or (offered in self._roots and base[0] not in self._roots):
            base = [offered, *base]
        root = base[0]
        first = self._collection or self._roots.get(root, root)
        for name in (*first.split("/"), *base[1:], dataset, model, optimizer):
            why = name_problem(name)
            if why:
                raise Refusal(Rule.BAD_NAME, f"the name {name!r} {why}: rename the folder")
        return Study(Workload("/".join([first, *base[1:]]), dataset, model, optimizer), batch_size)

    def _keep(self, study: Study, trial_id: int | None, member: Member) -> bool:
        """Add a file; return False if it is already there."""
        folder, _, name = member.path.rpartition("/")
        pending = self._studies.setdefault(study, _Pending(folder.rpartition("/")[0]))
        # Of a JSON file that is too large, only enough is kept to show that.
        data = member.data if name == _CURVE_FILE else member.data[: _LARGEST_JSON + 1]
        if trial_id is None:
            if pending.study_file is not None:
                return False
            pending.folder, pending.study_file = folder, data
        elif trial_id in pending.seen_trials:
            return False
        else:
            trial = pending.new_trials.setdefault(trial_id, TrialFiles(trial_id, folder))
            if name in trial.files:
                return False
            trial.files[name] = data
            memory = footprint(data)
            trial.footprint += memory
            pending.footprint += memory
        self._pending_size += len(data) + _PER_FILE
        return True

    def _flush(self, study: Study, at_end: bool, is_broken: bool = False) -> Iterator[BatchSciencePart | Quarantined]:
        """Yield the complete trials of a study as a part; at the end, quarantine incomplete ones."""
        pending = self._studies[study]
        if pending.study_file is None:
            if at_end and (pending.new_trials or not pending.seen_trials):
                message = f"{_STUDY_FILE} is missing: {len(pending.new_trials)} trials can't be stored without it"
                yield self._quarantined(f"{pending.folder}/{_STUDY_FILE}", Rule.MISSING_FILE, message, study)
            return
        complete = sorted((each for each, trial in pending.new_trials.items() if len(trial.files) == 2), reverse=True)
        if at_end and not (pending.new_trials or pending.seen_trials):
            message = "the study has no trials: add them to the archive"
            yield self._quarantined(pending.folder, Rule.MISSING_FILE, message, study)
        pending.seen_trials.update(complete)
        while complete:
            part: dict[int, TrialFiles] = {}
            size = 0
            while complete and (not part or size + pending.new_trials[complete[-1]].footprint <= LARGEST_PART):
                number = complete.pop()
                trial = part[number] = pending.new_trials.pop(number)
                size += trial.footprint
                self._pending_size -= sum(map(len, trial.files.values())) + 2 * _PER_FILE
            pending.footprint -= size
            yield BatchSciencePart(study, self._source.name, pending.folder, pending.study_file, part)
        if at_end:
            for trial in pending.new_trials.values():
                missing = _METADATA_FILE if _CURVE_FILE in trial.files else _CURVE_FILE
                why = "the archive ends before it" if is_broken else "add it to the archive"
                message = f"{missing} is missing: {why}"
                yield self._quarantined(f"{trial.folder}/{missing}", Rule.MISSING_FILE, message, study, trial.trial_id)

    def _drop_scattered(self) -> Iterator[Quarantined]:
        """Quarantine the incomplete trials of all studies, to free memory when files are too scattered."""
        for study, pending in self._studies.items():
            for trial in pending.new_trials.values():
                message = f"its other files are more than {LARGEST_PENDING:,} bytes away: sort the archive by path"
                yield self._quarantined(trial.folder, Rule.MISSING_FILE, message, study, trial.trial_id)
            pending.seen_trials.update(pending.new_trials)
            pending.new_trials, pending.footprint = {}, 0
            if study != self._current:
                pending.study_file = None
        self._pending_size = 0

    def _quarantined(
        self, path: str, rule: Rule, message: str, study: Study, trial_id: int | None = None
    ) -> Quarantined:
        return Quarantined(self._source.name, path, rule, message, None, str(study), trial_id)


@dataclass
class _Pending:
    """The files of a study that were read and not yet yielded."""

    folder: str
    study_file: bytes | None = None
    new_trials: dict[int, TrialFiles] = field(default_factory=dict)
    seen_trials: set[int] = field(default_factory=set)
    footprint: int = 0


@dataclass
class TrialFiles:
    """The two files of a trial by name, as far as they were read, and their folder. footprint: memory to convert it."""

    trial_id: int
    folder: str
    files: dict[str, bytes] = field(default_factory=dict)
    footprint: int = 0


@dataclass(frozen=True)
class BatchSciencePart:
    """Trials of one study with their files; a `StudyPart`."""

    study: Study
    source: str
    folder: str
    study_file: bytes
    trials: Mapping[int, TrialFiles]

    format = NAME
    reader_version = f"{NAME}/1"

    @property
    def n_trials(self) -> int:
        """The number of trials."""
        return len(self.trials)

    @property
    def size(self) -> int:
        """The approximate memory to convert the trials, in bytes."""
        return sum(trial.footprint for trial in self.trials.values())

    def file_digests(self) -> Mapping[str, str]:
        """Return the SHA-256 of each file by path within the study."""
        return self._sha256

    @cached_property
    def _sha256(self) -> dict[str, str]:
        files = {_STUDY_FILE: self.study_file}
        for trial_id, trial in self.trials.items():
            files |= {f"{trial_id}/{name}": trial.files[name] for name in (_METADATA_FILE, _CURVE_FILE)}
        return {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}

    def load(self) -> LoadedPart:
        """Parse the trials; raises StudyRejected if study.json is invalid."""
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
        is_whole = error.rule != Rule.FILE_TOO_LARGE
        sha256 = self._sha256.get(path.removeprefix(f"{self.folder}/")) if is_whole else None
        return Quarantined(self.source, path, error.rule, error.message, error.line, str(self.study), trial_id, sha256)

    def _study_facts(self) -> StudyFacts:
        """Parse study.json. Raises StudyRejected, since the trials can't be interpreted without it."""
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
        """Raise Refusal unless study.json agrees with the names of its folders."""
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
        """Return True if the folder is a subset of the data set, such as imagenet_half_images, or includes its base."""
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
        if status not in STORED_STATUSES:
            raise Refusal(Rule.UNKNOWN_STATUS, f"status is {shown(status)}, not one of {', '.join(STORED_STATUSES)}")
        table = trial.files[_CURVE_FILE]
        if status == COMPLETE and table and b"\n" not in table:
            why = f"the trial is COMPLETE, but {_CURVE_FILE} ends within its first line: copy it again"
            raise Refusal(Rule.NO_MEASUREMENTS, why)
        parameters = document.get("parameters")
        if not isinstance(parameters, dict):
            raise Refusal(Rule.BAD_FIELD, "parameters is not an object")
        numbers = {name: float(value) for name, value in parameters.items() if is_exact_float(value)}
        others = {name: json.dumps(value, sort_keys=True) for name, value in parameters.items() if name not in numbers}
        sha256 = self._sha256[f"{trial_id}/{_CURVE_FILE}"]
        source = f"{trial.folder}/{_CURVE_FILE}"
        return TrialFacts(trial_id, str(status), _integer(document, "steps"), numbers, others, source, sha256)


def _json_object(data: bytes) -> dict[str, Any]:
    if len(data) > _LARGEST_JSON:
        raise Refusal(Rule.FILE_TOO_LARGE, f"it has more than {_LARGEST_JSON:,} bytes, the limit for a JSON file")
    try:
        document = json.loads(data, object_pairs_hook=distinct_pairs)
        if b"\\u" in data:
            json.dumps(document, ensure_ascii=False).encode()  # a lone surrogate can't be stored
    except (ValueError, RecursionError) as error:
        raise Refusal(Rule.BAD_JSON, f"this isn't JSON ({shown(str(error))})") from None
    if not isinstance(document, dict):
        raise Refusal(Rule.BAD_JSON, "the JSON is not an object")
    return document


def _integer(document: Mapping[str, Any], name: str) -> int:
    value = document.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST_INTEGER:
        raise Refusal(Rule.BAD_FIELD, f"{name} is {shown(value)}, not an integer from 0 to 2^63 - 1")
    return value


def footprint(data: bytes) -> int:
    """Return the approximate memory to convert a CSV: twice its bytes, 12 for a cell, and 80 for a row."""
    return _MEMORY_PER_FILE + 2 * len(data) + 12 * count(data, ",") + 80 * count(data, "\n")


def _is_wanted(path: str) -> bool:
    return path.rpartition("/")[2] in (_STUDY_FILE, _METADATA_FILE, _CURVE_FILE)


FORMAT = BatchScience()

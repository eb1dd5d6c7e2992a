"""The format of the published archive of Shallue et al. 2019, `batch_science`.

Layout: `[base/…/]dataset/model/optimizer/batch_size/study.json` and `…/batch_size/trial_id/{metadata.json,
measurements.csv}`. The first base folder names the collection (`batch_science` is `shallue2018`); further ones, such as
`mnist_subsets/`, are sub-collections.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from losslake_ingest.formats.batch_science_part import NAME, BatchSciencePart, TrialFiles
from losslake_ingest.formats.format import Glimpse
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.report import Quarantined
from losslake_ingest.rules import Rule
from losslake_ingest.sources.member import Refused, Source
from losslake_ingest.sources.until_break import UntilBreak
from losslake_schema.names import Study, Workload, natural_number, why_bad_name
from losslake_schema.registry import collections

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

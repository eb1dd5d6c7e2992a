"""Reading of one source: detect its formats, place its runs by the mapping, and yield parts of studies."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, chain
from pathlib import Path

from losslake_ingest.contracts.report import Quarantined, SourceReport
from losslake_ingest.contracts.rules import NO_MEMORY, BadMapping, MissingField, Refusal, Rule, SourceBroken, shown
from losslake_ingest.contracts.run_log import Damage, RunLog
from losslake_ingest.contracts.study import StudyPart
from losslake_ingest.formats.format import GLIMPSE, Format, Glimpse, format_named, formats
from losslake_ingest.mapping.goals import goals_of
from losslake_ingest.mapping.mapping import (
    MAPPING_NAME,
    LogMapping,
    bundled_mappings,
    fits,
    load_mapping,
    overlay,
    parse_mapping,
)
from losslake_ingest.mapping.place import PlacedRun, collection_facts, contributors_of, place
from losslake_ingest.mapping.template import Template
from losslake_ingest.pipeline.gather import Gatherer, Stored
from losslake_ingest.pipeline.unread import Unread, first_unread
from losslake_ingest.readers.side_files import SideFiles
from losslake_ingest.readers.text_logs.proposal import advice
from losslake_ingest.sources.database import DatabaseSource
from losslake_ingest.sources.member import Member, PartOfSource, Source, UntilBreak, Wanted
from losslake_ingest.sources.open import BUNDLE_MANIFEST, FileSource, FolderSource, Place, open_source
from losslake_schema.contributors import Contributor
from losslake_schema.names import Study, Trial, Workload
from losslake_schema.registry import CollectionMetadata, Direction, Goal
from losslake_schema.statuses import COMPLETE

UNREAD = "file that isn't recognized, though its name ends like that of a log: left out"
ARCHIVED_MAPPING = f"{MAPPING_NAME} in an archive isn't read: unpack it and offer the folder, or give one by --map"
NO_KNOWN_FORMAT = "no log of a known format is in it: see 'losslake formats', or name one with --format"
UNPACKED = (
    "it holds the files of a bundle, but isn't one as published, a tar that begins with bundle.json: give the tar "
    "itself, neither unpacked nor compressed, or get it again"
)
NO_RUN = "none of its files holds a run: see 'losslake formats', or name one with --format"
MOST_FILES = 200_000
MOST_ARCHIVED = 200
CERTAIN_SCORE = 0.85
TEXT = "text"
_IS_MANIFEST = re.compile(rb'\{\s*"bundle"\s*:')


@dataclass(frozen=True)
class Request:
    """The options for reading the sources of an ingest.

    collection: overrides the collection's name from the mapping or folder. mapping: a mapping file for every source, or
    the name of a bundled mapping; without it, each source's own `losslake.toml` is used. formats: read only these,
    without detection. contributors: of every trial, beside those that mappings name. stored_facts_stay: what is stored
    of collections, goals and directions stays as it is, whatever the sources state; new ones are added.
    """

    collection: str | None = None
    mapping: Path | None = None
    formats: tuple[str, ...] = ()
    contributors: tuple[Contributor, ...] = ()
    stored_facts_stay: bool = False

    def mapping_for(self, source: Path) -> LogMapping:
        """Return the mapping for a source: the requested one, else `losslake.toml` in the folder or beside the file."""
        beside = (source if source.is_dir() else source.parent) / MAPPING_NAME
        if self.mapping is not None:
            file = mapping_file(self.mapping)
            mapping = load_mapping(file)
            if file in bundled_mappings().values():
                mapping = replace(mapping, labels=())
        else:
            mapping = load_mapping(beside) if beside.is_file() or beside.is_symlink() else LogMapping()
        if self.collection is not None:
            mapping = replace(mapping, collection=replace(mapping.collection, name=Template(self.collection)))
        return mapping

    def formats_for(self, mapping: LogMapping) -> dict[str, Format]:
        """Return the formats that may be read; text only where the mapping has expressions. Raises UnknownFormat."""
        names = self.formats or mapping.files.formats
        if names:
            return {name: format_named(name) for name in names}
        return {name: each for name, each in formats().items() if name != TEXT or mapping.text.lines}


def open_sources(places: Sequence[Place], request: Request) -> list[Source]:
    """Open the sources at some places. Raises UnknownSource, and BadMapping if the mapping of a part is a link.

    Without a mapping for all, a folder in which folders have a `losslake.toml` is read part by part: each of these is a
    source of its own, and the rest of the folder is one, if it has files.
    """
    sources: list[Source] = []
    for offered in places:
        source = open_source(offered)
        if not isinstance(source, FolderSource) or request.mapping is not None:
            sources.append(source)
            continue
        top = source.path
        nested = sorted(file for file in top.rglob(MAPPING_NAME) if file.parent != top)
        link = next((file for file in nested if file.is_symlink()), None)
        if link is not None:
            raise BadMapping(
                f"{link} is a symbolic link, which isn't followed: put the file itself there, or name it by --map"
            )
        folders = {file.parent for file in nested if file.is_file()}
        has_rest = any(file.is_file() and folders.isdisjoint(file.parents) for file in top.rglob("*"))
        for folder in (top, *sorted(folders)) if has_rest or not folders else sorted(folders):
            within = folder.relative_to(top).as_posix() if folder != top else ""
            sources.append(FolderSource(folder, within, folders - {folder}))
    return sources


class Reading(ABC):
    """A reader of one source, of logs or a bundle; what it collects is complete once all items are drawn.

    contributors: of all trials of studies that a format reads as a whole. Single runs have their own. remarks:
    decisions of the readers, with their counts.
    """

    def __init__(self, source: Source, stored: Stored) -> None:
        self.source, self.stored = source, stored
        self.collections: dict[str, CollectionMetadata] = {}
        self.goals: dict[Goal, None] = {}
        self.directions: dict[tuple[str, Direction], None] = {}
        self.contributors: dict[Study | Trial, tuple[Contributor, ...]] = {}
        self.remarks: Counter[str] = Counter()

    @property
    def missing(self) -> Counter[MissingField]:
        """Fields that the mapping has to add, with the number of runs."""
        return Counter()

    @abstractmethod
    def items(self) -> Iterator[StudyPart | Quarantined]:
        """Yield parts of studies and quarantined items; raises SourceBroken after everything before the break."""

    @abstractmethod
    def report(self) -> SourceReport:
        """Return the report of the source, for what has been read so far."""


class SourceReading(Reading):
    """A reader of one source of logs. left_out: columns that nothing maps to a metric, with the number of runs."""

    def __init__(self, source: Source, request: Request, stored: Stored, mapping: LogMapping | None = None) -> None:
        super().__init__(source, stored)
        self.mapping = mapping or request.mapping_for(source.path)
        self.formats = request.formats_for(self.mapping)
        self._is_forced = bool(request.formats)
        self._is_mapped = request.mapping is not None
        self._archived_mappings: set[str] = set()
        self.detected = self._detect()
        self._first_run: dict[str, str] = {}
        self.left_out: Counter[str] = Counter()
        self._missing: Counter[MissingField] = Counter()
        self._lacking: dict[MissingField, set[Workload]] = {}
        self._workloads: set[Workload] = set()
        self._everywhere = request.contributors
        self._place = str(source.path.resolve()).lstrip("/")
        self._unread = set(self.detected.unlike)
        self._refused: set[str] = set()

    def _detect(self) -> Detected:
        if isinstance(self.source, DatabaseSource):
            return Detected({}, {name: 1 for name in self.formats if name == "mlflow"})
        if self._is_forced:
            return Detected({}, dict.fromkeys(self.formats, 0))
        return detect(self.source, list(self.formats.values()), self._is_wanted)

    def _is_wanted(self, path: str) -> bool:
        files = self.mapping.files
        if any(path == table.file for table in self.mapping.lookup):
            return False
        is_included = not files.include or any(fits(path, pattern) for pattern in files.include)
        return is_included and not any(fits(path, pattern) for pattern in files.exclude)

    def items(self) -> Iterator[StudyPart | Quarantined]:
        """Yield parts of studies and quarantined items; raises SourceBroken after everything before the break.

        Also raises SourceBroken if no format recognizes anything in the source, or none reads a run.
        """
        if not self.detected.files:
            if isinstance(self.source, FolderSource) and self.source.parts and self.mapping.where is None:
                return  # all logs are in its parts
            raise SourceBroken(self.detected.broken or self._why_unread())
        readings = [UntilBreak(self._items(self.formats[name])) for name in self.detected.files]
        is_empty = True
        for item in chain.from_iterable(readings):
            is_empty = False
            yield item
        for items in readings:
            items.raise_break()
        if is_empty and self._is_forced:
            formats = " or ".join(self.formats)
            raise SourceBroken(f"no file in it has the format {formats}: leave --format out, or correct it")
        if is_empty:
            raise SourceBroken(self.detected.unread.why if self.detected.unread else NO_RUN)

    def _why_unread(self) -> str:
        """Return why no format recognizes anything in the source, and what to do."""
        unread, more = self.detected.unread, advice(self.source)
        if unread is None:
            return NO_KNOWN_FORMAT + more
        return unread.why if unread.is_pickle or more.startswith(f"; {unread.path} ") else unread.why + more

    def _items(self, log_format: Format) -> Iterator[StudyPart | Quarantined]:
        mapping = with_defaults(self.mapping, log_format)
        mapping = replace(mapping, contributor=[*self._everywhere, *mapping.contributor])
        source = self._with_noted_mappings(self.part(log_format.name))
        gatherer = Gatherer(self.source.name, log_format.name, self.stored, self._remark, place_of(self.source))
        side = SideFiles(source, mapping.files.side)
        yield from side.unreadable
        self._unread -= {path for path in self._unread if path.rpartition("/")[2] in mapping.files.side}
        logs = UntilBreak(log_format.read(source, mapping))
        for item in logs:
            if isinstance(item, RunLog):
                self._unread.difference_update(item.files)
                yield from self._place_run(item, mapping, side, gatherer)
                continue
            if isinstance(item, Quarantined):
                self._missing.update(item.missing)
                self._refused.add(item.path)
            else:
                self._collect_metadata(item.study, mapping)
            yield item
        yield from gatherer.flush()
        logs.raise_break()

    def part(self, name: str) -> Source:
        """Return the files of the source that belong to a format."""
        files = self.mapping.files
        is_whole = len(self.detected.files) == 1 and not (files.include or files.exclude or self.mapping.lookup)
        if is_whole or isinstance(self.source, DatabaseSource):
            return self.source
        belongs = self.detected.belongs(name)
        return PartOfSource(self.source, lambda path: self._is_wanted(path) and belongs(path))

    def _with_noted_mappings(self, source: Source) -> Source:
        """Return the source; while it is read, mappings in an archive are remarked unless one is given for all."""
        if self._is_mapped or isinstance(self.source, (FolderSource, FileSource, DatabaseSource)):
            return source

        def note(path: str) -> bool:
            if path.rpartition("/")[2] == MAPPING_NAME and path not in self._archived_mappings:
                self._archived_mappings.add(path)
                self._remark(ARCHIVED_MAPPING, path)
            return True

        return PartOfSource(source, note)

    def _place_run(
        self, log: RunLog, mapping: LogMapping, side: SideFiles, gatherer: Gatherer
    ) -> Iterator[StudyPart | Quarantined]:
        """Place a run, and yield what it completes; or yield the run as quarantined, with the reasons."""
        run, path = None, str(self.source.path)
        try:
            run = place(log, mapping, self._place, side.beside(log.run))
        except Refusal as refusal:
            self._missing.update(refusal.missing)
            if refusal.workload is not None:
                self._workloads.add(refusal.workload)
                for field in refusal.missing:
                    self._lacking.setdefault(field, set()).add(refusal.workload)
            sha256 = next(iter(log.files.values()), None)
            yield Quarantined(path, log.run, refusal.rule, refusal.message, refusal.line, sha256=sha256)
        except MemoryError:
            yield Quarantined(path, log.run, Rule.FILE_TOO_LARGE, NO_MEMORY)
        else:
            self._collect(run, log)
            within = self.source.within if isinstance(self.source, FolderSource) else ""
            yield from gatherer.add(replace(run, run=f"{within}/{run.run}") if within else run)
        if run is None or run.status != COMPLETE:
            yield from self._damages(log)

    def _collect(self, run: PlacedRun, log: RunLog) -> None:
        """Collect what a run and its mapping state, for the report and the release."""
        for remark, count in run.remarks.items():
            self._remark(remark, log.run, count)
        self._workloads.add(run.study.workload)
        self.left_out.update(run.left_out)
        self.remarks.update({f"run from which personal data was left out: {kind}": 1 for kind in log.private})
        self.collections[run.collection.collection] = run.collection
        self._note_licence(run.collection, log.run)
        self.goals |= dict.fromkeys(run.goals)
        self.directions |= dict.fromkeys(run.directions)

    def _note_licence(self, facts: CollectionMetadata, run: str) -> None:
        """Note a licence of a run that isn't that of its stored collection, which stays."""
        stored = self._stored_licences.get(facts.collection)
        if facts.is_licence_of_run and stored is not None and stored != facts.licence:
            what = f"run whose licence {shown(facts.licence)} isn't that of the collection {facts.collection}"
            advice = "which a run doesn't change, but [collection] licence in a mapping does"
            self._remark(f"{what}, {shown(stored)}, {advice}", run)

    @cached_property
    def _stored_licences(self) -> dict[str, str]:
        """The licences of the stored collections."""
        table = self.stored.table("collections")
        return dict(zip(table["collection"].to_pylist(), table["licence"].to_pylist(), strict=True))

    @property
    def missing(self) -> Counter[MissingField]:
        """Fields that the mapping has to add, with the number of runs."""
        return Counter({self._for_workloads(field): runs for field, runs in self._missing.items()})

    def _for_workloads(self, field: MissingField) -> MissingField:
        """Say which workloads a line of the mapping is for, if it may be wrong for others of the source."""
        lacking = sorted(self._lacking.get(field, ()))
        if not field.may_differ or len(self._workloads) < 2:
            return field
        more = f" and {len(lacking) - 1:,} more" if len(lacking) > 1 else ""
        is_of_all = len(lacking) == len(self._workloads)
        where = "by [[when]] where workloads differ" if is_of_all else f"in a [[when]] for {lacking[0]}{more}"
        return replace(field, add=f"{field.add}; {where}")

    def _damages(self, log: RunLog) -> Iterator[Quarantined]:
        """Yield a line for each kind of damage in the files of a run."""
        path = next(iter(log.files)) if len(log.files) == 1 else log.run
        for remark, count in log.remarks.items():
            if isinstance(remark, Damage):
                message = f"{count:,} x {remark}; the run isn't COMPLETE: {remark.advice}"
                yield Quarantined(str(self.source.path), path, Rule.DAMAGED_LOG, message, remark.line)

    def _remark(self, remark: str, run: str, count: int = 1) -> None:
        self.remarks[remark] += count
        self._first_run.setdefault(remark, run)

    def _with_place(self, remark: str) -> str:
        run = self._first_run.get(remark)
        return remark if run is None else f"{remark} (first in {run})"

    def _collect_metadata(self, study: Study, mapping: LogMapping) -> None:
        """Collect the mapping's collection metadata and goals for a study that a format reads completely."""
        facts = collection_facts(mapping, study, study.key())
        if facts != CollectionMetadata(facts.collection):
            self.collections[facts.collection] = facts
        self.goals |= dict.fromkeys(goals_of(mapping, study.workload, study.key()))
        if contributors := contributors_of(mapping):
            self.contributors[study] = contributors

    def report(self) -> SourceReport:
        """Return the report of the source, for what has been read so far."""
        detected = self.detected
        remarks = {self._with_place(remark): count for remark, count in self.remarks.items()}
        unread = [path for path in self._unread if self._refused.isdisjoint(_with_folders(path))]
        if unread:
            remarks[f"{UNREAD} (first in {min(unread)})"] = len(unread)
        return SourceReport(
            str(self.source.path),
            detected.files,
            detected.others,
            detected.excluded,
            detected.is_whole,
            self.mapping.where,
            tuple(sorted(remarks.items())),
            tuple(sorted(self.left_out.items())),
            tuple(label for label in self.mapping.labels if label not in self.mapping.used),
        )


def place_of(source: Source) -> str | None:
    """Return the full path of a local source without what the paths of its runs begin with; None if it isn't local."""
    if source.is_streamed or isinstance(source, DatabaseSource):
        return None
    path = source.path.resolve()
    if isinstance(source, FolderSource):
        return str(path).removesuffix(source.within).rstrip("/")
    return str(path.parent if isinstance(source, FileSource) else path)


def with_defaults(mapping: LogMapping, log_format: Format) -> LogMapping:
    """Return the mapping with the format's defaults for everything that it leaves open."""
    return overlay(mapping, parse_mapping(log_format.defaults.encode(), f"defaults of {log_format.name}"))


def mapping_file(name: Path) -> Path:
    """Return the mapping file: the path itself if it exists, else the bundled mapping of that name."""
    return name if name.exists() else bundled_mappings().get(str(name), name)


@dataclass(frozen=True)
class Detected:
    """The formats that were detected in a source.

    folders: the formats of each folder with recognized files. files: the number of recognized files by format. others:
    the number of unrecognized files. excluded: the number of files that the mapping excludes. is_whole: every file was
    examined. broken: why the examination stopped early, if it did. unlike: unrecognized files with the ending of a
    recognized one. unread: why a source without logs has none, if a file shows it.
    """

    folders: Mapping[str, Collection[str]] = field(default_factory=dict)
    files: Mapping[str, int] = field(default_factory=dict)
    others: int = 0
    excluded: int = 0
    is_whole: bool = True
    broken: str | None = None
    unlike: Sequence[str] = ()
    unread: Unread | None = None

    def belongs(self, name: str) -> Wanted:
        """Return a predicate for the paths of a format: the nearest folder above with a detected format decides."""

        def decide(path: str) -> bool:
            folder = path
            while folder:
                folder = folder.rpartition("/")[0]
                if folder in self.folders:
                    return name in self.folders[folder]
            return True

        return decide


def detect(source: Source, formats: Sequence[Format], wanted: Wanted) -> Detected:
    """Detect the formats of a source, folder by folder, from the start of each file (200 files in an archive).

    A format that recognizes a file by its bytes gets the folder exclusively; of several, the one with the highest
    score. For example, event files beside AlgoPerf's CSVs are the same run again.
    """
    limit = MOST_FILES if isinstance(source, FolderSource) else MOST_ARCHIVED
    scores: dict[str, dict[str, float]] = defaultdict(dict)
    excluded = n_examined = 0
    others: list[str] = []
    recognized: list[tuple[str, str]] = []
    broken: str | None = None
    unread: Unread | None = None
    try:
        for member in source.members(lambda _: True, GLIMPSE):
            n_examined += 1
            if n_examined > limit:
                break
            if not isinstance(member, Member) or member.path == MAPPING_NAME:
                continue
            if not wanted(member.path):
                excluded += 1
                continue
            if member.path.rpartition("/")[2] == BUNDLE_MANIFEST and _IS_MANIFEST.match(member.data):
                unread = Unread(member.path, UNPACKED)
            file = Glimpse(member.path, member.data)
            scores_of = ((one.detect(file), one.name) for one in formats)
            score, name = max(scores_of, key=lambda pair: pair[0], default=(0.0, ""))
            if score <= 0:
                others.append(member.path)
                unread = unread if recognized else first_unread(unread, file, formats)
                continue
            recognized.append((member.path, name))
            of_folder = scores[_folder(member.path)]
            of_folder[name] = max(score, of_folder.get(name, score))
    except SourceBroken as error:
        broken = str(error)
    folders = {folder: _readers(of_format) for folder, of_format in scores.items()}
    read = [(path, name) for path, name in recognized if name in folders[_folder(path)]]
    beside = {(_folder(path), _ending(path)) for path, _ in read}
    endings = {ending for _, ending in beside}
    unlike = [path for path in others if _ending(path) in endings]
    paths_read = {path for path, _ in read}
    left_out = (path for path, _ in recognized if path not in paths_read)
    unlike += [path for path in left_out if (_folder(path), _ending(path)) in beside]
    files = dict(sorted(Counter(name for _, name in read).items()))
    return Detected(folders, files, len(others), excluded, n_examined <= limit, broken, unlike, unread)


def _with_folders(path: str) -> Iterator[str]:
    return accumulate(path.split("/"), "{}/{}".format)


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _ending(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[2]


def _readers(scores: Mapping[str, float]) -> Collection[str]:
    """Return the formats that read a folder, from their highest scores for its files."""
    best = max(scores, key=scores.__getitem__)
    return (best,) if scores[best] >= CERTAIN_SCORE else tuple(sorted(scores))

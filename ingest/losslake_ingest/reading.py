"""Read one source: its formats are detected, its runs placed by the mapping, and parts of studies come out."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from losslake_ingest.formats.format import GLIMPSE, Format, Glimpse, format_named, formats
from losslake_ingest.gather import Gatherer, Stored
from losslake_ingest.mapping.mapping import MAPPING_NAME, LogMapping, load_mapping, overlaid, parse_mapping
from losslake_ingest.mapping.place import PlacedRun, collection_facts, goals_of, place
from losslake_ingest.mapping.side_files import SideFiles
from losslake_ingest.mapping.template import Template
from losslake_ingest.report import Quarantined, SourceReport
from losslake_ingest.rules import MissingField, Refusal, SourceBroken
from losslake_ingest.run_log import RunLog
from losslake_ingest.sources.database import DatabaseSource
from losslake_ingest.sources.member import Member, PartOfSource, Source, UntilBreak, Wanted
from losslake_ingest.sources.open import FolderSource
from losslake_ingest.study import StudyPart
from losslake_schema.names import Study
from losslake_schema.registry import CollectionFacts, Goal

UNKNOWN = "no log of a known format is in it: see 'losslake formats', or name one with --format"
MOST_FILES = 200_000
MOST_ARCHIVED = 200
SURE = 0.85
_FOLDER = Path(__file__).parent / "mappings"


@dataclass(frozen=True)
class Request:
    """How to read the sources.

    collection: the name of the collection, whatever a mapping or a folder says. mapping: the file that holds for every
    source, or the name of one that LossLake brings along; without it each source may have its own beside it. formats:
    read these, and detect nothing.
    """

    collection: str | None = None
    mapping: Path | None = None
    formats: tuple[str, ...] = ()

    def mapping_for(self, source: Path) -> LogMapping:
        """The mapping for a source: the one asked for, else `losslake.toml` in the folder or beside the file."""
        beside = (source if source.is_dir() else source.parent) / MAPPING_NAME
        if self.mapping is not None:
            mapping = load_mapping(mapping_file(self.mapping))
        else:
            mapping = load_mapping(beside) if beside.is_file() else LogMapping()
        if self.collection is not None:
            mapping = replace(mapping, collection=replace(mapping.collection, name=Template(self.collection)))
        return mapping

    def formats_for(self, mapping: LogMapping) -> dict[str, Format]:
        """The formats that may be read; raises UnknownFormat."""
        names = self.formats or mapping.files.formats
        return {name: format_named(name) for name in names} if names else formats()


class SourceReading:
    """One source being read; what it says of collections, goals and itself is there once its items are drawn.

    remarks: how often readers had to decide something. left_out: columns of which nothing says what they are, and of
    how many runs. missing: what the mapping has to say, and for how many runs.
    """

    def __init__(self, source: Source, request: Request, stored: Stored, mapping: LogMapping | None = None) -> None:
        self.source = source
        self.stored = stored
        self.mapping = mapping or request.mapping_for(source.path)
        self.formats = request.formats_for(self.mapping)
        self.detected = self._detect(is_forced=bool(request.formats))
        self.remarks: Counter[str] = Counter()
        self.left_out: Counter[str] = Counter()
        self.missing: Counter[MissingField] = Counter()
        self.collections: dict[str, CollectionFacts] = {}
        self.goals: dict[Goal, None] = {}
        self._place = str(source.path.resolve()).lstrip("/")

    def _detect(self, is_forced: bool) -> Detected:
        if isinstance(self.source, DatabaseSource):
            return Detected({}, {name: 1 for name in self.formats if name == "mlflow"})
        if is_forced:
            return Detected({}, dict.fromkeys(self.formats, 0))
        return detect(self.source, list(self.formats.values()), self._is_wanted)

    def _is_wanted(self, path: str) -> bool:
        files = self.mapping.files
        if any(path == table.file for table in self.mapping.lookup):
            return False
        is_included = not files.include or any(fnmatch.fnmatchcase(path, pattern) for pattern in files.include)
        return is_included and not any(fnmatch.fnmatchcase(path, pattern) for pattern in files.exclude)

    def items(self) -> Iterator[StudyPart | Quarantined]:
        """Yield parts of studies and what is quarantined; raises SourceBroken after everything before the break.

        A source in which no format finds anything is broken, too.
        """
        if not self.detected.files:
            raise SourceBroken(self.detected.broken or UNKNOWN)
        readings = [UntilBreak(self._items(self.formats[name])) for name in self.detected.files]
        for items in readings:
            yield from items
        for items in readings:
            items.tell()

    def _items(self, log_format: Format) -> Iterator[StudyPart | Quarantined]:
        mapping = with_defaults(self.mapping, log_format)
        source = self.part(log_format.name)
        gatherer = Gatherer(str(self.source.path), log_format.name, self.stored)
        side = SideFiles.read(source, mapping.files.side)
        logs = UntilBreak(log_format.read(source, mapping))
        for item in logs:
            if isinstance(item, RunLog):
                placed = self._placed(item, mapping, side)
                yield from gatherer.add(placed) if isinstance(placed, PlacedRun) else [placed]
            else:
                if not isinstance(item, Quarantined):
                    self._note(item.study, mapping)
                yield item
        yield from gatherer.rest()
        logs.tell()

    def part(self, name: str) -> Source:
        """Return the part of the source that is for a format."""
        files = self.mapping.files
        is_whole = len(self.detected.files) == 1 and not (files.include or files.exclude or self.mapping.lookup)
        if is_whole or isinstance(self.source, DatabaseSource):
            return self.source
        belongs = self.detected.belongs(name)
        return PartOfSource(self.source, lambda path: self._is_wanted(path) and belongs(path))

    def _placed(self, log: RunLog, mapping: LogMapping, side: SideFiles) -> PlacedRun | Quarantined:
        """The run in its place, or why it has none."""
        try:
            run = place(log, mapping, self._place, side.beside(log.run))
        except Refusal as refusal:
            self.missing.update(refusal.missing)
            sha256 = next(iter(log.files.values()), None)
            return Quarantined(str(self.source.path), log.run, refusal.rule, refusal.message, sha256=sha256)
        self.remarks.update(run.remarks)
        self.left_out.update(run.left_out)
        self.remarks.update({f"run from which personal data was left out: {kind}": 1 for kind in log.private})
        self.collections[run.collection.collection] = run.collection
        self.goals.update(dict.fromkeys(run.goals))
        return run

    def _note(self, study: Study, mapping: LogMapping) -> None:
        """What the mapping says of a study that a format reads whole."""
        facts = collection_facts(mapping, study, study.key())
        if facts != CollectionFacts(facts.collection):
            self.collections[facts.collection] = facts
        self.goals.update(dict.fromkeys(goals_of(mapping, study.workload, study.key())))

    def report(self) -> SourceReport:
        """Return what an ingest reports of the source, as far as it has been read."""
        detected = self.detected
        return SourceReport(
            str(self.source.path),
            detected.files,
            detected.others,
            detected.excluded,
            detected.is_whole,
            self.mapping.where,
            tuple(sorted(self.remarks.items())),
            tuple(sorted(self.left_out.items())),
        )


def with_defaults(mapping: LogMapping, log_format: Format) -> LogMapping:
    """The mapping, with what the format itself says wherever it is silent."""
    return overlaid(mapping, parse_mapping(log_format.defaults.encode(), f"defaults of {log_format.name}"))


def shipped_mappings() -> dict[str, Path]:
    """The file of each mapping, by name."""
    return {file.parent.name: file for file in sorted(_FOLDER.glob(f"*/{MAPPING_NAME}"))}


def mapping_file(asked: Path) -> Path:
    """The file that is meant: the path itself, or else a mapping of that name that LossLake brings along."""
    return asked if asked.exists() else shipped_mappings().get(str(asked), asked)


@dataclass(frozen=True)
class Detected:
    """Which formats a source is in.

    folders: the formats of each folder that has files of any. files: how many files begin a run, by format. others: how
    many files no format wants. excluded: how many the mapping leaves out. is_whole: whether every file was looked at.
    broken: why the source could not be looked through, if so.
    """

    folders: Mapping[str, Collection[str]] = field(default_factory=dict)
    files: Mapping[str, int] = field(default_factory=dict)
    others: int = 0
    excluded: int = 0
    is_whole: bool = True
    broken: str | None = None

    def belongs(self, name: str) -> Wanted:
        """Return whether a path is for a format: the nearest folder above it that has a format decides."""

        def decide(path: str) -> bool:
            folder = path
            while folder:
                folder = folder.rpartition("/")[0]
                if folder in self.folders:
                    return name in self.folders[folder]
            return True

        return decide


def detect(source: Source, formats: Sequence[Format], wanted: Wanted) -> Detected:
    """Look at the start of each file (in an archive, of the first two hundred) and decide folder by folder.

    A format that is sure of a file by its bytes has its folder alone, the surest of several: event files beside
    AlgoPerf's CSVs are the same run again.
    """
    most = MOST_FILES if isinstance(source, FolderSource) else MOST_ARCHIVED
    scores: dict[str, dict[str, list[float]]] = {}
    others = excluded = looked_at = 0
    broken: str | None = None
    try:
        for member in source.members(lambda _: True, GLIMPSE):
            looked_at += 1
            if looked_at > most:
                break
            if not isinstance(member, Member) or member.path == MAPPING_NAME:
                continue
            if not wanted(member.path):
                excluded += 1
                continue
            file = Glimpse(member.path, member.data)
            scores_of = ((one.detect(file), one.name) for one in formats)
            score, name = max(scores_of, key=lambda pair: pair[0], default=(0.0, ""))
            if score <= 0:
                others += 1
                continue
            scores.setdefault(member.path.rpartition("/")[0], {}).setdefault(name, []).append(score)
    except SourceBroken as error:
        broken = str(error)
    folders = {folder: _readers(of_format) for folder, of_format in scores.items()}
    files: Counter[str] = Counter()
    for folder, names in folders.items():
        files.update({name: len(scores[folder][name]) for name in names})
    return Detected(folders, dict(sorted(files.items())), others, excluded, looked_at <= most, broken)


def _readers(scores: Mapping[str, Sequence[float]]) -> Collection[str]:
    """The formats that read a folder, from how sure each is of its files."""
    surest = max(scores, key=lambda name: max(scores[name]))
    return (surest,) if max(scores[surest]) >= SURE else tuple(sorted(scores))

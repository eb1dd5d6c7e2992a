"""Reading one source: its formats are told, its runs placed by the mapping, and parts of studies come out."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Iterator, Mapping

from losslake_ingest.detect import Detected, detect
from losslake_ingest.formats.format import Format
from losslake_ingest.gather import Gatherer
from losslake_ingest.mapping.mapping import Lack, LogMapping, Refusal
from losslake_ingest.mapping.place import PlacedRun, collection_facts, goals_of_study, place
from losslake_ingest.mapping.side_files import SideFiles
from losslake_ingest.numbers import TrialNumbers
from losslake_ingest.report import Quarantined, SourceReport
from losslake_ingest.request import Request, with_defaults
from losslake_ingest.rules import SourceBroken
from losslake_ingest.run_log import RunLog
from losslake_ingest.sources.database import DatabaseSource
from losslake_ingest.sources.member import PartOfSource, Source, UntilBreak
from losslake_ingest.study import StudyPart
from losslake_schema.names import Study
from losslake_schema.registry import CollectionFacts, Goal

UNKNOWN = "no log of a known format is in it: see 'losslake formats', or name one with --format"


class SourceReading:
    """One source being read; what it says of collections, goals and itself is there once its items are drawn.

    remarks: how often readers had to decide something. left_out: columns of which nothing says what they are, and of
    how many runs. lacks: what the mapping has to say, and for how many runs.
    """

    def __init__(
        self,
        source: Source,
        request: Request,
        numbers: TrialNumbers,
        units: Mapping[Study, str],
        mapping: LogMapping | None = None,
    ) -> None:
        self.source = source
        self.mapping = mapping or request.mapping_for(source.path)
        self.formats = request.formats_for(self.mapping)
        self.detected = self._detect(is_forced=bool(request.formats))
        self.remarks: Counter[str] = Counter()
        self.left_out: Counter[str] = Counter()
        self.lacks: Counter[Lack] = Counter()
        self.collections: dict[str, CollectionFacts] = {}
        self.goals: dict[Goal, None] = {}
        self._numbers = numbers
        self._units = units
        self._place = str(source.path.resolve()).lstrip("/")

    def _detect(self, is_forced: bool) -> Detected:
        if isinstance(self.source, DatabaseSource):
            return Detected({}, {name: 1 for name in self.formats if name == "mlflow"})
        if is_forced:
            return Detected({}, dict.fromkeys(self.formats, 0))
        return detect(self.source, list(self.formats.values()), self._is_wanted)

    def _is_wanted(self, path: str) -> bool:
        mapping = self.mapping
        if any(path == table.file for table in mapping.lookups):
            return False
        is_included = not mapping.include or any(fnmatch.fnmatchcase(path, pattern) for pattern in mapping.include)
        return is_included and not any(fnmatch.fnmatchcase(path, pattern) for pattern in mapping.exclude)

    def items(self) -> Iterator[StudyPart | Quarantined]:
        """Parts of studies and what is quarantined; raises SourceBroken after everything before the break.

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
        gatherer = Gatherer(str(self.source.path), log_format.name, self._numbers, self._units)
        side = SideFiles.read(source, mapping.side_files)
        found = UntilBreak(log_format.read(source, mapping))
        for item in found:
            if isinstance(item, RunLog):
                placed = self.placed(item, mapping, side)
                yield from gatherer.add(placed) if isinstance(placed, PlacedRun) else [placed]
            else:
                self._note(item, mapping)
                yield item
        yield from gatherer.rest()
        found.tell()

    def part(self, name: str) -> Source:
        """The part of the source that is for a format."""
        mapping = self.mapping
        is_whole = len(self.detected.files) == 1 and not (mapping.include or mapping.exclude or mapping.lookups)
        if is_whole or isinstance(self.source, DatabaseSource):
            return self.source
        belongs = self.detected.belongs(name)
        return PartOfSource(self.source, lambda path: self._is_wanted(path) and belongs(path))

    def placed(self, log: RunLog, mapping: LogMapping, side: SideFiles) -> PlacedRun | Quarantined:
        """The run in its place, or why it has none."""
        try:
            run = place(log, mapping, self._place, side.beside(log.run))
        except Refusal as refusal:
            self.lacks.update(refusal.lacks)
            sha256 = next(iter(log.files.values()), None)
            return Quarantined(str(self.source.path), log.run, refusal.rule, refusal.message, sha256=sha256)
        self.remarks.update(run.remarks)
        self.left_out.update(run.left_out)
        self.remarks.update({f"run from which personal data was left out: {kind}": 1 for kind in log.private})
        self.collections[run.collection.collection] = run.collection
        self.goals.update(dict.fromkeys(run.goals))
        return run

    def _note(self, item: StudyPart | Quarantined, mapping: LogMapping) -> None:
        """What the mapping says of a study that a format reads whole."""
        if not isinstance(item, Quarantined):
            facts = collection_facts(mapping, item.study)
            if facts != CollectionFacts(facts.collection):
                self.collections[facts.collection] = facts
            self.goals.update(dict.fromkeys(goals_of_study(mapping, item.study)))


def source_report(reading: SourceReading) -> SourceReport:
    """What an ingest tells of a source that has been read."""
    detected = reading.detected
    return SourceReport(
        str(reading.source.path),
        detected.files,
        detected.others,
        detected.excluded,
        detected.is_whole,
        reading.mapping.where,
        tuple(sorted(reading.remarks.items())),
        tuple(sorted(reading.left_out.items())),
    )

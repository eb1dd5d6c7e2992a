"""Runs that `losslake.record` wrote: run.json, a folder of JSON lines for each attempt, and end.json.

An attempt that went back replaces what earlier ones measured from its first step on; of several values of a metric at
one step, the last one written counts. The layout is documented in docs/recording.md.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from losslake.record.layout import END, RUN, STEP, VERSION, SegmentName
from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import NO_MEMORY, Refusal, Rule
from losslake_ingest.contracts.run_log import RunLog
from losslake_ingest.formats.format import BundledFormat, Glimpse, read_all_files
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.readers.recorded.recorded_run import RecordedRun
from losslake_ingest.readers.safe_parsing import read_document
from losslake_ingest.sources.member import Member, Refused, Source, UntilBreak

LARGEST_DOCUMENT = 1 << 20
LARGEST_PENDING = 2**23  # cells of the runs that wait until all of their segments were read
_MARK = re.compile(rb'\s*\{\s*"format"\s*:\s*"losslake-record/(?P<version>[^"]{0,20})"')
_SEGMENT = re.compile(r"(?P<folder>(?:.+/)?)(?P<name>[^/]+/[^/]+)")


class Record(BundledFormat):
    """The format of losslake.record: one run per folder with a run.json."""

    name = "record"

    def detect(self, file: Glimpse) -> float:
        """Recognize a run.json by its first key, and a segment by its place and its first line."""
        if file.name == RUN and _MARK.match(file.start):
            return 0.99
        is_ours = file.start.startswith(b'{"step":') or b'"elapsed_s":' in file.start
        # Above W&B's histories: a run that was fetched from there has their columns.
        return 0.97 if is_ours and _segment_at(file.path) is not None else 0.0

    def read(self, source: Source, mapping: LogMapping) -> Iterator[RunLog | Quarantined]:
        """Yield one run per folder."""
        with_axes = [name for axis in mapping.axis if axis.column == STEP for name in axis.metrics]
        yield from _Reader(source, with_axes).read()


class _Reader:
    """Collects the segments of each run until the run is complete."""

    def __init__(self, source: Source, metrics_with_axes: Sequence[str]) -> None:
        self._source = source
        self._metrics_with_axes = metrics_with_axes
        self._runs: dict[str, RecordedRun] = {}
        self._refused: set[str] = set()  # folders whose run.json can't be used
        self._finished: set[str] = set()
        self._licences: dict[str, tuple[str, str]] = {}  # of each collection, with the run that states it
        self._n_cells = 0

    def read(self) -> Iterator[RunLog | Quarantined]:
        """Yield the runs of the source."""
        yield from self._documents()
        yield from read_all_files(self._source, lambda path: _segment_at(path) is not None, self._add, self._flush)

    def _documents(self) -> Iterator[Quarantined]:
        """Read every run.json and the end.json beside it; yield those that can't be used."""
        ends: list[Member] = []
        members = self._source.members(lambda path: path.rpartition("/")[2] in (RUN, END), LARGEST_DOCUMENT + 1)
        for member in UntilBreak(members):
            if isinstance(member, Refused):
                continue  # reported where the segments are read, or no file of ours
            if member.path.rpartition("/")[2] == END:
                ends.append(member)
            elif (match := _MARK.match(member.data)) is not None:
                yield from self._try(member, partial(self._add_run, match["version"]))
        for member in ends:
            if _folder(member.path) in self._runs:
                yield from self._try(member, self._add_end)

    def _try(self, member: Member, add: Callable[[Member], None]) -> Iterator[Quarantined]:
        try:
            add(member)
        except Refusal as error:
            yield Quarantined(self._source.name, member.path, error.rule, error.message, error.line)
        except MemoryError:
            yield Quarantined(self._source.name, member.path, Rule.FILE_TOO_LARGE, NO_MEMORY)

    def _add_run(self, version: bytes, member: Member) -> None:
        """Read a run.json. Raises Refusal."""
        folder = _folder(member.path)
        if folder in self._runs:
            raise Refusal(Rule.DUPLICATE_FILE, "the archive holds it twice: the first one is used")
        self._refused.add(folder)
        if not re.fullmatch(rb"[1-9][0-9]{0,8}", version) or int(version) > VERSION:
            shown = version.decode("ascii", "backslashreplace")
            message = f"it has layout {shown} of losslake.record, and this version of losslake reads 1 to {VERSION}"
            raise Refusal(Rule.UNREADABLE_LOG, f"{message}: install a newer losslake")
        sha256 = hashlib.sha256(member.data).hexdigest()
        run = RecordedRun(folder, sha256, _document(member), {member.path: sha256})
        collection, licence = run.facts.get("collection"), run.facts.get("licence")
        if isinstance(collection, str) and isinstance(licence, str):
            first, where = self._licences.setdefault(collection, (licence, member.path))
            if first != licence:
                message = f"its licence is {licence[:80]!r}, and {where} of the same collection has {first[:80]!r}"
                raise Refusal(Rule.FACTS_DISAGREE, f"{message}: correct one of them, or use two collections")
        self._refused.discard(folder)
        self._runs[folder] = run

    def _add_end(self, member: Member) -> None:
        """Read an end.json. Raises Refusal."""
        run = self._runs[_folder(member.path)]
        if run.end is not None:
            raise Refusal(Rule.DUPLICATE_FILE, "the archive holds it twice: the first one is used")
        run.set_end(_document(member), hashlib.sha256(member.data).hexdigest(), member.path)

    def _add(self, member: Member) -> Iterator[RunLog | Quarantined]:
        """Read a segment; yield the runs before when too much memory is held. Raises Refusal."""
        place = _segment_at(member.path)
        assert place is not None
        folder, segment = place
        run = self._runs.get(folder)
        if run is None:
            if folder in self._finished:
                message = "its run's other files come much earlier in the archive: sort the archive by path"
                raise Refusal(Rule.DUPLICATE_FILE, message)
            if folder in self._refused:
                return  # reported for its run.json
            message = f"there is no {RUN} of losslake.record beside its folder: copy the whole folder of the run"
            raise Refusal(Rule.MISSING_FILE, message)
        self._n_cells += run.add(segment, member.path, member.data, self._source.name)
        if self._n_cells > LARGEST_PENDING:
            yield from self._flush(folder)

    def _flush(self, current: str | None = None) -> Iterator[RunLog | Quarantined]:
        """Yield the runs in order of path, but not the current one."""
        for folder in sorted(self._runs):
            run = self._runs[folder]
            if folder == current or (current is not None and not run.has_segments):
                continue
            del self._runs[folder]
            self._finished.add(folder)
            self._n_cells -= run.n_cells
            try:
                yield run.log(self._metrics_with_axes)
            except Refusal as error:
                path = folder.rstrip("/") or "."
                yield Quarantined(self._source.name, path, error.rule, error.message, error.line, sha256=run.sha256)


def _segment_at(path: str) -> tuple[str, SegmentName] | None:
    """Return the folder of the run, with a slash at its end, and the segment of that path; None if it isn't one's."""
    match = _SEGMENT.fullmatch(path)
    segment = SegmentName.parse(match["name"]) if match is not None else None
    return (match["folder"], segment) if match is not None and segment is not None else None


def _folder(path: str) -> str:
    """Return the folder of a file, with a slash at its end unless it is that of the source."""
    folder = path.rpartition("/")[0]
    return f"{folder}/" if folder else ""


def _document(member: Member) -> dict[str, object]:
    """Parse a JSON object. Raises Refusal."""
    if len(member.data) > LARGEST_DOCUMENT:
        raise Refusal(Rule.FILE_TOO_LARGE, f"more than {LARGEST_DOCUMENT:,} bytes: losslake.record writes less")
    document = read_document(member.data)
    if not isinstance(document, dict):
        raise Refusal(Rule.UNREADABLE_LOG, "the JSON is no object: copy the file again")
    return document


FORMAT = Record()

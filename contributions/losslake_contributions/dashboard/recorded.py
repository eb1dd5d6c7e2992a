"""A recorded run in a folder, of which only what is new is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from losslake.record.layout import ELAPSED, END, HEARTBEAT, RUN, STEP
from losslake_contributions.dashboard.runs import MOST_TAGS, LiveRun, shown_parameters, shown_text
from losslake_contributions.dashboard.series import Series
from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Refusal
from losslake_ingest.contracts.run_log import Damage, LoggedRows
from losslake_ingest.contracts.study import LARGEST_EXACT_INTEGER
from losslake_ingest.readers.recorded.attempts import last_written, replaced_from
from losslake_ingest.readers.recorded.folder import BadSpool, Segment, read_spool, segments_in
from losslake_ingest.readers.safe_parsing import printable
from losslake_ingest.readers.tables.json_table import read_json_lines
from losslake_ingest.readers.tables.runs import runs_of
from losslake_ingest.readers.tables.table import TableFile
from losslake_schema.reached import Floats, Integers
from losslake_schema.registry import DIRECTIONS, Direction

MOST_BYTES = 500_000_000
"""Bytes of the lines of a run that is shown."""
_SAMPLED_FROM = 2_000_000  # bytes of lines that aren't read at once
_SAMPLES, _SAMPLE_BYTES = 24, 4096
_WORKLOAD = ("collection", "dataset", "model", "optimizer")


class _Piece(NamedTuple):
    """Values of a metric as they were written in a segment."""

    attempt: int
    step: Integers
    value: Floats
    elapsed: Floats


Pieces = Mapping[str, Sequence[_Piece]]


class RecordedReader:
    """A reader of the run in a folder. path: of the folder below `root`, which no message names."""

    def __init__(self, root: Path, path: str) -> None:
        self._root, self._folder, self._path = root, root / path, path
        self._seen: object = None
        self._is_sampled = False
        self._forget()

    def _forget(self) -> None:
        self._read: dict[tuple[int, int], int] = {}  # bytes of each segment
        self._begins: dict[int, int | None] = {}
        self._series: dict[str, Series] = {}
        self._faults: dict[str, None] = {}

    def refresh(self, is_sample_enough: bool = False) -> LiveRun | None:
        """Read what is new and return the run; None if nothing is.

        is_sample_enough: of a run with many lines that weren't read, only a sample of them is.
        """
        try:
            segments = segments_in(self._folder)
            sizes = {each.name[:2]: each.file.stat().st_size for each in segments}
            seen = (sizes, *map(self._mark, (RUN, END, HEARTBEAT)))
            if seen == self._seen and (is_sample_enough or not self._is_sampled):
                return None
            run = self._run(segments, sizes, is_sample_enough)
        except OSError as error:
            return self._broken(f"It can't be read ({error.strerror}).")
        except BadSpool as error:
            return self._broken(f"It can't be read: {str(error).replace(f'{self._root}/', '')}.")
        self._seen, self._is_sampled = seen, run.is_sampled
        return run

    def _mark(self, name: str) -> tuple[float, int] | None:
        try:
            status = (self._folder / name).lstat()
        except OSError:
            return None
        return status.st_mtime, status.st_size

    def _broken(self, note: str) -> LiveRun | None:
        """Return the run that can't be read; None if it couldn't before, for the same reason."""
        if self._seen == note:
            return None
        self._seen = note
        return LiveRun(self._path, _name(self._path), 0.0, notes=(note,))

    def _run(
        self, segments: Sequence[Segment], sizes: Mapping[tuple[int, int], int], is_sample_enough: bool
    ) -> LiveRun:
        """Return the run. Raises BadSpool and OSError."""
        facts = read_spool(self._folder)
        notes = []
        unread = sum(sizes.values()) - sum(self._read.values())
        is_sampled = is_sample_enough and not self._read and unread > _SAMPLED_FROM
        if sum(sizes.values()) > MOST_BYTES:
            notes.append(f"It has more than {MOST_BYTES:,} bytes of measurements: its curves aren't shown.")
            series: Mapping[str, Series] = {}
        elif is_sampled:
            begins = {each.name.attempt: each.name.from_step for each in segments}
            series = _whole(_pieces(_sampled(segments, sizes), {}), begins)
        else:
            self._grow(segments, sizes)
            series = dict(self._series)
        stated, end = facts.facts, facts.end
        labels = stated.get("attributes")
        labels = labels if isinstance(labels, dict) else {}
        workload = [stated.get(name) for name in _WORKLOAD]
        is_stated = all(isinstance(each, str) and each for each in workload)
        if not is_stated:
            notes.append(f"{RUN} doesn't state a workload: it isn't shown with stored curves.")
        batch_size = stated.get("batch_size")
        if not (type(batch_size) is int and 0 < batch_size <= LARGEST_EXACT_INTEGER):
            batch_size = None
            why = "changes its batch size" if "batch_schedule" in stated else "states no batch size"
            notes.append(f"It {why}: its curves have no axis of examples.")
        if not series and not notes:
            notes.append("Nothing was measured so far.")
        return LiveRun(
            self._path,
            shown_text(labels.get("run_name")) or _name(self._path),
            self._seen_at(segments),
            status=shown_text(end.get("status")) if end is not None else None,
            tags=_tags(labels.get("tags")),
            group=shown_text(labels.get("run_group")),
            workload=printable("/".join(map(str, workload))) if is_stated else None,
            batch_size=batch_size,
            batch_unit=shown_text(stated.get("batch_unit")) or "examples",
            parameters=shown_parameters(facts.parameters),
            directions=_directions(stated.get("directions")),
            series=series,
            notes=(*notes, *self._faults),
            is_sampled=is_sampled,
        )

    def _seen_at(self, segments: Sequence[Segment]) -> float:
        """Return when the recorder showed last that it goes on."""
        names = (RUN, HEARTBEAT, END, *(each.path for each in segments[-1:]))
        return max((mark[0] for mark in map(self._mark, names) if mark), default=0.0)

    def _grow(self, segments: Sequence[Segment], sizes: Mapping[tuple[int, int], int]) -> None:
        """Read the lines that are new; all of them where they replace earlier ones."""
        for place, n_bytes in self._read.items():
            if sizes.get(place, -1) < n_bytes:
                self._forget()  # a crash of the machine took lines back
                break
        pieces = _pieces(self._new_lines(segments), self._faults)
        begins = {each.name.attempt: each.name.from_step for each in segments}
        last = {name: each.last_step for name, each in self._series.items()}
        if last and (self._replaces(begins, last) or not _ascends(pieces, last, begins)):
            self._forget()
            pieces = _pieces(self._new_lines(segments), self._faults)
            last = {}
        self._begins = begins
        if last:
            for name, each in pieces.items():
                for piece in each:
                    grown = self._series.get(name)
                    values = piece[1:]
                    self._series[name] = grown.grown(*values) if grown is not None else Series.of(*values)
        else:
            self._series = _whole(pieces, begins)

    def _replaces(self, begins: Mapping[int, int | None], last: Mapping[str, int]) -> bool:
        """Return True if an attempt that wasn't there replaces what was read."""
        new = [step for attempt, step in begins.items() if attempt not in self._begins and step is not None]
        return bool(new) and min(new) <= max(last.values(), default=-1)

    def _new_lines(self, segments: Iterable[Segment]) -> Iterator[tuple[Segment, bytes]]:
        """Yield the whole lines of each segment that weren't read. Raises OSError."""
        for each in segments:
            start = self._read.get(each.name[:2], 0)
            with each.file.open("rb") as file:
                file.seek(start)
                data = file.read(MOST_BYTES)
            lines = data[: data.rfind(b"\n") + 1]
            if lines:
                self._read[each.name[:2]] = start + len(lines)
                yield each, lines


def _sampled(segments: Sequence[Segment], sizes: Mapping[tuple[int, int], int]) -> Iterator[tuple[Segment, bytes]]:
    """Yield some lines of the segments, evenly over all of their bytes. Raises OSError."""
    total = sum(sizes.values())
    start = 0
    for each in segments:
        size = sizes[each.name[:2]]
        n_samples = max(1, round(_SAMPLES * size / total))
        lines = []
        with each.file.open("rb") as file:
            for at in np.linspace(0, max(0, size - _SAMPLE_BYTES), n_samples + 1).astype(np.int64).tolist():
                file.seek(at)
                data = file.read(_SAMPLE_BYTES)
                begin = data.find(b"\n") + 1 if at else 0
                lines.append(data[begin : data.rfind(b"\n") + 1])
        start += size
        yield each, b"".join(lines)


def _pieces(lines: Iterable[tuple[Segment, bytes]], faults: dict[str, None]) -> dict[str, list[_Piece]]:
    """Return the values of each metric in lines of segments, as they were written. faults: of lines, to be added to."""
    pieces: dict[str, list[_Piece]] = {}
    for segment, data in lines:
        try:
            (log,) = runs_of(read_json_lines(data), TableFile("", segment.path, ""), None)
        except (Refusal, ValueError, MemoryError) as error:
            faults[f"{segment.path}: {error}."] = None
            continue
        if isinstance(log, Quarantined):
            faults[f"{segment.path}: {log.message}."] = None
            continue
        for remark in log.remarks:
            if isinstance(remark, Damage):
                faults[f"{segment.path}: {remark}."] = None
        for rows in log.rows:
            for name, piece in _measured(rows, segment.name.attempt):
                pieces.setdefault(name, []).append(piece)
    return pieces


def _measured(rows: LoggedRows, attempt: int) -> Iterator[tuple[str, _Piece]]:
    """Yield each metric of rows with its values at whole steps."""
    if STEP not in rows.columns:
        return
    steps = rows.columns[STEP]
    is_whole = rows.known(STEP) & (steps >= 0) & (steps <= LARGEST_EXACT_INTEGER) & (steps == np.floor(steps))
    elapsed = np.full(len(steps), np.nan)
    if ELAPSED in rows.columns:
        elapsed = np.where(rows.known(ELAPSED), rows.columns[ELAPSED], np.nan)
    for name in rows.columns:
        if name not in (STEP, ELAPSED):
            at = np.flatnonzero(is_whole & rows.known(name))
            if len(at):
                yield name, _Piece(attempt, steps[at].astype(np.int64), rows.columns[name][at], elapsed[at])


def _ascends(pieces: Pieces, last: Mapping[str, int], begins: Mapping[int, int | None]) -> bool:
    """Return True if the steps of each metric ascend from the last one on, and none is replaced."""
    for name, each in pieces.items():
        before = last.get(name, -1)
        for piece in each:
            if piece.step[0] <= before or (np.diff(piece.step) <= 0).any():
                return False
            before = int(piece.step[-1])
            if before >= replaced_from(begins, piece.attempt):
                return False
    return True


def _whole(pieces: Pieces, begins: Mapping[int, int | None]) -> dict[str, Series]:
    """Return the series of all values of a run: without those that later attempts replace, the last one of a step."""
    series = {}
    for name, each in pieces.items():
        current = [(piece, piece.step < replaced_from(begins, piece.attempt)) for piece in each]
        step = np.concatenate([piece.step[counts] for piece, counts in current])
        value = np.concatenate([piece.value[counts] for piece, counts in current])
        elapsed = np.concatenate([piece.elapsed[counts] for piece, counts in current])
        if len(step):
            rows = last_written(step)
            series[name] = Series.of(step[rows], value[rows], elapsed[rows])
    return series


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _tags(value: object) -> tuple[str, ...]:
    texts = [shown_text(each) for each in value[:MOST_TAGS]] if isinstance(value, list) else [shown_text(value)]
    return tuple(dict.fromkeys(filter(None, texts)))


def _directions(document: object) -> dict[str, Direction]:
    stated = document.items() if isinstance(document, dict) else ()
    return {str(name): direction for name, value in stated for direction in DIRECTIONS if value == direction}

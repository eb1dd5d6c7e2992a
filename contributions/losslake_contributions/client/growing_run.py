"""A run in a folder that is still being recorded: what is new of it, without private data."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from losslake.record.layout import END, FORMAT, HEARTBEAT, document_bytes
from losslake_contributions.client.privacy import cleaner_of
from losslake_contributions.protocol.contributions import Place, Segment, segment_with
from losslake_contributions.protocol.limits import LARGEST_PIECE
from losslake_contributions.protocol.pieces import HeldPieces, Piece
from losslake_contributions.protocol.texts import run_id
from losslake_ingest.readers.recorded.folder import BadSpool, read_spool, segments_in
from losslake_ingest.readers.recorded.folder import Segment as LocalSegment

# A request has at most two million bytes, in which each quote of a line takes two.
MOST_READ = LARGEST_PIECE // 2


class GrowingRun:
    """A run in a folder. id: its name. run_json: what it is, as it is sent.

    Raises BadSpool if the folder isn't that of a run.
    """

    def __init__(self, folder: Path, words: Mapping[str, str]) -> None:
        recorded = read_spool(folder)
        try:
            self.id = run_id(folder.name)
        except ValueError as error:
            raise BadSpool(f"{folder}: {error}; the folder was renamed") from None
        self.folder = folder
        self._cleaner = cleaner_of(recorded.facts, words)
        self.run_json = document_bytes({"format": FORMAT, **self._cleaner.facts(recorded.facts)})
        self._held: dict[Place, int] = {}
        self._whole: set[Place] = set()
        self._private: set[Place] = set()
        self._beat: float | None = None
        self._changed_at = time.monotonic()

    @property
    def has_ended(self) -> bool:
        """True if the run is finished."""
        return (self.folder / END).exists()

    @property
    def seconds_still(self) -> float:
        """Seconds in which the run showed no sign of life."""
        return time.monotonic() - self._changed_at

    def is_alive(self) -> bool:
        """Return True if the recorder has shown since the last call that it goes on."""
        try:
            beat = (self.folder / HEARTBEAT).stat().st_mtime
        except OSError:
            return False
        is_new = beat != self._beat
        if is_new:
            self._beat, self._changed_at = beat, time.monotonic()
        return is_new

    def pieces(self) -> Iterator[Piece]:
        """Yield what is new in the last segment of each attempt. Raises OSError."""
        for segment in _growing(segments_in(self.folder)):
            place = segment.name[:2]
            if place in self._private or place in self._whole:
                continue
            lines = self._new_lines(segment, self._held.get(place, 0))
            if lines:
                self._changed_at = time.monotonic()
                yield Piece.model_construct(
                    run=self.id, attempt=segment.name.attempt, n=segment.name.number, from_step=segment.name.from_step,
                    offset=self._held.get(place, 0), lines=lines,
                )  # fmt: skip

    def hold(self, held: HeldPieces) -> None:
        """Note what the service holds of a segment, from which the next piece goes on."""
        place = held.attempt, held.n
        self._held[place] = held.bytes
        if held.is_whole:
            self._whole.add(place)

    def closed(self) -> Iterator[tuple[Segment, bytes]]:
        """Yield the segments that grow no more and weren't noted as whole, as they are sent. Raises OSError."""
        segments = segments_in(self.folder)
        growing = {segment.file for segment in _growing(segments)}
        for each in segments:
            if each.file in growing or each.name[:2] in self._whole:
                continue
            data = self._cleaner.segment(each.data())
            yield segment_with(each.name, data), data

    def hold_whole(self, segment: Segment) -> None:
        """Note that the service holds a segment whole."""
        self._whole.add(segment.place)

    def forget(self) -> None:
        """Begin anew: the service doesn't hold anything of the run."""
        self._held.clear()
        self._whole.clear()

    def _new_lines(self, segment: LocalSegment, start: int) -> str:
        """Return the whole lines from a byte of a segment on; empty for none, and for those with private names."""
        with segment.file.open("rb") as file:
            file.seek(start)
            data = file.read(MOST_READ)
        lines = data[: data.rfind(b"\n") + 1]
        try:
            if self._cleaner.segment(lines) == lines:
                return lines.decode()
        except UnicodeDecodeError:
            pass
        self._private.add(segment.name[:2])
        return ""


def _growing(segments: Iterable[LocalSegment]) -> Iterable[LocalSegment]:
    """Return the last segment of each attempt: an earlier one is closed before the next is begun. segments: by name."""
    return {segment.name.attempt: segment for segment in segments}.values()

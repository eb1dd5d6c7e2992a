"""Sending of runs to a contribution service while they are recorded, seconds behind.

The folders of the runs are the only state: what can't be sent now is sent later, by this or by `losslake push`. The
training neither waits for it nor notices when it ends.
"""

from __future__ import annotations

import math
import os
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from threading import Event

from losslake.client.client import RemoteError
from losslake.record.layout import END
from losslake_contributions.client.connection import ContributionClient
from losslake_contributions.client.growing_run import MOST_READ, GrowingRun
from losslake_contributions.client.local_runs import local_run
from losslake_contributions.client.prepared_run import prepared
from losslake_contributions.client.privacy import local_words
from losslake_contributions.client.push import SEGMENTS_AT_ONCE, send_run, send_segment
from losslake_contributions.protocol.contributions import ContributionStatus, HeldSegments
from losslake_contributions.protocol.limits import MOST_PIECES
from losslake_contributions.protocol.pieces import LiveAnswer, LivePieces, Piece
from losslake_ingest.readers.recorded.folder import read_spool, spools_in
from losslake_schema.errors import LossLakeError

SECONDS_TO_STOP = 60.0
"""A run without a sign of life for so long isn't waited for, if nothing of it is left to send."""
SECONDS_TO_GIVE_UP = 3600.0
"""A run that can't be sent for so long after its last sign of life is left to a push."""
_SECONDS_BETWEEN_LOOKS = 2.0  # for new runs
_LONGEST_PAUSE_S = 10.0
# In a round: more would hold up the pieces of other runs.
_MOST_WHOLE = 4
_UNKNOWN = "unknown-contribution"


LINK = "live.url"
"""The file in the folder of a run with the link to its page: one line, which the recorder reads."""


@dataclass(frozen=True)
class SenderCallbacks:
    """The callbacks of a sender. began: with the link to the live page, if there is one."""

    began: Callable[[GrowingRun, str | None], None]
    ended: Callable[[GrowingRun, str], None]
    trouble: Callable[[str], None]


@dataclass
class LiveSender:
    """A sender of the runs below a folder, those that come later included."""

    client: ContributionClient
    folder: Path
    callbacks: SenderCallbacks
    words: dict[str, str] = field(default_factory=local_words)
    runs: dict[Path, GrowingRun] = field(default_factory=dict)
    _finished: set[Path] = field(default_factory=set)
    _left_out: set[Path] = field(default_factory=set)
    _begun: set[str] = field(default_factory=set)
    _looked_at: float = -math.inf
    _turn: int = 0

    def run(self, stop: Event, until_still: bool = False) -> None:
        """Send until `stop` is set, and once more after that.

        until_still: end as well once every run has ended, or stands still and is sent. Raises RemoteError if the
        service refuses the token or its quota is used up.
        """
        pause, is_lost, is_last = 0.0, False, False
        while not is_last:
            is_last = stop.wait(pause)
            try:
                self._look()
                pause, is_lost = self._round(), False
            except RemoteError as error:
                if error.status in (401, 403):
                    raise
                if not is_lost:
                    self.callbacks.trouble(f"nothing can be sent now, so it is sent later: {error}")
                pause, is_lost = min(2 * pause + 1, _LONGEST_PAUSE_S), True
            if until_still:
                is_last |= self._is_still(SECONDS_TO_GIVE_UP if is_lost else SECONDS_TO_STOP)

    def _is_still(self, seconds: float) -> bool:
        return all(run.seconds_still > seconds for run in self.runs.values())

    def _look(self) -> None:
        """Find runs that weren't there before, and those that go on after their end."""
        if time.monotonic() - self._looked_at < _SECONDS_BETWEEN_LOOKS:
            return
        self._looked_at = time.monotonic()
        self._finished = {folder for folder in self._finished if (folder / END).exists()}
        for folder in spools_in(self.folder):
            if folder in self.runs or folder in self._finished or folder in self._left_out:
                continue
            try:
                self.runs[folder] = GrowingRun(folder, self.words)
            except (LossLakeError, OSError) as error:
                self._leave(folder, str(error))

    def _leave(self, folder: Path, why: str) -> None:
        """Leave a run out from now on, and report why."""
        self.runs.pop(folder, None)
        self._left_out.add(folder)
        self.callbacks.trouble(f"{folder.name} is left out: {why}")

    def _round(self) -> float:
        """Send what is new of every run; return the seconds to wait, 0 if more is to be sent. Raises RemoteError."""
        for run in list(self.runs.values()):
            self._for_run(run, self._begin)
        pause, n_sent = self._send_pieces()
        n_whole = 0
        for run in self._in_turn():
            if n_whole >= _MOST_WHOLE:
                return 0.0
            n_whole += self._for_run(run, self._send_whole)
        return 0.0 if n_sent > MOST_READ // 2 or n_whole >= _MOST_WHOLE else pause

    def _in_turn(self) -> Iterable[GrowingRun]:
        """Return the runs, another one first each time, so that each is served."""
        runs = deque(self.runs.values())
        self._turn += 1
        runs.rotate(-self._turn)
        return runs

    def _for_run(self, run: GrowingRun, work: Callable[[GrowingRun], int]) -> int:
        """Return the number of requests of work for a run, which is left out if it fails for a reason of its own.

        Raises RemoteError.
        """
        try:
            return work(run)
        except (LossLakeError, OSError) as error:
            if isinstance(error, RemoteError) and error.status not in (404, 409, 413, 422):
                raise
            self._leave(run.folder, str(error))
            return 0

    def _begin(self, run: GrowingRun) -> int:
        if run.id in self._begun:
            return 0
        status = self.client.send("PUT", f"v1/contributions/{run.id}", ContributionStatus, run.run_json)
        self._begun.add(run.id)
        link = status.links.get("live")
        if link is not None:
            _write_link(run.folder, link)
        self.callbacks.began(run, link)
        return 1

    def _send_pieces(self) -> tuple[float, int]:
        """Send the pieces of all runs; return the seconds until the next ones, and how much was sent."""
        pieces: list[Piece] = []
        n_sent = 0
        for piece in islice(chain.from_iterable(map(self._pieces_of, self._in_turn())), MOST_PIECES):
            size = len(piece.lines.encode())
            if n_sent + size > MOST_READ:
                break
            pieces.append(piece)
            n_sent += size
        by_id = {run.id: run for run in self.runs.values()}
        pieces = [piece for piece in pieces if piece.run in by_id]
        alive = [run.id for run in self.runs.values() if run.is_alive()][:MOST_PIECES]
        if not pieces and not alive:
            return 1.0, 0
        sent = LivePieces.model_construct(pieces=tuple(pieces), alive=tuple(alive))
        answer = self.client.send("POST", "v1/live", LiveAnswer, sent)
        for held in answer.held:
            by_id[held.run].hold(held)
        for refused in answer.refused:
            run = by_id[refused.run]
            if refused.kind == _UNKNOWN:  # It was deleted meanwhile.
                self._begun.discard(run.id)
                run.forget()
            else:
                self._leave(run.folder, refused.detail)
        return answer.seconds, n_sent

    def _pieces_of(self, run: GrowingRun) -> Iterable[Piece]:
        try:
            yield from run.pieces()
        except OSError as error:
            self._leave(run.folder, str(error))

    def _send_whole(self, run: GrowingRun) -> int:
        """Send the segments of a run that are closed, or all that is missing at its end; return how many requests."""
        if run.has_ended:
            self._finish(run)
            return 1
        n_sent = 0
        closed = list(run.closed())
        path = f"v1/contributions/{run.id}/segments"
        held = self.client.send("GET", path, HeldSegments).segments if closed else ()
        for segment, lines in closed:
            if segment not in held:
                send_segment(self.client, run.id, segment, lines)
                n_sent += 1
            run.hold_whole(segment)
        return n_sent

    def _finish(self, run: GrowingRun) -> None:
        """Send what is missing of a run that has ended, and its end."""
        recorded = read_spool(run.folder)
        if recorded.end is None:
            return  # it goes on from a checkpoint
        ended = local_run(prepared(recorded, self.words))
        with ThreadPoolExecutor(SEGMENTS_AT_ONCE, "segments") as pool:
            send_run(self.client, ended, pool)
        self.callbacks.ended(run, ended.end.status)
        self.runs.pop(run.folder)
        self._finished.add(run.folder)


def _write_link(folder: Path, link: str) -> None:
    """Write the link to the page of a run into its folder, for this user only; no reader sees a part of it."""
    unfinished = folder / f"{LINK}.{os.getpid()}"
    # A folder that can't be written is no reason not to send the run.
    with suppress(OSError):
        try:
            unfinished.touch(0o600)
            unfinished.write_text(f"{link}\n", "utf-8")
            unfinished.replace(folder / LINK)
        finally:
            unfinished.unlink(missing_ok=True)

"""The files of a run that is being recorded: whatever kills the training loses at most the last second.

Lines are flushed to disk every second. `losslake/record/layout.py` describes the folder.
"""

from __future__ import annotations

import json
import math
import os
import re
import secrets
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from losslake.record.ends import earlier_end
from losslake.record.layout import ELAPSED, END, FORMAT, HEARTBEAT, RUN, VERSION, SegmentName, digest_entry

SECONDS_BETWEEN_SYNCS = 1.0
SECONDS_BETWEEN_BEATS = 5.0
LARGEST_SEGMENT = 4_000_000
_SYNCED_BYTES = 1_000_000
_ATTEMPT = re.compile(r"(\d{4,9})(?:-from-\d+)?(?:\.claim)?")
_STEP = re.compile(rb'^\{"step":(\d{1,16}),', re.MULTILINE)
_VERSION = re.compile(r"losslake-record/([1-9]\d{0,8})")


class SegmentRemoved(OSError):
    """The file that is being written was removed. is_run: so was the run, and nothing can be written any more."""

    def __init__(self, path: Path, is_run: bool) -> None:
        super().__init__(f"{path} was removed while it was being written")
        self.is_run = is_run


class Superseded(OSError):
    """Another process has begun a later attempt of the run: it will write the end."""


class Spool:
    """The files of a run. Methods raise OSError, and may be called again after that: nothing is written twice.

    elapsed: seconds of the run that were recorded before, 0 for a new one. last_step: recorded before, None for none.
    earlier: the end that the run had before it was resumed.
    """

    def __init__(self, folder: Path, facts: Mapping[str, Any] | None) -> None:
        """Create the folder of a new run with these facts; None: go on with the run that is there."""
        self.folder = folder
        self.elapsed = 0.0
        self.last_step: int | None = None
        self.earlier: Mapping[str, Any] = {}
        self._segment = SegmentName(0, 0)
        self._file: IO[bytes] | None = None
        self._size = self._unsynced = 0
        self._synced_at = time.monotonic()
        self._beat_at = -math.inf
        self._names: list[str] = []
        if facts is not None:
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir()
            _write(folder / RUN, {"format": FORMAT, **facts})
            _sync_folder(folder.parent)
        else:
            self.elapsed, self.last_step = _last_elapsed(folder), _last_step(folder)
            self.earlier = earlier_end(folder)
            (folder / END).unlink(missing_ok=True)

    def begin_attempt(self, from_step: int | None) -> None:
        """Begin an attempt, which replaces measurements from `from_step` on; None: of a new run.

        Its number is claimed by a file that only one process can make: of two that resume a run at once, each has
        attempts of its own, and the later one wins.
        """
        self.close()
        attempt = 1
        if from_step is not None:
            attempt = max(_last_attempt(self.folder), 1) + 1
            while not _is_made(self.folder / f"{attempt:04d}.claim"):
                attempt += 1
        begun = SegmentName(attempt, 0, from_step)
        (self.folder / begun.folder).mkdir(exist_ok=True)
        (self.folder / END).unlink(missing_ok=True)
        self._segment = begun

    def append(self, text: bytes) -> bool:
        """Write whole lines, all of them or none; return True if they are the first of a segment."""
        file = self._open()
        done = 0
        try:
            while done < len(text):
                done += file.write(text[done:]) or 0
        except OSError:
            self._take_back(file)
            raise
        self._size += len(text)
        self._unsynced += len(text)
        return self._size == len(text)

    def _take_back(self, file: IO[bytes]) -> None:
        """Remove a line that is cut short; it is written again. If that fails, the segment ends with it."""
        try:
            os.ftruncate(file.fileno(), self._size)
            file.seek(self._size)
        except OSError:
            self._file = None
            file.close()

    def sync_if_due(self) -> None:
        """Flush to disk what was written a second ago or is large. Raises SegmentRemoved as well."""
        is_due = time.monotonic() - self._synced_at >= SECONDS_BETWEEN_SYNCS
        if self._unsynced and (is_due or self._unsynced > _SYNCED_BYTES):
            self._sync()

    def beat_if_due(self) -> None:
        """Show that the run is being recorded, whether there is anything to record or not."""
        if time.monotonic() - self._beat_at >= SECONDS_BETWEEN_BEATS:
            self._beat_at = time.monotonic()
            with suppress(OSError):
                (self.folder / HEARTBEAT).touch(0o644)

    def close(self) -> None:
        """Flush and close the segment, if one is open. Raises SegmentRemoved as well."""
        if self._file is not None:
            self._sync()
            self._file.close()
            self._file = None

    def digests(self) -> tuple[dict[str, Mapping[str, Any]], list[str]]:
        """Return the size and SHA-256 of each segment by path, and the paths of segments that were removed."""
        names = sorted(path.relative_to(self.folder).as_posix() for path in _segments(self.folder))
        digests: dict[str, Mapping[str, Any]] = {
            name: digest_entry((self.folder / name).read_bytes()) for name in names
        }
        return digests, sorted(set(self._names) - set(names))

    def end(self, facts: Mapping[str, Any]) -> None:
        """Write how the run ended. Raises Superseded, and OSError if it can't be written now."""
        if _last_attempt(self.folder) > self._segment.attempt > 0:
            raise Superseded(f"another process goes on with the run in {self.folder}, and writes its end")
        _write(self.folder / END, facts)

    def _open(self) -> IO[bytes]:
        if self._file is not None and self._size >= LARGEST_SEGMENT:
            self.close()
        if self._file is None:
            segment = self._segment._replace(number=self._segment.number + 1)
            path = self.folder / segment.path
            path.parent.mkdir(exist_ok=True)
            self._file = path.open("xb", buffering=0)
            self._segment, self._size = segment, 0
            self._names.append(segment.path)
            _sync_folder(path.parent)
            _sync_folder(self.folder)
        return self._file

    def _sync(self) -> None:
        assert self._file is not None
        if os.fstat(self._file.fileno()).st_nlink == 0:
            path = self.folder / self._names[-1]
            self._file.close()
            self._file, self._unsynced = None, 0
            raise SegmentRemoved(path, not (self.folder / RUN).exists())
        os.fsync(self._file.fileno())
        self._unsynced, self._synced_at = 0, time.monotonic()


def facts_of(folder: Path) -> Mapping[str, Any]:
    """Return what the run in a folder is. Raises ValueError if there is none, or one of a newer version."""
    try:
        facts = json.loads((folder / RUN).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        facts = None
    match = _VERSION.fullmatch(str(facts.get("format"))) if isinstance(facts, dict) else None
    if not isinstance(facts, dict) or match is None:
        raise ValueError(f"there is no recorded run in {folder}")
    if int(match[1]) > VERSION:
        raise ValueError(f"{folder} was recorded by a newer version of losslake, as {match[0]}: install that version")
    return facts


def new_name() -> str:
    """Return the name of a new run: a UUID of version 7 (RFC 9562), which sorts by time."""
    milliseconds = time.time_ns() // 1_000_000
    number = milliseconds << 80 | 7 << 76 | secrets.randbits(12) << 64 | 2 << 62 | secrets.randbits(62)
    return str(uuid.UUID(int=number))


def _segments(folder: Path) -> list[Path]:
    """Return the segments of all attempts in the order written."""
    paths = [path for path in folder.glob("*/*.jsonl") if _ATTEMPT.fullmatch(path.parent.name)]
    return sorted(paths, key=lambda path: (int(path.parent.name.partition("-")[0]), path.name))


def _last_attempt(folder: Path) -> int:
    """Return the number of the last attempt that was claimed; 0 for none."""
    matches = (_ATTEMPT.fullmatch(path.name) for path in folder.iterdir())
    return max((int(match[1]) for match in matches if match is not None), default=0)


def _last_elapsed(folder: Path) -> float:
    """Return the seconds of the last whole line that is there; 0 for none."""
    for path in reversed(_segments(folder)):
        for line in reversed(path.read_bytes().split(b"\n")[:-1]):
            try:
                elapsed = float(json.loads(line)[ELAPSED])
            except (ValueError, KeyError, TypeError, RecursionError):
                continue
            if math.isfinite(elapsed) and elapsed >= 0:
                return elapsed
    return 0.0


def _last_step(folder: Path) -> int | None:
    """Return the highest step of the last segment with a whole line; None if there is none.

    Earlier segments have lower ones, but for metrics that are logged behind others.
    """
    for path in reversed(_segments(folder)):
        steps = _STEP.findall(path.read_bytes().rpartition(b"\n")[0])
        if steps:
            return max(map(int, steps))
    return None


def _is_made(path: Path) -> bool:
    """Make an empty file; return False if it is there already."""
    try:
        path.touch(0o644, exist_ok=False)
    except FileExistsError:
        return False
    return True


def _write(path: Path, document: Mapping[str, Any]) -> None:
    """Write a file that is there whole or not at all."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    with part.open("w", encoding="utf-8") as file:
        # Escapes, since a name may hold half a surrogate pair, which UTF-8 can't encode.
        json.dump(document, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make new names in a folder survive a crash of the machine, where the system can."""
    if os.name == "nt":
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)

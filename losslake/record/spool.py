"""The folder of a recorded run, written so that whatever kills the training loses at most the last second.

    RUN/run.json                        what the run is; written first
    RUN/0001/000001.jsonl               measurements of the first attempt, an object a line: step, elapsed_s, metrics
    RUN/0002-from-120/000001.jsonl      of the second, which went back to step 120: it replaces what came from there on
    RUN/end.json                        how the run ended; written last, so a run without it was killed, or goes on

Lines are flushed to disk every second. NaN and infinite values are the strings "NaN", "Infinity" and "-Infinity".
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

FORMAT = "losslake-record/1"
RUN, END = "run.json", "end.json"
STEP, ELAPSED = "step", "elapsed_s"
SECONDS_BETWEEN_SYNCS = 1.0
_LARGEST_SEGMENT = 4_000_000
_SYNCED_BYTES = 1_000_000


class Spool:
    """The files of a run. Methods raise OSError, and may be called again after that: nothing is written twice.

    elapsed: seconds of the run that were recorded before, 0 for a new one.
    """

    def __init__(self, folder: Path, facts: Mapping[str, Any]) -> None:
        self.folder = folder
        self._attempt = self._last_attempt()
        self._segment = 0
        self._file: IO[bytes] | None = None
        self._size = self._unsynced = 0
        self._synced_at = time.monotonic()
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / RUN).exists():
            _write(folder / RUN, {"format": FORMAT, **facts})
        self.elapsed = self._last_elapsed()
        (folder / END).unlink(missing_ok=True)

    def _last_elapsed(self) -> float:
        """Return the seconds of the last whole line that is there; 0 for none."""
        for path in sorted(self.folder.glob("*/*.jsonl"), reverse=True):
            for line in reversed(path.read_bytes().split(b"\n")[:-1]):
                try:
                    return float(json.loads(line)[ELAPSED])
                except (ValueError, KeyError, TypeError):
                    continue
        return 0.0

    def _last_attempt(self) -> int:
        """Return the number of the last attempt that is there; 0 for none."""
        if not self.folder.is_dir():
            return 0
        names = (path.name.partition("-")[0] for path in self.folder.iterdir() if path.is_dir())
        return max((int(name) for name in names if name.isdigit()), default=0)

    def begin_attempt(self, from_step: int | None) -> None:
        """Begin an attempt, which replaces measurements from `from_step` on; None: of a new run."""
        self._close()
        self._attempt += 1
        self._segment = 0
        self._place = f"{self._attempt:04d}" if from_step is None else f"{self._attempt:04d}-from-{from_step}"

    def append(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Write lines, all of them or none."""
        text = b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)
        file = self._open()
        done = 0
        try:
            while done < len(text):
                done += file.write(text[done:]) or 0
        except OSError:
            # A line that is cut short is lost to every reader: take it back, it is written again.
            os.ftruncate(file.fileno(), self._size)
            file.seek(self._size)
            raise
        self._size += len(text)
        self._unsynced += len(text)

    def sync_if_due(self) -> None:
        """Flush to disk what was written a second ago or is large."""
        is_due = time.monotonic() - self._synced_at >= SECONDS_BETWEEN_SYNCS
        if self._unsynced and (is_due or self._unsynced > _SYNCED_BYTES):
            self._sync()

    def end(self, facts: Mapping[str, Any]) -> None:
        """Flush everything, and write how the run ended, with the size and the SHA-256 of each segment."""
        self._close()
        segments = sorted(self.folder.glob("*/*.jsonl"))
        digests = {
            path.relative_to(self.folder).as_posix(): {
                "bytes": path.stat().st_size,
                "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            }
            for path in segments
        }
        _write(self.folder / END, {**facts, "segments": digests})

    def _open(self) -> IO[bytes]:
        if self._file is not None and self._size >= _LARGEST_SEGMENT:
            self._close()
        if self._file is None:
            folder = self.folder / self._place
            folder.mkdir(exist_ok=True)
            self._segment += 1
            self._file = (folder / f"{self._segment:06d}.jsonl").open("xb", buffering=0)
            self._size = 0
            _sync_folder(folder)
        return self._file

    def _sync(self) -> None:
        if self._file is not None:
            os.fsync(self._file.fileno())
        self._unsynced, self._synced_at = 0, time.monotonic()

    def _close(self) -> None:
        if self._file is not None:
            self._sync()
            self._file.close()
            self._file = None


def facts_of(folder: Path) -> Mapping[str, Any]:
    """Return what the run in a folder is. Raises ValueError if there is none."""
    try:
        facts = json.loads((folder / RUN).read_text("utf-8"))
    except (OSError, ValueError):
        facts = None
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise ValueError(f"there is no recorded run in {folder}")
    return facts


def written(value: float) -> float | str:
    """Return a value as it is written in JSON, which has no NaN."""
    return value if math.isfinite(value) else "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def new_name() -> str:
    """Return the name of a new run: a UUID of version 7 (RFC 9562), which sorts by time."""
    milliseconds = time.time_ns() // 1_000_000
    number = milliseconds << 80 | 7 << 76 | secrets.randbits(12) << 64 | 2 << 62 | secrets.randbits(62)
    text = f"{number:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def _write(path: Path, document: Mapping[str, Any]) -> None:
    """Write a file that is there whole or not at all."""
    part = path.with_suffix(".part")
    with part.open("w", encoding="utf-8") as file:
        json.dump(document, file, indent=1, ensure_ascii=False)
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

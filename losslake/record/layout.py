"""The layout of a recorded run: the names of its files, and how documents are written in them.

    RUN/run.json                        what the run is; written first
    RUN/0001/000001.jsonl               a segment: measurements of the first attempt, an object a line: step, elapsed_s,
                                        metrics
    RUN/0002-from-120/000001.jsonl      of the second, which went back to step 120: it replaces what came from there on
    RUN/0002.claim                      empty: the second attempt belongs to the process that made it
    RUN/heartbeat                       empty: touched every few seconds while the run is being recorded
    RUN/live.url                        the page of the run at a contribution service that it is sent to
    RUN/end.json                        how the run ended; written last, so a run without it was killed, or goes on

Numbers that JSON lacks are written as `losslake.record.numbers` has them. The layout is promised in docs/recording.md.
The recorder writes it, the ingest and the contributions read it; so this imports Python's standard library only.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

VERSION = 1
FORMAT = f"losslake-record/{VERSION}"
RUN, END, HEARTBEAT, LIVE_URL = "run.json", "end.json", "heartbeat", "live.url"
STEP, ELAPSED = "step", "elapsed_s"
# W&B's word for a count of calls of log: beside `step`, in a line whose step is such a count.
CALLS = "_step"
SYSTEM = "system/"
"""The beginning of names of system metrics."""
LARGEST_STEP = 2**53 - 1
_SEGMENT = re.compile(r"(?P<attempt>\d{4,9})(?:-from-(?P<step>\d{1,16}))?/(?P<number>\d{6,9})\.jsonl")


class SegmentName(NamedTuple):
    """The name of a file of measurements: its attempt, its number in it, and the first step that the attempt replaces.

    from_step: None for the first attempt, which replaces nothing.
    """

    attempt: int
    number: int
    from_step: int | None = None

    @staticmethod
    def parse(path: str) -> SegmentName | None:
        """Return the name that a path in the folder of a run has; None if it isn't that of a segment."""
        match = _SEGMENT.fullmatch(path)
        if match is None:
            return None
        step = match["step"]
        return SegmentName(int(match["attempt"]), int(match["number"]), None if step is None else int(step))

    @property
    def folder(self) -> str:
        """The folder of the attempt."""
        return f"{self.attempt:04d}" if self.from_step is None else f"{self.attempt:04d}-from-{self.from_step}"

    @property
    def path(self) -> str:
        """The path in the folder of the run."""
        return f"{self.folder}/{self.number:06d}.jsonl"


def document_bytes(document: Mapping[str, Any]) -> bytes:
    """Return a run.json or an end.json as bytes, the same for the same content and order."""
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False).encode()


def segment_bytes(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Return rows as a segment: an object a line, numbers by repr."""
    return b"".join(json.dumps(row, separators=(",", ":"), allow_nan=False).encode() + b"\n" for row in rows)


def digest_entry(data: bytes) -> dict[str, Any]:
    """Return how end.json states the content of a segment: its size and SHA-256."""
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}

"""A spool: the folder of one run, as `losslake.record` writes it and as a contribution holds it.

The layout is described in losslake/record/spool.py.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from losslake.record.numbers import NUMBER_WORDS
from losslake.record.spool import END, FORMAT, RUN, SEGMENT
from losslake_schema.errors import LossLakeError

LARGEST_DOCUMENT = 1 << 20


class BadSpool(LossLakeError):
    """A folder isn't the spool of a run."""


@dataclass(frozen=True)
class Segment:
    """A file of measurements. from_step: of its attempt, which replaces what earlier ones measured from there on."""

    attempt: int
    number: int
    from_step: int | None
    path: Path

    @property
    def name(self) -> str:
        """The path within the spool, as end.json names it."""
        return f"{self.path.parent.name}/{self.path.name}"

    def data(self) -> bytes:
        """Return the bytes of the file."""
        return self.path.read_bytes()

    def sha256(self) -> str:
        """Return the SHA-256 of the file."""
        return hashlib.sha256(self.data()).hexdigest()

    def lines(self) -> Iterator[Mapping[str, Any]]:
        """Yield the objects of its lines; a line that isn't one, as a kill leaves it, is left out."""
        for line in self.data().split(b"\n"):
            try:
                row = orjson.loads(line) if line else None
            except orjson.JSONDecodeError:
                continue
            if isinstance(row, dict):
                yield row


@dataclass(frozen=True)
class Spool:
    """The spool of a run. facts: of run.json. end: of end.json, None while there is none. segments: in order."""

    folder: Path
    facts: Mapping[str, Any]
    end: Mapping[str, Any] | None
    segments: Sequence[Segment]

    @property
    def name(self) -> str:
        """The name of the run: that of its folder."""
        return self.folder.name

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The metaparameters as the run states them."""
        stated = self.facts.get("parameters")
        return stated if isinstance(stated, dict) else {}

    @property
    def licence(self) -> str:
        """The licence that the run states; empty for none."""
        stated = self.facts.get("licence")
        return stated if isinstance(stated, str) else ""

    @property
    def origin_files(self) -> Mapping[str, str]:
        """The SHA-256 of the logs that the run was converted from, by base name; empty for a recorded run."""
        origin = self.facts.get("origin")
        files = origin.get("files") if isinstance(origin, dict) else None
        return {str(name): str(digest) for name, digest in files.items()} if isinstance(files, dict) else {}

    def attempts(self) -> Iterator[tuple[int, list[Segment]]]:
        """Yield each attempt with its segments."""
        for attempt in sorted({segment.attempt for segment in self.segments}):
            yield attempt, [segment for segment in self.segments if segment.attempt == attempt]

    def differences(self) -> list[str]:
        """Return how the segments differ from those that end.json names, in words."""
        named = self.end.get("segments") if self.end is not None else None
        if not isinstance(named, dict):
            return []
        held = {segment.name: segment for segment in self.segments}
        missing = [f"{name} is missing" for name in sorted(named.keys() - held.keys())]
        added = [f"{name} isn't named by {END}" for name in sorted(held.keys() - named.keys())]
        changed = [
            f"{name} isn't as it was when the run ended"
            for name in sorted(held.keys() & named.keys())
            if not isinstance(named[name], dict) or named[name].get("sha256") != held[name].sha256()
        ]
        return [*missing, *added, *changed]


def number(value: object) -> float | None:
    """Return the number that a cell of a segment holds, with the words for those that JSON lacks; None for others."""
    if isinstance(value, str):
        return NUMBER_WORDS.get(value)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def is_spool(folder: Path) -> bool:
    """Return True if a folder has the run.json of a recorded run."""
    path = folder / RUN
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return f'"format": "{FORMAT}"'.encode() in file.read(100)


def spools_in(folder: Path) -> list[Path]:
    """Return the spools at a path: the folder itself, or those below it, by name."""
    if is_spool(folder):
        return [folder]
    below = (path.parent for path in folder.rglob(RUN)) if folder.is_dir() else ()
    return sorted(path for path in below if is_spool(path))


def read_spool(folder: Path) -> Spool:
    """Read the documents of a spool, and list its segments. Raises BadSpool. Links aren't followed."""
    facts = _document(folder / RUN)
    if facts is None or facts.get("format") != FORMAT:
        raise BadSpool(f"{folder} isn't the folder of a run: its {RUN} has no {FORMAT}")
    return Spool(folder, facts, _document(folder / END), segments_in(folder))


def documents(facts: Mapping[str, Any], end: Mapping[str, Any] | None) -> dict[str, bytes]:
    """Return run.json, and end.json unless there is none yet, as bytes by name."""
    files = {RUN: as_json({"format": FORMAT, **facts})}
    return files if end is None else {**files, END: as_json(end)}


def as_json(document: Mapping[str, Any]) -> bytes:
    """Return a document of a spool as bytes, the same for the same content and order."""
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False).encode()


def segment_bytes(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Return rows as a segment: an object a line, numbers by repr."""
    return b"".join(json.dumps(row, separators=(",", ":"), allow_nan=False).encode() + b"\n" for row in rows)


def digest_entry(data: bytes) -> dict[str, Any]:
    """Return how end.json names a segment of these bytes."""
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _document(path: Path) -> dict[str, Any] | None:
    """Return a JSON object, None if there is no file. Raises BadSpool."""
    if path.is_symlink() or not path.is_file():
        return None
    if path.stat().st_size > LARGEST_DOCUMENT:
        raise BadSpool(f"{path} is larger than {LARGEST_DOCUMENT:,} bytes: state less about the run")
    try:
        document = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise BadSpool(f"{path} is no JSON object: copy the folder of the run again")
    return document


def segments_in(folder: Path) -> list[Segment]:
    """Return the segments in the folder of a run, by attempt and number. Links aren't followed."""
    found = []
    for path in folder.glob("*/*.jsonl"):
        match = SEGMENT.fullmatch(path.relative_to(folder).as_posix())
        if match is not None and path.is_file() and not (path.is_symlink() or path.parent.is_symlink()):
            step = int(match["step"]) if match["step"] is not None else None
            found.append(Segment(int(match["attempt"]), int(match["number"]), step, path))
    return sorted(found, key=lambda each: (each.attempt, each.number))

"""The folder of a recorded run, as `losslake.record` writes it and as a contribution is sent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from losslake.record.layout import END, FORMAT, RUN, SegmentName, digest_entry
from losslake_schema.errors import LossLakeError

LARGEST_DOCUMENT = 1 << 20


class BadSpool(LossLakeError):
    """A folder isn't that of a recorded run."""


@dataclass(frozen=True)
class Segment:
    """A file of measurements."""

    name: SegmentName
    file: Path

    @property
    def path(self) -> str:
        """The path in the folder of the run, as end.json has it."""
        return f"{self.file.parent.name}/{self.file.name}"

    def data(self) -> bytes:
        """Return the bytes of the file."""
        return self.file.read_bytes()

    def sha256(self) -> str:
        """Return the SHA-256 of the file."""
        return str(digest_entry(self.data())["sha256"])

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
    """The folder of a run. facts: of run.json. end: of end.json, None while there is none. segments: in order."""

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
        for attempt in sorted({segment.name.attempt for segment in self.segments}):
            yield attempt, [segment for segment in self.segments if segment.name.attempt == attempt]

    def differences(self) -> list[str]:
        """Return how the segments differ from those that end.json names, in words."""
        named = self.end.get("segments") if self.end is not None else None
        if not isinstance(named, dict):
            return []
        stored = {segment.path: segment for segment in self.segments}
        missing = [f"{name} is missing" for name in sorted(named.keys() - stored.keys())]
        added = [f"{name} isn't named by {END}" for name in sorted(stored.keys() - named.keys())]
        changed = [
            f"{name} isn't as it was when the run ended"
            for name in sorted(stored.keys() & named.keys())
            if not isinstance(named[name], dict) or named[name].get("sha256") != stored[name].sha256()
        ]
        return [*missing, *added, *changed]


def is_spool(folder: Path) -> bool:
    """Return True if a folder has the run.json of a recorded run. Raises OSError."""
    path = folder / RUN
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return f'"format": "{FORMAT}"'.encode() in file.read(100)


def spools_in(folder: Path) -> list[Path]:
    """Return the folders of runs at a path: the folder itself, or those below it, by name."""
    if is_spool(folder):
        return [folder]
    below = (path.parent for path in folder.rglob(RUN)) if folder.is_dir() else ()
    return sorted(path for path in below if is_spool(path))


def read_spool(folder: Path) -> Spool:
    """Read the documents of a run, and list its segments. Raises BadSpool. Links aren't followed."""
    facts = _document(folder / RUN)
    if facts is None or facts.get("format") != FORMAT:
        raise BadSpool(f"{folder} isn't the folder of a run: its {RUN} has no {FORMAT}")
    return Spool(folder, facts, _document(folder / END), segments_in(folder))


def segments_in(folder: Path) -> list[Segment]:
    """Return the segments in the folder of a run, by attempt and number. Links aren't followed."""
    segments = []
    for path in folder.glob("*/*.jsonl"):
        name = SegmentName.parse(path.relative_to(folder).as_posix())
        if name is not None and path.is_file() and not (path.is_symlink() or path.parent.is_symlink()):
            segments.append(Segment(name, path))
    return sorted(segments, key=lambda each: each.name[:2])


def _refuse(constant: str) -> None:
    """Raise ValueError for a number that JSON lacks, such as NaN."""
    raise ValueError(constant)


def _document(path: Path) -> dict[str, Any] | None:
    """Return a JSON object, None if there is no file. Raises BadSpool."""
    if path.is_symlink() or not path.is_file():
        return None
    if path.stat().st_size > LARGEST_DOCUMENT:
        raise BadSpool(f"{path} is larger than {LARGEST_DOCUMENT:,} bytes: state less about the run")
    try:
        document = json.loads(path.read_bytes(), parse_constant=_refuse)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise BadSpool(f"{path} is no JSON object: copy the folder of the run again")
    return document

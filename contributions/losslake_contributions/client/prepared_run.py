"""A run as it is sent: without private data, with its name.

Apart from the conversion of logs, whose readers take 100 MB: a process beside a training sends its run with this.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from losslake.record.layout import END, FORMAT, RUN, digest_entry, document_bytes
from losslake_contributions.client.privacy import Removal, cleaner_of
from losslake_ingest.readers.recorded.folder import Spool


@dataclass(frozen=True)
class PreparedRun:
    """A run without private data.

    folder: where it was recorded, or written. facts: of run.json. end: of end.json, None while there is none. segments:
    by path in the run, the file that has it, or its bytes if they aren't those of a file. removals: what was removed.
    recorded: the folder of the recorded run that it was converted from by a mapping.
    """

    folder: Path
    name: str
    facts: Mapping[str, Any]
    end: Mapping[str, Any] | None
    segments: Mapping[str, bytes | Path]
    removals: Sequence[Removal]
    recorded: Path | None = None

    @property
    def is_unfinished(self) -> bool:
        """True if the training may go on: its recorder has written no end."""
        return self.end is None or (self.recorded is not None and not (self.recorded / END).exists())

    def documents(self) -> dict[str, bytes]:
        """Return run.json, and end.json unless there is none yet, by name."""
        files = {RUN: document_bytes({"format": FORMAT, **self.facts})}
        return files if self.end is None else {**files, END: document_bytes(self.end)}

    def segment(self, path: str) -> bytes:
        """Return the lines of a segment. Raises OSError if its file is gone."""
        data = self.segments.get(path, self.folder / path)
        return data.read_bytes() if isinstance(data, Path) else data

    def write(self, into: Path) -> Path:
        """Write the run below a folder, if it isn't there, and return its folder."""
        folder = into / self.name
        if folder == self.folder:
            return folder
        for name, data in self.documents().items():
            _write(folder / name, data)
        for path in self.segments:
            _write(folder / path, self.segment(path))
        return folder

    def preview(self) -> Iterator[str]:
        """Yield the lines of all files as they are sent, and what was removed before, which stands in [brackets]."""
        documents = self.documents()
        yield f"== {self.name}"
        yield from _shown(RUN, documents[RUN])
        for path in self.segments:
            yield from _shown(path, self.segment(path))
        if END in documents:
            yield from _shown(END, documents[END])
        yield f"-- removed before: {len(self.removals):,}" + ("" if self.removals else ", nothing private was found")
        yield from (f"   {removal}" for removal in self.removals)


def prepared(recorded: Spool, words: Mapping[str, str] | None = None) -> PreparedRun:
    """Return a recorded run as it is sent, with the digests of changed segments in its end.

    words: further names to remove, of the user and the machine, by kind. Raises OSError.
    """
    cleaner = cleaner_of(recorded.facts, words)
    facts = cleaner.facts(recorded.facts)
    segments: dict[str, bytes | Path] = {}
    changed: dict[str, bytes] = {}
    for segment in recorded.segments:
        data = segment.data()
        clean = cleaner.segment(data)
        segments[segment.path] = segment.file if clean == data else clean
        if clean != data:
            changed[segment.path] = clean
    end = cleaner.end(recorded.end) if recorded.end is not None else None
    if end is not None and isinstance(end.get("segments"), dict):
        end["segments"] = {
            path: digest_entry(changed[path]) if path in changed else entry for path, entry in end["segments"].items()
        }
    return PreparedRun(recorded.folder, recorded.name, facts, end, segments, list(cleaner.removals))


def _shown(name: str, data: bytes) -> Iterator[str]:
    yield f"-- {name}: {len(data):,} bytes, sha256 {hashlib.sha256(data).hexdigest()}"
    yield from data.decode("utf-8", "backslashreplace").splitlines()


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)

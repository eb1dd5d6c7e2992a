"""What a log format is: a name, how its files are told, and how runs or whole studies are read from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.report import Quarantined
from losslake_ingest.run_log import RunLog
from losslake_ingest.sources.member import Source
from losslake_ingest.study import StudyPart

GLIMPSE = 4096


@dataclass(frozen=True)
class Glimpse:
    """A file as far as detection sees it: its path within the source (slashes) and its first GLIMPSE bytes."""

    path: str
    start: bytes

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


class Format(Protocol):
    """A log format. One instance each, registered as an entry point of the group `losslake.formats`.

    name: lower case, as `--format` takes it. reads: the files, in one line. needs: what a mapping has to say, in one
    line. defaults: a mapping as TOML text that holds wherever the user's mapping is silent: the names that this format
    itself gives to its columns and statuses.
    """

    name: str
    reads: str
    needs: str
    defaults: str

    def detect(self, file: Glimpse) -> float:
        """How surely this file is one that the format starts to read a run from: 0 (not at all) to 1 (certainly).

        0.85 and more: the bytes say so, and no other format shall read this folder; about 0.5: the name says so; 0.3:
        it may be read if nothing else wants it.
        """

    def read(self, source: Source, mapping: LogMapping) -> Iterator[RunLog | StudyPart | Quarantined]:
        """The runs of a source, or parts of whole studies; what can't be used is quarantined, never raised.

        Everything in a file is hostile: no path from it is opened, nothing is unpickled, memory stays bounded.
        Raises SourceBroken after everything that came before the break.
        """

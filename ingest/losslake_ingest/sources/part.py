"""A part of a source: those of its files that one format is to read."""

from __future__ import annotations

from collections.abc import Iterator

from losslake_ingest.sources.member import Member, Refused, Source, Wanted


class PartOfSource:
    """The files of a source for which `belongs` holds."""

    def __init__(self, source: Source, belongs: Wanted) -> None:
        self._source = source
        self._belongs = belongs
        self.path = source.path
        self.name = source.name
        self.is_streamed = source.is_streamed
        self.takes_all_cores = source.takes_all_cores
        self.total_bytes = source.total_bytes

    def position(self) -> int:
        return self._source.position()

    def sha256(self) -> str | None:
        return self._source.sha256()

    def expected_sha256(self) -> str | None:
        return self._source.expected_sha256()

    def is_as_opened(self) -> bool:
        return self._source.is_as_opened()

    def members(self, wanted: Wanted, first: int | None = None) -> Iterator[Member | Refused]:
        yield from self._source.members(lambda path: self._belongs(path) and wanted(path), first)

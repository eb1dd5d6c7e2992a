"""Telling which formats the files of a source are in: file by file, then folder by folder the surest one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from losslake_ingest.formats.format import GLIMPSE, Format, Glimpse
from losslake_ingest.mapping.load import MAPPING_NAME
from losslake_ingest.rules import SourceBroken
from losslake_ingest.sources.member import Member, Source, Wanted
from losslake_ingest.sources.open import FolderSource

MOST_FILES = 200_000
MOST_ARCHIVED = 200
SURE = 0.85


@dataclass(frozen=True)
class Detected:
    """Which formats a source is in.

    folders: the formats of each folder that has files of any. files: how many files begin a run, by format. others: how
    many files no format wants. excluded: how many the mapping leaves out. is_whole: whether every file was looked at.
    broken: why the source could not be looked through, if so.
    """

    folders: Mapping[str, Collection[str]] = field(default_factory=dict)
    files: Mapping[str, int] = field(default_factory=dict)
    others: int = 0
    excluded: int = 0
    is_whole: bool = True
    broken: str | None = None

    def belongs(self, name: str) -> Wanted:
        """Whether a path is for a format: the nearest folder above it that has a format decides."""

        def decide(path: str) -> bool:
            folder = path
            while folder:
                folder = folder.rpartition("/")[0]
                if folder in self.folders:
                    return name in self.folders[folder]
            return True

        return decide


def detect(source: Source, formats: Sequence[Format], wanted: Wanted) -> Detected:
    """Look at the start of each file (in an archive, of the first two hundred) and decide folder by folder.

    A format that is sure of a file by its bytes has its folder alone, the surest of several: event files beside
    AlgoPerf's CSVs are the same run again.
    """
    most = MOST_FILES if isinstance(source, FolderSource) else MOST_ARCHIVED
    scores: dict[str, dict[str, float]] = {}
    counts: dict[str, Counter[str]] = {}
    others = excluded = looked_at = 0
    broken: str | None = None
    try:
        for member in source.members(lambda _: True, GLIMPSE):
            looked_at += 1
            if looked_at > most:
                break
            if not isinstance(member, Member) or member.path == MAPPING_NAME:
                continue
            if not wanted(member.path):
                excluded += 1
                continue
            score, name = _surest(Glimpse(member.path, member.data), formats)
            folder = member.path.rpartition("/")[0]
            if score <= 0:
                others += 1
                continue
            counts.setdefault(folder, Counter())[name] += 1
            known = scores.setdefault(folder, {})
            known[name] = max(known.get(name, 0.0), score)
    except SourceBroken as error:
        broken = str(error)
    folders = {folder: _readers(known) for folder, known in scores.items()}
    files: Counter[str] = Counter()
    for folder, names in folders.items():
        for name in names:
            files[name] += counts[folder][name]
    return Detected(folders, dict(sorted(files.items())), others, excluded, looked_at <= most, broken)


def _readers(scores: Mapping[str, float]) -> Collection[str]:
    """The formats that read a folder, from how sure each is of one of its files."""
    surest = max(scores, key=lambda name: scores[name])
    return (surest,) if scores[surest] >= SURE else tuple(sorted(scores))


def _surest(file: Glimpse, formats: Sequence[Format]) -> tuple[float, str]:
    scores = [(one.detect(file), one.name) for one in formats]
    return max(scores, key=lambda found: found[0], default=(0.0, ""))

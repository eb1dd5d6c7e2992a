"""What a log format is: a name, how its files are recognized, and how runs or whole studies are read from them.

Formats are installed as entry points `losslake.formats`, LossLake's own and those of other packages.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import resources
from importlib.metadata import entry_points
from typing import Protocol, TypeVar

from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.report import Quarantined
from losslake_ingest.rules import Refusal, UnknownFormat
from losslake_ingest.run_log import RunLog
from losslake_ingest.sources.member import Member, Refused, Source, Wanted
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


GROUP = "losslake.formats"
Delivered = TypeVar("Delivered", bound=RunLog | StudyPart)


@functools.cache
def formats() -> dict[str, Format]:
    """Every installed format by name, in order of names; raises UnknownFormat when one can't be loaded."""
    installed: dict[str, Format] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            loaded: Format = point.load()
        except Exception as error:  # noqa: BLE001 - whatever another package's module does when it is imported
            package = point.dist.name if point.dist else point.value
            message = f"the format {point.name!r} of {package} can't be loaded ({error}): repair or remove that package"
            raise UnknownFormat(message) from None
        installed[point.name] = loaded
    return installed


def format_named(name: str) -> Format:
    """The format of that name; raises UnknownFormat with the names there are."""
    try:
        return formats()[name]
    except KeyError:
        raise UnknownFormat(f"there is no format {name!r}: the formats are {', '.join(formats())}") from None


def defaults_of(name: str) -> str:
    """The TOML text of a format's own mapping."""
    return resources.files("losslake_ingest.formats.defaults").joinpath(f"{name}.toml").read_text("utf-8")


def read_files(
    source: Source, wanted: Wanted, read: Callable[[Member], Iterable[Delivered | Quarantined]]
) -> Iterator[Delivered | Quarantined]:
    """What `read` makes of the wanted files of a source; a file of which it raises Refusal is quarantined."""
    for member in source.members(wanted):
        try:
            if isinstance(member, Refused):
                raise Refusal(member.rule, member.message)
            yield from read(member)
        except Refusal as error:
            yield Quarantined(source.name, member.path, error.rule, error.message, error.line)

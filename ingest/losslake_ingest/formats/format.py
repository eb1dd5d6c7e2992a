"""The interface of log formats: a name, detection of files, and reading of runs or whole studies.

Formats are registered as entry points `losslake.formats`, by LossLake and by other packages.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import resources
from importlib.metadata import entry_points
from typing import Protocol, TypeVar

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import NO_MEMORY, Refusal, Rule, UnknownFormat
from losslake_ingest.contracts.run_log import RunLog
from losslake_ingest.contracts.study import StudyPart
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.sources.member import Member, Refused, Source, UntilBreak, Wanted
from losslake_schema.package_files import read_toml

GLIMPSE = 4096


@dataclass(frozen=True)
class Glimpse:
    """A file as detection sees it: its path within the source (with slashes) and its first GLIMPSE bytes."""

    path: str
    start: bytes

    @property
    def name(self) -> str:
        """The file's name without its folders."""
        return self.path.rpartition("/")[2]


class Format(Protocol):
    """A log format. One instance each, registered as an entry point in the group `losslake.formats`.

    name: lower case, as given to `--format`. reads: the files that it reads, in one line. needs: what a mapping has to
    provide, in one line. defaults: a mapping as TOML text, used wherever the user's mapping is silent: the format's own
    names of columns and statuses.
    """

    name: str
    reads: str
    needs: str
    defaults: str

    def detect(self, file: Glimpse) -> float:
        """Return the confidence, from 0 to 1, that the format reads a run that starts with this file.

        0.85 and above: recognized by its bytes, and no other format may read this folder; about 0.5: recognized by its
        name; 0.3: readable if no other format recognizes it.
        """

    def read(self, source: Source, mapping: LogMapping) -> Iterator[RunLog | StudyPart | Quarantined]:
        """Yield the runs of a source, or parts of whole studies; quarantine whatever can't be used.

        Files are untrusted: never open paths from them or unpickle anything, and bound the memory. Raises SourceBroken
        after everything before the break.
        """


GROUP = "losslake.formats"
_DESCRIPTIONS = read_toml("losslake_ingest.formats", "descriptions.toml")
Delivered = TypeVar("Delivered", bound=RunLog | StudyPart)


@functools.cache
def formats() -> dict[str, Format]:
    """Return every installed format, sorted by name. Raises UnknownFormat if one can't be loaded."""
    installed: dict[str, Format] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            loaded: Format = point.load()
        except Exception as error:  # noqa: BLE001 - another package's module can raise anything when imported
            package = point.dist.name if point.dist else point.value
            message = f"the format {point.name!r} of {package} can't be loaded ({error}): repair or remove that package"
            raise UnknownFormat(message) from None
        installed[point.name] = loaded
    return installed


def format_named(name: str) -> Format:
    """Return the format of that name. Raises UnknownFormat with the names that exist."""
    try:
        return formats()[name]
    except KeyError:
        raise UnknownFormat(f"there is no format {name!r}: the formats are {', '.join(formats())}") from None


def defaults_of(name: str) -> str:
    """Return the mapping of one of LossLake's own formats as TOML text, empty if it needs none."""
    file = resources.files("losslake_ingest.formats").joinpath("defaults", f"{name}.toml")
    return file.read_text("utf-8") if file.is_file() else ""


class BundledFormat:
    """A format of LossLake's own: described in descriptions.toml, with its defaults in a file of its name."""

    name: str

    def __init__(self) -> None:
        """Read what describes the format."""
        self.reads: str = _DESCRIPTIONS[self.name]["reads"]
        self.needs: str = _DESCRIPTIONS[self.name]["needs"]
        self.defaults = defaults_of(self.name)


def read_files(
    source: Source, wanted: Wanted, read: Callable[[Member], Iterable[Delivered | Quarantined]], once: bool = False
) -> Iterator[Delivered | Quarantined]:
    """Apply `read` to the wanted files of a source; if it raises Refusal or MemoryError, the file is quarantined.

    once: only the first file of each path counts.
    """
    seen: set[str] = set()
    for member in source.members(wanted):
        path = member.path
        try:
            if isinstance(member, Refused):
                raise Refusal(member.rule, member.message)
            if once:
                if path in seen:
                    raise Refusal(Rule.DUPLICATE_FILE, "the archive holds it twice: the first one is used")
                seen.add(path)
            files = read(member)
            del member  # The next file is read before this name would be given to it.
            yield from files
        except Refusal as error:
            yield Quarantined(source.name, path, error.rule, error.message, error.line, missing=error.missing)
        except MemoryError:
            yield Quarantined(source.name, path, Rule.FILE_TOO_LARGE, NO_MEMORY)


def read_all_files(
    source: Source,
    wanted: Wanted,
    read: Callable[[Member], Iterable[Delivered | Quarantined]],
    finish: Callable[[], Iterable[Delivered | Quarantined]],
) -> Iterator[Delivered | Quarantined]:
    """Read the wanted files of a source, then `finish` what was held back; a broken source is raised after that."""
    items = UntilBreak(read_files(source, wanted, read))
    yield from items
    yield from finish()
    items.raise_break()

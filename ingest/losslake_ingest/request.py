"""What an ingest is asked to do, beside the paths.

The mappings that LossLake brings along for published logs, by name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from losslake_ingest.formats.format import Format, format_named, formats
from losslake_ingest.mapping.mapping import MAPPING_NAME, LogMapping, load_mapping, overlaid, parse_mapping
from losslake_ingest.mapping.template import Template

_FOLDER = Path(__file__).parent / "mappings"


def shipped_mappings() -> dict[str, Path]:
    """The file of each mapping, by name."""
    return {file.parent.name: file for file in sorted(_FOLDER.glob(f"*/{MAPPING_NAME}"))}


def mapping_file(asked: Path) -> Path:
    """The file that is meant: the path itself, or else a mapping of that name that LossLake brings along."""
    return asked if asked.exists() else shipped_mappings().get(str(asked), asked)


@dataclass(frozen=True)
class Request:
    """How to read the sources.

    collection: the name of the collection, whatever a mapping or a folder says. mapping: the file that holds for every
    source, or the name of one that LossLake brings along; without it each source may have its own beside it. formats:
    read these, and detect nothing.
    """

    collection: str | None = None
    mapping: Path | None = None
    formats: tuple[str, ...] = ()

    def mapping_for(self, source: Path) -> LogMapping:
        """The mapping for a source: the one asked for, else `losslake.toml` in the folder or beside the file."""
        beside = (source if source.is_dir() else source.parent) / MAPPING_NAME
        if self.mapping is not None:
            mapping = load_mapping(mapping_file(self.mapping))
        else:
            mapping = load_mapping(beside) if beside.is_file() else LogMapping()
        if self.collection is not None:
            mapping = replace(mapping, collection=replace(mapping.collection, name=Template(self.collection)))
        return mapping

    def formats_for(self, mapping: LogMapping) -> dict[str, Format]:
        """The formats that may be read; raises UnknownFormat."""
        names = self.formats or mapping.files.formats
        return {name: format_named(name) for name in names} if names else formats()


def with_defaults(mapping: LogMapping, log_format: Format) -> LogMapping:
    """The mapping, with what the format itself says wherever it is silent."""
    return overlaid(mapping, parse_mapping(log_format.defaults.encode(), f"defaults of {log_format.name}"))

"""A folder as a page of links, for people and for `wget -r`: below its heading all links are relative."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from losslake_service.files.release_files import Entry
from losslake_service.web.bare_page import bare_page


@dataclass(frozen=True)
class _Row:
    link: str
    name: str
    size: int | None


@dataclass(frozen=True)
class _Folder:
    rows: Sequence[_Row]
    has_parent: bool


def listing(title: str, entries: Iterable[Entry], has_parent: bool) -> str:
    """The page; names are shown as they are, percent signs included."""
    rows = [_Row(f"./{quote(entry.name, safe='/=')}", entry.name, entry.size) for entry in entries]
    description = f"{title}: Parquet files and the documents beside them, to be downloaded with any tool."
    return bare_page("listing.html", title, description, _Folder(rows, has_parent))

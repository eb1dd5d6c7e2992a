"""The documents that the site serves, in the groups and the order of `docs/README.md`, and the pictures they show.

The wheel carries copies of them in `losslake_service/documentation`; a checkout has them where they are written.
Paths are those of the repository: `docs/rest.md`.
"""

from __future__ import annotations

import hashlib
import mimetypes
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from markdown_it import MarkdownIt

from losslake_service.web.static_files import StaticFile

INDEX = "docs/README.md"
PREFIX = "/docs"
PICTURES = "/docs/pictures/"
_FOLDER = PurePosixPath("docs")
# Documents outside the folder docs/ that documents link to.
_BESIDE = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "bench/RESULTS.md", "studies/README.md")


@dataclass(frozen=True)
class Document:
    """A document. name: in its address, empty for the index. path: in the repository."""

    name: str
    path: str
    markdown: str

    @property
    def address(self) -> str:
        """Its path on the site."""
        return f"{PREFIX}/{self.name}" if self.name else PREFIX

    def linked_path(self, link: str) -> str | None:
        """Return the path in the repository that a link of this document leads to; None for another host's."""
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            return None
        return posixpath.normpath(posixpath.join(posixpath.dirname(self.path), parts.path)) if parts.path else self.path


@dataclass(frozen=True)
class Group:
    """Documents under one heading of the index. documents: the text of the link in the index, and the document."""

    title: str
    documents: Sequence[tuple[str, Document]]


@cache
def markdown() -> MarkdownIt:
    """Return the parser: CommonMark with tables, in which HTML is text."""
    return MarkdownIt("commonmark", {"html": False, "xhtmlOut": False}).enable("table")


@cache
def documents() -> Mapping[str, Document]:
    """Return every document by its path."""
    files = sorted(each.name for each in _root().joinpath("docs").iterdir() if each.name.endswith(".md"))
    paths = [*(f"docs/{name}" for name in files), *_BESIDE]
    return {path: Document(_name(path), path, _root().joinpath(path).read_text("utf-8")) for path in paths}


@cache
def groups() -> Sequence[Group]:
    """Return the groups of the index. A document is in the group that links to it first."""
    index, listed = documents()[INDEX], {INDEX}
    sections: list[tuple[str, list[tuple[str, Document]]]] = []
    is_heading = False
    for token in markdown().parse(index.markdown):
        if token.type == "inline" and is_heading:
            sections.append((token.content, []))
        is_heading = token.type == "heading_open" and token.tag == "h2"
        for at, child in enumerate(token.children or ()):
            path = index.linked_path(str(child.attrs["href"])) if child.type == "link_open" else None
            if sections and path is not None and path in documents() and path not in listed:
                listed.add(path)
                text = (token.children or ())[at + 1].content
                sections[-1][1].append((text[:1].upper() + text[1:], documents()[path]))
    return [Group(title, tuple(each)) for title, each in sections]


@cache
def by_name() -> Mapping[str, Document]:
    """Return the documents of the index by name, in its order."""
    return {document.name: document for group in groups() for _, document in group.documents}


def neighbours(name: str) -> tuple[tuple[str, Document] | None, tuple[str, Document] | None]:
    """Return the documents before and after one in the index, each with its text there."""
    ordered = [each for group in groups() for each in group.documents]
    at = [document.name for _, document in ordered].index(name)
    return ordered[at - 1] if at else None, ordered[at + 1] if at + 1 < len(ordered) else None


@cache
def pictures() -> Mapping[str, Traversable]:
    """Return the pictures below docs/ by their path from there."""
    return dict(_pictures(_root().joinpath(str(_FOLDER)), ""))


def picture_address(path: str) -> str | None:
    """Return the address of the picture with a path in the repository; None where there is none."""
    below = path.removeprefix(f"{_FOLDER}/")
    return PICTURES + below if below != path and below in pictures() else None


@cache
def picture(name: str) -> StaticFile:
    """Return a picture by its path below docs/; raises KeyError for one that isn't there."""
    media_type, _ = mimetypes.guess_type(name)
    return StaticFile(pictures()[name].read_bytes(), str(media_type))


@cache
def digest() -> str:
    """Return what distinguishes these documents from those of another version."""
    together = hashlib.sha256()
    for path, document in documents().items():
        together.update(f"{path}\0{document.markdown}\0".encode())
    return together.hexdigest()[:16]


def _name(path: str) -> str:
    """Return the name of a document in addresses: of a README that of its folder."""
    if path == INDEX:
        return ""
    place = PurePosixPath(path)
    return (place.parent.name if place.stem == "README" else place.stem).lower()


def _root() -> Traversable:
    package = resources.files("losslake_service")
    carried = package / "documentation"
    return carried if carried.is_dir() else package / "../.."


def _pictures(folder: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    for each in folder.iterdir():
        if each.is_dir():
            yield from _pictures(each, f"{prefix}{each.name}/")
        elif each.name.endswith((".png", ".svg")):
            yield prefix + each.name, each

"""Citations of a collection as of a release, `collection@release`, as text and as BibTeX."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from losslake_schema.contributors import Person
from losslake_schema.release import Release

# A DOI, as publishers form it: 10.REGISTRANT/SUFFIX.
_DOI = re.compile(r"\b10\.\d{4,9}/[^\s,;<>\"{}]+")
_MARKS = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip
# A row of the table `collections`, and `contributors`: the persons who contributed to its trials, if there are any.
Collection = Mapping[str, Any]
_MOST_NAMED = 20


@dataclass(frozen=True)
class Citation:
    """The citation of a collection. citation: collection@release; text: in a line; doi, url: None if none is stated."""

    collection: str
    citation: str
    text: str
    bibtex: str
    authors: str
    title: str
    url: str | None
    doi: str | None
    licence: str


def cite_collection(release: Release, row: Collection, address: str = "") -> Citation:
    """Return how to cite a collection as of a release. address: of a service that has it, for its page."""
    name, doi = row["collection"], doi_of(row)
    title, stated, licence = (on_one_line(row[field]) for field in ("title", "citation", "licence"))
    url = row["source_url"]
    short = f"{name}@{release.number}"
    data = f"As {short}: release {release.number} of LossLake, {release.created_at:%Y-%m-%d}, content digest sha256:"
    page = f"{address}/releases/{release.number}" if address else ""
    source = (stated or title).rstrip(". ")
    given_by = contributors_in_words(row)
    link = f"https://doi.org/{doi}." if doi and doi not in source else ""
    fields = {
        "author": f"{{{tex(authors_of(row))}}}",
        "title": f"{{{tex(title or name)}}}",
        "year": f"{release.created_at:%Y}",
        "month": f"{release.created_at:%b}".lower(),
        "version": tex(short),
        "doi": tex(doi or ""),
        "url": url if url.startswith(("https://", "http://")) and not re.search(r"[{}\\\s]", url) else "",
        "howpublished": rf"\url{{{page}}}" if page else "",
        "note": tex(" ".join(filter(None, (stated, given_by, f"{data}{release.content_digest[:16]}")))),
    }
    parts = (source and f"{source}.", link, given_by, f"{data}{release.content_digest}.", page)
    # A key of BibTeX has no commas, braces or spaces.
    key = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name)
    return Citation(
        collection=name,
        citation=short,
        text=" ".join(filter(None, parts)),
        bibtex=bibtex_entry(f"{key}-release-{release.number}", fields),
        authors=authors_of(row),
        title=title or name,
        url=url or None,
        doi=doi,
        licence=licence,
    )


def authors_of(row: Collection) -> str:
    """Return the authors of a collection. Its citation is free text in which a colon usually ends the authors."""
    name, colon, _ = on_one_line(row["citation"]).partition(":")
    return name if colon and name else f"Authors of {row['collection']}"


def contributors_of(row: Collection) -> Sequence[Person]:
    """Return the persons who contributed to the trials of a collection, by name."""
    named: Sequence[Person] = row.get("contributors", ())
    return named


def contributors_in_words(row: Collection) -> str:
    """Return a sentence that names the contributors of a collection with their ORCID iDs; empty for none."""
    named = [f"{each.name} ({each.orcid})" if each.orcid else each.name for each in contributors_of(row)]
    more = [f"and {len(named) - _MOST_NAMED:,} more"] if len(named) > _MOST_NAMED else []
    return f"Contributors: {', '.join([*named[:_MOST_NAMED], *more])}." if named else ""


def doi_of(row: Collection) -> str | None:
    """Return the DOI that the citation or the source URL of a collection states; None for none."""
    match = _DOI.search(f"{row['citation']} {row['source_url']}")
    return match[0].rstrip(".)]'") if match else None


def on_one_line(text: str) -> str:
    """Return the text on one line: PyYAML loses some of Unicode's line breaks."""
    return " ".join(text.split())


def bibtex_entry(key: str, fields: Mapping[str, str]) -> str:
    r"""Return an entry @misc. Values are in TeX, except \url; empty ones are left out."""
    # Months are BibTeX macros, written without braces.
    lines = [f"  {name} = {text if name == 'month' else f'{{{text}}}'}," for name, text in fields.items() if text]
    return "\n".join([f"@misc{{{key},", *lines, "}"])


def tex(text: str) -> str:
    """Return text escaped for TeX."""
    return "".join(_MARKS.get(letter, letter) for letter in text)

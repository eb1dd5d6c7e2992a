"""How to cite a release: as a sentence and as BibTeX."""

from __future__ import annotations

from losslake.lake.documents import AUTHORS
from losslake_schema.database import Release

_MARKS = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip
_SHORT = 16


def citation(release: Release, url: str) -> str:
    """A sentence for a list of references. url: of the page of the release."""
    day = f"{release.created_at:%Y-%m-%d}"
    return (
        f"{AUTHORS}: LossLake, release {release.number}, {day}. {url}, content digest sha256:{release.content_digest}."
    )


def bibtex(release: Release, url: str) -> str:
    """An entry for BibTeX; what has a meaning there is escaped."""
    fields = {
        "author": f"{{{AUTHORS}}}",
        "title": f"{{LossLake}}, release {release.number}",
        "year": f"{release.created_at:%Y}",
        "month": f"{release.created_at:%b}".lower(),
        "version": str(release.number),
        "note": escaped(f"Data set, content digest sha256:{release.content_digest[:_SHORT]}"),
        "howpublished": rf"\url{{{url}}}",
    }
    # Months are macros of BibTeX, which stand without braces.
    lines = [f"  {name} = {value if name == 'month' else f'{{{value}}}'}," for name, value in fields.items()]
    return "\n".join([f"@misc{{losslake-release-{release.number},", *lines, "}"])


def escaped(text: str) -> str:
    """Text for TeX."""
    return "".join(_MARKS.get(letter, letter) for letter in text)

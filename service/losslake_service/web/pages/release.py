"""The page of a release: what changed, its files with their checksums, its licences, how to cite and pin it.

How to cite a release: as a sentence and as BibTeX.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from losslake.lake.documents import AUTHORS, URL_SCHEMES, Collection, licence_place
from losslake.lake.manifest import url_path
from losslake.lake.store.store import DataFile
from losslake.questions.parameters import Natural
from losslake.questions.release_changes import ReleaseChanges, release_changes
from losslake_schema.database import Release
from losslake_schema.errors import LakeBroken
from losslake_schema.names import Study, natural_number
from losslake_service.files.release_files import ReleaseFiles
from losslake_service.web.chart import Line
from losslake_service.web.first_look import first_chart
from losslake_service.web.page import Crumb, Page, PageAsked, PageKind, PageNumbers, PageParameters, page_numbers
from losslake_service.web.templates import page_of, with_query

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


ROWS_ON_A_PAGE = 50
MOST_STUDIES = 24


class ReleasePageParameters(PageParameters):
    """The state of the page."""

    page: Annotated[Natural | None, Field(ge=1)] = None
    """Of the list of files."""


@dataclass(frozen=True)
class StudyLink:
    """A study and its page in the release where it is."""

    text: str
    url: str


@dataclass(frozen=True)
class Change:
    """What became of some studies. says: in a word or two; more: how many are not named."""

    says: str
    studies: Sequence[StudyLink]
    more: int

    @property
    def count(self) -> int:
        """How many studies."""
        return len(self.studies) + self.more


@dataclass(frozen=True)
class FileListed:
    """A file, by its place in the release's folder."""

    file: DataFile
    place: str
    url: str


@dataclass(frozen=True)
class Licence:
    """A collection and what its source says of it; link: where it was published, if that is an address of the web."""

    collection: str
    title: str
    licence: str
    citation: str
    link: str
    text_url: str


@dataclass(frozen=True)
class ReleaseShown:
    """What the template shows. changes: None where an older list of files can't be read; n_bytes: of all files."""

    release: Release
    changes: ReleaseChanges | None
    studies: Sequence[Change]
    n_files: int
    n_bytes: int
    files: Sequence[FileListed]
    pages: PageNumbers
    licences: Sequence[Licence]
    citation: str
    bibtex: str
    pinning: Sequence[Line]
    fetching: Sequence[Line]
    before: int | None
    after: int | None


def release_page(asked: PageAsked) -> Page:
    """The page of the release whose number the path has; raises UnknownName and LakeBroken."""
    number = natural_number(asked.name)
    if number is None or str(number) != asked.name:
        raise asked.bulk.unknown(asked.name)
    bulk = asked.bulk.open(number)
    release, lake = bulk.release, asked.releases.lake
    around = lake.releases()
    older = next((each for each in around if each.number < number), None)
    newer = next((each for each in reversed(around) if each.number > number), None)
    changes = _changes(asked, older, release)
    files = bulk.data_files
    url = f"/releases/{number}"
    pages = page_numbers(len(files), ROWS_ON_A_PAGE, asked.parameters.page, lambda n: f"{asked.url(url, page=n)}#files")
    return Page(
        template="release.html",
        title=f"Release {number}",
        description=f"Release {number} of {release.created_at:%Y-%m-%d}: {release.n_trials:,} trials in "
        f"{release.n_studies:,} studies; files, checksums, licences and how to cite it.",
        url=asked.url(url, page=pages.number if pages.number > 1 else None),
        content=ReleaseShown(
            release=release,
            changes=changes,
            studies=list(_by_change(changes, number)) if changes is not None else [],
            n_files=len(files),
            n_bytes=sum(file.bytes for file in files),
            files=_listed(bulk, pages.rows),
            pages=pages,
            licences=[_licence(row, number) for row in bulk.collections],
            citation=citation(release, asked.address + url),
            bibtex=bibtex(release, asked.address + url),
            pinning=list(_pinning(asked.address, number)),
            fetching=list(_fetching(asked.address, number)),
            before=older.number if older is not None else None,
            after=newer.number if newer is not None else None,
        ),
        picture=first_chart(asked),
        above=(Crumb("Releases", asked.url("/releases")),),
        styles=("release.css",),
        json_ld=asked.bulk.described(number).json_ld(asked.address),
        data=f"/v1/releases/{number}/files",
    )


def _changes(asked: PageAsked, before: Release | None, release: Release) -> ReleaseChanges | None:
    try:
        return release_changes(asked.releases.lake, before, release)
    except LakeBroken:
        return None


def _by_change(changes: ReleaseChanges, number: int) -> Iterator[Change]:
    for says, studies, where in (
        ("added", changes.added, number),
        ("replaced", changes.replaced, number),
        ("removed", changes.removed, changes.before),
    ):
        if studies:
            links = [StudyLink(str(study), _study_url(study, where)) for study in studies[:MOST_STUDIES]]
            yield Change(says, links, len(studies) - len(links))


def _study_url(study: Study, release: int | None) -> str:
    return with_query(page_of(study), [("release", release)])


def _listed(bulk: ReleaseFiles, rows: slice) -> list[FileListed]:
    """Some of the files: small tables first, which nobody would find behind thousands of partitions."""
    place_of = bulk.place_of
    files = sorted(bulk.data_files, key=lambda file: (file.batch_size is not None, place_of[file.path]))
    pairs = [(file, place_of[file.path]) for file in files[rows]]
    return [FileListed(file, place, f"/data/{bulk.number}/{url_path(place)}") for file, place in pairs]


def _licence(row: Collection, number: int) -> Licence:
    return Licence(
        collection=row["collection"],
        title=row["title"],
        licence=row["licence"],
        citation=row["citation"],
        link=row["source_url"] if row["source_url"].startswith(URL_SCHEMES) else "",
        text_url=f"/data/{number}/{url_path(licence_place(row['collection']))}",
    )


def _pinning(address: str, number: int) -> Iterator[Line]:
    yield Line("HTTP", f"curl '{address}/v1/workloads?release={number}'")
    yield Line("SQL", f'losslake sql --url {address} --release {number} -c "FROM workloads"')
    database = f"ATTACH '{address}/v1/releases/{number}/losslake.duckdb' AS losslake; USE losslake; FROM workloads;"
    yield Line("DuckDB", f'duckdb -c "{database}"')


def _fetching(address: str, number: int) -> Iterator[Line]:
    yield Line("LossLake", f"losslake download {address} lake --release {number} && losslake verify --lake lake")
    data = f"{address}/data/{number}/"
    wget = f"wget --recursive --level=inf --no-parent --no-host-directories --cut-dirs=2 --reject='index.html*' {data}"
    yield Line("wget", f"{wget} && sha256sum --check SHA256SUMS")


RELEASE = PageKind("/releases/{name}", ReleasePageParameters, release_page)

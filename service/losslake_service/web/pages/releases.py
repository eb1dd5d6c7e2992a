"""The page of all releases, and the page of each: changes, files, licences, citation and pinning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from losslake.lake.citations import Collection, bibtex_entry, cite_collection, tex
from losslake.lake.public_paths import url_path
from losslake.lake.readme_and_licences import AUTHORS, URL_SCHEMES, all_contributors, licence_path
from losslake.lake.store.store import DataFile
from losslake.questions.declaration.parameters import Natural
from losslake.questions.release.changes import ReleaseChanges, release_changes
from losslake_schema.errors import LakeBroken
from losslake_schema.names import Study, natural_number
from losslake_schema.release import Release
from losslake_service.files.release_files import ReleaseFiles
from losslake_service.web.code_lines import Line
from losslake_service.web.page import Page, PageKind, PageParameters, PageRequest, paginate
from losslake_service.web.starting_example import first_chart
from losslake_service.web.templates import page_path, with_query

RELEASES_ON_A_PAGE = 20
FILES_ON_A_PAGE = 50
MOST_STUDIES = 24


class ReleasesParameters(PageParameters):
    """The query of both pages."""

    page: Annotated[Natural | None, Field(ge=1)] = None
    """The page of the list of releases or files."""


def releases_page(request: PageRequest) -> Page:
    """Return the page of the releases of the lake, newest first."""
    releases = request.releases.lake.releases()
    url = "/releases"
    pages = paginate(len(releases), RELEASES_ON_A_PAGE, request.parameters.page, lambda n: request.url(url, page=n))
    pairs = list(zip(releases, [*releases[1:], None], strict=True))[pages.rows]
    return Page(
        template="releases.html",
        title="Releases",
        description=f"The {len(releases):,} immutable, numbered releases of this LossLake, and what each changed.",
        url=request.url(url, page=pages.number if pages.number > 1 else None),
        content={"rows": [(release, _changes(request, before, release)) for release, before in pairs], "pages": pages},
        picture=first_chart(request),
        data="/v1/releases",
    )


def release_page(request: PageRequest) -> Page:
    """Return the page of the release in the path; raises UnknownName and LakeBroken."""
    number = natural_number(request.name)
    if number is None or str(number) != request.name:
        raise request.bulk.unknown_release(request.name)
    bulk = request.bulk.open(number)
    release, files = bulk.release, bulk.data_files
    around = request.releases.lake.releases()
    older = next((each for each in around if each.number < number), None)
    newer = next((each for each in reversed(around) if each.number > number), None)
    changes = _changes(request, older, release)
    url = f"/releases/{number}"
    pages = paginate(
        len(files), FILES_ON_A_PAGE, request.parameters.page, lambda n: f"{request.url(url, page=n)}#files"
    )
    return Page(
        template="release.html",
        title=f"Release {number}",
        description=f"Release {number} of {release.created_at:%Y-%m-%d}: {release.n_trials:,} trials in "
        f"{release.n_studies:,} studies; files, checksums, licences and how to cite it.",
        url=request.url(url, page=pages.number if pages.number > 1 else None),
        content={
            "release": release,
            "changes": changes,
            "studies": list(_by_change(changes, number)) if changes is not None else [],
            "n_files": len(files),
            "n_bytes": sum(file.bytes for file in files),
            "files": _listed(bulk, pages.rows),
            "pages": pages,
            "licences": [_licence(row, number) for row in bulk.collections],
            "citation": citation(release, request.address + url),
            "bibtex": bibtex(release, request.address + url),
            "cited": [cite_collection(release, row, request.address) for row in bulk.collections],
            "contributors": all_contributors(bulk.collections),
            "erasures": request.releases.notices.of(release).erased,
            "pinning": _pinning(request.address, number),
            "fetching": _fetching(request.address, number),
            "before": older,
            "after": newer,
        },
        picture=first_chart(request),
        above=(("Releases", request.url("/releases")),),
        styles=("release.css",),
        json_ld=request.bulk.described(number).json_ld(request.address),
        withdrawn=request.releases.notices.of(release).all,
        data=f"/v1/releases/{number}/files",
    )


def citation(release: Release, url: str) -> str:
    """Return the citation as text. url: of the page of the release."""
    day = f"{release.created_at:%Y-%m-%d}"
    return (
        f"{AUTHORS}: LossLake, release {release.number}, {day}. {url}, content digest sha256:{release.content_digest}."
    )


def bibtex(release: Release, url: str) -> str:
    """Return the citation as a BibTeX entry. url: of the page of the release."""
    fields = {
        "author": f"{{{AUTHORS}}}",
        "title": f"{{LossLake}}, release {release.number}",
        "year": f"{release.created_at:%Y}",
        "month": f"{release.created_at:%b}".lower(),
        "version": str(release.number),
        "note": tex(f"Data set, content digest sha256:{release.content_digest[:16]}"),
        "howpublished": rf"\url{{{url}}}",
    }
    return bibtex_entry(f"losslake-release-{release.number}", fields)


def _changes(request: PageRequest, before: Release | None, release: Release) -> ReleaseChanges | None:
    """Return the changes of a release; None if its list of files, or the previous one, can't be read."""
    try:
        return release_changes(request.releases.lake, before, release)
    except LakeBroken:
        return None


def _by_change(changes: ReleaseChanges, number: int) -> Iterator[tuple[str, int, list[tuple[Study, str]]]]:
    """Yield each kind of change, the number of studies, and the first of them with their addresses."""
    for word, studies, where in (
        ("added", changes.added, number),
        ("replaced", changes.replaced, number),
        ("removed", changes.removed, changes.before),
    ):
        if studies:
            release = [("release", where)]
            first = [(study, with_query(page_path(study), release)) for study in studies[:MOST_STUDIES]]
            yield word, len(studies), first


def _listed(bulk: ReleaseFiles, rows: slice) -> list[tuple[DataFile, str, str]]:
    """Return files with path and address; small tables come first, before the many partitions."""
    public_path = bulk.public_path
    files = sorted(bulk.data_files, key=lambda file: (file.batch_size is not None, public_path[file.path]))
    pairs = [(file, public_path[file.path]) for file in files[rows]]
    return [(file, place, f"/data/{bulk.number}/{url_path(place)}") for file, place in pairs]


def _licence(row: Collection, number: int) -> dict[str, str]:
    """Return the row of a collection. link: its source URL, if it is a web address."""
    link = row["source_url"] if row["source_url"].startswith(URL_SCHEMES) else ""
    return {**row, "link": link, "text_url": f"/data/{number}/{url_path(licence_path(row['collection']))}"}


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


# Maintenance unlists releases without a new one.
RELEASES = PageKind("/releases", ReleasesParameters, releases_page, is_of_release=False)
RELEASE = PageKind("/releases/{name}", ReleasesParameters, release_page, is_of_release=False)

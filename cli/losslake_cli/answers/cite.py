"""`losslake cite`: how to cite data of a lake or a service, as its question and the library say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from losslake.output.imports import without_pandas
from losslake_cli.completion import complete_workload
from losslake_cli.console import LakeOption, ReleaseOption, ServiceOption, check_one_source, echo_all, library_of
from losslake_cli.table import print_rows
from losslake_schema.errors import LossLakeError

if TYPE_CHECKING:
    from losslake.library.lake import Lake

_COLUMNS = ("collection", "citation", "text", "bibtex", "authors", "title", "url", "doi", "licence")


def cite(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]…",
            autocompletion=complete_workload,
            help="Only the collections of these: collection, collection/dataset/model/optimizer, a pattern, or words "
            "that workloads match (softmax sgd). Default: all collections.",
        ),
    ] = None,
    lake: LakeOption = None,
    url: ServiceOption = None,
    release: ReleaseOption = None,
    format: Annotated[  # noqa: A002
        Literal["text", "bibtex", "cff", "csv", "json"],
        typer.Option(help="Output format. cff: a CITATION.cff of the whole release."),
    ] = "text",
) -> None:
    """Print how to cite the data.

    One citation for each collection, as collection@release, with the digest of the release. The service gives the
    same under /v1/cite.
    """
    without_pandas()
    if format == "cff":
        if names:
            raise LossLakeError("--format cff cites a whole release: leave out the names, or use --format bibtex")
        echo_all(_citation_file(lake, url, release).splitlines())
        return
    library = library_of(lake, url, release)
    rows = library.cite(workload=_workloads(library, names or []) or None).to_dicts()
    if format == "text":
        echo_all(row["text"] for row in rows)
    elif format == "bibtex":
        echo_all("\n\n".join(row["bibtex"] for row in rows).split("\n"))
    else:
        print_rows(_COLUMNS, [[row[name] for name in _COLUMNS] for row in rows], format)


def _workloads(library: Lake, names: Sequence[str]) -> list[str]:
    """Return the workloads and patterns that names stand for. Names that are neither path nor collection are words."""
    from losslake.questions.release.named_workload import is_path

    collections = {row["collection"] for row in library.cite().to_dicts()} if names else set()
    workloads: list[str] = []
    words: list[str] = []
    for name in names:
        if name.strip("/") in collections:
            workloads.append(_all_of(name.strip("/")))
        elif is_path(name):
            workloads.append(name)
        else:
            words.append(name)
    if words:
        text = " ".join(words)
        matches = {row["collection"] for row in library.workloads(q=text, fields="collection").to_dicts()}
        if not matches:
            known = ", ".join(sorted(collections))
            raise LossLakeError(f"no collection or workload matches '{text}': the collections are {known}")
        workloads += [_all_of(collection) for collection in sorted(matches)]
    return workloads


def _all_of(collection: str) -> str:
    return f"{collection}/*/*/*"


def _citation_file(lake: str | None, url: str | None, release: int | None) -> str:
    """Return the text of CITATION.cff, as exports and services have it."""
    check_one_source(lake, url)
    if url is not None:
        from losslake.client.client import Client
        from losslake.client.service import Service

        with Client() as client:
            service = Service(client, url)
            number = service.release(release).release
            with client.stream("GET", service.url(f"data/{number}/CITATION.cff")) as response:
                return response.read().decode()
    from losslake.lake.readme_and_licences import collections_of, documents
    from losslake_cli.console import open_lake

    opened = open_lake(lake)
    chosen = opened.release(release)
    files = opened.files(chosen, partitioned=False)
    return documents(chosen, collections_of(opened, files))["CITATION.cff"]

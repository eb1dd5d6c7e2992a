"""The documents beside the files of a release: README.md, CITATION.cff and a licence per collection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

import yaml

from losslake.lake.citations import (
    Collection,
    authors_of,
    contributors_in_words,
    contributors_of,
    doi_of,
    on_one_line,
)
from losslake.lake.data_files import read_small_table
from losslake.lake.lake import Lake
from losslake.lake.store.store import DataFile
from losslake_schema.contributors import Person, persons
from losslake_schema.package_files import read_text
from losslake_schema.release import Release
from losslake_schema.tables import PARTITIONED

AUTHORS = "The LossLake developers"
URL_SCHEMES = ("https://", "http://", "ftp://", "sftp://")


def collections_of(lake: Lake, files: Iterable[DataFile]) -> Sequence[Collection]:
    """Return the collections of the release with these files, sorted by name, each with its contributors.

    Raises LakeBroken if a file can't be read.
    """
    listed = list(files)
    rows: list[Collection] = read_small_table(lake.store, listed, "collections").to_pylist()
    named: dict[str, list[tuple[str, str, str]]] = {}
    contributors = read_small_table(lake.store, listed, "contributors")
    for row in contributors.group_by(["collection", "name", "orcid", "role"]).aggregate([]).to_pylist():
        named.setdefault(row["collection"], []).append((row["name"], row["orcid"], row["role"]))
    rows = [{**row, "contributors": persons(named.get(row["collection"], ()))} for row in rows]
    return sorted(rows, key=lambda row: str(row["collection"]))


def all_contributors(collections: Iterable[Collection]) -> Sequence[Person]:
    """Return the contributors of all collections, each once."""
    named = [each for row in collections for each in contributors_of(row)]
    return persons((each.name, each.orcid, role) for each in named for role in each.roles)


def documents(release: Release, collections: Sequence[Collection], keys_in_files: bool = False) -> dict[str, str]:
    """Return the text of each document, by its path beside the data files.

    keys_in_files: the keys of studies are columns of the files, and not in their paths.
    """
    licences = {licence_path(row["collection"]): _licence(row) for row in collections}
    readme = _readme(release, collections, keys_in_files)
    return {"README.md": readme, "CITATION.cff": _citation(release, collections)} | licences


def licence_path(collection: str) -> str:
    """Return the path of a collection's licence; its name is in the folder, since wget decodes file names twice."""
    return f"LICENSES/collection={quote(collection, safe='')}/LICENSE.txt"


def _readme(release: Release, collections: Sequence[Collection], keys_in_files: bool) -> str:
    tables = " and ".join(f"`{name}/`" for name in PARTITIONED)
    keys = "collection, dataset, model, optimizer and batch_size"
    if keys_in_files:
        layout = f"The tables {tables} are folders of files, study by study; {keys} are columns"
    else:
        layout = f"The tables {tables} are partitioned Hive style by {keys}, percent-encoded in the path"
    sources = "\n".join(map(_source, collections))
    return (
        read_text("losslake_schema.data", "export_readme.md")
        .replace("$release", str(release.number))
        .replace("$digest", release.content_digest)
        .replace("$measurements", f"{release.n_measurements:,}")
        .replace("$layout", layout)
        .replace("$collections", sources)
    )


def _source(row: Collection) -> str:
    """Return a line of Markdown on a collection."""
    line = f"* **{row['collection']}**: {row['title']} Licence: {row['licence']}. {row['citation']}".rstrip()
    return f"{line} {contributors_in_words(row)}".rstrip()


def _licence(row: Collection) -> str:
    lines = [row["collection"], row["title"], "", f"Licence, as its source states it: {row['licence']}"]
    lines += [f"Cite: {row['citation']}"] if row["citation"] else []
    lines += [f"Published at: {row['source_url']}"] if row["source_url"] else []
    return "\n".join([*lines, ""])


def _citation(release: Release, collections: Sequence[Collection]) -> str:
    """Return the release in the Citation File Format 1.2.0, with its collections as references."""
    text: str = yaml.safe_dump(
        {
            "cff-version": "1.2.0",
            "message": "Cite this release and the collections that you use; their licences are in LICENSES.",
            "type": "dataset",
            "title": f"LossLake, release {release.number}",
            "authors": [{"name": AUTHORS}, *_entities(all_contributors(collections))],
            "version": str(release.number),
            "date-released": f"{release.created_at:%Y-%m-%d}",
            "identifiers": [
                {"type": "other", "value": f"sha256:{release.content_digest}", "description": "content digest"}
            ],
            "references": [_reference(release, row) for row in collections],
        },
        sort_keys=False,
        allow_unicode=True,
        width=120,
    )
    return text


def _entities(contributors: Iterable[Person]) -> list[dict[str, str]]:
    """Return contributors as entities of the format: it has no contributors beside authors."""
    return [{"name": each.name} | ({"orcid": each.orcid_url} if each.orcid else {}) for each in contributors]


def _reference(release: Release, row: Collection) -> dict[str, Any]:
    """Return the reference to a collection."""
    citation, doi = on_one_line(row["citation"]), doi_of(row)
    reference = {
        "type": "data",
        "title": on_one_line(row["title"]) or row["collection"],
        "authors": [{"name": authors_of(row)}, *_entities(contributors_of(row))],
        "version": f"{row['collection']}@{release.number}",
        "notes": f"Licence: {row['licence']}. {citation}".strip(),
    }
    reference |= {"doi": doi} if doi else {}
    return reference | ({"url": row["source_url"]} if row["source_url"].startswith(URL_SCHEMES) else {})

"""The documents that come along with the files of a release: README.md, CITATION.cff and a licence per collection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import quote

import yaml

from losslake.lake.data_files import stored_table
from losslake.lake.lake import Lake
from losslake.lake.store.store import DataFile
from losslake_schema.database import Release
from losslake_schema.tables import PARTITIONED

Collection = Mapping[str, Any]
"""A row of the table `collections`."""
AUTHORS = "The LossLake developers"
URL_SCHEMES = ("https://", "http://", "ftp://", "sftp://")


def collections_of(lake: Lake, files: Iterable[DataFile]) -> Sequence[Collection]:
    """The collections of a release, by name, from its files; raises LakeBroken."""
    rows: list[Collection] = stored_table(lake.store, files, "collections").to_pylist()
    return sorted(rows, key=lambda row: str(row["collection"]))


def documents(release: Release, collections: Sequence[Collection]) -> dict[str, str]:
    """The text of each document, by its place beside the data files."""
    licences = {licence_place(row["collection"]): _licence(row) for row in collections}
    return {"README.md": _readme(release, collections), "CITATION.cff": _citation(release, collections)} | licences


def licence_place(collection: str) -> str:
    """Where the licence of a collection lies: the name is that of a folder, since wget decodes names of files twice."""
    return f"LICENSES/collection={quote(collection, safe='')}/LICENSE.txt"


@cache
def template(name: str) -> str:
    """The text of `schema/losslake_schema/data/<name>`."""
    return resources.files("losslake_schema.data").joinpath(name).read_text("utf-8")


def _readme(release: Release, collections: Sequence[Collection]) -> str:
    sources = "\n".join(
        f"* **{row['collection']}**: {row['title']} Licence: {row['licence']}. {row['citation']}".rstrip()
        for row in collections
    )
    return (
        template("export_readme.md")
        .replace("$release", str(release.number))
        .replace("$digest", release.content_digest)
        .replace("$measurements", f"{release.n_measurements:,}")
        .replace("$partitioned", " and ".join(f"`{name}/`" for name in PARTITIONED))
        .replace("$collections", sources)
    )


def _licence(row: Collection) -> str:
    lines = [row["collection"], row["title"], "", f"Licence, as its source states it: {row['licence']}"]
    lines += [f"Cite: {row['citation']}"] if row["citation"] else []
    lines += [f"Published at: {row['source_url']}"] if row["source_url"] else []
    return "\n".join([*lines, ""])


def _citation(release: Release, collections: Sequence[Collection]) -> str:
    """The release in the Citation File Format 1.2.0, with its collections as references."""
    text: str = yaml.safe_dump(
        {
            "cff-version": "1.2.0",
            "message": "Cite this release and the collections that you use; their licences are in LICENSES.",
            "type": "dataset",
            "title": f"LossLake, release {release.number}",
            "authors": [{"name": AUTHORS}],
            "version": str(release.number),
            "date-released": f"{release.created_at:%Y-%m-%d}",
            "identifiers": [
                {"type": "other", "value": f"sha256:{release.content_digest}", "description": "content digest"}
            ],
            "references": [_reference(row) for row in collections],
        },
        sort_keys=False,
        allow_unicode=True,
        width=120,
    )
    return text


def _reference(row: Collection) -> dict[str, Any]:
    """A collection's citation is free text; the names of its authors usually end at a colon."""
    citation = _on_one_line(row["citation"])
    name, colon, _ = citation.partition(":")
    reference = {
        "type": "data",
        "title": _on_one_line(row["title"]) or row["collection"],
        "authors": [{"name": name if colon and name else f"Authors of {row['collection']}"}],
        "notes": f"Licence: {row['licence']}. {citation}".strip(),
    }
    is_url = row["source_url"].startswith(URL_SCHEMES)
    return reference | ({"url": row["source_url"]} if is_url else {})


def _on_one_line(text: str) -> str:
    """PyYAML loses some line breaks of Unicode in what it writes."""
    return " ".join(text.split())

"""The description of a release in MLCommons Croissant 1.0 (https://docs.mlcommons.org/croissant/docs/croissant-spec.html).

Tables of one file are FileObjects, which tools can read from anywhere. The files of a partitioned table are a FileSet;
its keys are taken from the paths, where they are percent-encoded. Reading such a table requires a local export, since
the mlcroissant library does not support sets of remote files.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from losslake.lake.citations import Collection
from losslake.lake.public_paths import public_paths, url_path
from losslake.lake.readme_and_licences import AUTHORS, all_contributors
from losslake.lake.store.store import DataFile
from losslake_schema.package_files import read_text
from losslake_schema.release import Release
from losslake_schema.tables import ALL_TABLES, PARTITIONED, STUDY_KEYS

CROISSANT_PATH = "croissant.json"
CROISSANT_VERSION = 2  # of the text, which services keep in files
_PARQUET = "application/x-parquet"
_IN_HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})
_JsonObject = dict[str, Any]


def croissant(
    release: Release,
    files: Sequence[DataFile],
    collections: Sequence[Collection],
    base_url: str | None = None,
    brief: bool = False,
    keys_in_files: bool = False,
) -> str:
    """Return the description as JSON.

    base_url: of the service that serves the files; without it, paths are relative to a local folder.
    brief: for a page: omit the files of partitioned tables, of which there may be thousands, and the columns.
    keys_in_files: the keys of studies are columns of the files, and not in their paths.
    """
    small = [file for file in files if file.table not in PARTITIONED]
    partitioned = [] if brief else [file for file in files if file.table in PARTITIONED]
    public_path = public_paths([*small, *partitioned], keys_in_files)
    document = _about(release, collections) | {
        "distribution": [
            *(_file_object(file, public_path[file.path], release.number, base_url) for file in (*small, *partitioned)),
            *(_file_set(table, partitioned, base_url is not None, keys_in_files) for table in PARTITIONED if not brief),
        ],
    }
    if not brief:
        document["recordSet"] = [
            *(_record_set(file.table, public_path[file.path], True) for file in small),
            *(_record_set(table, None, keys_in_files) for table in PARTITIONED),
        ]
    if base_url is not None:
        document["url"] = f"{base_url}/data/{release.number}/"
    return json.dumps(document, ensure_ascii=False, indent=None if brief else 1)


def json_ld(croissant_text: str) -> str:
    """Return the JSON, escaped for use in `<script type="application/ld+json">`."""
    return croissant_text.translate(_IN_HTML)


def _about(release: Release, collections: Sequence[Collection]) -> _JsonObject:
    citations = dict.fromkeys(row["citation"] for row in collections if row["citation"])
    context: _JsonObject = json.loads(read_text("losslake_schema.data", "croissant_context.json"))
    return context | {
        "@type": "sc:Dataset",
        "name": f"losslake-release-{release.number}",
        "description": (
            f"Release {release.number} of LossLake: {release.n_measurements:,} measurements of the training curves of "
            f"{release.n_trials:,} trials in {release.n_studies:,} studies. Values may be NaN or infinite."
        ),
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "version": f"{release.number}.0.0",
        "datePublished": f"{release.created_at:%Y-%m-%d}",
        "creator": {"@type": "sc:Organization", "name": AUTHORS},
        **_contributors(collections),
        "license": sorted({row["licence"] for row in collections}) or ["none stated"],
        "citeAs": " ".join(citations) or f"LossLake {release.number}",
        "keywords": ["training curves", "batch size", "steps to target"],
    }


def _contributors(collections: Sequence[Collection]) -> _JsonObject:
    """Return the contributors as persons of schema.org; nothing where there are none."""
    named = [
        {"@type": "sc:Person", "name": each.name, "description": ", ".join(each.roles)}
        | ({"identifier": each.orcid_url, "url": each.orcid_url} if each.orcid else {})
        for each in all_contributors(collections)
    ]
    return {"contributor": named} if named else {}


def _file_object(file: DataFile, path: str, release: int, base_url: str | None) -> _JsonObject:
    return {
        "@type": "cr:FileObject",
        "@id": path,
        "name": path,
        "contentUrl": f"{base_url}/data/{release}/{url_path(path)}" if base_url is not None else path,
        "contentSize": f"{file.bytes} B",
        "encodingFormat": _PARQUET,
        "sha256": file.sha256,
    }


def _file_set(table: str, files: Sequence[DataFile], lists_files: bool, keys_in_files: bool) -> _JsonObject:
    """Return the file set of a partitioned table. lists_files: in a local folder, its pattern matches the files."""
    public_path = public_paths(files)
    folders = "**/" if any(file.study for file in files) else ""
    hive = f"Hive-style partitions of {table}, percent-encoded: /{'=…/'.join(STUDY_KEYS)}=…."
    file_set: _JsonObject = {
        "@type": "cr:FileSet",
        "@id": f"{table}-files",
        "name": f"{table}-files",
        "description": f"The files of {table}, study by study." if keys_in_files else hive,
        "encodingFormat": _PARQUET,
        "includes": f"{table}/{folders}*.parquet",
    }
    contained = [{"@id": public_path[file.path]} for file in files if lists_files and file.table == table]
    return file_set | ({"containedIn": contained} if contained else {})


def _record_set(table: str, path: str | None, has_keys: bool) -> _JsonObject:
    """Return the columns of a table, read from the file at `path`, or from its file set if path is None.

    has_keys: the keys of studies are columns, too.
    """
    # Croissant has no type for maps.
    columns = [field for field in ALL_TABLES[table] if not pa.types.is_map(field.type)]
    return {
        "@type": "cr:RecordSet",
        "@id": table,
        "name": table,
        "field": [_field(table, field, path, has_keys) for field in columns],
    }


def _field(table: str, column: pa.Field, path: str | None, has_keys: bool) -> _JsonObject:
    source: _JsonObject = {"extract": {"column": column.name}}
    if path is not None:
        source["fileObject"] = {"@id": path}
    else:
        source["fileSet"] = {"@id": f"{table}-files"}
        if column.name in STUDY_KEYS and not has_keys:
            source["extract"] = {"fileProperty": "fullpath"}
            source["transform"] = {"regex": f".*{column.name}=([^/]+)/.*"}
    field = {
        "@type": "cr:Field",
        "@id": f"{table}/{column.name}",
        "name": f"{table}/{column.name}",
        "description": column.metadata[b"doc"].decode(),
        "dataType": _data_type(column.type),
        "source": source,
    }
    return field | ({"repeated": True} if pa.types.is_list(column.type) else {})


def _data_type(kind: pa.DataType) -> str:
    if pa.types.is_boolean(kind):
        return "sc:Boolean"
    if pa.types.is_integer(kind):
        return "sc:Integer"
    return "sc:Float" if pa.types.is_floating(kind) else "sc:Text"

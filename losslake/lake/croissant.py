"""A release described as MLCommons Croissant 1.0 (https://docs.mlcommons.org/croissant/docs/croissant-spec.html).

Tables of one file are FileObjects, which tools can iterate from anywhere. The files of a partitioned table make a
FileSet; its keys are taken from the paths, where they are percent-encoded. Iterating such a table takes a local export,
since Croissant's own library has no sets of remote files.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from losslake.lake.documents import AUTHORS, Collection, template
from losslake.lake.manifest import places, url_path
from losslake.lake.store.store import DataFile
from losslake_schema.database import Release
from losslake_schema.tables import PARTITIONED, STUDY_KEYS, TABLES

CROISSANT_PLACE = "croissant.json"
_PARQUET = "application/x-parquet"
_IN_HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})
_JsonObject = dict[str, Any]


def croissant(
    release: Release,
    files: Sequence[DataFile],
    collections: Sequence[Collection],
    base_url: str | None = None,
    brief: bool = False,
) -> str:
    """The description as JSON.

    base_url: of the service that gives the files; without it they are named by their places, for a local folder.
    brief: without the files of partitioned tables, of which there may be thousands.
    """
    small = [file for file in files if file.batch_size is None]
    partitioned = [] if brief else [file for file in files if file.batch_size is not None]
    place_of = places([*small, *partitioned])
    document = _about(release, collections) | {
        "distribution": [
            *(_file_object(file, place_of[file.path], release.number, base_url) for file in (*small, *partitioned)),
            *(_file_set(table, partitioned if base_url else []) for table in PARTITIONED if not brief),
        ],
        "recordSet": [
            *(_record_set(file.table, place_of[file.path]) for file in small),
            *(_record_set(table, None) for table in PARTITIONED if not brief),
        ],
    }
    if base_url is not None:
        document["url"] = f"{base_url}/data/{release.number}/"
    return json.dumps(document, ensure_ascii=False, indent=1)


def json_ld(croissant_text: str) -> str:
    """The same JSON, harmless between `<script type="application/ld+json">` and `</script>`."""
    return croissant_text.translate(_IN_HTML)


def _about(release: Release, collections: Sequence[Collection]) -> _JsonObject:
    context: _JsonObject = json.loads(template("croissant_context.json"))
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
        "license": sorted({row["licence"] for row in collections}) or ["none stated"],
        "citeAs": " ".join(row["citation"] for row in collections if row["citation"]) or f"LossLake {release.number}",
        "keywords": ["training curves", "batch size", "steps to target"],
    }


def _file_object(file: DataFile, place: str, release: int, base_url: str | None) -> _JsonObject:
    return {
        "@type": "cr:FileObject",
        "@id": place,
        "name": place,
        "contentUrl": f"{base_url}/data/{release}/{url_path(place)}" if base_url is not None else place,
        "contentSize": f"{file.bytes} B",
        "encodingFormat": _PARQUET,
        "sha256": file.sha256,
    }


def _file_set(table: str, files: Sequence[DataFile]) -> _JsonObject:
    """The files of a partitioned table; in a local folder the pattern finds them."""
    place_of = places(files)
    file_set: _JsonObject = {
        "@type": "cr:FileSet",
        "@id": f"{table}-files",
        "name": f"{table}-files",
        "description": f"Hive-style partitions of {table}, percent-encoded: /{'=…/'.join(STUDY_KEYS)}=….",
        "encodingFormat": _PARQUET,
        "includes": f"{table}/**/*.parquet",
    }
    contained = [{"@id": place_of[file.path]} for file in files if file.table == table]
    return file_set | ({"containedIn": contained} if contained else {})


def _record_set(table: str, place: str | None) -> _JsonObject:
    """The columns of a table, read from its one file, or from its file set where place is None."""
    return {
        "@type": "cr:RecordSet",
        "@id": table,
        "name": table,
        # A map's columns have no type in Croissant.
        "field": [_field(table, column, place) for column in TABLES[table] if not pa.types.is_map(column.type)],
    }


def _field(table: str, column: pa.Field, place: str | None) -> _JsonObject:
    source: _JsonObject = {"extract": {"column": column.name}}
    if place is not None:
        source["fileObject"] = {"@id": place}
    else:
        source["fileSet"] = {"@id": f"{table}-files"}
        if column.name in STUDY_KEYS:
            source["extract"] = {"fileProperty": "fullpath"}
            source["transform"] = {"regex": f".*{column.name}=([^/]+)/.*"}
    found = {
        "@type": "cr:Field",
        "@id": f"{table}/{column.name}",
        "name": f"{table}/{column.name}",
        "description": column.metadata[b"doc"].decode(),
        "dataType": _data_type(column.type),
        "source": source,
    }
    return found | ({"repeated": True} if pa.types.is_list(column.type) else {})


def _data_type(kind: pa.DataType) -> str:
    if pa.types.is_boolean(kind):
        return "sc:Boolean"
    if pa.types.is_integer(kind):
        return "sc:Integer"
    return "sc:Float" if pa.types.is_floating(kind) else "sc:Text"

"""The public paths of the files of a release, as in an export and under `/data` over HTTP."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from operator import attrgetter
from urllib.parse import quote

from losslake.lake.store.store import DataFile
from losslake_schema.tables import PARTITIONED

_KEY_NAME = re.compile(r"\b[a-z_]+=")


def public_paths(files: Iterable[DataFile], keys_in_files: bool = False) -> dict[str, str]:
    """Return the public path of each data file, by its path in the lake; files of one partition are numbered.

    keys_in_files: omit the names of the keys, which readers would take for columns.
    """
    counts: dict[str, int] = defaultdict(int)
    paths = {}
    for file in sorted(files, key=attrgetter("path")):
        study = file.study
        if study is None:
            # A file of several studies is in no partition, only in an export.
            paths[file.path] = file.path if file.table in PARTITIONED else f"{file.table}.parquet"
            continue
        folder = _KEY_NAME.sub("", study.folder()) if keys_in_files else study.folder()
        partition = f"{file.table}/{folder}"
        paths[file.path] = f"{partition}/part-{counts[partition]}.parquet"
        counts[partition] += 1
    return paths


def url_path(path: str) -> str:
    """Return a public path as the path of a URL: it contains percent signs itself, which become %25."""
    return quote(path, safe="/=")

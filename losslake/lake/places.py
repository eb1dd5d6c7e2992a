"""Where the files of a release lie in a plain folder: the layout of an export, and of `/data` over HTTP."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from operator import attrgetter
from urllib.parse import quote

from losslake.lake.manifest import DataFile


def places(files: Iterable[DataFile]) -> dict[str, str]:
    """The place of each data file, by its path in the lake; several files of one partition are numbered."""
    counts: dict[str, int] = defaultdict(int)
    found = {}
    for file in sorted(files, key=attrgetter("path")):
        study = file.study
        if study is None:
            found[file.path] = f"{file.table}.parquet"
            continue
        partition = f"{file.table}/{study.folder()}"
        found[file.path] = f"{partition}/part-{counts[partition]}.parquet"
        counts[partition] += 1
    return found


def url_path(place: str) -> str:
    """A place as the path of a URL. Places are percent-encoded by themselves, so their percent signs become %25."""
    return quote(place, safe="/=")


def checksum_lines(sums: dict[str, str]) -> str:
    """The text of SHA256SUMS, as sha256sum writes and checks it, from the sha256 of each place."""
    return "".join(f"{sha256}  {place}\n" for place, sha256 in sorted(sums.items()))

"""The DuckDB files that read this service over HTTP, one per release and address of the service."""

from __future__ import annotations

import threading
from collections import OrderedDict
from datetime import UTC, datetime
from pathlib import Path

from losslake.index.remote import MOST_KEPT, remote_file
from losslake.lake.lake import Lake
from losslake.lake.manifest import sha256_of
from losslake_schema.database import Release
from losslake_service.files.conditions import Version
from losslake_service.files.file_response import ServedFile

DUCKDB = "application/vnd.duckdb.file"


class RemoteDatabases:
    """Gives the files, built when first asked for, one at a time; shared by threads."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._kept: OrderedDict[tuple[Path, int, int], ServedFile] = OrderedDict()
        self._building = threading.Lock()

    def served(self, release: Release, base_url: str) -> ServedFile:
        """The file of a release for clients that reach this service at base_url; raises LakeBroken."""
        with self._building:
            path = remote_file(self._lake, release, f"{base_url}/hive/{release.number}")
            status = path.stat()
            # Another process may have built it anew, with other bytes.
            key = (path, status.st_mtime_ns, status.st_size)
            found = self._kept.get(key)
            if found is None:
                modified = datetime.fromtimestamp(int(status.st_mtime), UTC)
                version = Version(f'"{sha256_of(path)}"', modified)
                found = self._kept[key] = ServedFile(path, status.st_size, version, DUCKDB, "public, max-age=3600")
                while len(self._kept) > MOST_KEPT:
                    self._kept.popitem(last=False)
        return found

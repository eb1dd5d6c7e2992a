"""The layout of a bundle: a tar of a manifest and Parquet files; equal content has equal bytes.

The files have the columns of the tables of a lake. Without records, which an ingest computes, they take half as much;
in one file for all studies, measurements take a tenth less than in a file for each.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
from pydantic import TypeAdapter

from losslake_ingest.bundles.short_values import SHORT
from losslake_schema.tables import OPTIONAL_TABLES, TABLES

# 3: measurements with short values, and maybe trials whose batch size changes. 2: copies of logs. 1: none of these.
# LossLake before 2026-12 reads 1, and 2 since then.
NEWEST, WITH_COPIES, PLAIN = 3, 2, 1
VERSIONS = (PLAIN, WITH_COPIES, NEWEST)
QUARANTINED = pa.schema(
    {"path": pa.string(), "rule": pa.string(), "line": pa.int64(), "study": pa.string(), "sha256": pa.string()}
)
SCHEMAS: dict[str, pa.Schema] = {
    name: TABLES[name] for name in ("collections", "goals", "metrics", "studies", "trials", "measurements")
} | {"quarantined": QUARANTINED}
SHORT_MEASUREMENTS = SCHEMAS["measurements"].append(pa.field(SHORT, pa.float32()))
# Files of a bundle that has rows for them; LossLake before 2026-12 refuses bundles with contributors or copies.
OPTIONAL: dict[str, pa.Schema] = dict(OPTIONAL_TABLES)
GROUP = 1 << 20  # rows of a row group


@dataclass(frozen=True)
class BundleFile:
    """A file of a bundle."""

    sha256: str
    rows: int


@dataclass(frozen=True)
class Manifest:
    """The manifest of a bundle. files: by table. notes: what was left out or reduced, for whoever adopts it."""

    bundle: int
    notes: str = ""
    files: dict[str, BundleFile] = field(default_factory=dict)


MANIFEST = TypeAdapter(Manifest)


def file_name(table: str) -> str:
    """Return the name of a table's file in a bundle."""
    return f"{table}.parquet"

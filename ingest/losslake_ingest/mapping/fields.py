"""The fields of a run: what its path, its log, files beside it, lookup tables and the mapping say, in that order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.mapping.path_pattern import PathPattern
from losslake_ingest.run_log import RunLog, Scalar


def fields_of(log: RunLog, mapping: LogMapping, source: str, side: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Every field that a template may take; the first to say a field wins.

    source: the path of the source, under which the run's own path goes on. side: what files beside the log say.
    """
    fields: dict[str, Scalar] = {}
    for layer in (_from_path(mapping.path_patterns, f"{source}/{log.run}"), log.fields, side):
        fields = {**layer, **fields}
    for table in mapping.lookups:
        row = table.rows.get(tuple(_key_text(fields.get(name)) for name in table.keys), {})
        fields = {**row, **fields}
    return {**mapping.fields, **fields}


def _from_path(patterns: Sequence[PathPattern], path: str) -> Mapping[str, Scalar]:
    matches = (pattern.match(path) for pattern in patterns)
    return next((found for found in matches if found is not None), {})


def _key_text(value: Scalar | None) -> str:
    return "" if value is None else str(value)

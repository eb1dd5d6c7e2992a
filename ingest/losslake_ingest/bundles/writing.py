"""Writing of a bundle: a release as one file, whose bytes depend on its content only."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from losslake.lake.data_files import files_by_study, public_sizes, read_small_table
from losslake.lake.lake import Lake
from losslake.lake.machine import atomic_write
from losslake.lake.store.store import DataFile
from losslake_ingest.bundles.layout import (
    GROUP,
    MANIFEST,
    NEWEST,
    PLAIN,
    QUARANTINED,
    SCHEMAS,
    WITH_COPIES,
    BundleFile,
    Manifest,
    file_name,
)
from losslake_ingest.bundles.short_values import SHORT, VALUE, with_short_values
from losslake_ingest.pipeline import encodings
from losslake_ingest.pipeline.directions import measured_metrics
from losslake_ingest.pipeline.trial_rows import in_order, study_names
from losslake_ingest.sources.open import BUNDLE_MANIFEST
from losslake_schema.names import Study
from losslake_schema.release import Release
from losslake_schema.tables import STUDY_KEYS

_LEVEL, _QUICK_LEVEL = 19, 1
# The encodings of number columns, of which the one with the fewest bytes is chosen. Dictionaries only pay for values.
_CANDIDATES = {
    "batch_size": ("DELTA_BINARY_PACKED",),
    "trial_id": ("DELTA_BINARY_PACKED",),
    "step": ("PLAIN", "DELTA_BINARY_PACKED"),
    "elapsed_s": ("BYTE_STREAM_SPLIT", "PLAIN"),
    VALUE: ("PLAIN", "BYTE_STREAM_SPLIT", encodings.DICTIONARY),
    SHORT: ("PLAIN", "BYTE_STREAM_SPLIT", encodings.DICTIONARY),
}
# Trials of a study repeat each other's steps and times: zstd sees that within a page, so a row group is one page.
_PAGES = {"max_rows_per_page": GROUP, "data_page_size": 1 << 26}


def write_bundle(
    lake: Lake,
    release: Release,
    path: Path,
    source: str,
    roots: Sequence[str] = (),
    notes: str = "",
    selected: Collection[Study] | None = None,
    *,
    is_quick: bool = False,
) -> None:
    """Write a release, and the names of what the lake's ingests quarantined, as a bundle.

    source: what its studies were read from, for example a repository with its commit. roots: what leads to
    the paths of logs there, and is left out of them. notes: see `Manifest`. selected: only these studies; None: all.
    is_quick: write a larger file in a fraction of the time.
    """
    files = lake.files(release)
    names = None if selected is None else pa.array(sorted(map(str, selected)), pa.string())

    def rows_of(table: str) -> pa.Table:
        rows = read_small_table(lake.store, files, table)
        return rows if names is None else rows.filter(pc.is_in(study_names(rows), names)).combine_chunks()

    studies, contributors = in_order(rows_of("studies")), rows_of("contributors")
    trials, copies = (_without_roots(rows_of(table), "source", roots) for table in ("trials", "copies"))
    collections, goals, metrics = (
        read_small_table(lake.store, files, table) for table in ("collections", "goals", "metrics")
    )
    quarantined = _quarantined(lake)
    if names is not None:
        quarantined = quarantined.filter(pc.is_in(quarantined["study"], names))
    tables = {
        "collections": collections.filter(pc.is_in(collections["collection"], pc.unique(studies["collection"]))),
        "goals": goals.filter(_is_of(goals, studies)).sort_by(
            [(key, "ascending") for key in (*STUDY_KEYS[:4], "metric", "target")]
        ),
        "metrics": metrics.filter(pc.is_in(metrics["metric"], pa.array(measured_metrics(studies), pa.string()))),
        "studies": _with_texts(studies, "source", [source] * studies.num_rows),
        "trials": in_order(trials),
        "quarantined": _without_roots(quarantined, "path", roots),
    }
    tables |= {name: rows for name, rows in (("copies", copies), ("contributors", contributors)) if rows.num_rows}
    level = _QUICK_LEVEL if is_quick else _LEVEL
    written = {name: _parquet([table], {}, level) for name, table in tables.items()}
    has_schedules = public_sizes(studies)["batch_size"].null_count > 0
    groups = list(_groups(lake, files, tables["studies"]))
    written["measurements"], is_newest = _measurements(groups, level, is_short=has_schedules)
    listed = {
        name: BundleFile(hashlib.sha256(data).hexdigest(), pq.read_metadata(pa.BufferReader(data)).num_rows)
        for name, data in sorted(written.items())
    }
    version = NEWEST if is_newest else WITH_COPIES if "copies" in listed else PLAIN
    manifest = MANIFEST.dump_json(Manifest(version, notes, listed), indent=1) + b"\n"
    members = [(BUNDLE_MANIFEST, manifest), *((file_name(name), written[name]) for name in listed)]
    with atomic_write(path) as unfinished, tarfile.open(unfinished, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in members:
            header = tarfile.TarInfo(name)
            header.size = len(data)
            archive.addfile(header, io.BytesIO(data))


def _is_of(goals: pa.Table, studies: pa.Table) -> pa.Array:
    """Return flags of the goals whose workloads have studies."""
    workloads = set(zip(*(studies[key].to_pylist() for key in STUDY_KEYS[:4]), strict=True))
    workloads_of_goals = zip(*(goals[key].to_pylist() for key in STUDY_KEYS[:4]), strict=True)
    return pa.array([workload in workloads for workload in workloads_of_goals], pa.bool_())


def _without_roots(table: pa.Table, column: str, roots: Sequence[str]) -> pa.Table:
    """Return a table whose paths in a column don't begin with one of the roots."""
    leads = [next((len(root) for root in roots if path.startswith(root)), 0) for path in table[column].to_pylist()]
    paths = [path[lead:] for path, lead in zip(table[column].to_pylist(), leads, strict=True)]
    return _with_texts(table, column, paths)


def _with_texts(table: pa.Table, column: str, texts: Sequence[str]) -> pa.Table:
    return table.set_column(table.column_names.index(column), table.schema.field(column), pa.array(texts, pa.string()))


def _quarantined(lake: Lake) -> pa.Table:
    """Return what ingests quarantined: where and by which rule, but not the reasons, which may quote logs."""
    rows = {
        (entry.path, entry.rule or "", entry.line, entry.study, entry.sha256)
        for entry in lake.ledger("quarantined")
        if entry.rule is not None
    }
    ordered = sorted(rows, key=lambda row: tuple((value is not None, value) for value in row))
    return pa.Table.from_pylist([dict(zip(QUARANTINED.names, row, strict=True)) for row in ordered], QUARANTINED)


def _groups(lake: Lake, files: list[DataFile], studies: pa.Table) -> Iterator[pa.Table]:
    """Yield the measurements of the studies, sorted."""
    by_study = files_by_study(files)
    pending: list[pa.Table] = []
    for row in studies.select(list(STUDY_KEYS)).to_pylist():
        study = Study.of(row)
        study_files = [file for file in by_study.get(study, ()) if file.table == "measurements"]
        tables = [pq.ParquetFile(lake.store.open(file.path, file.bytes)).read() for file in study_files]
        rows = pa.concat_tables(tables).unify_dictionaries()
        keys = {
            key: pa.repeat(pa.scalar(value, SCHEMAS["studies"].field(key).type), len(rows))
            for key, value in row.items()
        }
        plain = pa.table({**keys, **{name: rows[name] for name in rows.column_names}})
        pending.append(plain.select(SCHEMAS["measurements"].names).cast(SCHEMAS["measurements"]))
        pending[-1] = pending[-1].sort_by([(name, "ascending") for name in ("metric", "trial_id", "step")])
        if sum(map(len, pending)) >= GROUP:
            yield pa.concat_tables(pending)
            pending = []
    yield pa.concat_tables([SCHEMAS["measurements"].empty_table(), *pending])


def _measurements(groups: list[pa.Table], level: int, *, is_short: bool) -> tuple[bytes, bool]:
    """Return the file of the measurements, and True if it has short values: if asked, or if they take fewer bytes."""
    if level == _QUICK_LEVEL and not is_short:
        return _parquet(groups, _encodings(groups, level)[0], level), False
    short_groups = [with_short_values(group) for group in groups]
    is_short = is_short or _encodings(short_groups, _QUICK_LEVEL)[1] < _encodings(groups, _QUICK_LEVEL)[1]
    groups = short_groups if is_short else groups
    return _parquet(groups, _encodings(groups, level)[0], level), is_short


def _encodings(groups: list[pa.Table], level: int) -> tuple[dict[str, encodings.Encoding], int]:
    """Return the encoding of each number column that takes the fewest bytes, and the bytes of these columns."""
    chosen, n_bytes = {}, 0
    for name in groups[0].column_names:
        column = [group.select([name]) for group in groups]
        candidates = [encodings.Encoding(each, level) for each in _CANDIDATES.get(name, ())]
        sizes = {each: len(_parquet(column, {name: each}, level)) for each in candidates}
        if sizes:
            chosen[name] = min(candidates, key=sizes.__getitem__)
            n_bytes += sizes[chosen[name]]
    return chosen, n_bytes


def _parquet(groups: list[pa.Table], numbers: dict[str, encodings.Encoding], level: int) -> bytes:
    """Return tables with one schema as a Parquet file. numbers: the encodings of columns; texts have dictionaries."""
    schema = groups[0].schema
    texts = [field.name for field in schema if pa.types.is_string(field.type)]
    columns = numbers | {name: encodings.Encoding(encodings.DICTIONARY, level) for name in texts}
    sink = io.BytesIO()
    options = encodings.options(columns) | _PAGES
    with pq.ParquetWriter(sink, schema, write_statistics=False, **options) as writer:
        for group in groups:
            writer.write_table(public_sizes(group), row_group_size=GROUP)
    return sink.getvalue()

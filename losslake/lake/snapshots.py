"""A new snapshot of an Iceberg table: files are added and removed, and manifests without removed files stay.

Everything that changes is written to one manifest, and only manifests that may list a removed file are read, each once.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor

from pyiceberg.avro.codecs import AvroCompressionCodec
from pyiceberg.expressions import AlwaysTrue, And, BooleanExpression, In, IsNull, Or, Reference
from pyiceberg.expressions.visitors import manifest_evaluator
from pyiceberg.io import FileIO
from pyiceberg.manifest import (
    DataFile,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    write_manifest,
    write_manifest_list,
)
from pyiceberg.table.locations import load_location_provider
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Operation, Snapshot, Summary, UpdateMetrics, update_snapshot_summaries

_CODEC: AvroCompressionCodec = "deflate"


class MissingFiles(Exception):
    """A table lacks files that should be removed from it."""


def write_snapshot(
    metadata: TableMetadata, io: FileIO, parent: Snapshot | None, removed: Sequence[DataFile], added: Sequence[DataFile]
) -> Snapshot:
    """Write the manifest and the manifest list of a snapshot of a table, and return it.

    metadata: of the table. parent: the snapshot to change. Raises MissingFiles if the parent lacks a file of `removed`.
    """
    snapshot_id, name = metadata.new_snapshot_id(), uuid.uuid4()
    locations = load_location_provider(metadata.location, metadata.properties)
    paths = {file.file_path for file in removed}
    manifests, entries = _divide(metadata, io, parent, removed, paths)
    if added or entries:
        output = io.new_output(locations.new_metadata_location(f"{name}-m0.avro"))
        with write_manifest(2, metadata.spec(), metadata.schema(), output, snapshot_id, _CODEC) as changed:
            for file in added:
                changed.add_entry(_added(file, snapshot_id))
            for entry in entries:
                (changed.delete if entry.data_file.file_path in paths else changed.existing)(entry)
        manifests = [changed.to_manifest_file(), *manifests]
    parent_id, sequence_number = parent.snapshot_id if parent is not None else None, metadata.next_sequence_number()
    url = locations.new_metadata_location(f"snap-{snapshot_id}-0-{name}.avro")
    with write_manifest_list(2, io.new_output(url), snapshot_id, parent_id, sequence_number, _CODEC) as listed:
        listed.add_manifests(manifests)
    fields = {
        "snapshot-id": snapshot_id,
        "parent-snapshot-id": parent_id,
        "sequence-number": sequence_number,
        "manifest-list": url,
        "summary": _summary(parent, removed, added),
        "schema-id": metadata.current_schema_id,
    }
    return Snapshot.model_validate(fields)


def _divide(
    metadata: TableMetadata, io: FileIO, parent: Snapshot | None, removed: Sequence[DataFile], paths: Set[str]
) -> tuple[list[ManifestFile], list[ManifestEntry]]:
    """Return the manifests of a snapshot that list no removed file, and the files in the others."""
    listed = parent.manifests(io) if parent is not None else []
    # Manifests of files that were removed earlier say so to readers of that snapshot only.
    live = [manifest for manifest in listed if manifest.has_added_files() or manifest.has_existing_files()]
    if not removed:
        return live, []
    may_list = manifest_evaluator(metadata.spec(), metadata.schema(), _partitions_of(metadata, removed))
    suspects = [manifest for manifest in live if may_list(manifest)]
    affected: list[ManifestFile] = []
    entries: list[ManifestEntry] = []
    for manifest, its_entries in zip(suspects, read_entries(io, suspects), strict=True):
        if any(entry.data_file.file_path in paths for entry in its_entries):
            affected.append(manifest)
            entries += its_entries
    missing = paths - {entry.data_file.file_path for entry in entries}
    if missing:
        raise MissingFiles(f"it lacks {len(missing)} files to remove, such as {min(missing)}")
    return [manifest for manifest in live if manifest not in affected], entries


def read_entries(io: FileIO, manifests: Sequence[ManifestFile]) -> Iterable[list[ManifestEntry]]:
    """Return the entries of each manifest, without those of removed files."""
    if len(manifests) < 2:
        return [manifest.fetch_manifest_entry(io) for manifest in manifests]
    with ThreadPoolExecutor(8, "manifests") as pool:
        return list(pool.map(lambda manifest: manifest.fetch_manifest_entry(io), manifests))


def _partitions_of(metadata: TableMetadata, files: Sequence[DataFile]) -> BooleanExpression:
    """Return a condition that holds for the partitions of these files, and perhaps for others."""
    condition: BooleanExpression = AlwaysTrue()
    for position, field in enumerate(metadata.spec().fields):
        values = {file.partition[position] for file in files}
        is_one: BooleanExpression = In(term=Reference(field.name), values=values - {None})
        # A batch size that changes is null.
        condition = And(condition, Or(is_one, IsNull(term=Reference(field.name))) if None in values else is_one)
    return condition


def _added(file: DataFile, snapshot_id: int) -> ManifestEntry:
    return ManifestEntry.from_args(
        status=ManifestEntryStatus.ADDED,
        snapshot_id=snapshot_id,
        sequence_number=None,
        file_sequence_number=None,
        data_file=file,
    )


def _summary(parent: Snapshot | None, removed: Iterable[DataFile], added: Iterable[DataFile]) -> Summary:
    """Return the summary without the number of changed partitions, which is slow to compute."""
    metrics = UpdateMetrics()
    for file in added:
        metrics.add_file(file)
    for file in removed:
        metrics.remove_file(file)
    previous: Mapping[str, str] | None = parent.summary if parent is not None else None
    return update_snapshot_summaries(Summary(Operation.OVERWRITE, **metrics.to_dict()), previous)

"""What changed between releases is told by their lists of files."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from losslake.lake.lake import Lake
from losslake.lake.location import in_folder
from losslake.lake.manifest import write_manifest
from losslake.lake.store.folder import FolderStore
from losslake.lake.store.store import DataFile
from losslake.questions.release.changes import release_changes
from losslake_schema.names import Study, Workload
from losslake_schema.release import Release

WORKLOAD = Workload("shelf", "mnist", "cnn", "sgd")


@dataclasses.dataclass(frozen=True)
class _Lake(Lake):
    """A lake whose catalog is a list."""

    known: tuple[Release, ...] = dataclasses.field(default=(), compare=False)

    def release(self, number: int | None = None) -> Release:
        return next(release for release in self.known if release.number == number)


def file(batch_size: int, sha256: str, table: str = "measurements") -> DataFile:
    return DataFile(table, f"{table}-{batch_size}-{sha256}", 1, sha256, 1, "shelf", "mnist", "cnn", "sgd", batch_size)


def release_of(folder: Path, number: int, n_trials: int, *files: DataFile) -> Release:
    place = f"{number}.parquet"
    digest = write_manifest(FolderStore(folder), place, files)
    return Release(
        number=number,
        created_at=datetime(2026, 11, 21, tzinfo=UTC),
        manifest=place,
        manifest_sha256=digest,
        n_trials=n_trials,
    )


def test_changed_studies_are_found_by_checksum(tmp_path: Path) -> None:
    table = DataFile("goals", "goals", 1, "g", 1)
    old = release_of(tmp_path, 1, 9, file(1, "a"), file(2, "b"), file(4, "c"), file(4, "d", "records"), table)
    # The files of batch size 1 lie elsewhere now, with the same bytes.
    moved = dataclasses.replace(file(1, "a"), path="elsewhere")
    other = dataclasses.replace(table, sha256="h")
    new = release_of(tmp_path, 2, 7, moved, file(4, "c"), file(4, "e", "records"), file(8, "f"), other)
    found = release_changes(_Lake(in_folder(tmp_path), known=(old, new)), old, new)
    assert found.added == (Study(WORKLOAD, 8),)
    assert found.replaced == (Study(WORKLOAD, 4),)
    assert found.removed == (Study(WORKLOAD, 2),)
    assert found.tables == ("goals",)
    assert (found.before, found.n_trials) == (1, -2)


Held = dict[Study, set[str]]
studies = st.builds(
    lambda optimizer, batch_size: Study(dataclasses.replace(WORKLOAD, optimizer=optimizer), batch_size),
    st.sampled_from(["sgd", "Sgd", "sgd/x", "\uffff", "\U0001f600", "é"]),
    st.sampled_from([1, 9, 10, 2**62]),
)
held = st.dictionaries(studies, st.sets(st.sampled_from("abc"), min_size=1))


@given(held, held)
def test_changes_equal_a_plain_loop(old: Held, new: Held) -> None:
    with TemporaryDirectory() as folder:
        before, now = (release_of(Path(folder), n, 1, *files(each)) for n, each in enumerate((old, new), start=1))
        found = release_changes(_Lake(in_folder(Path(folder)), known=(before, now)), before, now)
    assert found.added == tuple(sorted(study for study in new if study not in old))
    assert found.replaced == tuple(sorted(study for study in new if study in old and new[study] != old[study]))
    assert found.removed == tuple(sorted(study for study in old if study not in new))
    assert found.tables == ()


def files(each: Held) -> Iterator[DataFile]:
    for study, digests in each.items():
        for sha256 in digests:
            yield DataFile("measurements", f"{study}-{sha256}", 1, sha256, 1, **study.key())


def test_in_the_first_release_everything_is_new(tmp_path: Path) -> None:
    first = release_of(tmp_path, 3, 5, file(2, "b"))
    found = release_changes(_Lake(in_folder(tmp_path), known=(first,)), None, first)
    assert (found.before, found.added, found.removed, found.n_trials) == (None, (Study(WORKLOAD, 2),), (), 5)

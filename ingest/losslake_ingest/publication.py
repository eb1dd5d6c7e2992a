"""A published collection: a folder with a mapping, its tables, `SOURCE.toml`, and the bundle made from the logs."""

from __future__ import annotations

import io
import tarfile
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ConfigDict, TypeAdapter

from losslake.lake.data_files import column_by_study
from losslake.lake.lake import Lake
from losslake_ingest.bundles.layout import file_name
from losslake_ingest.bundles.writing import write_bundle
from losslake_ingest.contracts.report import Progress, Summary
from losslake_ingest.mapping.mapping import MAPPING_NAME
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.run import ingest
from losslake_schema.errors import LossLakeError
from losslake_schema.tables import STUDIES

SOURCE_NAME = "SOURCE.toml"
GITHUB = "https://codeload.github.com"
# In an installed package, and in a checkout.
_PLACES = (Path(__file__).with_name("published"), Path(__file__).parents[2] / "published")


@dataclass(frozen=True)
class PublishedLogs:
    """Logs of one repository at a commit, or in one archive at a URL.

    path: below the folder of all logs. root: what leads to the paths of the repository. sha256: of the archive, if it
    is known.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    path: str
    repository: str = ""
    commit: str = ""
    root: str = ""
    url: str = ""
    sha256: str = ""

    def __post_init__(self) -> None:
        """Raise ValueError for logs with no address, or with two."""
        if bool(self.url) == bool(self.repository and self.commit):
            raise ValueError("each [[logs]] needs repository and commit, or url")

    @property
    def origin(self) -> str:
        """The repository at its commit, or the URL."""
        return self.url or f"{self.repository}@{self.commit}"

    @property
    def archive_url(self) -> str:
        """The URL of the archive, or of the whole repository, whose top folder GitHub names by the commit."""
        return self.url or f"{GITHUB}/{urlsplit(self.repository).path.strip('/')}/tar.gz/{self.commit}"

    @property
    def top(self) -> str | None:
        """The name of a clone of the repository; None for an archive, whose top folder keeps its name."""
        return self.repository.rstrip("/").rpartition("/")[2] or None


@dataclass(frozen=True)
class Publication:
    """The facts of SOURCE.toml. reduced, lacks: what was taken out of the logs, and which logs weren't at hand.

    formats: those of the logs in a repository that begins with many other files. bundled: False if the logs may not be
    passed on, or can't be had where bundles are made; terms: what their users have to know.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    publisher: str
    licence: str
    citation: str
    logs: tuple[PublishedLogs, ...]
    reduced: str = ""
    lacks: str = ""
    formats: tuple[str, ...] = ()
    bundled: bool = True
    terms: str = ""

    @property
    def source(self) -> str:
        """The repository at its commit; of several, the publisher."""
        return self.logs[0].origin if len(self.logs) == 1 else self.publisher

    @property
    def notes(self) -> str:
        """The logs and measurements that the bundle lacks, in one line."""
        return ". ".join(text for text in (self.reduced, self.lacks) if text)


_TOML = TypeAdapter(Publication)


@dataclass(frozen=True)
class Difference:
    """The studies by which a bundle differs from another, by name."""

    added: Sequence[str]
    changed: Sequence[str]
    gone: Sequence[str]


def publication(folder: Path) -> Publication:
    """Return what the folder of a published collection says about its source. Raises LossLakeError."""
    try:
        return _TOML.validate_python(tomllib.loads((folder / SOURCE_NAME).read_text("utf-8")))
    except OSError as error:
        raise LossLakeError(f"can't read {folder / SOURCE_NAME}: {error.strerror}") from None
    except ValueError as error:
        reason = "; ".join(line.strip() for line in str(error).splitlines()[:3])
        raise LossLakeError(f"{folder / SOURCE_NAME} can't be used ({reason}): see docs/published.md") from None


def publications() -> dict[str, Path]:
    """Return the folders of the published collections that come with LossLake, by name."""
    return {file.parent.name: file.parent for place in _PLACES for file in sorted(place.glob(f"*/{SOURCE_NAME}"))}


def bundle_path(folder: Path) -> Path:
    """Return the path of the bundle in the folder of a published collection."""
    return folder / f"{folder.resolve().name}.tar"


def build(folder: Path, logs: Path, target: Path, progress: Progress | None = None) -> Summary:
    """Ingest the logs of a published collection into a lake of their own, and write its bundle.

    logs: the folder that all logs are in. Raises LossLakeError if logs are missing or broken.
    """
    about = publication(folder)
    if not about.bundled:
        raise LossLakeError(f"{folder} has addresses only, and no bundle: 'losslake fetch {folder.name}' gets its logs")
    missing = [each.path for each in about.logs if not (logs / each.path).exists()]
    if missing:
        raise LossLakeError(f"{logs / missing[0]} doesn't exist: give the folder of all logs with --logs")
    with tempfile.TemporaryDirectory(prefix="losslake-bundle-") as scratch:
        lake = Lake.create(Path(scratch) / "lake")
        request = Request(mapping=folder / MAPPING_NAME)
        summary = ingest(lake, [logs / each.path for each in about.logs], request, "", progress)
        if summary.broken or summary.release is None:
            raise LossLakeError(
                next(iter(summary.broken), f"no trial of {folder} could be ingested: nothing was written")
            )
        roots = tuple(each.root for each in about.logs if each.root)
        write_bundle(lake, lake.release(), target, about.source, roots, about.notes)
    return summary


def compare(old: Path, new: Path) -> Difference:
    """Return the studies that a new bundle adds to an old one, changes, or lacks. old: may not exist."""
    before, after = (_studies(path) if path.exists() else {} for path in (old, new))
    changed = [name for name in before.keys() & after.keys() if before[name] != after[name]]
    return Difference(sorted(after.keys() - before.keys()), sorted(changed), sorted(before.keys() - after.keys()))


def _studies(bundle: Path) -> dict[str, str]:
    with tarfile.open(bundle) as archive:
        member = archive.extractfile(file_name("studies"))
        data = member.read() if member is not None else b""
    table = pq.ParquetFile(io.BytesIO(data)).read() if data else pa.Table.from_pylist([], STUDIES)
    return {str(study): digest for study, digest in column_by_study(table, "content_digest").items()}

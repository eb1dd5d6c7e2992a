"""What is made of releases, in the folder `serving` of each machine, and shared by machines that serve the same lake.

Where a lake isn't in a folder of one machine, what one has made lies beside the lake's files, for others to fetch: a
compressed archive behind its sha256, so that what is harmed is made anew. What lies on a machine is bounded; what was
used least lately goes first, and is fetched again when it is needed.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import tarfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache, partial
from pathlib import Path

import pyarrow as pa
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from losslake.lake.lake import Lake
from losslake.lake.machine import locked
from losslake.lake.store import blocks
from losslake_schema.database import Release

FOLDER = "serving"
PACKED = ".tar.zst"
SECONDS_SAFE = 3600.0
"""What was used so lately stays on a machine: somebody may be about to open it. What is in use is to be touched."""
_SHARE_OF_CACHE = 0.5
_DIGEST_BYTES = 32
_log = logging.getLogger(__name__)


def path_of(lake: Lake, release: Release, ending: str, kind: str = "release") -> Path:
    """Return where something that is made of a release lies on this machine."""
    return lake.folder / FOLDER / f"{kind}-{release.number:06d}-{release.manifest_sha256[:12]}-{ending}"


def is_shared(lake: Lake) -> bool:
    """Return whether other machines may serve the same lake."""
    return not lake.location.is_folder


def have(lake: Lake, path: Path, make: Callable[[], None]) -> None:
    """Have a file or folder of `lake.folder/serving`: fetched if another machine has put it in the store, else made.

    make: makes it, whole or not at all.
    """
    if not fetched(lake, path):
        with _only_one_machine(lake, path.name):
            if not fetched(lake, path):
                make()
                share(lake, path)


def fetched(lake: Lake, path: Path) -> bool:
    """Return whether a file or folder could be had from the store, and is in its place now."""
    if not is_shared(lake):
        return False
    beside = _beside(path)
    packed, unpacked = beside.with_suffix(".packed"), beside.with_suffix(".unpacked")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lake.store.copy_to(_key(lake, path), packed, link=False)
        _unpack(packed, unpacked)
        size = _size_of(unpacked / path.name)
        _put_in_place(unpacked / path.name, path)
    except FileNotFoundError:
        return False
    except (OSError, pa.ArrowException, tarfile.TarError, ValueError) as error:
        _log.warning("%s can't be had from the store (%s): it is made here", path.name, error)
        return False
    finally:
        packed.unlink(missing_ok=True)
        shutil.rmtree(unpacked, ignore_errors=True)
    _bound(lake).account(size)
    return True


def share(lake: Lake, path: Path) -> None:
    """Put a file or folder that was made here into the store; if that fails others make their own."""
    if not is_shared(lake):
        return
    packed = _beside(path).with_suffix(".packed")
    try:
        _pack(path, packed)
        lake.store.take(packed, _key(lake, path))
    except OSError as error:
        _log.warning("%s can't be put into the store, others make their own: %s", path.name, error)
    finally:
        packed.unlink(missing_ok=True)
    _bound(lake).account(_size_of(path))


def touch(path: Path) -> None:
    """Note that a file or folder is in use."""
    with suppress(OSError):
        blocks.touch(path, SECONDS_SAFE / 4)


def forget_the_oldest(lake: Lake) -> None:
    """Keep what lies in `serving` on this machine below half of the cache's bound."""
    _bound(lake).forget()


@contextmanager
def only_one_at_a_time(folder: Path) -> Iterator[None]:
    """Wait until nobody else, in this process or another, is in here for this folder; it is made if there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / ".building"):
        yield


@contextmanager
def _only_one_machine(lake: Lake, name: str) -> Iterator[None]:
    """Wait until nobody else makes what has this name; without the database two may, which is only twice the work."""
    with ExitStack() as stack:
        if is_shared(lake) and lake.engine.dialect.name == "postgresql":
            digest = hashlib.sha256(f"{lake.store.url} {name}".encode()).digest()
            with suppress(SQLAlchemyError):
                connection = stack.enter_context(lake.engine.connect())
                lock = {"lock": int.from_bytes(digest[:8], "big", signed=True)}
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), lock)
        yield


def _bound(lake: Lake) -> blocks.Bound:
    return _bound_of(lake.folder / FOLDER, lake.location.cache_bytes * _SHARE_OF_CACHE)


@lru_cache(16)
def _bound_of(folder: Path, most_bytes: float) -> blocks.Bound:
    return blocks.Bound(partial(_entries, folder), most_bytes, SECONDS_SAFE)


def _entries(folder: Path) -> Iterator[tuple[float, int, Path]]:
    """When each was used, its bytes, and where it is: files, and the folders of workloads."""
    for path in [*folder.glob("*"), *folder.glob("*/*")]:
        with suppress(OSError):
            is_workload = path.is_dir() and path.parent != folder
            if is_workload or (path.is_file() and path.parent == folder and not path.name.startswith(".")):
                yield path.stat().st_mtime, _size_of(path), path


def _size_of(path: Path) -> int:
    files = path.iterdir() if path.is_dir() else (path,)
    return sum(file.stat().st_size for file in files)


def _key(lake: Lake, path: Path) -> str:
    return f"{path.relative_to(lake.folder).as_posix()}{PACKED}"


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}-{uuid.uuid4().hex[:12]}")


def _pack(path: Path, target: Path) -> None:
    with target.open("wb") as file:
        file.write(bytes(_DIGEST_BYTES))
        with (
            pa.CompressedOutputStream(pa.PythonFile(file, "w"), "zstd") as stream,
            tarfile.open(fileobj=stream, mode="w|") as archive,
        ):
            archive.add(path, path.name)
    with target.open("r+b") as file:
        file.seek(_DIGEST_BYTES)
        digest = hashlib.file_digest(file, "sha256").digest()
        file.seek(0)
        file.write(digest)


def _unpack(packed: Path, folder: Path) -> None:
    """Unpack into a folder; raises ValueError for what is harmed."""
    with packed.open("rb") as file:
        said = file.read(_DIGEST_BYTES)
        if hashlib.file_digest(file, "sha256").digest() != said:
            raise ValueError("its sha256 is another")
        file.seek(_DIGEST_BYTES)
        with (
            pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd") as stream,
            tarfile.open(fileobj=stream, mode="r|") as archive,
        ):
            archive.extractall(folder, filter="data")


def _put_in_place(made: Path, path: Path) -> None:
    os.utime(made)
    try:
        made.replace(path)
    except OSError:
        # Another thread was faster: a folder that isn't empty isn't replaced.
        if not path.is_dir():
            raise

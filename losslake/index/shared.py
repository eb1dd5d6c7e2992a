"""Files built from releases: cached in the folder `serving` of each machine, shared by machines with the same lake.

If the lake isn't a folder on one machine, built files are also put into the lake's store for other machines to fetch:
a compressed archive after its SHA-256, so that damaged files are detected and rebuilt. The size of the cache is
bounded; the least recently used files are deleted first, and fetched again when they are needed.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import tarfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache, partial
from pathlib import Path

import pyarrow as pa

from losslake.lake.lake import Lake
from losslake.lake.machine import locked
from losslake.lake.store import blocks
from losslake_schema.release import Release

FOLDER = "serving"
PACKED = ".tar.zst"
# Files used this recently are never evicted, since a process may be about to open them; `touch` files in use.
SECONDS_SAFE = 3600.0
_SHARE_OF_CACHE = 0.5
_DIGEST_BYTES = 32
_log = logging.getLogger(__name__)


def path_of(lake: Lake, release: Release, ending: str, kind: str = "release") -> Path:
    """Return the path of a file built from a release on this machine."""
    return lake.folder / FOLDER / f"{kind}-{release.number:06d}-{release.manifest_sha256[:12]}-{ending}"


def is_shared(lake: Lake) -> bool:
    """Return True if other machines may serve the same lake."""
    return not lake.location.is_folder


def ensure(lake: Lake, path: Path, make: Callable[[], None]) -> None:
    """Fetch a file or folder of `lake.folder/serving` from the store, or else make it and share it.

    make: creates it atomically.
    """
    if not fetch(lake, path):
        with _only_one_machine(lake, path.name):
            if not fetch(lake, path):
                make()
                share(lake, path)


def fetch(lake: Lake, path: Path) -> bool:
    """Fetch a file or folder from the store into its place; return False if that isn't possible."""
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
        _log.warning("%s can't be fetched from the store (%s): building it here", path.name, error)
        return False
    finally:
        packed.unlink(missing_ok=True)
        shutil.rmtree(unpacked, ignore_errors=True)
    _bound(lake).account(size)
    return True


def share(lake: Lake, path: Path) -> None:
    """Put a file or folder that was built here into the store; if that fails, other machines build their own."""
    if not is_shared(lake):
        return
    packed = _beside(path).with_suffix(".packed")
    try:
        _pack(path, packed)
        lake.store.move_in(packed, _key(lake, path))
    except PermissionError:
        _log.info("%s isn't put into the store, which this service may only read: other machines build it", path.name)
    except OSError as error:
        _log.warning("%s can't be put into the store (%s): other machines build their own", path.name, error)
    finally:
        packed.unlink(missing_ok=True)
    _bound(lake).account(_size_of(path))


def touch(path: Path) -> None:
    """Mark a file or folder as in use."""
    with suppress(OSError):
        blocks.touch(path, SECONDS_SAFE / 4)


def is_in_use(path: Path) -> bool:
    """Return True if a file or folder exists and was made or marked as in use within SECONDS_SAFE."""
    with suppress(OSError):
        return time.time() - path.stat().st_mtime < SECONDS_SAFE
    return False


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Hold an exclusive lock on a folder, across threads and processes; create the folder if it doesn't exist."""
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / ".building"):
        yield


@contextmanager
def _only_one_machine(lake: Lake, name: str) -> Iterator[None]:
    """Hold a lock on a name across machines; if the database is down, two may build the same, which is harmless."""
    with ExitStack() as stack:
        if is_shared(lake) and lake.engine.dialect.name == "postgresql":
            from sqlalchemy import text
            from sqlalchemy.exc import SQLAlchemyError

            digest = hashlib.sha256(f"{lake.store.url} {name}".encode()).digest()
            with suppress(SQLAlchemyError):
                connection = stack.enter_context(lake.engine.connect())
                lock = {"lock": int.from_bytes(digest[:8], "big", signed=True)}
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), lock)
        yield


def _bound(lake: Lake) -> blocks.SizeLimit:
    return _bound_of(lake.folder / FOLDER, lake.location.cache_bytes * _SHARE_OF_CACHE)


@lru_cache(16)
def _bound_of(folder: Path, most_bytes: float) -> blocks.SizeLimit:
    return blocks.SizeLimit(partial(_entries, folder), most_bytes, SECONDS_SAFE)


def _entries(folder: Path) -> Iterator[tuple[float, int, Path]]:
    """Yield the time of last use, the bytes and the path of each file and of each workload's folder."""
    for path in [*folder.glob("*"), *folder.glob("*/*")]:
        with suppress(OSError):
            is_workload = path.is_dir() and path.parent != folder
            if is_workload or (path.is_file() and path.parent == folder and not path.name.startswith(".")):
                yield path.stat().st_mtime, _size_of(path), path


def _size_of(path: Path) -> int:
    return sum(file.stat().st_size for file in (path.iterdir() if path.is_dir() else (path,)))


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
    """Unpack an archive into a folder. Raises ValueError if it is damaged."""
    with packed.open("rb") as file:
        expected = file.read(_DIGEST_BYTES)
        if hashlib.file_digest(file, "sha256").digest() != expected:
            raise ValueError("its SHA-256 doesn't match")
        file.seek(_DIGEST_BYTES)
        with (
            pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd") as stream,
            tarfile.open(fileobj=stream, mode="r|") as archive,
        ):
            for member in archive:
                _extract(archive, member, folder)


def _extract(archive: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    """Write a file of an archive below a folder. Raises ValueError if it would lie elsewhere, or is a link or a device.

    Python 3.11.2, which Debian 12 has, knows no `filter` that refuses these.
    """
    path = folder / member.name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"{member.name!r} would lie outside of its folder")
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
    elif not member.isfile():
        raise ValueError(f"{member.name!r} is neither a file nor a folder")
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        with archive.extractfile(member) as content, path.open("wb") as file:  # type: ignore[union-attr]
            shutil.copyfileobj(content, file)


def _put_in_place(source: Path, path: Path) -> None:
    os.utime(source)
    try:
        source.replace(path)
    except OSError:
        # Another thread was faster: a folder that isn't empty can't be replaced.
        if not path.is_dir():
            raise

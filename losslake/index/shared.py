"""What is made of releases, made once for all machines: put beside the lake's files, and fetched from there by others.

Only where a lake isn't in a folder of one machine. What lies in the store is a compressed archive behind its sha256:
what is harmed is made anew. What lies on a machine is bounded; what was used least lately goes first, and is fetched
again when it is needed.

Making files that others may be making as well, or reading.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import shutil
import tarfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pyarrow as pa
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from losslake.lake.lake import Lake

FOLDER = "serving"
SECONDS_SAFE = 3600.0
"""What was used so lately stays on a machine: somebody may be about to open it. What is in use is to be touched."""
_SHARE_OF_CACHE, _SHARE_LEFT, _LOOKS_PER_BOUND = 0.5, 0.9, 16
_DIGEST_BYTES = 32
_BESIDE = ".packed"
_log = logging.getLogger(__name__)
_written: Counter[Path] = Counter()
_counting = threading.Lock()


def is_shared(lake: Lake) -> bool:
    """Whether other machines may serve the same lake."""
    return not lake.location.is_folder


def have(lake: Lake, path: Path, make: Callable[[], None]) -> None:
    """Have a file or folder of `lake.folder/serving`: fetched if another machine has put it in the store, else made.

    make: makes it, whole or not at all.
    """
    if not fetched(lake, path):
        with only_one_machine(lake, path.name):
            if not fetched(lake, path):
                make()
                share(lake, path)


def fetched(lake: Lake, path: Path) -> bool:
    """Whether a file or folder could be had from the store, and is in its place now."""
    if not is_shared(lake):
        return False
    beside = _beside(path)
    packed, unpacked = beside.with_suffix(_BESIDE), beside.with_suffix(".unpacked")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lake.store.copy_to(_key(lake, path), packed, link=False)
        size = _unpack(packed, unpacked)
        _put_in_place(unpacked / path.name, path)
    except FileNotFoundError:
        return False
    except (OSError, pa.ArrowException, tarfile.TarError, ValueError) as error:
        _log.warning("%s can't be had from the store (%s): it is made here", path.name, error)
        return False
    finally:
        packed.unlink(missing_ok=True)
        shutil.rmtree(unpacked, ignore_errors=True)
    _account(lake, size)
    return True


def share(lake: Lake, path: Path) -> None:
    """Put a file or folder that was made here into the store; if that fails others make their own."""
    if not is_shared(lake):
        return
    packed = _beside(path).with_suffix(_BESIDE)
    try:
        _pack(path, packed)
        lake.store.take(packed, _key(lake, path))
    except OSError as error:
        _log.warning("%s can't be put into the store, others make their own: %s", path.name, error)
    finally:
        packed.unlink(missing_ok=True)
    _account(lake, _size_of(path))


@contextmanager
def only_one_machine(lake: Lake, name: str) -> Iterator[None]:
    """Wait until nobody else makes what has this name; without the database two may, which is only twice the work."""
    with ExitStack() as stack:
        if is_shared(lake) and lake.engine.dialect.name == "postgresql":
            digest = hashlib.sha256(f"{lake.store.url} {name}".encode()).digest()
            with suppress(SQLAlchemyError):
                connection = stack.enter_context(lake.engine.connect())
                lock = {"lock": int.from_bytes(digest[:8], "big", signed=True)}
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), lock)
        yield


def touch(path: Path) -> None:
    """Note that a file or folder is in use."""
    with suppress(OSError):
        if time.time() - path.stat().st_mtime > SECONDS_SAFE / 4:
            os.utime(path)


def forget_the_oldest(lake: Lake) -> None:
    """Keep what lies in `serving` on this machine below half of the cache's bound."""
    most = lake.location.cache_bytes * _SHARE_OF_CACHE
    kept = sorted(_entries(lake.folder / FOLDER))
    total = sum(size for _, size, _ in kept)
    if total <= most:
        return
    latest = time.time() - SECONDS_SAFE
    for used_at, size, path in kept:
        if total <= most * _SHARE_LEFT or used_at > latest:
            break
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
        total -= size


def _account(lake: Lake, n_bytes: int) -> None:
    with _counting:
        _written[lake.folder] += n_bytes
        is_time = _written[lake.folder] > lake.location.cache_bytes * _SHARE_OF_CACHE / _LOOKS_PER_BOUND
        if is_time:
            _written[lake.folder] = 0
    if is_time:
        forget_the_oldest(lake)


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
    return f"{path.relative_to(lake.folder).as_posix()}.tar.zst"


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


def _unpack(packed: Path, folder: Path) -> int:
    """Unpack into a folder; returns the bytes there. Raises ValueError for what is harmed."""
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
    return sum(path.stat().st_size for path in folder.rglob("*"))


def _put_in_place(made: Path, path: Path) -> None:
    os.utime(made)
    try:
        made.replace(path)
    except OSError:
        # Another thread was faster: a folder that isn't empty isn't replaced.
        if not path.is_dir():
            raise


@contextmanager
def only_one_at_a_time(folder: Path) -> Iterator[None]:
    """Wait until nobody else, in this process or another, is in here for this folder; it is made if there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".building").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield

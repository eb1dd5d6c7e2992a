"""Files and folders that only their owner may read, whatever the umask: of contributions, and the database with them.

Made by root, they are for the owner of the folder that they are in, since the service runs as another account.
"""

from __future__ import annotations

import logging
import os
import stat
import uuid
from pathlib import Path

from losslake.lake.lake import Lake

FOLDER = "contributions"
DRAFTS = "drafts"  # on this machine, made again as needed
SIGNING_KEY = "signing-key"
_FILE_MODE, _FOLDER_MODE = 0o600, 0o700
_log = logging.getLogger(__name__)
_BESIDE = ("", "-wal", "-shm", "-journal")  # of a database of SQLite, which makes the others with the mode of the first


def write_private(path: Path, data: bytes) -> None:
    """Write a new file; raise FileExistsError if there is one."""
    unfinished = _write(path, data, path.parent.stat())
    try:
        os.link(unfinished, path)
    finally:
        unfinished.unlink()


def replace_private(path: Path, data: bytes) -> None:
    """Write a file in place of one that exists, whose owner stays."""
    unfinished = _write(path, data, path.stat() if path.exists() else path.parent.stat())
    try:
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _write(path: Path, data: bytes, like: os.stat_result) -> Path:
    """Write a file beside another, and return its path once it is durable. like: has its owner."""
    unfinished = path.with_name(f".{path.name}-{uuid.uuid4().hex[:12]}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, _FILE_MODE)
        if os.geteuid() == 0:
            os.fchown(descriptor, like.st_uid, like.st_gid)
        file.write(data)
        file.flush()
        os.fsync(descriptor)
    return unfinished


def make_private_folder(path: Path) -> None:
    """Make a folder unless it exists."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.mkdir(_FOLDER_MODE)
    except FileExistsError:
        return
    path.chmod(_FOLDER_MODE)
    if os.geteuid() == 0:
        owner = path.parent.stat()
        os.chown(path, owner.st_uid, owner.st_gid)


def protect(lake: Lake, is_new: bool) -> None:
    """Let nobody but its owner read what a lake has of contributions: the database's file, segments and drafts.

    is_new: the lake takes contributions from now on, or was upgraded. Later, only what everybody may read is closed: an
    operator who lets a group read it, as the account of the read service, did so on purpose.
    """
    database = lake.location.database
    if database.drivername == "sqlite" and database.database:
        for ending in _BESIDE:
            _close(Path(f"{database.database}{ending}"), _FILE_MODE, is_new)
    _close(lake.folder / SIGNING_KEY, _FILE_MODE, is_new)
    for folder in (lake.store.local_folder, lake.folder):
        if folder is not None:
            for name in (FOLDER, DRAFTS):
                _close(folder / name, _FOLDER_MODE, is_new)
    if is_new:
        make_private_folder(lake.folder / DRAFTS)
        if lake.store.local_folder is not None:
            make_private_folder(lake.store.local_folder / FOLDER)


def _close(path: Path, mode: int, is_new: bool) -> None:
    """Set the mode of a file or folder that this account owns, if others may read it, or if it is new."""
    try:
        facts = path.stat()
    except FileNotFoundError:
        return
    if os.geteuid() in (0, facts.st_uid) and (is_new or facts.st_mode & stat.S_IRWXO):
        try:
            path.chmod(mode)
        except OSError as error:
            _log.warning("others may read %s, and its mode can't be changed: %s", path, error.strerror or error)

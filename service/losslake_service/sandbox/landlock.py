"""Landlock: from here on this thread, and those it starts, may open only the files that are named.

https://docs.kernel.org/userspace-api/landlock.html
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG, _PATH_BENEATH = 1, 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
# The rights that each version of the interface knows, the newest version first.
_FILE_RIGHTS = {5: (1 << 16) - 1, 3: (1 << 15) - 1, 2: (1 << 14) - 1, 1: (1 << 13) - 1}
_TCP_SINCE, _TCP = 4, 0b11
_SCOPES_SINCE, _SCOPES = 6, 0b11


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def version() -> int:
    """The version of Landlock that the kernel has; 0 when it has none or it is switched off."""
    return max(0, int(_libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_FLAG)))


def read_only(paths: Iterable[Path]) -> None:
    """Allow reading of these files and of all below these folders, and no other use of any; raises OSError.

    What is open already stays open. Paths that don't exist are left out. The thread must have no_new_privs set.
    """
    libc, known = _libc(), version()
    rules = _Ruleset(
        next(rights for since, rights in _FILE_RIGHTS.items() if known >= since),
        _TCP if known >= _TCP_SINCE else 0,
        _SCOPES if known >= _SCOPES_SINCE else 0,
    )
    # An older kernel takes the longer structure as long as what it doesn't know is zero.
    size = ctypes.c_size_t(ctypes.sizeof(rules))
    ruleset = _checked(libc.syscall(_CREATE_RULESET, ctypes.byref(rules), size, 0))
    for path in filter(Path.exists, paths):
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = _Beneath(_READ_FILE | (_READ_DIR if path.is_dir() else 0), place)
        _checked(libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0))
        os.close(place)
    _checked(libc.syscall(_RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"Landlock: {os.strerror(number)}")
    return result

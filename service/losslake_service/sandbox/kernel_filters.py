"""What Linux refuses a process for good: files that aren't named (Landlock), and system calls (seccomp).

Both hold for this thread and those it starts from here on, and need no_new_privs to be set. See
https://docs.kernel.org/userspace-api/landlock.html and https://docs.kernel.org/userspace-api/seccomp_filter.html
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import platform
import struct
import tomllib
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG, _PATH_BENEATH = 1, 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
# The rights that each version of Landlock knows, the newest version first.
_FILE_RIGHTS = {5: (1 << 16) - 1, 3: (1 << 15) - 1, 2: (1 << 14) - 1, 1: (1 << 13) - 1}
_TCP_SINCE, _TCP = 4, 0b11
_SCOPES_SINCE, _SCOPES = 6, 0b11

_PR_GET_SECCOMP, _PR_SET_SECCOMP, _MODE_FILTER = 21, 22, 2
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_CLONE = {"x86_64": 56, "aarch64": 220}
_TGKILL = {"x86_64": 234, "aarch64": 131}
_PRLIMIT = {"x86_64": 302, "aarch64": 261}
_CLONE3, _CLONE_THREAD = 435, 0x00010000
_X32 = 0x40000000


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def landlock_version() -> int:
    """Return the version of Landlock that the kernel has; 0 when it has none or it is switched off."""
    return max(0, int(_libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_FLAG)))


def allow_reading_only(paths: Iterable[Path]) -> None:
    """Allow reading of these files and of all below these folders, and no other use of any; raises OSError.

    What is open already stays open. Paths that don't exist are left out.
    """
    libc, known = _libc(), landlock_version()
    rules = _Ruleset(
        next(rights for since, rights in _FILE_RIGHTS.items() if known >= since),
        _TCP if known >= _TCP_SINCE else 0,
        _SCOPES if known >= _SCOPES_SINCE else 0,
    )
    # An older kernel takes the longer structure as long as what it doesn't know is zero.
    size = ctypes.c_size_t(ctypes.sizeof(rules))
    ruleset = _checked("Landlock", libc.syscall(_CREATE_RULESET, ctypes.byref(rules), size, 0))
    for path in filter(Path.exists, paths):
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = _Beneath(_READ_FILE | (_READ_DIR if path.is_dir() else 0), place)
        _checked("Landlock", libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0))
        os.close(place)
    _checked("Landlock", libc.syscall(_RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def has_seccomp() -> bool:
    """Return whether the kernel filters, and the numbers of this machine's system calls are known."""
    return platform.machine() in _AUDIT and _libc().prctl(_PR_GET_SECCOMP, 0, 0, 0, 0) == 0


@functools.cache
def refused_calls() -> tuple[int, ...]:
    """Return the numbers of `syscalls.toml` for this machine; to be loaded while files can be read."""
    text = resources.files("losslake_service.sandbox").joinpath("syscalls.toml").read_text("utf-8")
    return tuple(sorted(tomllib.loads(text).get(platform.machine(), {}).values()))


def refuse_calls() -> None:
    """Have system calls of the network, of processes and the like fail; raises OSError."""
    code = _program(platform.machine(), refused_calls())
    program = _Program(len(code) // 8, code)
    _checked("seccomp", _libc().prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0))


def _program(machine: str, refused: Iterable[int]) -> bytes:
    refuse = _step(_RETURN, _ERRNO | errno.EPERM)
    allow = _step(_RETURN, _ALLOW)
    steps = [_step(_LOAD, _ARCHITECTURE), _step(_EQUAL, _AUDIT[machine], 1, 0), refuse]
    # Numbers from here on are of another binary interface, with other meanings.
    steps += [_step(_LOAD, _NUMBER), _step(_AT_LEAST, _X32, 0, 1), refuse]
    for number in refused:
        steps += [_step(_EQUAL, number, 0, 1), refuse]
    # Threads are made by clone; glibc falls back to it from clone3, whose flags a filter can't see.
    steps += [_step(_EQUAL, _CLONE3, 0, 1), _step(_RETURN, _ERRNO | errno.ENOSYS)]
    steps += [_step(_EQUAL, _CLONE[machine], 0, 4), _step(_LOAD, _FIRST_ARGUMENT)]
    steps += [_step(_ANY_BIT, _CLONE_THREAD, 0, 1), allow, refuse]
    # A signal to oneself is how a process aborts; limits are read and set of oneself, process 0.
    for number, of_oneself in ((_TGKILL[machine], os.getpid()), (_PRLIMIT[machine], 0)):
        steps += [_step(_EQUAL, number, 0, 4), _step(_LOAD, _FIRST_ARGUMENT)]
        steps += [_step(_EQUAL, of_oneself, 0, 1), allow, refuse]
    return b"".join([*steps, allow])


def _step(code: int, value: int, when: int = 0, otherwise: int = 0) -> bytes:
    """Return one instruction; when and otherwise: how many instructions a comparison skips."""
    return struct.pack("=HBBI", code, when, otherwise, value)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(what: str, result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result

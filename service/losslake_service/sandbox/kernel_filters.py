"""Irreversible Linux restrictions of a process: files (Landlock) and system calls (seccomp).

Both apply to this thread and to threads that it starts later, and need no_new_privs. See
https://docs.kernel.org/userspace-api/landlock.html and https://docs.kernel.org/userspace-api/seccomp_filter.html
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import os
import platform
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from losslake_schema.package_files import read_toml

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG, _PATH_BENEATH = 1, 1
_READ_FILE = 1 << 2
# The rights of each Landlock version, newest first.
_FILE_RIGHTS = {5: (1 << 16) - 1, 3: (1 << 15) - 1, 2: (1 << 14) - 1, 1: (1 << 13) - 1}
_TCP_SINCE, _TCP = 4, 0b11
_SCOPES_SINCE, _SCOPES = 6, 0b11
_MEASURES = {1: "files", 4: "TCP", 5: "devices", 6: "signals and abstract sockets"}

_PR_GET_SECCOMP, _PR_SET_SECCOMP, _MODE_FILTER = 21, 22, 2
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_CLONE3 = 435


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def landlock_version() -> int:
    """Return the kernel's Landlock version; 0 if it is missing or disabled."""
    return max(0, int(_libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_FLAG)))


def landlock_measures() -> tuple[list[str], list[str]]:
    """Return what the kernel's Landlock version can restrict, and what it can't."""
    version = landlock_version()
    return [name for since, name in _MEASURES.items() if version >= since], [
        name for since, name in _MEASURES.items() if version < since
    ]


def allow_reading_only(paths: Iterable[str]) -> None:
    """Allow only reading, and only these files and those below these folders; raise OSError.

    Folders can't be listed. Open files stay open. Paths that don't exist are ignored. A path takes about 9 µs.
    """
    libc, version = _libc(), landlock_version()
    rules = _Ruleset(
        next(rights for since, rights in _FILE_RIGHTS.items() if version >= since),
        _TCP if version >= _TCP_SINCE else 0,
        _SCOPES if version >= _SCOPES_SINCE else 0,
    )
    # An older kernel accepts the longer structure if the unknown fields are zero.
    size = ctypes.c_size_t(ctypes.sizeof(rules))
    ruleset = _checked("Landlock", libc.syscall(_CREATE_RULESET, ctypes.byref(rules), size, 0))
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
            rule = _Beneath(_READ_FILE, opened)
            _checked("Landlock", libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0))
            os.close(opened)
    _checked("Landlock", libc.syscall(_RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def has_seccomp() -> bool:
    """Return True if the kernel supports seccomp and the system call numbers of this machine are known."""
    return platform.machine() in _AUDIT and _libc().prctl(_PR_GET_SECCOMP, 0, 0, 0, 0) == 0


@functools.cache
def allowed_calls(machine: str) -> tuple[Mapping[str, Any], ...]:
    """Return the entries of `syscalls.toml` that this kind of machine has; load them while files can be read."""
    groups = read_toml("losslake_service.sandbox", "syscalls.toml")
    return tuple(call for group in groups.values() for call in group.values() if machine in call)


def refuse_other_calls() -> None:
    """Make all system calls that aren't in `syscalls.toml` fail; raise OSError."""
    code = _program(platform.machine())
    program = _Program(len(code) // 8, code)
    _checked("seccomp", _libc().prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0))


def _program(machine: str) -> bytes:
    allow, refuse = _instruction(_RETURN, _ALLOW), _instruction(_RETURN, _ERRNO | errno.EPERM)
    instructions = [_instruction(_LOAD, _ARCHITECTURE), _instruction(_EQUAL, _AUDIT[machine], 1, 0), refuse]
    instructions.append(_instruction(_LOAD, _NUMBER))
    for call in allowed_calls(machine):
        body = [*_argument_checks(call), refuse] if "argument" in call else [allow]
        instructions += [_instruction(_EQUAL, call[machine], 0, len(body)), *body]
    # Libraries have an alternative to newer calls that don't exist, such as clone3, whose flags a filter can't see.
    instructions += [_instruction(_AT_LEAST, _CLONE3, 0, 1), _instruction(_RETURN, _ERRNO | errno.ENOSYS)]
    return b"".join([*instructions, refuse])


def _argument_checks(call: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield instructions that allow the call, or go on; the kernel uses the lower 32 bits of these arguments."""
    yield _instruction(_LOAD, _FIRST_ARGUMENT + 8 * call["argument"])
    if "refused_bits" in call:
        yield _instruction(_ANY_BIT, call["refused_bits"], 1, 0)
        yield _instruction(_RETURN, _ALLOW)
        return
    for value in [os.getpid()] if call["values"] == "own process" else call["values"]:
        yield _instruction(_EQUAL, value, 0, 1)
        yield _instruction(_RETURN, _ALLOW)


def _instruction(code: int, value: int, when: int = 0, otherwise: int = 0) -> bytes:
    """Return one BPF instruction; when, otherwise: number of instructions to skip after a comparison."""
    return struct.pack("=HBBI", code, when, otherwise, value)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(what: str, result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result

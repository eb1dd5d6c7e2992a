"""A seccomp filter: system calls of the network, of processes and the like fail in this process for good.

https://docs.kernel.org/userspace-api/seccomp_filter.html
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

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_CLONE = {"x86_64": 56, "aarch64": 220}
_TGKILL = {"x86_64": 234, "aarch64": 131}
_PRLIMIT = {"x86_64": 302, "aarch64": 261}
_CLONE3, _CLONE_THREAD = 435, 0x00010000
_X32 = 0x40000000


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def is_supported() -> bool:
    """Whether the kernel filters, and the numbers of this machine's system calls are known."""
    return platform.machine() in _AUDIT and ctypes.CDLL(None).prctl(21, 0, 0, 0, 0) == 0


@functools.cache
def refused_calls() -> tuple[int, ...]:
    """The numbers of `syscalls.toml` for this machine; to be loaded while files can be read."""
    text = resources.files("losslake_service.sandbox").joinpath("syscalls.toml").read_text("utf-8")
    return tuple(sorted(tomllib.loads(text).get(platform.machine(), {}).values()))


def refuse_calls() -> None:
    """Install the filter for this thread and those it starts; raises OSError. no_new_privs must be set."""
    code = _program(platform.machine(), refused_calls())
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(_Program(len(code) // 8, code)), 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"seccomp: {os.strerror(number)}")


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
    """One instruction; when and otherwise: how many instructions a comparison skips."""
    return struct.pack("=HBBI", code, when, otherwise, value)

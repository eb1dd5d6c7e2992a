"""Confinement of a worker before its first statement: files, network, processes, privileges and memory."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from losslake_service.sandbox import kernel_filters
from losslake_service.sandbox.errors import SqlLimits

MEGABYTE = 1_000_000
_NOBODY = 65534
_SPOOL_SLACK = 4 * MEGABYTE
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
# DuckDB 2 reads its share of the machine here whenever it opens a database, also with `threads` and `memory_limit` set,
# and aborts if it can't.
_READ_BY_DUCKDB = ("/proc/self/cgroup", "/sys/fs/cgroup")
_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPABILITY_VERSION = 0x20080522


@dataclass
class Confinement:
    """The measures in force in a worker, and those that this machine doesn't support."""

    in_force: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def confine(limits: SqlLimits, serving_file: Path, data_files: Sequence[str]) -> Confinement:
    """Irreversibly restrict this process to reading one release; it must have a single thread.

    data_files: those of the release on this machine. Raise OSError if a supported measure fails.
    """
    report = Confinement()
    _limit_resources(limits)
    bounds = f"{limits.memory_mb} MB of memory, {limits.seconds:g} s, {limits.result_mb} MB written"
    report.in_force.append(f"limits: {bounds}")
    if sys.platform != "linux":
        report.missing.append("files, network and privileges are protected by DuckDB only: other measures need Linux")
        return report
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _drop_privileges(libc, [str(serving_file), *data_files[:1]], report)
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    restricted, unrestricted = kernel_filters.landlock_measures()
    if restricted:
        kernel_filters.allow_reading_only([str(serving_file), *data_files, *_READ_BY_DUCKDB])
        report.in_force.append(f"files: read-only, and only those of the release (Landlock: {', '.join(restricted)})")
    if unrestricted:
        report.missing.append(f"Landlock: {', '.join(unrestricted)}: not supported by this system")
    calls = "network and processes: none; system calls: only those that SQL needs (seccomp)"
    if kernel_filters.has_seccomp():
        kernel_filters.refuse_other_calls()
        report.in_force.append(calls)
    else:
        report.missing.append(f"{calls}: not supported by this system")
    return report


def limit_cpu_seconds(seconds: float) -> None:
    """Limit the CPU time from now on; whole seconds, rounded up. Beyond it the kernel kills the process."""
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used + seconds) + 1, hard))


def limit_memory(megabytes: int, statm: int) -> None:
    """Limit the address space to what it is now and as much more, whatever earlier statements have left."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = address_space(statm) + megabytes * MEGABYTE
    resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def address_space(statm: int) -> int:
    """Return the address space of this process in bytes; statm: /proc/self/statm, opened before confinement."""
    return int(os.pread(statm, 100, 0).split()[0]) * resource.getpagesize()


def _limit_resources(limits: SqlLimits) -> None:
    values = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: limits.result_mb * MEGABYTE + _SPOOL_SLACK,
        resource.RLIMIT_NOFILE: 1024,
    }
    if sys.platform == "linux":
        # A statement's own memory, and what earlier ones have left: see limit_memory.
        with Path("/proc/self/statm").open("rb") as statm:
            values[resource.RLIMIT_AS] = address_space(statm.fileno()) + 2 * limits.memory_mb * MEGABYTE
    for limit, value in values.items():
        _, hard = resource.getrlimit(limit)
        lowered = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(limit, (lowered, lowered))


def _drop_privileges(libc: ctypes.CDLL, samples: Sequence[str], report: Confinement) -> None:
    if os.geteuid() != 0:
        report.in_force.append(f"user: {os.geteuid()}, the same as the service")
        return
    if _can_read(_NOBODY, samples):
        os.setgroups([])
        os.setresgid(_NOBODY, _NOBODY, _NOBODY)
        os.setresuid(_NOBODY, _NOBODY, _NOBODY)
        report.in_force.append("user: nobody")
        return
    header, nothing = struct.pack("=Ii", _CAPABILITY_VERSION, 0), bytes(24)
    if libc.syscall(_CAPSET.get(os.uname().machine, -1), header, nothing) == 0:
        report.in_force.append("user: root without capabilities")
    report.missing.append("a separate user: the service runs as root, and the user nobody can't read the lake")


def _can_read(user: int, samples: Sequence[str]) -> bool:
    os.seteuid(user)
    try:
        for sample in samples:
            Path(sample).open("rb").close()
    except OSError:
        return False
    finally:
        os.seteuid(0)
    return True

"""What a worker gives up before it sees a statement: files, network, processes, privileges, memory."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from losslake_service.sandbox import kernel_filters
from losslake_service.sandbox.errors import SqlLimits

MEGABYTE = 1_000_000
_NOBODY = 65534
_MOST_OPEN_FILES = 1024
_SPOOL_SLACK = 4 * MEGABYTE
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
# It reads there how much of the machine is for it, and aborts when it can't.
_DUCKDB_READS = (Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))
_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPABILITY_VERSION = 0x20080522


@dataclass
class Confinement:
    """What is in force in a worker, and what this machine doesn't offer."""

    in_force: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def confine(limits: SqlLimits, serving_file: Path, data_files_root: Path | None) -> Confinement:
    """Give up for good all that reading one release doesn't need; the process must have one thread.

    data_files_root: None where the data files aren't on this machine.

    Raises:
        OSError: when the system refuses a measure that it has.
    """
    report = Confinement()
    _limit_resources(limits)
    bounds = f"{limits.memory_mb} MB of memory, {limits.seconds:g} s, {limits.result_mb} MB written"
    report.in_force.append(f"limits: {bounds}")
    if sys.platform != "linux":
        report.missing.append("files, network and privileges are guarded by DuckDB alone: only Linux offers more")
        return report
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _drop_privileges(libc, serving_file, data_files_root, report)
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    readable = [serving_file, *([data_files_root] if data_files_root else []), *_DUCKDB_READS]
    for is_offered, measure, enforce in (
        (kernel_filters.has_seccomp(), "network and processes: none (seccomp)", kernel_filters.refuse_calls),
        (
            kernel_filters.landlock_version() > 0,
            "files: read-only, and none but the release's (Landlock)",
            partial(kernel_filters.allow_reading_only, readable),
        ),
    ):
        if is_offered:
            enforce()
            report.in_force.append(measure)
        else:
            report.missing.append(f"{measure}: not offered by this system")
    return report


def allow_processor_seconds(seconds: float) -> None:
    """Let the process be killed when it has computed so much longer; whole seconds, rounded up."""
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used + seconds) + 1, hard))


def address_space(statm: int) -> int:
    """Bytes of address space that the process has; statm: its /proc/self/statm, opened before confinement."""
    return int(os.pread(statm, 100, 0).split()[0]) * resource.getpagesize()


def _limit_resources(limits: SqlLimits) -> None:
    os.umask(0o077)
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: limits.result_mb * MEGABYTE + _SPOOL_SLACK,
        resource.RLIMIT_NOFILE: _MOST_OPEN_FILES,
    }
    if sys.platform == "linux":
        with Path("/proc/self/statm").open("rb") as statm:
            wanted[resource.RLIMIT_AS] = address_space(statm.fileno()) + limits.memory_mb * MEGABYTE
    for limit, value in wanted.items():
        _, hard = resource.getrlimit(limit)
        least = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(limit, (least, least))


def _drop_privileges(libc: ctypes.CDLL, serving_file: Path, data_files_root: Path | None, report: Confinement) -> None:
    if os.geteuid() != 0:
        report.in_force.append(f"user: {os.geteuid()}, that of the service")
        return
    if _can_read(_NOBODY, serving_file, data_files_root):
        os.setgroups([])
        os.setresgid(_NOBODY, _NOBODY, _NOBODY)
        os.setresuid(_NOBODY, _NOBODY, _NOBODY)
        report.in_force.append("user: nobody")
        return
    header, nothing = struct.pack("=Ii", _CAPABILITY_VERSION, 0), bytes(24)
    if libc.syscall(_CAPSET.get(os.uname().machine, -1), header, nothing) == 0:
        report.in_force.append("user: root without its capabilities")
    report.missing.append("an own user: the service runs as root, and user nobody can't read the lake")


def _can_read(user: int, serving_file: Path, data_files_root: Path | None) -> bool:
    with _as_user(user):
        try:
            serving_file.open("rb").close()
            if data_files_root is None:
                return True
            with os.scandir(data_files_root):
                pass
            sample = next(data_files_root.rglob("*.parquet"), None)
            if sample is not None:
                sample.open("rb").close()
        except OSError:
            return False
    return True


@contextlib.contextmanager
def _as_user(user: int) -> Iterator[None]:
    os.seteuid(user)
    try:
        yield
    finally:
        os.seteuid(0)

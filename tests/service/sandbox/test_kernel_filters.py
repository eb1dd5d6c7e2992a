"""What the kernel lets a worker do: the system calls of `syscalls.toml`, and the files of its release."""

from __future__ import annotations

import ast
import errno
import platform
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake_service.sandbox import workers
from losslake_service.sandbox.errors import SqlProblem
from losslake_service.sandbox.kernel_filters import allowed_calls, landlock_version
from losslake_service.sandbox.results import OUTPUTS
from losslake_service.sandbox.stored_data import LocalFiles
from tests.service.sandbox.sandbox_client import (
    PYTHON_WORKER,
    SMALL,
    SandboxClient,
    now,
    on_linux,
    with_landlock,
    with_seccomp,
)

MACHINE = platform.machine()
LAST_CALL, X32 = 600, 0x40000000
# uretprobe and uprobe, which Linux exempts from filters: outside of probes, the first ends the process.
UNFILTERED = {335, 336} if MACHINE == "x86_64" else set()
# Calls that arm64 lacks, and those by which its libraries do the same.
NEWER_FORMS = {
    "access": "faccessat",
    "lstat": "newfstatat",
    "open": "openat",
    "poll": "ppoll",
    "readlink": "readlinkat",
    "stat": "newfstatat",
    "time": "clock_gettime",
}
HEADERS = {
    "x86_64": (Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"), r"#define __NR_(\w+) (\d+)"),
    "aarch64": (Path("/usr/include/asm-generic/unistd.h"), r"#define __NR(?:3264)?_(\w+) (\d+)"),
}
_CALL = "(ctypes.CDLL(None, use_errno=True).syscall(*{}), ctypes.get_errno())"


def numbers(machine: str) -> dict[str, int]:
    names = re.findall(r"^(\w+) = \{", _table(), re.MULTILINE)
    every = dict(zip(names, allowed_calls_by_line(machine), strict=True))
    return {name: number for name, number in every.items() if number is not None}


def allowed_calls_by_line(machine: str) -> Iterator[int | None]:
    for line in re.findall(r"^\w+ = (\{.*\})$", _table(), re.MULTILINE):
        number = re.search(rf"{machine} = (\d+)", line)
        yield int(number[1]) if number else None


def _table() -> str:
    return Path(sys.modules[allowed_calls.__module__].__file__ or "").with_name("syscalls.toml").read_text()


def call(python_sandbox: SandboxClient, *arguments: int) -> tuple[int, int]:
    """Return the result of a system call of a worker, and errno."""
    result, number = ast.literal_eval(python_sandbox(_CALL.format(arguments))[0]["value"])
    return result, number


@with_seccomp
def test_every_other_system_call_is_refused(python_sandbox: SandboxClient) -> None:
    allowed = {entry[MACHINE] for entry in allowed_calls(MACHINE)}
    refused = [number for number in range(LAST_CALL) if number not in allowed | UNFILTERED]
    refused += [X32 + number for number in range(LAST_CALL)]
    # With a worker's own functions: a statement has the length of a request.
    expression = (
        f"(lambda libc: [(n, libc.syscall(n, 0, 0, 0, 0, 0, 0), ctypes.get_errno()) for n in {refused}])"
        "(ctypes.CDLL(None, use_errno=True))"
    )
    outcomes = ast.literal_eval(python_sandbox(expression)[0]["value"])
    assert len(outcomes) == len(refused)
    for number, result, error in outcomes:
        assert (result, error) == (-1, errno.EPERM if number < 435 else errno.ENOSYS), number
    print(f"{len(allowed)} system calls allowed, {len(refused)} numbers refused")


@with_seccomp
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("clone", (0,)),
        ("clone", (17,)),
        ("clone", (0x3D0F00 | 0x10000000,)),
        ("clone", (0x3D0F00 | 17,)),
        ("fcntl", (0, 8, 1)),
        ("fcntl", (0, 1033, 0)),
        ("ioctl", (0, 0x5412, 0)),
        ("ioctl", (0, 0x541C, 0)),
        ("mmap", (0, 4096, 7, 0x22, -1, 0)),
        ("mprotect", (0, 4096, 5)),
        ("openat", (-100, 0, 1)),
        ("openat", (-100, 0, 2)),
        ("openat", (-100, 0, 0o100)),
        ("openat", (-100, 0, 0o1000)),
        ("openat", (-100, 0, 0o20200002)),
        ("prctl", (4, 1, 0, 0, 0)),
        ("prctl", (38, 0, 0, 0, 0)),
        ("prctl", (22, 0, 0, 0, 0)),
        ("prlimit64", (1, 0, 0, 0)),
        ("tgkill", (1, 1, 0)),
    ],
)
def test_a_call_with_other_arguments_is_refused(
    python_sandbox: SandboxClient, name: str, arguments: tuple[int, ...]
) -> None:
    assert call(python_sandbox, numbers(MACHINE)[name], *arguments) == (-1, errno.EPERM)


@with_seccomp
def test_system_calls_are_named_by_their_numbers(python_sandbox: SandboxClient) -> None:
    known = numbers(MACHINE)
    assert python_sandbox(f"ctypes.CDLL(None).syscall({known['getpid']}) == os.getpid()") == [{"value": "True"}]
    assert call(python_sandbox, known["prctl"], 15, 0)[1] == errno.EFAULT
    assert call(python_sandbox, known["close"], 9999) == (-1, errno.EBADF)


@pytest.mark.parametrize("machine", HEADERS)
def test_the_table_has_the_numbers_of_the_kernel(machine: str) -> None:
    header, pattern = HEADERS[machine]
    if not header.exists():
        pytest.skip(f"{header} isn't installed")
    known = {name: int(number) for name, number in re.findall(pattern, header.read_text())}
    known.setdefault("newfstatat", known.get("fstatat", 0))
    listed = numbers(machine)
    assert listed == {name: known[name] for name in listed}


def test_arm64_has_the_same_calls_or_their_newer_forms() -> None:
    x86, arm = numbers("x86_64"), numbers("aarch64")
    assert set(x86) - set(arm) == set(NEWER_FORMS)
    assert set(arm) | set(NEWER_FORMS) == set(x86)
    assert set(NEWER_FORMS.values()) <= set(arm)
    for table in (x86, arm):
        assert len(set(table.values())) == len(table)
        assert all(0 <= number < LAST_CALL for number in table.values())


@pytest.fixture
def foreign(python_sandbox: SandboxClient) -> Iterator[Path]:
    """A data file of another release, beside one of the worker's."""
    assert isinstance(python_sandbox.data_files, LocalFiles)
    path = Path(python_sandbox.data_files.paths()[0])
    copy = path.with_name(f"other-{path.name}")
    shutil.copyfile(path, copy)
    yield copy
    copy.unlink()


@with_landlock
def test_a_worker_reads_the_files_of_its_release_and_no_others(
    python_sandbox: SandboxClient, unchecked: SandboxClient, foreign: Path, query: SandboxClient
) -> None:
    assert isinstance(python_sandbox.data_files, LocalFiles)
    readable = [python_sandbox.file, *map(Path, python_sandbox.data_files.paths())]
    folder = python_sandbox.lake.folder
    others = [path for path in sorted(folder.rglob("*")) if path.is_file() and path not in readable]
    names = {path.name for path in others}
    assert {foreign.name, "catalog.db", "lake.toml"} <= names
    assert any("releases" in path.parts for path in others)
    for path in readable:
        assert python_sandbox(f"len(open({str(path)!r}, 'rb').read(4))") == [{"value": "4"}]
        if path.suffix == ".parquet":
            assert not isinstance(unchecked.outcome(f"SELECT count(*) AS n FROM '{path}'"), SqlProblem)
    for path in others:
        assert python_sandbox(f"open({str(path)!r}, 'rb')") == [{"value": "PermissionError"}], path
        # DuckDB's settings refuse it first.
        assert "file system operations are disabled" in str(unchecked.outcome(f"FROM read_blob('{path}')"))
    for place in {path.parent for path in [*readable, *others]} | {Path("/sys/fs/cgroup")}:
        assert python_sandbox(f"os.listdir({str(place)!r})") == [{"value": "PermissionError"}]
    print(f"{len(readable)} files of the release readable, {len(others)} others refused")


@pytest.mark.slow
@with_landlock
def test_a_release_of_many_files_is_confined_file_by_file(lake: Lake, tmp_path: Path) -> None:
    """Also beyond the number that DuckDB's settings list."""
    names = [f"{number}.parquet" for number in range(10_001)]
    for name in [*names, "other.parquet"]:
        (tmp_path / name).write_bytes(b"PAR1")
    client = SandboxClient(lake, replace(SMALL, workers=1), PYTHON_WORKER)
    client.data_files = LocalFiles(str(tmp_path), names)
    try:
        assert client(f"open('{tmp_path}/{names[-1]}', 'rb').read()") == [{"value": "b'PAR1'"}]
        assert client(f"open('{tmp_path}/other.parquet', 'rb')") == [{"value": "PermissionError"}]
    finally:
        client.sandbox.close()


@pytest.mark.slow
@on_linux
def test_workers_of_a_release_of_too_many_files_report_that_they_may_read_all(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "MOST_LISTED_FILES", 1)
    client = SandboxClient(lake, replace(SMALL, workers=1))
    try:
        confinement = now(client.sandbox.start(client.file, client.data_files))
        assert any("too many" in missing for missing in confinement.missing)
        assert client("SELECT count(*) AS n FROM measurements WHERE batch_size = 8") == [{"n": 654}]
    finally:
        client.sandbox.close()


@on_linux
def test_the_report_says_what_landlock_restricts(query: SandboxClient) -> None:
    confinement = now(query.sandbox.start(query.file, query.data_files))
    names = ("files", "TCP", "devices", "signals and abstract sockets")
    enforced, missing = ("; ".join(told) for told in (confinement.in_force, confinement.missing))
    for name, since in zip(names, (1, 4, 5, 6), strict=True):
        assert name in (enforced if landlock_version() >= since else missing)


@pytest.mark.parametrize("output", OUTPUTS)
def test_every_output_format_is_written_by_confined_workers(query: SandboxClient, output: str) -> None:
    statement = "SELECT *, [1, 2] AS a, {'a': 'x'} AS b, now() AS c, 'b'::BLOB AS d FROM trials, measurements LIMIT 9"

    async def size() -> int:
        with await query.sandbox.run(query.file, query.data_files, statement, output=output) as result:
            assert result.rows == 9
            return result.size

    assert now(size()) > 100

"""What a worker can't do even if the check of statements fails, or DuckDB has a hole."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from ast import literal_eval
from pathlib import Path

import pytest

from losslake_service.sandbox.errors import SqlProblem
from losslake_service.sandbox.kernel_filters import has_seccomp, landlock_version
from tests.servers.processes import SECONDS, wait_until
from tests.service.sandbox.sandbox_client import (
    SMALL,
    SandboxClient,
    now,
    on_linux,
    state_of,
    with_landlock,
    with_seccomp,
)

ROOT = Path(__file__).parents[3]

WRITES = [
    "COPY (SELECT 1) TO '{data}/x.parquet'",
    "COPY (SELECT 1) TO '{parquet}'",
    "COPY (SELECT 1) TO '{file}.wal' (FORMAT csv)",
    "COPY (SELECT 1) TO '{file}' (FORMAT csv)",
    "COPY (SELECT 1) TO '{lake}/x.csv'",
    "EXPORT DATABASE '{data}/x'",
    "ATTACH '{data}/x.duckdb' AS x",
    "ATTACH '{lake}/catalog.db' AS x",
    "CREATE TABLE x AS SELECT 1",
    "DROP VIEW trials",
    "DELETE FROM base.trials",
    "INSERT INTO base.goals SELECT * FROM base.goals",
    "CHECKPOINT",
    "PRAGMA enable_profiling = 'json'",
    "SET profiling_output = '{data}/x'",
    "SET log_query_path = '{data}/x'",
    "CALL enable_logging(storage = 'file', storage_path = '{data}')",
    "SET temp_directory = '{data}'",
    "CREATE PERSISTENT SECRET s (TYPE http)",
]
READS = [
    "FROM read_text('/etc/passwd')",
    "FROM '/etc/hosts.csv'",
    "FROM read_blob('/proc/self/environ')",
    "FROM read_blob('{lake}/catalog.db')",
    "FROM read_blob('{data}/../catalog.db')",
    "FROM read_blob('{data}/link')",
    "ATTACH '{lake}/catalog.db' AS x",
    "FROM read_csv('http://127.0.0.1:{port}/x.csv')",
    "FROM 's3://bucket/x.parquet'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "LOAD '{data}/x.duckdb_extension'",
    "SELECT getenv('PATH')",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "SET allowed_directories = ['/']",
    "SET memory_limit = '100GB'",
    "SET GLOBAL max_execution_time = 0",
]


@pytest.fixture
def places(unchecked: SandboxClient) -> dict[str, object]:
    data = unchecked.lake.folder / "warehouse"
    return {
        "data": data,
        "lake": unchecked.lake.folder,
        "file": unchecked.file,
        "parquet": next(data.rglob("*.parquet")),
        "port": 1,
    }


@pytest.mark.parametrize("statement", WRITES)
def test_unchecked_statements_change_no_file(
    unchecked: SandboxClient, places: dict[str, object], statement: str
) -> None:
    before = state_of(unchecked.lake.folder)
    unchecked.outcome(statement.format(**places))
    assert state_of(unchecked.lake.folder) == before


@pytest.mark.parametrize("statement", READS)
def test_unchecked_statements_reach_nothing_but_the_release(
    unchecked: SandboxClient, places: dict[str, object], statement: str
) -> None:
    link = unchecked.lake.folder / "warehouse" / "link"
    link.symlink_to("/etc/passwd")
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(0.05)
            places["port"] = server.getsockname()[1]
            assert isinstance(unchecked.outcome(statement.format(**places)), SqlProblem)
            with pytest.raises(TimeoutError):
                server.accept()
    finally:
        link.unlink()


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("SET VARIABLE x = 42", "SELECT getvariable('x') AS a"),
        ("CREATE TEMP TABLE x AS SELECT 42 AS a", "FROM x"),
        ("CREATE TEMP VIEW x AS SELECT 42 AS a", "FROM x"),
        ("CREATE TEMP MACRO x() AS 42", "SELECT x() AS a"),
        ("PREPARE x AS SELECT 42 AS a", "EXECUTE x"),
        ("CREATE SEQUENCE temp.x START 42", "SELECT nextval('temp.x') AS a"),
        ("CREATE TEMP TABLE trials AS SELECT 42 AS a", "SELECT a FROM trials"),
    ],
)
def test_nothing_of_one_statement_reaches_the_next(unchecked: SandboxClient, first: str, then: str) -> None:
    worker = unchecked.sandbox._idle[0]._process.pid
    for _ in SMALL.statements_per_worker * [None]:
        unchecked.outcome(first)
        outcome = unchecked.outcome(then)
        assert isinstance(outcome, SqlProblem) or outcome == [{"a": None}]
        if unchecked.sandbox._idle[0]._process.pid == worker:
            return
    pytest.fail("no worker was asked twice")


def test_neither_seeds_nor_schemas_are_kept(unchecked: SandboxClient) -> None:
    numbers = set()
    for _ in range(3):
        unchecked("SELECT setseed(0.5) AS a")
        unchecked.outcome("USE base")
        numbers.add(unchecked("SELECT random() AS a")[0]["a"])
        assert unchecked("SELECT current_schema() AS a") == [{"a": "main"}]
    assert len(numbers) == 3


@with_landlock
@with_seccomp
@pytest.mark.parametrize(
    "code",
    [
        "open('/etc/passwd')",
        "open('/proc/self/environ')",
        "open('{lake}/catalog.db')",
        "open('{data}/x', 'w')",
        "open('{file}', 'r+')",
        "open('{parquet}', 'r+')",
        "open('/tmp/losslake-x', 'w')",
        "os.listdir('/')",
        "os.listdir('{lake}')",
        "os.mkdir('{data}/x')",
        "os.unlink('{parquet}')",
        "os.rename('{parquet}', '{data}/x')",
        "os.symlink('/etc/passwd', '{data}/x')",
        "os.truncate('{parquet}', 0)",
        "os.chmod('{file}', 0o777)",
        "os.utime('{file}')",
        "os.setxattr('{file}', 'user.x', b'x')",
        "os.fork()",
        "os.execv('/bin/sh', ['sh'])",
        "os.posix_spawn('/bin/sh', ['sh'], {{}})",
        "os.kill(os.getppid(), 0)",
        "os.kill(1, 0)",
        "os.pidfd_open(os.getppid())",
        "socket.socket()",
        "socket.socket(socket.AF_UNIX)",
        "socket.socketpair()",
        "socket.create_connection(('127.0.0.1', {port}))",
        "resource.prlimit(os.getppid(), resource.RLIMIT_CPU)",
    ],
)
def test_compromised_worker_is_still_confined(python_sandbox: SandboxClient, code: str) -> None:
    """Landlock and seccomp hold whatever the process runs."""
    data = python_sandbox.lake.folder / "warehouse"
    facts = {
        "data": data,
        "lake": python_sandbox.lake.folder,
        "file": python_sandbox.file,
        "parquet": next(data.rglob("*.parquet")),
    }
    before = state_of(python_sandbox.lake.folder)
    (row,) = python_sandbox(code.format(**facts, port=1))
    assert row["value"] == "PermissionError"
    assert state_of(python_sandbox.lake.folder) == before


@on_linux
def test_every_table_of_the_release_can_be_read(python_sandbox: SandboxClient) -> None:
    """Or else the test above would prove nothing."""
    parquet = next((python_sandbox.lake.folder / "warehouse").rglob("*.parquet"))
    assert python_sandbox(f"open('{parquet}', 'rb').read(4)") == [{"value": "b'PAR1'"}]
    assert python_sandbox("os.getpid() > 1") == [{"value": "True"}]


@on_linux
def test_a_worker_has_no_environment_no_core_and_bounded_resources(python_sandbox: SandboxClient) -> None:
    def value(code: str) -> str:
        return str(python_sandbox(code)[0]["value"])

    assert value("dict(os.environ)") == "{}"
    assert value("resource.getrlimit(resource.RLIMIT_CORE)") == "(0, 0)"
    assert value("resource.getrlimit(resource.RLIMIT_FSIZE)") == "(8000000, 8000000)"
    assert value("0 < resource.getrlimit(resource.RLIMIT_AS)[1] < 3_000_000_000") == "True"
    cpu, limit = SMALL.seconds * (SMALL.threads + 1), int(value("resource.getrlimit(resource.RLIMIT_CPU)[0]"))
    assert cpu < limit <= cpu + float(value("sum(resource.getrusage(resource.RUSAGE_SELF)[:2])")) + 1
    assert value("[os.readlink(f'/proc/self/fd/{n}') for n in (0, 1)]") == str(["/dev/null"] * 2)
    assert value("os.readlink('/proc/self/fd/2')").startswith("'pipe:")


@on_linux
def test_a_statement_has_the_whole_limit_whatever_an_earlier_one_left(python_sandbox: SandboxClient) -> None:
    def worker_and_limit(limit: str) -> tuple[int, int]:
        worker, bytes_ = literal_eval(str(python_sandbox(f"(os.getpid(), {limit})")[0]["value"]))
        return worker, bytes_

    left, limit = 80_000_000, "resource.getrlimit(resource.RLIMIT_AS)[0]"
    worker, before = worker_and_limit(limit)
    python_sandbox(f"globals().update(left=bytearray({left}))")
    # The same text isn't run again.
    still, after = worker_and_limit(f"{limit} + 0")
    assert still == worker
    assert after - before >= left / 2


@on_linux
def test_confinement_is_reported(query: SandboxClient) -> None:
    confinement = now(query.sandbox.start(query.file, query.data_files))
    told = "; ".join(confinement.in_force)
    assert ("Landlock" in told) == (landlock_version() > 0)
    assert ("seccomp" in told) == has_seccomp()
    assert "400 MB of memory, 60 s" in told
    assert ("user" in told) or confinement.missing


FAILING = [
    "SELECT foo FROM measurements",
    "SELECT CAST(collection AS INTEGER) FROM measurements",
    "FROM read_parquet('x')",
    "EXPLAIN ANALYZE FROM measurements",
    "SELECT error(collection) FROM measurements",
]
TELLING = [
    "EXPLAIN SELECT * FROM measurements",
    "EXPLAIN SELECT * FROM measurements WHERE batch_size = 8 AND value < 0.3",
    "EXPLAIN FROM trials",
    "SHOW ALL TABLES",
    "DESCRIBE measurements",
    "SUMMARIZE goals",
    "FROM information_schema.tables",
    "FROM information_schema.columns",
    "FROM information_schema.schemata",
]


@pytest.mark.parametrize("statement", FAILING + TELLING)
def test_neither_errors_nor_results_name_a_path_of_the_server(query: SandboxClient, statement: str) -> None:
    outcome = query.outcome(statement)
    assert isinstance(outcome, SqlProblem) == (statement in FAILING)
    for secret in (
        str(query.lake.folder),
        str(query.lake.folder.parent),
        sys.prefix,
        str(ROOT),
        os.environ.get("HOME", "~"),
    ):
        assert secret not in str(outcome)


_PARENT = """
import asyncio, os, signal, sys
from pathlib import Path
from losslake_service.sandbox.sandbox import SqlSandbox
sandbox = SqlSandbox()
asyncio.run(sandbox.start(Path(sys.argv[1]), Path(sys.argv[2])))
print(*(worker._process.pid for worker in [*sandbox._idle, sandbox._spare]), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@on_linux
@pytest.mark.slow
def test_workers_die_with_the_service(query: SandboxClient) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PARENT, str(query.file), str(query.lake.folder / "warehouse")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    workers = [int(text) for text in done.stdout.split()]
    assert len(workers) == 3, done.stderr
    wait_until(lambda: not any(map(_is_alive, workers)), "all workers have ended")


def _is_alive(process: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_worker_starts_without_pandas(python_sandbox: SandboxClient) -> None:
    (row,) = python_sandbox("'pandas' in __import__('sys').modules")
    assert row["value"] == "False"

"""`losslake sql --url` is the same shell as on a local lake."""

from __future__ import annotations

import io
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from losslake.index.serving import open_release
from losslake.lake.lake import Lake
from tests.cli.conftest import Run
from tests.cli.terminal import PROMPT, Terminal
from tests.cli.web import FOREVER, Fault, Reply, Web, as_json, running
from tests.forked import start_command
from tests.servers.processes import SECONDS, wait_until

pytestmark = pytest.mark.slow

ARROW = {"Content-Type": "application/vnd.apache.arrow.stream"}


@pytest.fixture(scope="module")
def service(lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """Yield a service that runs any SQL on the session's lake, without checks."""
    connection = open_release(lake, lake.release())

    def answer(body: dict[str, Any]) -> Reply:
        assert body["release"] == 1
        try:
            reader = connection.cursor().sql(body["sql"]).to_arrow_reader(1000)
        except duckdb.Error as error:
            problem = {"type": "urn:losslake:problem:bad-sql", "detail": f"the service says: {error}"}
            return Reply([as_json(problem)], 422, {"Content-Type": "application/problem+json"})
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
        data = sink.getvalue()
        return Reply([data[at : at + 1000] for at in range(0, len(data), 1000)], 200, ARROW)

    with running() as web:
        web.serve_release(lake, tmp_path_factory.mktemp("served") / "1")
        web.posts["/v1/sql"] = answer
        yield web
    connection.close()


@pytest.fixture
def web(service: Web) -> Iterator[Web]:
    service.requests.clear()
    yield service
    service.faults.clear()


STATEMENTS = [
    "SELECT trial_id, status, parameters FROM trials ORDER BY ALL",
    "SELECT * FROM measurements ORDER BY ALL",
    "SELECT sum(1), 1.50::DECIMAL(5, 2), 'nan'::DOUBLE, NULL, '-inf'::FLOAT, true, DATE '2020-01-02'",
    "SELECT [1, 2], {'a': 1, 'b': [0.1]}, 'x'::ENUM('x', 'y'), 'a\\x00b'::BLOB, TIMESTAMP '2020-01-02 03:04:05'",
    "SELECT 'a;b' AS \"a;b\"; SELECT 2 -- two\n;",
    "DESCRIBE trials",
    "EXPLAIN SELECT 1",
    "FROM range(3000)",
    "SELECT 1 WHERE false",
]


# Every statement as a table, and two of them in every format.
@pytest.mark.parametrize(
    ("statement", "format_"),
    [
        *((statement, "table") for statement in STATEMENTS),
        *((statement, format_) for statement in STATEMENTS[2:4] for format_ in ("csv", "json")),
    ],
)
def test_every_format_prints_the_same_as_on_a_lake(losslake: Run, web: Web, statement: str, format_: str) -> None:
    here = losslake("sql", "-c", statement, "--format", format_)
    there = losslake("sql", "--url", web.url, "-c", statement, "--format", format_)
    assert there.stderr == here.stderr == ""
    assert there.stdout == here.stdout


def test_parquet_is_the_same_as_on_a_lake(losslake: Run, web: Web, tmp_path: Path) -> None:
    statement = "SELECT * FROM measurements ORDER BY ALL"
    for name, where in (("here", ()), ("there", ("--url", web.url))):
        output = tmp_path / f"{name}.parquet"
        done = losslake("sql", *where, "-c", statement, "--format", "parquet", "--output", output)
        assert done.returncode == 0, done.stderr
    assert str(pq.read_table(tmp_path / "here.parquet")) == str(pq.read_table(tmp_path / "there.parquet"))


def test_a_script_is_read_from_standard_input(losslake: Run, web: Web) -> None:
    done = losslake("sql", "--url", web.url, "--format", "csv", stdin="SELECT 1 AS a;\nSELECT 2 AS b;")
    assert done.stdout == "a\n1\nb\n2\n"


def test_the_requested_release_is_queried(losslake: Run, web: Web) -> None:
    assert losslake("sql", "--url", web.url, "--release", 1, "-c", "SELECT 1").returncode == 0
    done = losslake("sql", "--url", web.url, "--release", 7, "-c", "SELECT 1")
    assert done.returncode == 1
    assert "has no release 7" in done.stderr


def test_a_truncated_result_is_printed_with_a_warning(losslake: Run, web: Web) -> None:
    web.faults["/v1/sql"] = Fault(headers={"LossLake-Truncated": "rows"})
    done = losslake("sql", "--url", web.url, "-c", "SELECT 1 AS a", "--format", "csv")
    assert (done.returncode, done.stdout) == (0, "a\n1\n")
    assert "truncated the result at its limit on rows" in done.stderr


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("SELECT nothing", "the service says: Binder Error"),
        ("no sql at all", "the service says: Parser Error"),
        ("  ;", ""),
    ],
)
def test_the_service_checks_the_statement(losslake: Run, web: Web, statement: str, says: str) -> None:
    done = losslake("sql", "--url", web.url, "-c", statement)
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == (1 if says else 0)


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (Fault(drop_after=200), "the connection was lost"),
        (Fault(drop_after=1500), "the connection was lost"),
        (Fault(status=503, body=b'{"detail": "took too long"}'), "took too long"),
        (Fault(headers={"Content-Type": "text/html"}), "does not return Arrow"),
        (Fault(headers={"Content-Encoding": "gzip"}), "incorrect header"),
    ],
)
def test_a_failed_response_is_one_line_and_is_not_retried(losslake: Run, web: Web, fault: Fault, says: str) -> None:
    web.faults["/v1/sql"] = fault
    done = losslake("sql", "--url", web.url, "-c", "FROM range(3000)", "--format", "csv")
    assert done.returncode == 1
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert [request.method for request in web.requests].count("POST") == 1


def test_a_busy_service_is_retried_after_retry_after(losslake: Run, web: Web) -> None:
    web.faults["/v1/sql"] = Fault(status=429, headers={"Retry-After": "0"})
    assert losslake("sql", "--url", web.url, "-c", "SELECT 1").returncode == 0
    assert [request.method for request in web.requests].count("POST") == 2


def test_an_incomplete_output_file_does_not_appear(losslake: Run, web: Web, tmp_path: Path) -> None:
    web.faults["/v1/sql"] = Fault(drop_after=1500)
    output = tmp_path / "out.csv"
    done = losslake("sql", "--url", web.url, "-c", "FROM range(3000)", "--format", "csv", "--output", output)
    assert done.returncode == 1
    assert list(tmp_path.glob("*out*")) == []


def test_ctrl_c_cancels_a_waiting_statement(web: Web, tmp_path: Path) -> None:
    web.faults["/v1/sql"] = Fault(pause_s=FOREVER)
    process = start_command(["sql", "--url", web.url, "-c", "SELECT 1"], tmp_path / "complaint")
    wait_until(lambda: any(request.method == "POST" for request in web.requests), "the statement is sent")
    process.send_signal(signal.SIGINT)
    assert process.wait(SECONDS) == 130
    assert (tmp_path / "complaint").read_text() == "losslake: stopped\n"


def test_the_shell_works_on_a_service(web: Web, lake: Lake, tmp_path: Path) -> None:
    shell = Terminal(["sql", "--url", web.url], lake.folder, tmp_path)
    try:
        shell.wait_for(f"release 1 of {web.url}")
        shell.wait_for(PROMPT)
        shell.type("SELECT 40 + 2\r")
        shell.wait_for("...")
        shell.type("AS answer;\r")
        shell.wait_for("42")
        shell.wait_for(PROMPT)
        shell.type("SELECT nothing;\r")
        shell.wait_for("the service says: Binder Error")
        shell.wait_for(PROMPT)
        shell.type(".schema trials\r")
        shell.wait_for("last_step")
        shell.wait_for(PROMPT)
        web.faults["/v1/sql"] = Fault(pause_s=FOREVER)
        before = len(web.requests)
        shell.type("SELECT 1;\r")
        wait_until(lambda: len(web.requests) > before, "the statement is sent")
        shell.type("\x03")
        shell.wait_for("losslake: stopped")
        shell.wait_for(PROMPT)
        shell.type("SELECT 1;\r\x03\x03\x03")
        shell.wait_for("losslake: stopped")
        shell.wait_for(PROMPT)
        shell.type("SELECT count(*) FROM steps_to_res\t")
        shell.wait_for("ult")
        shell.type(";\r")
        shell.wait_for("(1 row)")
        shell.wait_for(PROMPT)
        shell.type("\x03")
        shell.type("\x04")
        assert shell.ends() == 0
    finally:
        shell.process.kill()
    assert "AS answer" in (tmp_path / "losslake/sql_history").read_text()

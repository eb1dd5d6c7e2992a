"""`losslake mcp` serves the tools over standard input and output, and SQL in its sandbox."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TextIO

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client._transport import TransportStreams
from mcp.server.stdio import stdio_server

from losslake.lake.lake import Lake
from losslake_cli.main import main
from tests.forked import Forked
from tests.servers.processes import SECONDS
from tests.service.assistants.conftest import METRIC, RESNET, use

COMMAND = ["-m", "losslake", "mcp", "--lake"]


async def work(client: Client) -> list[Any]:
    """Find a workload, ask about it in a tool and in SQL, and be refused a file."""
    found = await client.call_tool("search_workloads", {"q": "resnet50 lars"})
    scaling = await client.call_tool("scaling", {"workload": RESNET, "measure": "seconds"})
    counted = await client.call_tool("sql", {"sql": f"SELECT count(*) AS n FROM steps_to('{METRIC}', 0.759)"})
    refused = await client.call_tool("sql", {"sql": "FROM read_csv('/etc/passwd')"})
    assert refused.is_error
    return [each.structured_content for each in (found, scaling, counted)]


def check(answers: list[Any]) -> None:
    found, scaling, counted = answers
    assert [row["workload"] for row in found["rows"]] == [RESNET]
    assert [row["amount"] for row in scaling["rows"]] == [125.0, 84.0]
    assert scaling["page"].startswith(f"/workloads/{RESNET}?")
    assert counted["rows"] == [{"n": 8}]


def test_an_assistant_finds_asks_and_runs_sql_over_standard_streams(
    resnet: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOSSLAKE_SQL_WORKERS", "1")
    (input_, to_server), (from_server, output) = os.pipe(), os.pipe()
    server = Forked(run_command, str(resnet.folder), streams={0: input_, 1: output}, may_start_others=True)
    os.close(input_)
    os.close(output)
    with os.fdopen(from_server) as answers, os.fdopen(to_server, "w") as questions:
        check(use(connected(answers, questions), work))
    assert server.wait(SECONDS) == 0


@pytest.mark.slow
def test_an_assistant_that_starts_the_command_finds_asks_and_runs_sql(resnet: Lake) -> None:
    environment = {**os.environ, "LOSSLAKE_SQL_WORKERS": "1"}
    check(
        use(StdioServerParameters(command=sys.executable, args=[*COMMAND, str(resnet.folder)], env=environment), work)
    )


@pytest.mark.slow
def test_a_folder_without_a_lake_ends_the_command_with_a_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, *COMMAND, str(tmp_path)], input=b"", capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (1, b"")
    assert len(done.stderr.splitlines()) == 1


@asynccontextmanager
async def connected(answers: TextIO, questions: TextIO) -> AsyncIterator[TransportStreams]:
    """Yield the streams of a client; what it wrote to is closed at the end, which ends the server."""
    async with stdio_server(anyio.wrap_file(answers), anyio.wrap_file(questions)) as streams:
        try:
            yield streams
        finally:
            questions.close()


def run_command(folder: str) -> None:
    sys.argv = ["losslake", "mcp", "--lake", folder]
    main()

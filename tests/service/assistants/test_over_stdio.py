"""`losslake mcp` serves the tools over standard input and output, and SQL in its sandbox."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from losslake.lake.lake import Lake
from tests.service.assistants.conftest import METRIC, RESNET, use

COMMAND = ["-m", "losslake", "mcp", "--lake"]


def test_an_assistant_that_starts_the_command_finds_asks_and_runs_sql(resnet: Lake) -> None:
    async def work(client: Client) -> list[Any]:
        found = await client.call_tool("search_workloads", {"q": "resnet50 lars"})
        scaling = await client.call_tool("scaling", {"workload": RESNET, "measure": "seconds"})
        counted = await client.call_tool("sql", {"sql": f"SELECT count(*) AS n FROM steps_to('{METRIC}', 0.759)"})
        refused = await client.call_tool("sql", {"sql": "FROM read_csv('/etc/passwd')"})
        assert refused.is_error
        return [each.structured_content for each in (found, scaling, counted)]

    environment = {**os.environ, "LOSSLAKE_SQL_WORKERS": "1"}
    server = StdioServerParameters(command=sys.executable, args=[*COMMAND, str(resnet.folder)], env=environment)
    found, scaling, counted = use(server, work)
    assert [row["workload"] for row in found["rows"]] == [RESNET]
    assert [row["amount"] for row in scaling["rows"]] == [125.0, 84.0]
    assert scaling["page"].startswith(f"/workloads/{RESNET}?")
    assert counted["rows"] == [{"n": 8}]


@pytest.mark.slow
def test_a_folder_without_a_lake_ends_the_command_with_a_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, *COMMAND, str(tmp_path)], input=b"", capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (1, b"")
    assert len(done.stderr.splitlines()) == 1

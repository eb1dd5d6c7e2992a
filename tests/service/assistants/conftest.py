"""A lake with a workload of ResNet-50, a service over it, and the client of the SDK."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from itertools import product
from typing import Any

import httpx
import pytest
from mcp import Client, StdioServerParameters
from mcp.client import Transport

from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from tests.servers.processes import SECONDS
from tests.service.running import Running, served

RESNET, METRIC, TARGET = "mlperf-training/imagenet/resnet/lars", "val/accuracy", 0.759
MAPPING = f"""
[collection]
name = "mlperf-training"
[run]
dataset = "imagenet"
model = "resnet"
[path]
patterns = ["{{optimizer}}/{{batch_size:int}}/{{trial_id:int}}.csv"]
[metrics]
accuracy = "{METRIC}"
[time]
elapsed_s = "elapsed_s"
[[goal]]
metric = "{METRIC}"
target = {TARGET}
source = "MLPerf Training rules"
"""
OTHER = RESNET.replace("lars", "sgd")
Use = Callable[[Client], Awaitable[Any]]


@pytest.fixture(scope="package")
def resnet(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Create the lake: the trial with the fewest steps isn't the fastest."""
    folder = tmp_path_factory.mktemp("resnet")
    (folder / "logs").mkdir()
    (folder / "logs/losslake.toml").write_text(MAPPING)
    trials = [(256, 1, 400, 0.5), (256, 2, 500, 0.25), (1024, 1, 120, 0.7), (1024, 2, 0, 1)]
    for optimizer, (size, number, reached, pace) in product(("lars", "sgd"), trials):
        path = folder / f"logs/{optimizer}/{size}/{number}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [
            f"{step},{0.76 if reached and step >= reached else step / 1e4!r},{step * pace!r}"
            for step in range(0, 601, 10)
        ]
        path.write_text("\n".join(["step,accuracy,elapsed_s", *lines]) + "\n")
    lake = Lake.create(folder / "lake")
    summary = ingest(lake, [folder / "logs"])
    assert not summary.quarantined, summary.quarantined
    return lake


@pytest.fixture(scope="package")
def running(resnet: Lake) -> Iterator[Running]:
    with served(resnet.folder, lake=str(resnet.folder), sql_enabled=True, sql_workers=1, sql_seconds=2) as running:
        yield running


@pytest.fixture(scope="package")
def service(running: Running) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=running.url, timeout=SECONDS) as client:
        yield client


def use(server: str | StdioServerParameters | Transport, work: Use) -> Any:
    """Return what the work gets, as a client of the server."""

    async def run() -> Any:
        async with Client(server) as client:
            return await work(client)

    return asyncio.run(asyncio.wait_for(run(), SECONDS))


def call(server: str | StdioServerParameters, tool: str, **arguments: Any) -> Any:
    """Return the answer of a tool, or its error as a text."""

    async def work(client: Client) -> Any:
        result = await client.call_tool(tool, arguments)
        return result.content[0].text if result.is_error else result.structured_content  # type: ignore[union-attr]

    return use(server, work)

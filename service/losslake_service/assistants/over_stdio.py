"""The tools over standard input and output, for an assistant that starts `losslake mcp` itself."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from dataclasses import replace

from mcp.server.stdio import stdio_server

from losslake.lake.lake import SECONDS_TO_ANSWER, Lake
from losslake.questions.release.releases import Releases
from losslake_service.assistants.calls import Tools
from losslake_service.assistants.server import make_server
from losslake_service.operation.logs import configure_logging
from losslake_service.operation.metrics import Metrics
from losslake_service.routes.sql_statements import SqlStatements
from losslake_service.settings import Settings


def serve_stdio(settings: Settings) -> None:
    """Serve the tools until standard input ends; raises LossLakeError if the lake can't be opened."""
    lake = Lake.open(settings.location)
    lake.release()
    lake = replace(lake, seconds_to_read=SECONDS_TO_ANSWER)
    configure_logging(settings)
    asyncio.run(_serve(settings, Releases(lake, settings.seconds_between_looks, settings.releases_open)))


async def _serve(settings: Settings, releases: Releases) -> None:
    sql = SqlStatements(settings, releases, Metrics()) if settings.sql_enabled else None
    server = make_server(Tools(releases, sql), settings.public_url)
    # Standard output is the protocol's before anything else starts.
    async with stdio_server() as (messages, replies):
        await asyncio.to_thread(releases.start)
        try:
            async with sql.lifespan() if sql is not None else nullcontext():
                await server.run(messages, replies, server.create_initialization_options())
        finally:
            await asyncio.to_thread(releases.stop)

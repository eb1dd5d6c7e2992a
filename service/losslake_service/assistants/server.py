"""The server of the Model Context Protocol, for either transport. Imported when it is first used, in a second."""

from __future__ import annotations

import logging
from typing import Any

import orjson
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    ToolAnnotations,
)
from mcp.types import Tool as ListedTool
from starlette.requests import ClientDisconnect

from losslake import __version__
from losslake_service.assistants.calls import Tools
from losslake_service.assistants.short_answers import visible
from losslake_service.assistants.tools import INSTRUCTIONS, UNTRUSTED
from losslake_service.files.release_documents import base_url
from losslake_service.problems import error_detail

_READ_ONLY = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)


def make_server(tools: Tools, public_url: str | None) -> Server[Any]:
    """Return the server of these tools. public_url: of the service, for links; default: that of the request."""
    # It has a line for each request, which the log of requests has already.
    logging.getLogger("mcp").setLevel(logging.WARNING)

    async def list_tools(_: ServerRequestContext[Any], __: PaginatedRequestParams | None) -> ListToolsResult:
        listed = [
            ListedTool(
                name=each.name,
                description=f"{each.description} {UNTRUSTED}",
                input_schema=each.schema,
                annotations=_READ_ONLY,
            )
            for each in tools.by_name.values()
        ]
        return ListToolsResult(tools=listed)

    async def call_tool(context: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        if params.name not in tools.by_name:
            names = ", ".join(tools.by_name)
            raise MCPError(INVALID_PARAMS, f"there is no tool '{visible(params.name[:100])}': call one of {names}")
        request = context.request
        address = public_url.rstrip("/") if public_url else base_url(request) if request is not None else ""
        try:
            document = await tools.call(params.name, params.arguments or {}, request, address)
        except ClientDisconnect:
            return CallToolResult(content=[], is_error=True)
        except Exception as error:  # noqa: BLE001 whatever it is, the client gets a line
            # As JSON, since similar names, which it may propose, are a stranger's texts as well.
            line = visible(await error_detail(error))
            return CallToolResult(content=[TextContent(text=orjson.dumps({"error": line}).decode())], is_error=True)
        text = orjson.dumps(document).decode()
        return CallToolResult(content=[TextContent(text=text)], structured_content=document)

    return Server(
        "losslake",
        version=str(__version__),
        title="LossLake: training curves",
        instructions=f"{INSTRUCTIONS} {UNTRUSTED}",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )

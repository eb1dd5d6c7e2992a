"""The command for assistants: `losslake mcp`."""

from __future__ import annotations

from losslake_cli.console import LakeOption
from losslake_cli.serve import ConfigOption


def mcp(lake: LakeOption = None, config: ConfigOption = None) -> None:
    """Serve read-only tools to an assistant over MCP.

    It speaks the Model Context Protocol over standard input and output: configure 'losslake mcp --lake FOLDER' in
    the assistant. A running service has the same tools at /mcp. SQL runs in the sandbox and within the limits of the
    service.
    """
    from losslake_service.assistants.over_stdio import serve_stdio
    from losslake_service.settings import load_settings

    serve_stdio(load_settings(config, {"lake": lake}).settings)

"""`losslake serve`."""

from __future__ import annotations

from typing import Annotated

import typer

from losslake.console import LakeOption


def serve(
    lake: LakeOption = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Number of processes.")] = 1,
) -> None:
    """Answer questions over HTTP until Ctrl-C."""
    from schema.lake import Lake
    from service.serve import serve as run

    run(Lake.open(lake), host, port, workers)

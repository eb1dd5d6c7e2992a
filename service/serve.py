"""Serving a lake over HTTP until told to stop."""

from __future__ import annotations

import os
import socket
import sys

import uvicorn
from fastapi import FastAPI
from uvicorn.supervisors import Multiprocess

from schema.errors import LossLakeError
from schema.lake import Lake
from service.app import create_app
from service.examples import example_paths
from service.release_view import ReleaseView

_LAKE = "LOSSLAKE_LAKE"
_WAITING_CONNECTIONS = 2048


def serve(lake: Lake, host: str, port: int, workers: int) -> None:
    """Answer questions about a lake until Ctrl-C or SIGTERM; raises LossLakeError if that can't begin.

    The newest release is opened first, so that no worker has to build its file. port: 0 for any that is free.
    """
    view = ReleaseView.open(lake, lake.release())
    listening = _listen(host, port)
    with listening:
        _greet(listening, view)
        os.environ[_LAKE] = str(lake.folder)
        config = uvicorn.Config(
            "service.serve:application",
            factory=True,
            host=host,
            port=port,
            workers=workers,
            log_level="warning",
            access_log=False,
            server_header=False,
        )
        try:
            if workers > 1:
                Multiprocess(config, sockets=[listening]).run()
            else:
                uvicorn.Server(config).run(sockets=[listening])
        except KeyboardInterrupt:
            # uvicorn has closed down in good order and then raises the Ctrl-C that it caught.
            return


def application() -> FastAPI:
    """The application for the lake that $LOSSLAKE_LAKE names, as each worker makes it."""
    return create_app(Lake.open(os.environ[_LAKE]))


def _listen(host: str, port: int) -> socket.socket:
    """A listening socket; connections wait in it until the workers are up."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=_WAITING_CONNECTIONS)
    except OSError as error:
        is_unknown_host = isinstance(error, socket.gaierror)
        reason = error.strerror if is_unknown_host or error.errno is None else os.strerror(error.errno)
        raise LossLakeError(f"can't listen on {host}:{port} ({reason}): give another --host or --port") from None


def _greet(listening: socket.socket, view: ReleaseView) -> None:
    """Say where to look, with questions that this lake can answer."""
    host, port = listening.getsockname()[:2]
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    lines = [f"LossLake serves release {view.number} at {url} (Ctrl-C ends it). For example:"]
    lines += [f"  {url}{path}" for path in example_paths(view)]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()

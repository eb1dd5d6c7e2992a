"""Serving a lake over HTTP until told to stop."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing import connection, parent_process

import uvicorn
from fastapi import FastAPI
from uvicorn.supervisors import Multiprocess

from losslake.lake.lake import Lake
from losslake.questions.release_view import ReleaseView
from losslake_schema.errors import LossLakeError
from losslake_service.app import create_app
from losslake_service.files.delivery import delivery_of
from losslake_service.operation import metrics
from losslake_service.operation.logs import log_to_standard_error
from losslake_service.settings import Settings
from losslake_service.web.examples import example_paths

SECONDS_TO_ANSWER_THE_PARENT = 60

_log = logging.getLogger(__name__)


def serve(settings: Settings) -> None:
    """Answer questions about a lake until Ctrl-C or SIGTERM; raises LossLakeError if that can't begin.

    The newest release is opened first, so that no worker has to build its file. On SIGTERM no more connections are
    taken, requests that run may end within `shutdown_seconds`, and the process exits with 0.
    """
    lake = Lake.open(settings.location)
    delivery_of(lake, settings)
    view = ReleaseView.open(lake, lake.release())
    with _listen(settings) as listening:
        _greet(listening, view)
        log_to_standard_error(settings)
        try:
            if settings.workers > 1:
                with _folder_for_metrics():
                    Workers(_config(settings), sockets=[listening]).run()
            else:
                # uvicorn, once it has closed down in good order, sends the process the signal that it caught.
                signal.signal(signal.SIGTERM, lambda *_: None)
                uvicorn.Server(_config(settings)).run(sockets=[listening])
        except KeyboardInterrupt:
            return


class Workers(Multiprocess):
    """The worker processes, which are replaced when they die."""

    def init_processes(self) -> None:
        """Start them all."""
        super().init_processes()
        self._leave_their_pipes_to_them()

    def terminate_all(self) -> None:
        """Tell them to end; this process must not hold the socket, or connections would wait in it for nobody."""
        for held in self.sockets:
            held.close()
        super().terminate_all()

    def keep_subprocess_alive(self) -> None:
        """Replace workers that died or hang, and say so."""
        before = [process.pid for process in self.processes]
        super().keep_subprocess_alive()
        self._leave_their_pipes_to_them()
        for old, new in zip(before, self.processes, strict=True):
            if old != new.pid:
                _log.warning("worker %s died or hung: %s takes its place", old, new.pid)

    def _leave_their_pipes_to_them(self) -> None:
        """Close their ends here: the answer of a worker that dies when asked how it is would be waited for in vain."""
        for process in self.processes:
            process.child_conn.close()


def application(settings: Settings) -> FastAPI:
    """The application, as each worker makes it."""
    log_to_standard_error(settings)
    _end_with_the_parent()
    return create_app(Lake.open(settings.location), settings)


def _config(settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        partial(application, settings),
        factory=True,
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="on",
        log_config=None,
        # uvicorn tells of its own comings and goings at info, which are nobody's.
        log_level="debug" if settings.log_level == "debug" else "warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=settings.backlog,
        # With so many connections or more, uvicorn refuses requests.
        limit_concurrency=settings.connections + 1,
        timeout_keep_alive=settings.keep_alive_seconds,
        # A busy machine takes its time to start a worker, which is not to be taken for one that hangs.
        timeout_worker_healthcheck=SECONDS_TO_ANSWER_THE_PARENT,
        timeout_graceful_shutdown=settings.shutdown_seconds,
    )


@contextmanager
def _folder_for_metrics() -> Iterator[None]:
    """A folder in which the workers that are started meanwhile count together."""
    with tempfile.TemporaryDirectory(prefix="losslake-metrics-") as folder:
        os.environ[metrics.FOLDER] = folder
        try:
            yield
        finally:
            del os.environ[metrics.FOLDER]


def _end_with_the_parent() -> None:
    """Have a worker end in good order when the process that started it is killed."""
    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        connection.wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="watches the parent", daemon=True).start()


def _listen(settings: Settings) -> socket.socket:
    """A listening socket; connections wait in it until the workers are up."""
    host, port = settings.host, settings.port
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=settings.backlog)
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

"""The HTTP server, with one or more worker processes."""

from __future__ import annotations

import atexit
import gc
import ipaddress
import logging
import os
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from multiprocessing import connection, parent_process
from typing import TypeVar

import uvicorn
from fastapi import FastAPI
from uvicorn.supervisors import Multiprocess

from losslake.index.serving import is_built
from losslake.lake.lake import SECONDS_TO_ANSWER, Lake
from losslake.output.imports import without_pandas
from losslake.questions.release.releases import SECONDS_TO_STOP
from losslake.questions.release.view import ReleaseView
from losslake_schema.errors import LossLakeError
from losslake_service.app import create_app
from losslake_service.files.delivery import delivery_of
from losslake_service.operation import metrics
from losslake_service.operation.connections import Connection
from losslake_service.operation.logs import configure_logging
from losslake_service.settings import ServerSettings, Settings, is_loopback
from losslake_service.web.examples import example_paths

HEALTH_CHECK_SECONDS = 60
# The kernel drops a connection whose client acknowledges or reads nothing for this long, also one that is being closed.
_UNREAD_SECONDS = 30

# Return the lines that greet whoever started the server at a URL.
Greeting = Callable[[str], Sequence[str]]
Server = TypeVar("Server", bound=ServerSettings)
_log = logging.getLogger(__name__)


def serve(settings: Settings) -> None:
    """Serve a lake until Ctrl-C or SIGTERM; raise LossLakeError if the server can't start.

    If files of the newest release have to be built, the server answers /healthz meanwhile. On SIGTERM it stops
    accepting connections, waits up to `shutdown_seconds` for running requests, and exits with 0.
    """

    def prepare() -> Greeting:
        lake = Lake.open(settings.location)
        delivery_of(lake, settings)
        release = lake.release()
        view = ReleaseView.open(lake, release) if is_built(lake, release) else None
        return lambda url: _greeting(url, view or ReleaseView.open(lake, release))

    run(settings, prepare, application)


def run(settings: Server, prepare: Callable[[], Greeting], application: Callable[[Server], FastAPI]) -> None:
    """Run an application in worker processes until Ctrl-C or SIGTERM; raise LossLakeError if it can't start.

    prepare: called before the server listens; returns the function that gives the lines to print for its URL, which may
    take long and is called in a thread: if it raises LossLakeError, the server stops.
    application: makes the application in a worker process, so it has to be a function of a module.
    """
    without_pandas()
    # Until uvicorn handles signals, and when it raises again the one that it stopped for.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        _run(settings, prepare, application)
    except KeyboardInterrupt:
        return
    finally:
        signal.signal(signal.SIGTERM, before)


def _run(settings: Server, prepare: Callable[[], Greeting], application: Callable[[Server], FastAPI]) -> None:
    """Run an application; raise KeyboardInterrupt on a signal that uvicorn doesn't handle, and LossLakeError."""
    _ = settings.hosts
    greeting = prepare()
    with _listen(settings) as listener:
        settings = settings.model_copy(update={"port": listener.getsockname()[1]})
        configure_logging(settings)
        if os.geteuid() == 0:
            _log.warning(
                "the service runs as root: start it as a user of its own, with no more rights to the lake than it needs"
            )
        config = _config(settings, partial(application, settings))
        with _greeted(partial(greeting, _url(settings))):
            _run_workers(settings, config, listener)


@contextmanager
def _greeted(greeting: Callable[[], Sequence[str]]) -> Iterator[None]:
    """Print a greeting as soon as it is known, beside the server; if that fails, end the server and raise the error."""
    errors: list[Exception] = []

    def greet() -> None:
        try:
            lines = greeting()
        except Exception as error:  # noqa: BLE001 the main thread raises it
            errors.append(error)
            os.kill(os.getpid(), signal.SIGTERM)
            return
        sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()

    thread = threading.Thread(target=greet, name="greets", daemon=True)
    try:
        try:
            thread.start()
            yield
        finally:
            thread.join(SECONDS_TO_STOP)
    finally:
        if errors:
            raise errors[0]


def _run_workers(settings: ServerSettings, config: uvicorn.Config, listener: socket.socket) -> None:
    if settings.workers == 1:
        uvicorn.Server(config).run(sockets=[listener])
        return
    # In which all workers share their metrics.
    with tempfile.TemporaryDirectory(prefix="losslake-metrics-") as folder:
        os.environ[metrics.FOLDER] = folder
        try:
            Workers(config, sockets=[listener]).run()
        finally:
            del os.environ[metrics.FOLDER]


class Workers(Multiprocess):
    """The worker processes; those that die are replaced."""

    def init_processes(self) -> None:
        """Start all workers."""
        super().init_processes()
        self._close_child_pipes()

    def terminate_all(self) -> None:
        """Stop all workers; close the socket first, so that no connection waits in this process's backlog."""
        for sock in self.sockets:
            sock.close()
        super().terminate_all()

    def keep_subprocess_alive(self) -> None:
        """Replace workers that died or hang, and log it."""
        before = [process.pid for process in self.processes]
        super().keep_subprocess_alive()
        self._close_child_pipes()
        for old, new in zip(before, self.processes, strict=True):
            if old != new.pid:
                _log.warning("worker %s died or hung: replaced by %s", old, new.pid)

    def _close_child_pipes(self) -> None:
        """Close the workers' pipe ends here, so that a health check of a dead worker fails instead of waiting."""
        for process in self.processes:
            process.child_conn.close()


def application(settings: Settings) -> FastAPI:
    """Return the application of a worker process."""
    begin_worker(settings)
    # A start waits for a database that restarts; a request is answered soon, if only by 503.
    lake = replace(Lake.open(settings.location), seconds_to_read=SECONDS_TO_ANSWER)
    app = create_app(lake, settings)
    freeze_garbage()
    return app


def begin_worker(settings: ServerSettings) -> None:
    """Prepare the process of a worker: its logs, its end with its parent, and less memory."""
    without_pandas()
    configure_logging(settings)
    _exit_with_parent()


def freeze_garbage() -> None:
    """Exempt what a started worker consists of from garbage collection."""
    # A full garbage collection took 250 ms, in which nobody was answered: modules and routes needn't be looked at.
    gc.freeze()
    # At the end DuckDB's bindings print 60 lines about each of their objects that is left: so nothing stays frozen.
    atexit.register(gc.unfreeze)


def _config(settings: ServerSettings, factory: Callable[[], FastAPI]) -> uvicorn.Config:
    return uvicorn.Config(
        factory,
        factory=True,
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        loop="uvloop",
        http=Connection,
        ws="none",
        lifespan="on",
        log_config=None,
        # At info, uvicorn logs the start and stop of every process.
        log_level="debug" if settings.log_level == "debug" else "warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=settings.backlog,
        # uvicorn refuses requests from this number of connections on.
        limit_concurrency=settings.connections + 1,
        timeout_keep_alive=settings.keep_alive_seconds,
        # Long enough that a worker that starts slowly on a busy machine doesn't count as hung.
        timeout_worker_healthcheck=HEALTH_CHECK_SECONDS,
        timeout_graceful_shutdown=settings.shutdown_seconds,
    )


def _exit_with_parent() -> None:
    """Shut this worker down gracefully when its parent process is killed."""
    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        connection.wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="watches the parent", daemon=True).start()


def _listen(settings: ServerSettings) -> socket.socket:
    """Return a listening socket; connections wait in its backlog until the workers are up."""
    host, port = settings.host, settings.port
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        if os.geteuid() == 0 and not settings.allow_root and not ipaddress.ip_address(address[0]).is_loopback:
            why = f"the service would run as root, and other machines can connect to {host}"
            raise LossLakeError(f"{why}: start it as another user, on --host 127.0.0.1, or with --allow-root")
        listener = socket.create_server(address[:2], family=family, backlog=settings.backlog)
    except OSError as error:
        is_unknown_host = isinstance(error, socket.gaierror)
        reason = error.strerror if is_unknown_host or error.errno is None else os.strerror(error.errno)
        raise LossLakeError(f"can't listen on {host}:{port} ({reason}): give another --host or --port") from None
    if sys.platform == "linux":
        # Accepted connections inherit it.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNREAD_SECONDS * 1000)
    return listener


def _url(settings: ServerSettings) -> str:
    """Return a URL at which the service answers."""
    host = settings.hosts[-1 if is_loopback(settings.host) else 0].removesuffix(":*")
    port = "" if ":" in host.rpartition("]")[2] else f":{settings.port}"
    return f"http://{host}{port}" if is_loopback(settings.host) or not settings.public_url else settings.public_url


def _greeting(url: str, view: ReleaseView) -> list[str]:
    """Return the service's URL, and example requests for this lake, as lines."""
    lines = [f"LossLake serves release {view.number} at {url} (Ctrl-C ends it). For example:"]
    return lines + [f"  {url}{path}" for path in example_paths(view)]

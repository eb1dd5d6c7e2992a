"""A running service in processes of its own."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse

import losslake_service.serve
from losslake_service.files.conditions import ServedFile, Version
from losslake_service.files.file_response import LocalFileResponse
from losslake_service.serve import application
from losslake_service.settings import Settings
from tests.forked import Forked

SECONDS = 60


@dataclass
class Running:
    """The process that was started, the URLs it printed, and what it writes to standard error."""

    process: Forked
    urls: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    reader: threading.Thread = field(default_factory=threading.Thread)

    @property
    def url(self) -> str:
        return "/".join(self.urls[0].split("/")[:3])

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The lines of the log, without the warning where tests run as root."""
        return [json.loads(line) for line in self.errors if "the service runs as root" not in line]

    def wait_for_lines(self) -> None:
        """Once the process has ended: until all that it wrote is there."""
        self.reader.join(SECONDS)


@contextmanager
def served(folder: Path, **settings: Any) -> Iterator[Running]:
    """The service over a lake, without SQL; besides its paths:

    /process gives a worker's id, /slow takes a second, /broken fails, /file/x gives a file of the folder.
    """
    chosen = {"port": 0, "log_format": "json", "sql_enabled": False, **settings}
    (says, said), (errs, erred) = os.pipe(), os.pipe()
    process = Forked(_serve, folder, chosen, streams={1: said, 2: erred}, may_start_others=True)
    os.close(said)
    os.close(erred)
    with os.fdopen(says) as greeting, os.fdopen(errs) as errors:
        running = Running(process)
        running.reader = threading.Thread(target=lambda: running.errors.extend(errors), daemon=True)
        running.reader.start()
        try:
            lines = [greeting.readline() for _ in range(4)]
            running.urls = [line.strip() for line in lines if line.startswith("  http")]
            yield running
        finally:
            process.terminate()
            process.wait(SECONDS)
            running.wait_for_lines()


def _serve(folder: Path, settings: Mapping[str, Any]) -> None:
    # uvicorn starts workers of its own, which import anew: what they make the application with is handed to them.
    losslake_service.serve.application = partial(_with_more_paths, folder)
    losslake_service.serve.serve(Settings.model_validate(settings))


def _with_more_paths(folder: Path, settings: Settings) -> FastAPI:
    app = application(settings)

    async def file(request: Request, name: str) -> Response:
        path = folder / name
        version = Version(f'"{name}"', datetime(2026, 1, 1, tzinfo=UTC))
        found = ServedFile(str(path), path.stat().st_size, version, "application/octet-stream")
        return LocalFileResponse(found, request.headers)

    def slow() -> Response:
        return StreamingResponse(_pieces(), media_type="text/csv")

    for path, answer in {"/process": os.getpid, "/slow": slow, "/broken": lambda: 1 // 0}.items():
        app.add_api_route(path, answer, include_in_schema=False)
    app.add_api_route("/file/{name}", file, methods=["GET", "HEAD"], include_in_schema=False)
    return app


def _pieces() -> Iterator[bytes]:
    for number in range(10):
        yield b"%9d\n" % number
        time.sleep(0.1)

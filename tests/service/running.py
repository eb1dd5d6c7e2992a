"""A running service in processes of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SECONDS = 60
_PROGRAM = """
import os, sys, time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
import service.serve
from fastapi import Request
from fastapi.responses import StreamingResponse
from service.bulk.conditions import Version
from service.bulk.file_response import FileAnswer, ServedFile
from service.settings import Settings

def pieces() -> Iterator[bytes]:
    for number in range(10):
        yield b"%9d\\n" % number
        time.sleep(0.1)

async def file(request: Request, name: str):
    path = Path(__file__).with_name(name)
    version = Version(f'"{name}"', datetime(2026, 1, 1, tzinfo=UTC))
    served = ServedFile(path, path.stat().st_size, version, "application/octet-stream")
    return FileAnswer(served, request.headers)

def with_slow_answers(*arguments):
    app = make(*arguments)
    app.add_api_route("/process", lambda: os.getpid(), include_in_schema=False)
    app.add_api_route("/slow", lambda: StreamingResponse(pieces(), media_type="text/csv"), include_in_schema=False)
    app.add_api_route("/file/{name}", file, methods=["GET", "HEAD"], include_in_schema=False)
    app.add_api_route("/broken", lambda: 1 // 0, include_in_schema=False)
    app.add_api_route("/imported", lambda: [*sys.modules], include_in_schema=False)
    return app

make = service.serve.create_app
service.serve.create_app = with_slow_answers
if __name__ == "__main__":
    service.serve.serve(Settings.model_validate_json(sys.argv[1]))
"""


@dataclass
class Running:
    """The process that was started, the URLs it printed, and what it writes to standard error."""

    process: subprocess.Popen[str]
    urls: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return "/".join(self.urls[0].split("/")[:3])

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.errors]


@contextmanager
def served(folder: Path, **settings: Any) -> Iterator[Running]:
    """The service over a lake, without SQL; besides its paths:

    /process gives a worker's id, /slow takes a second, /broken fails, /file/x gives a file of the folder,
    /imported names a worker's modules.
    """
    program = folder / "program.py"
    program.write_text(_PROGRAM)
    process = subprocess.Popen(
        [sys.executable, str(program), json.dumps({"port": 0, "log_format": "json", "sql_enabled": False, **settings})],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    running = Running(process)
    assert process.stdout is not None
    assert process.stderr is not None
    reader = threading.Thread(target=lambda: running.errors.extend(process.stderr or ()), daemon=True)
    reader.start()
    try:
        lines = [process.stdout.readline() for _ in range(4)]
        running.urls = [line.strip() for line in lines if line.startswith("  http")]
        yield running
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(SECONDS)
        reader.join(SECONDS)
        process.stdout.close()
        process.stderr.close()

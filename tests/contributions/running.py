"""A contribution service in processes of its own, which may be killed, and started again on the same port."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from losslake.lake.lake import Lake
from losslake_contributions.live import watching
from losslake_contributions.people import providers
from losslake_contributions.serve import serve
from losslake_contributions.settings import Settings
from tests.forked import Forked
from tests.servers.processes import SECONDS, accepts, free_port, wait_until


@dataclass
class RunningService:
    """A service that runs, or is to be started again. errors: what it wrote to standard error."""

    lake: Lake
    port: int = field(default_factory=free_port)
    settings: Mapping[str, Any] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    process: Forked | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and return when it answers."""
        erring, erred = os.pipe()
        settings = {"lake": str(self.lake), "port": self.port, "log_format": "json", **self.settings}
        settings |= place_of_key(self.lake)
        with Path(os.devnull).open("w") as nothing:
            streams = {1: nothing.fileno(), 2: erred}
            self.process = Forked(_serve, settings, streams=streams, may_start_others=True)
        os.close(erred)
        threading.Thread(target=self._read, args=(erring,), daemon=True).start()
        process = self.process
        wait_until(lambda: not process.is_running() or accepts(self.port), "the service accepts connections")
        assert process.is_running(), self.errors

    def _read(self, erring: int) -> None:
        with os.fdopen(erring) as lines:
            self.errors.extend(lines)

    def kill(self) -> None:
        """End it without any farewell; its workers, if it has any, end a little later."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(SECONDS)
        wait_until(lambda: not accepts(self.port), "nobody accepts connections")

    def end(self) -> None:
        if self.process is not None:
            self.process.end()


@contextmanager
def running_service(lake: Lake, **settings: Any) -> Iterator[RunningService]:
    """A service over a lake."""
    service = RunningService(lake, settings=settings)
    service.start()
    try:
        yield service
    finally:
        service.end()


def place_of_key(lake: Lake) -> dict[str, Any]:
    """The setting that a lake at two URLs needs."""
    return {} if lake.location.is_folder else {"signing_key_file": f"{lake.store.local_folder or lake.folder}-key"}


def _serve(settings: Mapping[str, Any]) -> None:
    watching.SECONDS_BETWEEN_READS = 0.05  # who follows a page here waits for nothing else
    values = dict(settings)
    providers.PRESETS.update(values.pop("presets", {}))  # of providers on this machine
    serve(Settings.model_validate(values))

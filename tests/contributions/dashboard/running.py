"""The dashboard of a folder in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from losslake_contributions.dashboard.app import DashboardSettings
from losslake_contributions.dashboard.serve import serve
from tests.forked import Forked
from tests.servers.processes import accepts, free_port, wait_until


@contextmanager
def running_dashboard(folder: Path) -> Iterator[str]:
    """Run the dashboard of a folder, without a lake; provide its URL."""
    port = free_port()
    process = Forked(_serve, {"live": str(folder), "port": port, "log_format": "off"}, may_start_others=True)
    try:
        wait_until(lambda: not process.is_running() or accepts(port), "the dashboard accepts connections")
        assert process.is_running()
        yield f"http://127.0.0.1:{port}"
    finally:
        process.end()


def _serve(settings: Mapping[str, Any]) -> None:
    serve(DashboardSettings.model_validate(settings))

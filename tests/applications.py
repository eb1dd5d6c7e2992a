from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from losslake_service.app import create_app
from losslake_service.settings import Settings
from tests.servers.processes import wait_until

HERE = 3600.0
"""For expensive_seconds: every question is answered by the process that is asked."""


def without_sql(lake: Lake, **settings: Any) -> FastAPI:
    """The application without SQL, for which it would start three processes."""
    chosen: dict[str, Any] = {"log_format": "off", "sql_enabled": False} | settings
    return create_app(lake, Settings.model_construct(None, **chosen))


@contextmanager
def client_with_sql(lake: Lake, **settings: Any) -> Iterator[TestClient]:
    """Provide a client of the application once it runs SQL, with one worker and plenty of time.

    It answers expensive questions itself: to start a process for them takes seconds.
    """
    chosen: dict[str, Any] = {"log_format": "off", "sql_workers": 1, "sql_seconds": 60.0, "sql_client_seconds": 0.0}
    chosen["expensive_seconds"] = HERE
    app = create_app(lake, Settings.model_construct(None, **(chosen | settings)))
    with TestClient(app, raise_server_exceptions=False) as client:
        wait_until(lambda: client.get("/readyz").status_code == 200, "SQL can be run", pause=0.1)
        yield client

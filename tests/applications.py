from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from losslake.lake.lake import Lake
from losslake_service.app import create_app
from losslake_service.settings import Settings


def without_sql(lake: Lake, **settings: Any) -> FastAPI:
    """The application without SQL, for which it would start three processes."""
    chosen: dict[str, Any] = {"log_format": "off", "sql_enabled": False} | settings
    return create_app(lake, Settings.model_construct(None, **chosen))

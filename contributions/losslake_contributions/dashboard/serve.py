"""The server of the dashboard: on loopback, without tokens."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fastapi import FastAPI

from losslake.lake.lake import SECONDS_TO_ANSWER, Lake
from losslake_contributions.dashboard.app import DashboardSettings, create_app
from losslake_contributions.dashboard.page import PATH
from losslake_schema.errors import LossLakeError
from losslake_service.serve import Greeting, begin_worker, freeze_garbage, run
from losslake_service.settings import is_loopback


def serve(settings: DashboardSettings) -> None:
    """Serve the dashboard until Ctrl-C or SIGTERM; raise LossLakeError if it can't be."""
    folder = Path(settings.live)
    if not folder.is_dir():
        raise LossLakeError(f"--live {folder}: there is no such folder: give the one with your runs")
    if settings.workers != 1:
        raise LossLakeError("--live works in one process: leave --workers out")
    is_reachable = not is_loopback(settings.host) or not settings.is_private
    if is_reachable and not settings.allow_viewers:
        why = f"whoever reaches the service from elsewhere would see all runs in {folder}, without a token"
        advice = "leave --host, public_url and allowed_hosts out, or add --allow-viewers if they may"
        raise LossLakeError(f"{why}: {advice}")

    def prepare() -> Greeting:
        lake = _lake(settings)
        beside = f"release {lake.release().number} of {lake}" if lake is not None else "no lake"
        return lambda url: [f"LossLake shows the runs in {folder} at {url}{PATH}, with {beside} (Ctrl-C ends it)"]

    run(settings, prepare, application)


def application(settings: DashboardSettings) -> FastAPI:
    """Return the application of the worker."""
    begin_worker(settings)
    lake = _lake(settings)
    app = create_app(replace(lake, seconds_to_read=SECONDS_TO_ANSWER) if lake is not None else None, settings)
    freeze_garbage()
    return app


def _lake(settings: DashboardSettings) -> Lake | None:
    """Return the lake with a release; None if there is none at the default place. Raises LossLakeError."""
    is_default = "lake" not in settings.model_fields_set
    if is_default and not Path(settings.lake).exists():
        return None
    lake = Lake.open(settings.location)
    if is_default and lake.newest_release() is None:
        return None
    return lake

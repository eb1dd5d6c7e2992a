"""The server of the contribution service, a process of its own: the read service keeps having no path that writes."""

from __future__ import annotations

import logging
from dataclasses import replace

from fastapi import FastAPI

from losslake.lake.lake import SECONDS_TO_ANSWER, Lake
from losslake_contributions.app import create_app
from losslake_contributions.notifications.mail import check_email_settings
from losslake_contributions.people.providers import read_providers
from losslake_contributions.people.signing_key import SigningKey
from losslake_contributions.settings import Settings
from losslake_contributions.store.database import Database
from losslake_service.serve import Greeting, begin_worker, freeze_garbage, run


def serve(settings: Settings) -> None:
    """Take contributions until Ctrl-C or SIGTERM; raise LossLakeError if the server can't start.

    The tables, and the key that signs links, are made first if there are none. Requests that run on SIGTERM have
    `shutdown_seconds` to end.
    """

    def prepare() -> Greeting:
        check_email_settings(settings)
        lake = Lake.create(settings.lake or None)
        lake.check_location()
        read_providers(settings)
        Database.create(lake)
        SigningKey.of(lake, settings.signing_key_file)
        return lambda url: [f"LossLake takes contributions to {lake} at {url} (Ctrl-C ends it)"]

    run(settings, prepare, application)


def application(settings: Settings) -> FastAPI:
    """Return the application of a worker process."""
    begin_worker(settings)
    # At info, they log each file and each request to a provider.
    for name in ("pyiceberg", "httpx"):
        logging.getLogger(name).setLevel(logging.WARNING)
    lake = replace(Lake.open(settings.location), seconds_to_read=SECONDS_TO_ANSWER)
    app = create_app(lake, settings)
    freeze_garbage()
    return app

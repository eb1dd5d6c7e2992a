"""The read service's application over the lake itself: started once, and again if that failed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import pytest
from fastapi import FastAPI

from losslake.lake.lake import Lake
from losslake_contributions.live import lake_app
from losslake_contributions.live.lake_app import LakeApp
from losslake_service.settings import Settings


def test_a_start_that_fails_is_told_and_tried_again(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    happened: list[str] = []

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        happened.append("started")
        if len(happened) == 1:
            raise OSError("the database restarts")
        app.state.releases = "of the lake"
        yield
        happened.append("ended")

    async def ask() -> list[str]:
        asked = LakeApp(lake, Settings.model_construct())
        with pytest.raises(OSError, match="restarts"):
            await asked.releases()
        found = [cast(str, await asked.releases()) for _ in "ab"]
        await asked.close()
        return found

    monkeypatch.setattr(lake_app, "application_over", lambda *_, **__: FastAPI(lifespan=lifespan))
    assert asyncio.run(ask()) == ["of the lake"] * 2
    assert happened == ["started", "started", "ended"]

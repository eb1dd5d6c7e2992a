"""The read service's application within another one: started once, and again if that failed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import pytest
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient

from losslake_contributions.review.lake_app import LakeApp


def test_a_start_that_fails_is_raised_and_tried_again() -> None:
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
        asked = LakeApp(lambda: FastAPI(lifespan=lifespan))
        with pytest.raises(OSError, match="restarts"):
            await asked.releases()
        found = [cast(str, await asked.releases()) for _ in "ab"]
        await asked.close()
        return found

    assert asyncio.run(ask()) == ["of the lake"] * 2
    assert happened == ["started", "started", "ended"]


def test_an_application_ends_after_its_last_request() -> None:
    happened: list[str] = []

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        happened.append("ended")

    async def ask() -> None:
        app, is_asked, may_answer = FastAPI(lifespan=lifespan), asyncio.Event(), asyncio.Event()

        @app.get("/")
        async def get() -> str:
            is_asked.set()
            await may_answer.wait()
            happened.append("answered")
            return ""

        asked = LakeApp(lambda: app)
        async with AsyncClient(transport=ASGITransport(asked), base_url="http://lake") as client:
            answer = asyncio.create_task(client.get("/"))
            await is_asked.wait()
            closing = asyncio.create_task(asked.close())
            may_answer.set()
            await closing
            assert (await answer).status_code == 200

    asyncio.run(ask())
    assert happened == ["answered", "ended"]

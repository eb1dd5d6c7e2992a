"""Whether requests should be sent here: /readyz."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from losslake.questions.releases import Releases
from losslake_schema.errors import LakeBroken
from losslake_service.problems import no_parameters, problem, problem_responses

Check = Callable[[], object]
"""Raises an exception where something is not as it should be; may take a while."""
_SECONDS_FOR_A_CHECK = 3.0
_PARQUET = b"PAR1"

_log = logging.getLogger(__name__)


class Readiness(BaseModel):
    """The service can answer."""

    model_config = ConfigDict(use_attribute_docstrings=True, json_schema_extra={"x-unit": "none"})

    status: Annotated[str, Field(examples=["ready"], json_schema_extra={"x-unit": "none"})]
    """ready"""
    checks: Annotated[tuple[str, ...], Field(examples=[["release"]], json_schema_extra={"x-unit": "none"})]
    """What was looked at, and found to be in order."""


def readiness(checks: Mapping[str, Check]) -> APIRouter:
    """The path /readyz, which passes if every check does.

    Args:
        checks: by name.
    """
    router = APIRouter()

    @router.get(
        "/readyz",
        response_model=Readiness,
        responses=problem_responses(422, 503),
        dependencies=[Depends(no_parameters)],
    )
    async def get_readiness(request: Request) -> Readiness | Response:
        """Whether this process can answer questions now: a load balancer may ask it."""
        passed = await asyncio.gather(*(_passes(name, check) for name, check in checks.items()))
        failed = [name for name, has_passed in zip(checks, passed, strict=True) if not has_passed]
        if failed:
            detail = f"not ready: {', '.join(failed)}; the reason is in the log"
            return problem(request.scope, "not-ready", detail, failed=failed)
        return Readiness(status="ready", checks=tuple(checks))

    return router


def newest_release_is_readable(releases: Releases) -> Check:
    """A check that the newest release is open, its serving file answers, and a data file is there."""

    def check() -> None:
        view = releases.view()
        view.rows("metric_facts")
        files = (file for facts in view.workloads.values() for file in view.measurement_files(facts))
        first = next(files, None)
        if first is not None:
            with view.store.open(first.path, first.bytes) as file:
                if file.read(len(_PARQUET)) != _PARQUET:
                    name = view.store.name_of(first.path)
                    raise LakeBroken(f"{name} is not Parquet: restore it, or publish a new release")

    return check


async def _passes(name: str, check: Check) -> bool:
    try:
        async with asyncio.timeout(_SECONDS_FOR_A_CHECK):
            await asyncio.to_thread(check)
    except TimeoutError:
        _log.warning("not ready: %s: no answer in %g s", name, _SECONDS_FOR_A_CHECK)
        return False
    except Exception as error:  # noqa: BLE001 whatever it is, that is what the check is for
        _log.warning("not ready: %s: %s", name, error)
        return False
    return True

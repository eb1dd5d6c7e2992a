"""The readiness check, /readyz."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from losslake.questions.releases import Releases
from losslake_schema.errors import LakeBroken
from losslake_service.problems import no_parameters, problem, problem_responses

# Raise an exception if the check fails. Runs in a thread, with a time limit.
Check = Callable[[], object]
_CHECK_SECONDS = 3.0
_PARQUET = b"PAR1"

_log = logging.getLogger(__name__)


class Readiness(BaseModel):
    """The service is ready."""

    model_config = ConfigDict(use_attribute_docstrings=True, json_schema_extra={"x-unit": "none"})

    status: Annotated[str, Field(examples=["ready"], json_schema_extra={"x-unit": "none"})]
    """Always `ready`."""
    checks: Annotated[tuple[str, ...], Field(examples=[["release"]], json_schema_extra={"x-unit": "none"})]
    """The checks that passed."""


def readiness(checks: Mapping[str, Check]) -> APIRouter:
    """Return a router with /readyz, which succeeds if every check, by name, does."""
    router = APIRouter()
    # Threads of their own, as all shared ones may be busy.
    threads = ThreadPoolExecutor(2 * len(checks), "readiness")

    @router.get(
        "/readyz",
        response_model=Readiness,
        responses=problem_responses(422, 503),
        dependencies=[Depends(no_parameters)],
    )
    async def get_readiness(request: Request) -> Readiness | Response:
        """Report if this process can answer requests now, for load balancers."""
        passed = await asyncio.gather(*(_passes(threads, name, check) for name, check in checks.items()))
        failed = [name for name, has_passed in zip(checks, passed, strict=True) if not has_passed]
        if failed:
            detail = f"not ready: {', '.join(failed)}; the log has the reasons"
            return problem(request.scope, "not-ready", detail, failed=failed)
        return Readiness(status="ready", checks=tuple(checks))

    return router


def release_check(releases: Releases) -> Check:
    """Return a check that the newest release is open, its serving file can be queried, and a data file is readable."""

    def check() -> None:
        view = releases.view()
        view.rows("metric_facts")
        first = next((file for facts in view.workloads.values() for file in view.measurement_files(facts)), None)
        if first is not None:
            with view.store.open(first.path, first.bytes) as file:
                if file.read(len(_PARQUET)) != _PARQUET:
                    name = view.store.display_name(first.path)
                    raise LakeBroken(f"{name} is not Parquet: restore it, or publish a new release")

    return check


async def _passes(threads: Executor, name: str, check: Check) -> bool:
    try:
        async with asyncio.timeout(_CHECK_SECONDS):
            await asyncio.get_running_loop().run_in_executor(threads, check)
    except TimeoutError:
        _log.warning("not ready: %s: no answer in %g s", name, _CHECK_SECONDS)
        return False
    except Exception as error:  # noqa: BLE001 any error is a failed check
        _log.warning("not ready: %s: %s", name, error)
        return False
    return True

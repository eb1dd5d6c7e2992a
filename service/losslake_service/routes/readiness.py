"""The readiness check, /readyz."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from losslake.questions.release.releases import Releases
from losslake_schema.errors import LakeBroken, LossLakeError
from losslake_service.problems import no_parameters, problem, problem_responses

# Raise an exception if the check fails. Runs in a thread.
Check = Callable[[], object]
# A request waits this long for a check; the health checks of containers wait for 4 s.
_ANSWER_SECONDS = 3.0
# A check that takes longer hangs. A store that is down is given up as long after the first attempt.
_HANG_SECONDS = 30.0
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
    threads = ThreadPoolExecutor(len(checks), "readiness")
    repeated = [_RepeatedCheck(name, check, threads) for name, check in checks.items()]

    @router.get(
        "/readyz",
        response_model=Readiness,
        responses=problem_responses(422, 503),
        dependencies=[Depends(no_parameters)],
    )
    async def get_readiness(request: Request) -> Readiness | Response:
        """Report if this process can answer requests now, for load balancers."""
        passed = await asyncio.gather(*(check.passes() for check in repeated))
        failed = [name for name, has_passed in zip(checks, passed, strict=True) if not has_passed]
        if failed:
            detail = f"not ready: {', '.join(failed)}; the log has the reasons"
            return problem(request.scope, "not-ready", detail, failed=failed)
        return Readiness(status="ready", checks=tuple(checks))

    return router


def release_check(releases: Releases) -> Check:
    """Return a check that the newest release is open, its serving file can be queried, and a data file is readable."""

    def check() -> None:
        if releases.is_starting:
            raise LossLakeError("the files of the newest release are being built")
        view = releases.view()
        view.rows("metric_facts")
        first = next((file for facts in view.workloads.values() for file in view.measurement_files(facts)), None)
        if first is not None:
            with view.store.open(first.path, first.bytes) as file:
                if file.read(len(_PARQUET)) != _PARQUET:
                    name = view.store.display_name(first.path)
                    raise LakeBroken(f"{name} is not Parquet: restore it, or publish a new release")

    return check


class _RepeatedCheck:
    """A check that runs at most once at a time; requests that come meanwhile wait for the same run."""

    def __init__(self, name: str, check: Check, threads: Executor) -> None:
        self._name = name
        self._check = check
        self._threads = threads
        self._running: Future[Exception | None] | None = None
        self._started_at = 0.0
        self._has_passed = False

    async def passes(self) -> bool:
        """Return True if the check passes; while it takes long, if it passed the last time. Log why it doesn't."""
        if self._running is None:
            self._started_at, self._running = time.monotonic(), self._threads.submit(self._run)
        running = self._running
        await asyncio.wait([asyncio.wrap_future(running)], timeout=_ANSWER_SECONDS)
        if running.done():
            if self._running is running:
                self._running = None
            error = running.result()
            self._has_passed = error is None
            if error is not None:
                _log.warning("not ready: %s: %s", self._name, error)
            return self._has_passed
        # A busy machine is slow, but it answers: it would be out of service just when it is needed.
        seconds = time.monotonic() - self._started_at
        if self._has_passed and seconds < _HANG_SECONDS:
            return True
        _log.warning("not ready: %s: no answer in %.0f s", self._name, seconds)
        return False

    def _run(self) -> Exception | None:
        try:
            self._check()
        except Exception as error:  # noqa: BLE001 any error is a failed check
            return error
        return None

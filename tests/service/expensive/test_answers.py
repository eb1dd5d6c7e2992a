"""Expensive work is done by few processes, with a queue, shares of clients, and a time limit."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from losslake.lake.lake import Lake
from losslake.questions import scaling
from losslake.questions.declaration.cost import Cost, Expensive, spend
from losslake.questions.release.releases import Releases
from losslake_service.expensive import answers as module
from losslake_service.expensive.answers import Answers
from losslake_service.expensive.process import AnswerFailed
from losslake_service.operation.metrics import Metrics
from losslake_service.problems import QuestionProblem
from losslake_service.settings import Settings
from tests.servers.processes import SECONDS
from tests.service.expensive import small_app

COSTLY = Expensive(0.01)


class Client:
    """A client that may leave, of a route of that path. given: headers."""

    def __init__(self, path: str, host: str = "192.0.2.1", **given: str) -> None:
        self.has_left = asyncio.Event()
        scope = {
            "route": Route(path, lambda _: Response()),
            "type": "http", "method": "GET", "scheme": "https", "path": path, "raw_path": path.encode(),
            "query_string": b"", "server": ("localhost", 80), "client": (host, 1), "state": {"request_id": "x"},
            "headers": [(b"host", b"losslake.example"), *((k.encode(), v.encode()) for k, v in given.items())],
        }  # fmt: skip
        self.request = Request(scope, self._receive)

    async def _receive(self) -> dict[str, Any]:
        await self.has_left.wait()
        return {"type": "http.disconnect"}


@contextmanager
def made(**settings: Any) -> Iterator[Answers]:
    chosen = {"question_places": 1, "question_waiting": 1, "question_seconds": 1000.0, "question_client_seconds": 0.0}
    answers = Answers(Settings.model_construct(None, **(chosen | settings)), Metrics(), small_app.make, "hello")
    try:
        yield answers
    finally:
        answers.close()


@pytest.fixture(scope="module")
def answers() -> Iterator[Answers]:
    with made() as found:
        yield found


def forward(answers: Answers, path: str, host: str = "192.0.2.1", **headers: str) -> Coroutine[Any, Any, Response]:
    return answers.forward(Client(path, host, **headers).request, 1, COSTLY)


def refused(answers: Answers, path: str, host: str = "192.0.2.1") -> QuestionProblem:
    with pytest.raises(QuestionProblem) as problem:
        asyncio.run(forward(answers, path, host))
    return problem.value


def test_no_answer_of_a_route_is_computed_in_vain_again(answers: Answers, lake: Lake) -> None:
    view = Releases(lake).view()
    parameters = scaling.ScalingParameters(workload=[str(next(iter(view.workloads)))])
    computed: list[str] = []

    def work(count: int, seconds: float) -> None:
        for _ in range(count):
            spend(view, Cost(seconds * 1e6, 0, 0), parameters)
            computed.append("slow" if threading.current_thread().name.startswith("slow") else "quick")

    def threads(path: str, count: int, seconds: float) -> list[str]:
        """Return for each answer that is computed if it is in the one thread for slow ones."""
        computed.clear()
        asyncio.run(answers.here(Client(path).request, partial(work, count, seconds)))
        return [*computed]

    most = module._QUICK_SECONDS
    small, large = (3, 0.1 * most), (3, 0.4 * most)
    assert threads("/page", *large) == ["quick"] * 2 + ["slow"] * 3, "it can't be known"
    assert threads("/page", *large) == ["slow"] * 3
    assert threads("/page", *small) == ["quick"] * 3, "others of the route are as quick as before"
    assert threads("/page", *large) == ["slow"] * 3
    shorter = (2, 0.4 * most)
    assert threads("/page", *shorter) == ["slow"] * 2, "it may have more"
    assert any(threads("/page", *shorter) == ["quick"] * 2 for _ in range(5)), "what it took is forgotten"
    assert threads("/page", 1, 2 * most) == ["slow"]
    assert threads("/other", *large) == ["quick"] * 2 + ["slow"] * 3


def test_responses_are_those_of_the_process(answers: Answers) -> None:
    response = asyncio.run(forward(answers, "/"))
    greeting, url, process = bytes(response.body).decode().split()
    assert (response.status_code, greeting, url) == (200, "hello", "https://losslake.example/")
    assert int(process) == answers._processes[0].process_id
    assert psutil.Process(int(process)).nice() >= 10
    missing, failed = (asyncio.run(forward(answers, path)) for path in ("/nowhere", "/fail"))
    assert (missing.status_code, failed.status_code) == (404, 500)


def test_no_process_is_started_while_another_is_free() -> None:
    with made(question_places=2) as answers:
        assert len({bytes(asyncio.run(forward(answers, "/")).body) for _ in range(2)}) == 1
        assert sorted(each.process_id is None for each in answers._processes) == [False, True]


def test_long_responses_come_from_a_file_in_parts(answers: Answers) -> None:
    response = asyncio.run(forward(answers, "/much", range="bytes=10-15"))
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(response({"type": "http", "method": "GET"}, None, send))  # type: ignore[arg-type]
    assert (sent[0]["status"], bytes(sent[1]["body"])) == (206, b"012345")


def test_the_file_of_a_body_has_no_name(answers: Answers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    changed = tmp_path.stat().st_mtime_ns
    assert asyncio.run(forward(answers, "/much")).status_code == 200
    assert tmp_path.stat().st_mtime_ns == changed, "no file was ever listed there"


def test_a_body_that_is_not_whole_is_no_answer(answers: Answers) -> None:
    with pytest.raises(AnswerFailed):
        asyncio.run(forward(answers, "/half"))


def test_a_process_that_ends_is_replaced(answers: Answers) -> None:
    problem = refused(answers, "/end")
    assert (problem.kind, problem.retry_after) == (module.BUSY, 5)
    assert asyncio.run(forward(answers, "/")).status_code == 200


def test_estimates_far_above_the_limit_are_refused_at_once(answers: Answers) -> None:
    with pytest.raises(QuestionProblem, match="about 9,000 s, the limit is 1000 s") as problem:
        asyncio.run(answers.forward(Client("/").request, 1, Expensive(9000)))
    assert problem.value.kind == module.TIME


def test_answers_have_a_time_limit_and_their_seconds_are_charged() -> None:
    with made(question_seconds=0.2, question_client_seconds=0.01) as answers:
        problem = refused(answers, "/endless")
        assert (problem.kind, "the limit question_seconds" in str(problem)) == (module.TIME, True)
        problem = refused(answers, "/")
        assert (problem.kind, "question_client_seconds" in str(problem)) == (module.CLIENT, True)
        assert problem.retry_after is not None


def test_a_full_queue_is_refused_and_who_leaves_makes_room(answers: Answers) -> None:
    async def crowd() -> None:
        clients = [Client("/endless", f"192.0.2.{n}") for n in (1, 2)]
        tasks = [asyncio.create_task(answers.forward(each.request, 1, COSTLY)) for each in clients]
        await asyncio.sleep(0)
        for host, kind in (("192.0.2.1", module.CLIENT), ("192.0.2.3", module.BUSY)):
            with pytest.raises(QuestionProblem) as problem:
                await forward(answers, "/", host)
            assert problem.value.kind == kind
            assert problem.value.retry_after is not None
        for client in clients:
            client.has_left.set()
        for task in tasks:
            with pytest.raises(ClientDisconnect):
                await task
        while True:
            with suppress(QuestionProblem):  # until the killed process has ended
                assert (await forward(answers, "/", "192.0.2.4")).status_code == 200
                return

    asyncio.run(asyncio.wait_for(crowd(), SECONDS))

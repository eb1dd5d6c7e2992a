"""A contribution service that is attacked, strangers with tokens for it, and what they must not change."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from losslake.lake.lake import Lake
from losslake_contributions.people.sessions import sign_in
from losslake_contributions.people.tokens import Quota, create_token
from losslake_contributions.review.site import COOKIE
from losslake_contributions.store.database import Database
from tests.contributions.conftest import Sender, draft_token
from tests.contributions.made_runs import lake_of, write_run
from tests.contributions.running import RunningService, running_service
from tests.contributions.spooled_runs import COLLECTION, SpooledRun, rows
from tests.servers.processes import wait_until

BROWSER = {"accept": "text/html"}
STORED = [(step, 1 / (step + 1)) for step in range(0, 120, 10)]
# Of the form of a page; a browser adds it.
FROM_HERE = {"sec-fetch-site": "same-origin"}
_INSIDE = re.compile(r"Traceback|\.py\b|losslake_contributions\.|sqlalchemy|/dev/shm|/tmp/", re.IGNORECASE)


@dataclass
class Target:
    """A running service over a lake with two stored runs. client: of a stranger without a token."""

    lake: Lake
    service: RunningService
    client: httpx.Client
    people: dict[str, Sender] = field(default_factory=dict)
    cookies: dict[str, str] = field(default_factory=dict)

    @property
    def database(self) -> Database:
        return Database.open(self.lake)

    def someone(self, name: str, *scopes: str, quota: Quota | None = None, days: int = 1) -> Sender:
        """A person with a new token."""
        token = create_token(self.database, name, None, scopes or ("contribute",), days, quota)
        return Sender(self.client, token)

    def known(self, name: str, *scopes: str) -> Sender:
        """A person whom all attacks share."""
        return self.people.setdefault(name, self.someone(name, *scopes))

    @property
    def mallory(self) -> Sender:
        """The attacker, who has a token like everybody else."""
        return self.known("Mallory")

    @property
    def victim(self) -> Sender:
        return self.known("Victoria")

    @property
    def reviewer(self) -> Sender:
        return self.known("Rea", "review")

    def draft(self, submission: str, sender: Sender | None = None) -> str:
        """The token of the link to a draft, as the service makes it; default: for the reviewer."""
        return draft_token(self.database, submission, sender or self.reviewer)

    def cookie(self, sender: Sender) -> str:
        """The cookie of somebody who has signed in."""
        if sender.id not in self.cookies:
            self.cookies[sender.id] = sign_in(self.database, sender.id)
        return self.cookies[sender.id]

    def wait_for_review(self, submission: str) -> dict[str, Any]:
        """The review of a submission, for the reviewer."""
        answer = self.reviewer.review(submission)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def page(self, path: str, sender: Sender | None = None, **headers: str) -> httpx.Response:
        """A page, as a browser of somebody who has signed in sees it."""
        cookie = {"cookie": f"{COOKIE}={self.cookie(sender)}"} if sender is not None else {}
        return self.client.get(path, headers={**BROWSER, **cookie, **headers}, timeout=120)

    def press(self, path: str, sender: Sender | None, headers: dict[str, str] | None = None, **form: str) -> Any:
        """Send the form of a page."""
        cookie = {"cookie": f"{COOKIE}={self.cookie(sender)}"} if sender is not None else {}
        sent = {**BROWSER, **cookie, **(FROM_HERE if headers is None else headers)}
        return self.client.post(path, headers=sent, data=form, timeout=120)

    def state(self, submission: str) -> str:
        return str(self.reviewer.send("GET", f"/v1/submissions/{submission}").json()["state"])

    def files(self) -> dict[str, tuple[int, int]]:
        """Size and time of the files of the lake, but for those of contributions and drafts, and those for serving."""
        own = ("contributions/", "drafts/", "serving/")
        found = {}
        for path in self.lake.folder.rglob("*"):
            name = path.relative_to(self.lake.folder).as_posix()
            if path.is_file() and not name.startswith((*own, ".")):
                found[name] = path.stat().st_size, path.stat().st_mtime_ns
        return {name: facts for name, facts in found.items() if not re.search(r"\.(sqlite|db)(-\w+)?$|lock$", name)}

    def faults(self) -> list[str]:
        """Return the lines of the log with a traceback or the status 500."""
        return [line for line in self.service.errors if "Traceback" in line or '"status": 500' in line]


@contextmanager
def attacked(folder: Path, **settings: Any) -> Iterator[Target]:
    """A service, and at the end a look at what it still is."""
    stored = folder / "stored"
    for number in (1, 2):
        lines = [{"step": step, "elapsed_s": float(step), "val/loss": value * number} for step, value in STORED]
        write_run(stored, number, lines, collection=COLLECTION, optimizer="sgd", batch_size=64, licence="CC-BY-4.0")
    lake = lake_of(folder / "lake", stored)
    digest = lake.release(1).content_digest
    with running_service(lake, **settings) as service, httpx.Client(base_url=service.url, timeout=60) as client:
        # Each request has the cookies that its attack names, and no others.
        client.event_hooks = {"response": [lambda _: client.cookies.clear()]}
        target = Target(lake, service, client)
        yield target
        assert client.get("/healthz").text == "ok"
        assert target.faults() == []
        assert lake.release(1).content_digest == digest
        assert not [path for path in folder.iterdir() if path.name not in ("lake", "stored")]


def refused(answer: httpx.Response, *statuses: int) -> str:
    """The reason why a request was refused, which tells nothing about the machine."""
    assert answer.status_code in (statuses or (401, 403, 404, 409, 413, 415, 422)), (answer.status_code, answer.text)
    assert not _INSIDE.search(answer.text), answer.text
    return str(answer.json()["detail"]) if "json" in answer.headers["content-type"] else answer.text


def facts_with(**changes: Any) -> dict[str, Any]:
    """A run.json with other facts."""
    return {**SpooledRun().facts, **changes}


def fresh_run(**changes: Any) -> SpooledRun:
    """A run that no other has the bytes or the curve of."""
    run = SpooledRun(**changes)
    if "segments" not in changes:
        scale = 1 + int(run.id[-6:], 16) / 2**24
        run.segments = {
            "0001/000001.jsonl": [{**row, "val/loss": scale / (row["step"] + 1)} for row in rows(range(12))]
        }
    return run


def raw(target: Target, request: bytes, wait: bool = True) -> bytes:
    """Send bytes as they are, and return the beginning of the answer."""
    with socket.create_connection(("127.0.0.1", target.service.port), 60) as connection:
        connection.sendall(request)
        if not wait:
            return b""
        answer = b""
        while piece := connection.recv(65_536):
            answer += piece
            if b"\r\n\r\n" in answer:
                break
        return answer


def logged(target: Target, text: str) -> list[dict[str, Any]]:
    """Lines of the log with a text, each of which has to be one JSON object."""
    wait_until(lambda: any(text in line for line in target.service.errors), f"the log has {text}")
    return [json.loads(line) for line in target.service.errors if text in line]

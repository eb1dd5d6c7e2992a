"""Runs of every format that LossLake reads are converted, sent, checked and accepted, each number as in its log."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from losslake.lake.lake import Lake
from losslake_contributions.client.connection import ContributionClient
from losslake_contributions.client.conversion import Conversion, prepare
from losslake_contributions.client.local_runs import local_runs
from losslake_contributions.client.prepared_run import PreparedRun, prepared
from losslake_contributions.client.push import Terms, push
from losslake_contributions.people.tokens import create_token
from losslake_contributions.store.database import Database
from losslake_ingest.formats.format import formats
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.readers.recorded.folder import read_spool
from losslake_ingest.run import ingest
from tests.contributions.client.every_format import HOST, PERSON, logs_of_every_format, write_logs
from tests.contributions.client.stored_trials import goals_of, trials_of
from tests.contributions.conftest import Sender
from tests.contributions.running import running_service

LOGS = logs_of_every_format()


@dataclass(frozen=True)
class Prepared:
    """The runs of all logs as they would be sent, and the trials that an ingest of the same logs stores."""

    logs: Path
    conversion: Conversion
    direct: Lake

    def of(self, name: str) -> list[PreparedRun]:
        """Return the runs of the logs of this name."""
        return [run for run in self.conversion.runs.values() if run.facts["collection"] == collection_of(name)]


def collection_of(name: str) -> str:
    """Return the collection that logs of this name are of."""
    return {"record": "c", "batch_science": "shallue2018/root"}.get(name, name)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    folder = tmp_path_factory.mktemp("every_format")
    logs = write_logs(folder / "logs", LOGS)
    parts = sorted(logs.iterdir())
    direct = Lake.create(folder / "direct")
    summary = ingest(direct, parts)
    assert (list(map(str, summary.quarantined)), summary.broken) == ([], ())
    return Prepared(logs, prepare(parts, Request(), folder / "spools"), direct)


def test_logs_are_of_every_format(made: Prepared) -> None:
    read = {run.facts["origin"]["format"] for run in made.conversion.runs.values() if "origin" in run.facts}
    assert read | {"record"} == {*formats()}


@pytest.mark.parametrize("name", LOGS)
def test_the_service_finds_nothing_in_what_the_client_cleaned(made: Prepared, name: str) -> None:
    runs = made.of(name)
    local = local_runs(runs, with_unfinished=True)  # validates each run.json as the service does
    assert (len(local.runs), local.faulty) == (len(runs), [])
    assert len(runs) > 0
    digests = {hashlib.sha256(data).hexdigest() for data in LOGS[name][0].values()}
    for run in runs:
        if name != "record":
            assert {*run.facts["origin"]["files"].values()} <= digests
            assert [*prepared(read_spool(run.folder)).removals] == []
        sent = b"".join(run.documents().values()) + b"".join(map(run.segment, run.segments))
        assert HOST.encode() not in sent
        assert PERSON.encode() not in sent
        removed = {removal.where for removal in run.removals}
        assert removed == ({"origin.files: a name"} if name == "tensorboard" else set())


def test_runs_of_every_format_are_pushed_as_one_submission_and_accepted_with_each_number(
    made: Prepared, tmp_path: Path
) -> None:
    runs = local_runs(made.conversion.runs.values(), with_unfinished=True).runs
    with running_service(Lake.create(tmp_path / "lake")) as service, httpx.Client(base_url=service.url) as web:
        database = Database.open(service.lake)
        token = create_token(database, "Ada", None, ["contribute"], 1)
        reviewer = Sender(web, create_token(database, "Rea Viewer", None, ["review"], 1))
        with ContributionClient(service.url, token) as client:
            pushed = push(client, runs, Terms(licence="MIT"), lambda *_: None)
        assert (pushed.failures, len(pushed.states)) == ({}, len(runs))
        assert pushed.submission is not None
        findings = reviewer.review(pushed.submission.id).json()["report"]["findings"]
        assert [each for each in findings if each["severity"] == "error"] == []
        response = reviewer.send("POST", f"/v1/submissions/{pushed.submission.id}/accept")
        assert (response.status_code, len(response.json()["runs"])) == (200, len(runs))
        assert trials_of(service.lake) == trials_of(made.direct)
        assert goals_of(service.lake) == goals_of(made.direct)

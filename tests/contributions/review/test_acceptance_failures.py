"""An acceptance that fails, or that others overtake, leaves the submission as it was: it can be decided in any way."""

from __future__ import annotations

import errno
import sys
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from typing import Any

import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import text

from losslake.lake.lake import Lake
from losslake.lake.store.folder import FolderStore
from losslake_contributions.protocol.errors import ContributionError
from losslake_contributions.review.acceptance import accept
from losslake_contributions.review.archive import SubmissionArchive
from losslake_contributions.review.submissions import find_any, return_to_contributor, split
from losslake_contributions.store.database import Database
from losslake_contributions.store.migrations.versions import v0003_acceptance
from losslake_ingest.run import ingest
from losslake_ingest.sources.open import open_source
from tests.contributions.conftest import Sender, Service
from tests.contributions.review.test_acceptance import REWOUND, check_stored
from tests.contributions.spooled_runs import SpooledRun, rows
from tests.forked import Forked


def altered(service: Service, run: SpooledRun) -> None:
    (file,) = service.lake.store.list_files(f"contributions/{run.id}")
    (service.lake.folder / file.path).write_bytes(b"altered")


@contextmanager
def full_disk(monkeypatch: pytest.MonkeyPatch, folder: str) -> Iterator[None]:
    """A disk on which nothing can be written below a folder of a lake."""
    put = FolderStore.put

    def put_if_room(store: FolderStore, path: str, data: Any) -> None:
        if path.startswith(folder):
            raise OSError(errno.ENOSPC, "No space left on device", path)
        put(store, path, data)

    with monkeypatch.context() as patched:
        patched.setattr(FolderStore, "put", put_if_room)
        yield


def decide(sender: Sender, name: str, decision: str) -> Any:
    return sender.send(
        "POST", f"/v1/submissions/{name}/{decision}", json={"reason": "later"} if decision == "return" else {}
    )


@pytest.mark.parametrize("decision", ["return", "withdraw"])
def test_an_altered_segment_leaves_a_submission_that_can_be_returned_or_withdrawn(
    service: Service, ada: Sender, reviewer: Sender, decision: str
) -> None:
    run = SpooledRun()
    name = ada.submitted(run)
    assert reviewer.review(name).status_code == 200
    altered(service, run)
    refused = decide(reviewer, name, "accept")
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:losslake:problem:not-storable")
    assert f"contributions/{run.id}/" in refused.json()["detail"]
    assert "restore it" in refused.json()["detail"]
    assert service.lake.newest_release() is None
    assert find_any(service.database, name).state == "submitted"
    decided = decide(reviewer if decision == "return" else ada, name, decision)
    assert decided.json()["state"] == {"return": "returned", "withdraw": "withdrawn"}[decision]


@pytest.mark.parametrize("folder", ["warehouse/", "releases/"])
def test_a_full_disk_leaves_a_submission_that_can_be_accepted_later(
    service: Service, ada: Sender, reviewer: Sender, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    run = SpooledRun(segments=dict(REWOUND))
    name = ada.submitted(run)
    assert reviewer.review(name).status_code == 200
    with full_disk(monkeypatch, folder):
        refused = decide(reviewer, name, "accept")
    assert (refused.status_code, refused.json()["type"]) == (507, "urn:losslake:problem:no-space")
    assert find_any(service.database, name).state == "submitted"
    assert service.lake.newest_release() is None
    assert decide(reviewer, name, "accept").json()["state"] == "accepted"
    check_stored(service.lake, run)


def test_a_review_on_a_full_disk_leaves_nothing_and_can_be_made_later(
    service: Service, ada: Sender, reviewer: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = ada.submitted(SpooledRun())
    with full_disk(monkeypatch, "warehouse/"):
        refused = reviewer.review(name)
    assert refused.status_code == 507
    assert not [path for path in (service.lake.folder / "drafts").rglob("*") if path.suffix == ".jsonl"]
    assert reviewer.review(name).status_code == 200


def accepted_after(monkeypatch: pytest.MonkeyPatch, service: Service, name: str, work: Callable[[], object]) -> Any:
    """Accept a submission, with something that is done after its runs were read and before they are published."""
    with monkeypatch.context() as patched:

        def late(*arguments: Any, **options: Any) -> Any:
            patched.undo()
            work()
            return ingest(*arguments, **options)

        patched.setattr("losslake_contributions.review.acceptance.ingest", late)
        return accept(service.database, name, "slow")


def test_whoever_returns_or_withdraws_first_has_decided(
    service: Service, ada: Sender, reviewer: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    for decision, sender, state in (("return", reviewer, "returned"), ("withdraw", ada, "withdrawn")):
        name = ada.submitted(SpooledRun())
        with pytest.raises(ContributionError, match=f"was {state} meanwhile") as refused:
            accepted_after(monkeypatch, service, name, partial(decide, sender, name, decision))
        assert refused.value.kind == "conflict"
        assert find_any(service.database, name).state == state
    assert service.lake.newest_release() is None
    assert not list(service.lake.store.list_files("warehouse/measurements/data"))


def test_a_submission_that_is_split_meanwhile_is_not_accepted_as_it_was(
    service: Service, ada: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = SpooledRun(segments=dict(REWOUND)), SpooledRun()
    name = ada.submitted(first, second)
    with pytest.raises(ContributionError, match="changed while they were read"):
        accepted_after(monkeypatch, service, name, lambda: split(service.database, "me", name, [second.id]))
    assert service.lake.newest_release() is None
    assert accept(service.database, name, "me").submission.release == 1
    check_stored(service.lake, first)


def test_two_reviewers_at_once_publish_one_release(
    service: Service, ada: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = SpooledRun(segments=dict(REWOUND))
    name = ada.submitted(run)
    slow = accepted_after(monkeypatch, service, name, lambda: accept(service.database, name, "quick")).submission
    assert (slow.state, slow.reviewer, slow.release) == ("accepted", "quick", 1)
    assert [release.number for release in service.lake.releases()] == [1]
    check_stored(service.lake, run)
    with pytest.raises(ContributionError, match="is accepted"):
        return_to_contributor(service.database, "late", name, "late")


def test_copies_that_others_store_meanwhile_leave_the_submission_as_a_whole_outside(
    service: Service, ada: Sender, bob: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [SpooledRun(segments=dict(REWOUND)), SpooledRun()]
    name, copy = ada.submitted(*runs), bob.submitted(SpooledRun(segments=dict(REWOUND)))
    with pytest.raises(
        ContributionError, match=rf"1 runs can't be stored; {runs[0].id}: a copy of .*: return"
    ) as refused:
        accepted_after(monkeypatch, service, name, lambda: accept(service.database, copy, "me"))
    assert refused.value.kind == "not-storable"
    assert find_any(service.database, name).state == "submitted"
    assert [release.number for release in service.lake.releases()] == [1]


def test_the_archive_is_the_same_tar_each_time(service: Service, ada: Sender) -> None:
    runs = [SpooledRun(segments={**REWOUND, "0003-from-20/000002.jsonl": rows(range(26, 4000))}), SpooledRun()]
    archive = SubmissionArchive(service.database, ada.submitted(*runs))
    with archive.open() as opened:
        data = opened.read()
    with archive.open() as opened:
        assert b"".join(iter(lambda: opened.read(777), b"")) == data
    assert len(data) == archive.size
    made = BytesIO()
    with tarfile.open(fileobj=BytesIO(data)) as tar:
        with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as again:
            for member in tar:
                again.addfile(member, tar.extractfile(member))
        assert made.getvalue() == data
        for run in runs:
            for path in run.segments:
                file = tar.extractfile(f"{run.id}/{path}")
                assert file is not None
                assert file.read() == run.data(path)
    assert {run.id for run in runs} == {
        each.path.partition("/")[0] for each in open_source(archive).members(lambda _: True)
    }


def test_submissions_that_older_versions_left_in_acceptance_are_decided(service: Service, ada: Sender) -> None:
    names = [ada.submitted(SpooledRun(segments=dict(REWOUND))), ada.submitted(SpooledRun())]
    accept(service.database, names[0], "me")
    with service.lake.engine.begin() as connection:
        connection.execute(text("UPDATE losslake_submissions SET state = 'accepting', release = NULL"))
        with Operations.context(MigrationContext.configure(connection)):
            v0003_acceptance.upgrade()
    assert [(find_any(service.database, name).state, find_any(service.database, name).release) for name in names] == [
        ("accepted", 1),
        ("submitted", None),
    ]


def _decide_in_a_process(location: str, name: str, decision: str) -> None:
    database = Database.open(Lake.open(location))
    try:
        if decision == "return":
            return_to_contributor(database, "Rea", name, "later")
        else:
            accept(database, name, decision)
    except ContributionError as error:
        sys.exit(0 if error.kind == "conflict" else 1)


@pytest.mark.slow
@pytest.mark.parametrize("decisions", [("Rea", "Bea", "Cea"), ("Rea", "return", "Bea")])
def test_reviewers_in_several_processes_decide_once(service: Service, ada: Sender, decisions: tuple[str, ...]) -> None:
    run = SpooledRun(segments=dict(REWOUND))
    name = ada.submitted(run)
    processes = [Forked(_decide_in_a_process, str(service.lake), name, decision) for decision in decisions]
    assert [process.wait(120) for process in processes] == [0] * len(decisions)
    status = find_any(service.database, name)
    assert status.state == "accepted" or "return" in decisions
    if status.state == "accepted":
        assert ([release.number for release in service.lake.releases()], status.reviewer in decisions) == ([1], True)
        check_stored(service.lake, run)
    else:
        assert (status.state, service.lake.newest_release()) == ("returned", None)

"""An accepted submission is in the next release exactly as it was acknowledged, whatever is killed meanwhile."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from losslake.lake.lake import Lake
from losslake_contributions.protocol.errors import ContributionError
from losslake_contributions.review.acceptance import accept
from losslake_contributions.review.submissions import find_any
from losslake_contributions.store.database import Database
from tests.contributions.conftest import ADA, BOB, Sender, Service
from tests.contributions.spooled_runs import SpooledRun, remaining, rows, same
from tests.contributions.stored import stored_curves
from tests.forked import Forked

REWOUND = {
    "0001/000001.jsonl": rows(range(10)),
    "0001/000002.jsonl": rows(range(10, 30)),
    "0002-from-12/000001.jsonl": rows(range(12, 25), 0.5),
    "0003-from-20/000001.jsonl": rows(range(20, 26), 0.25),
}


def check_stored(lake: Lake, *runs: SpooledRun) -> None:
    """Compare the newest release with the oracle: the same runs, metrics, steps and values, in the same order."""
    stored = stored_curves(lake)
    assert sorted(stored) == sorted(run.id for run in runs)
    for run in runs:
        expected = remaining(run.segments)
        assert stored[run.id].keys() == expected.keys()
        for metric, points in expected.items():
            assert [step for step, _ in stored[run.id][metric]] == [step for step, _ in points]
            pairs = zip(stored[run.id][metric], points, strict=True)
            assert all(same(value, wanted) for (_, value), (_, wanted) in pairs)


@dataclass
class Accepted:
    """A service that has accepted one submission; the tests that share it accept nothing else."""

    service: Service
    ada: Sender
    reviewer: Sender
    runs: list[SpooledRun]
    name: str
    response: Any


@pytest.fixture(scope="module")
def accepted(shared_service: Service) -> Accepted:
    ada, reviewer = shared_service.sender("Ada", ADA), shared_service.sender("Rea Viewer", None, "review")
    runs = [
        SpooledRun(segments=dict(REWOUND)),
        SpooledRun(batch_size=128, parameters={"learning_rate": 0.5, "b": True}),
    ]
    name = ada.submitted(*runs)
    return Accepted(shared_service, ada, reviewer, runs, name, reviewer.send("POST", f"/v1/submissions/{name}/accept"))


def test_the_release_has_what_was_acknowledged(accepted: Accepted) -> None:
    assert accepted.response.status_code == 200
    document = accepted.response.json()
    assert (document["state"], document["release"], document["reviewer"]) == ("accepted", 1, "Rea Viewer")
    trials = {run["id"]: run["trial"] for run in document["runs"]}
    assert trials == {run.id: f"given/mnist/cnn/sgd/{run.batch_size}/1" for run in accepted.runs}
    check_stored(accepted.service.lake, *accepted.runs)
    sent = accepted.ada.send("GET", f"/v1/contributions/{accepted.runs[0].id}").json()
    assert sent["submission"]["release"] == 1


def test_accepted_again_nothing_changes(accepted: Accepted) -> None:
    ada, reviewer, name, runs = accepted.ada, accepted.reviewer, accepted.name, accepted.runs
    assert reviewer.send("POST", f"/v1/submissions/{name}/accept").json() == accepted.response.json()
    assert [release.number for release in accepted.service.lake.releases()] == [1]
    for what, body in (("return", {"reason": "late"}), ("split", {"contributions": [runs[0].id]})):
        assert reviewer.send("POST", f"/v1/submissions/{name}/{what}", json=body).status_code == 409
    assert ada.send("POST", f"/v1/submissions/{name}/withdraw").status_code == 409
    assert ada.submit(*runs).json()["id"] == name


def test_the_ledger_names_the_submission_and_no_file_of_this_machine(accepted: Accepted) -> None:
    lake = accepted.service.lake
    entries = [*lake.ledger(), *lake.ledger("placed")]
    assert {entry.source for entry in entries} == {f"contributions/{accepted.name}"}
    assert not any("losslake-submission" in f"{entry.path}{entry.reason}" for entry in entries)


def test_a_licence_of_the_submission_is_that_of_runs_without_one(service: Service, ada: Sender) -> None:
    from losslake.lake.data_files import read_small_table

    name = ada.submitted(SpooledRun(licence=None), licence="CC0-1.0")
    accept(service.database, name, "me")
    table = read_small_table(service.lake.store, service.lake.files(service.lake.release()), "collections")
    assert table["licence"].to_pylist() == ["CC0-1.0"]


def test_submissions_come_one_after_another_also_if_accepted_twice_at_once(
    service: Service, ada: Sender, bob: Sender
) -> None:
    runs = [
        SpooledRun(segments=dict(REWOUND)),
        SpooledRun(),
        SpooledRun(segments={"0001/000001.jsonl": rows(range(5))}),
    ]
    names = [ada.submitted(runs[0]), bob.submitted(runs[1]), ada.submitted(runs[2])]
    assert accept(service.database, names[0], "me").submission.release == 1
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda name: accept(service.database, name, "me").submission, [*names[1:], *names[1:]]))
    assert {each.state for each in done} == {"accepted"}
    assert {each.release for each in done} == {2, 3}
    assert {each.id: each.release for each in done[:2]} == {each.id: each.release for each in done[2:]}
    check_stored(service.lake, *runs)


def test_the_same_bytes_under_another_id_are_not_stored_twice(accepted: Accepted) -> None:
    service = accepted.service
    copy = service.sender("Bob", BOB).submitted(SpooledRun(segments=accepted.runs[0].segments), note="mine")
    with pytest.raises(ContributionError, match=r"1 runs can't be stored; .*: return the submission") as caught:
        accept(service.database, copy, "me")
    assert (caught.value.kind, caught.value.status) == ("not-storable", 409)
    assert find_any(service.database, copy).state == "submitted", "it can be returned"
    check_stored(service.lake, *accepted.runs)


def test_a_run_that_can_t_be_read_keeps_the_others_out_until_it_is_split_off(
    service: Service, ada: Sender, reviewer: Sender
) -> None:
    good, bad = SpooledRun(), SpooledRun(segments={"0001/000001.jsonl": [{"no": "step"}]})
    name = ada.submitted(good, bad)
    refused = reviewer.send("POST", f"/v1/submissions/{name}/accept")
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:losslake:problem:refused")
    assert bad.id in str(refused.json()["findings"])
    # Without the checks, nothing is stored either.
    with pytest.raises(ContributionError, match=bad.id) as raised:
        accept(service.database, name, "me")
    assert raised.value.kind == "not-storable"
    assert service.lake.newest_release() is None
    reviewer.send("POST", f"/v1/submissions/{name}/split", json={"contributions": [bad.id]})
    assert reviewer.send("POST", f"/v1/submissions/{name}/accept").json()["state"] == "accepted"
    check_stored(service.lake, good)


def _accept_and_die(folder: str, name: str, moment: str) -> None:
    """Accept in a process that is killed at a moment: when it calls that function, or returns from it."""
    import losslake_contributions.review.acceptance as module

    tempfile.tempdir = str(Path(folder).parent)  # what it leaves there goes with the test
    called, _, when = moment.partition("-")
    before: Callable[..., object] = getattr(module, called)

    def killed(*arguments: object, **options: object) -> None:
        if when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        before(*arguments, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(module, called, killed)
    module.accept(Database.open(Lake.open(folder)), name, "me")


@pytest.mark.parametrize(
    "moment",
    ["ingest-after", pytest.param("ingest-before", marks=pytest.mark.slow)],
)
def test_an_acceptance_that_is_killed_goes_on(service: Service, ada: Sender, reviewer: Sender, moment: str) -> None:
    run = SpooledRun(segments=dict(REWOUND))
    name = ada.submitted(run)
    process = Forked(_accept_and_die, str(service.lake.folder), name, moment)
    assert process.wait(60) == -signal.SIGKILL
    assert [path.name for path in service.lake.folder.parent.iterdir()] == ["lake"], "temporary files"
    is_stored = service.lake.newest_release() is not None
    assert ada.send("GET", f"/v1/submissions/{name}").json()["state"] == ("accepted" if is_stored else "submitted")
    document = reviewer.send("POST", f"/v1/submissions/{name}/accept").json()
    assert (document["state"], document["release"]) == ("accepted", 1)
    assert [release.number for release in service.lake.releases()] == [1]
    check_stored(service.lake, run)

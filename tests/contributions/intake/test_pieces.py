"""Pieces of segments that are still being written: each is added once, and the whole segment takes their place."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import func, select

from losslake.lake.lake import Lake
from losslake.record.spool import new_name
from losslake_contributions.live.reader import RunReader
from losslake_contributions.people.tokens import Quota, list_tokens
from losslake_contributions.protocol.limits import LARGEST_PIECE, LEAST_PIECE
from losslake_contributions.store.database import Database
from losslake_contributions.store.tables import OpenSegment, Piece
from tests.contributions.conftest import ADA, Sender, Service, serving
from tests.contributions.spooled_runs import SpooledRun, rows

PATH = "0001/000001.jsonl"


@pytest.fixture(scope="module")
def service(shared_service: Service) -> Service:
    return shared_service


@pytest.fixture
def run(ada: Sender) -> SpooledRun:
    made = SpooledRun()
    assert ada.create(made).status_code == 201
    return made


def held(response: Any) -> list[tuple[int, bool]]:
    """The bytes that are held of each segment, and whether it is whole."""
    assert response.status_code == 200, response.text
    return [(each["bytes"], each["is_whole"]) for each in response.json()["held"]]


def refused(response: Any) -> dict[str, str]:
    assert response.status_code == 200, response.text
    return {each["run"]: each["kind"] for each in response.json()["refused"]}


def n_pieces(database: Database, run: SpooledRun) -> tuple[int, int]:
    """The numbers of pieces and of open segments that are stored of a run."""

    def query(session: Any) -> tuple[int, int]:
        of = [session.scalar(select(func.count()).where(kind.contribution == run.id)) for kind in (Piece, OpenSegment)]
        return of[0], of[1]

    return database.read(query)


def values(database: Database, run: SpooledRun) -> list[float]:
    reader = RunReader(database, run.id)
    reader.refresh()
    return [float(value) for value in reader.curves.curve("val/loss")[1]]


def test_a_piece_goes_on_where_what_is_held_ends(service: Service, ada: Sender, run: SpooledRun) -> None:
    first, second = run.piece(PATH, 0, 4), run.piece(PATH, 4)
    n_first, n_all = len(first["lines"]), len(run.data(PATH))
    assert held(ada.live(second)) == [(0, False)], "what comes before is missing"
    assert held(ada.live(first)) == [(n_first, False)]
    assert held(ada.live(first)) == [(n_first, False)], "the same again changes nothing"
    assert held(ada.live(second)) == [(n_all, False)]
    assert held(ada.live(first, second)) == [(n_all, False)]
    assert n_pieces(service.database, run) == (2, 1)
    assert values(service.database, run) == [row["val/loss"] for row in run.segments[PATH]]


def test_pieces_of_many_runs_go_in_one_request(service: Service, ada: Sender) -> None:
    runs = [SpooledRun(segments={PATH: rows(range(3)), "0002-from-2/000001.jsonl": rows(range(2, 5))}) for _ in "abc"]
    for each in runs:
        ada.create(each)
    response = ada.live(*(each.piece(path) for each in runs for path in each.segments))
    assert held(response) == [(len(each.data(path)), False) for each in runs for path in each.segments]
    assert [len(values(service.database, each)) for each in runs] == [5, 5, 5]


def test_the_whole_segment_takes_the_place_of_its_pieces(service: Service, ada: Sender, run: SpooledRun) -> None:
    ada.live(run.piece(PATH, 0, 6))
    assert ada.put(run).status_code == 201
    assert n_pieces(service.database, run) == (0, 0)
    assert held(ada.live(run.piece(PATH, 6))) == [(len(run.data(PATH)), True)], "it takes no more"
    assert ada.finish(run).status_code == 200
    assert values(service.database, run) == [row["val/loss"] for row in run.segments[PATH]]


def test_an_end_forgets_pieces_of_segments_that_it_does_not_name(
    service: Service, ada: Sender, run: SpooledRun
) -> None:
    lost = SpooledRun(id=run.id, segments={"0001/000002.jsonl": rows(range(12, 15))})
    ada.put(run)
    ada.live(lost.piece("0001/000002.jsonl"))
    assert ada.finish(run).status_code == 200
    assert n_pieces(service.database, run) == (0, 0)
    assert len(values(service.database, run)) == 12


def test_new_lines_open_a_finished_run_and_old_ones_do_not(service: Service, ada: Sender, run: SpooledRun) -> None:
    def state() -> str:
        return str(ada.send("GET", f"/v1/contributions/{run.id}").json()["state"])

    ada.live(run.piece(PATH))
    ada.put(run)
    ada.finish(run)
    ada.live(run.piece(PATH), alive=[run.id])
    assert state() == "finished"
    more = SpooledRun(id=run.id, segments={"0002-from-5/000001.jsonl": rows(range(5, 9), 0.5)})
    assert held(ada.live(more.piece("0002-from-5/000001.jsonl", 1))) == [(0, False)]
    assert state() == "finished", "what comes before is missing"
    ada.live(more.piece("0002-from-5/000001.jsonl"))
    assert state() == "open"
    assert len(values(service.database, run)) == 9


def test_nobody_adds_to_the_run_of_someone_else(ada: Sender, bob: Sender, run: SpooledRun) -> None:
    unknown = SpooledRun(id=new_name())
    ada.live(run.piece(PATH, 0, 2))
    expected = {run.id: "unknown-contribution", unknown.id: "unknown-contribution"}
    assert refused(bob.live(run.piece(PATH, 2), alive=[unknown.id])) == expected
    assert held(ada.live(run.piece(PATH, 2, 3))) == [(run.piece(PATH, 3)["offset"], False)]


def test_a_refused_run_does_not_keep_others_from_being_taken(ada: Sender, run: SpooledRun) -> None:
    unknown = SpooledRun()
    response = ada.live(unknown.piece(PATH), run.piece(PATH))
    assert (list(refused(response)), held(response)) == ([unknown.id], [(len(run.data(PATH)), False)])


def test_a_run_in_a_submission_takes_no_pieces(ada: Sender) -> None:
    submitted = SpooledRun(parameters={"seed": 1})
    ada.submitted(submitted)
    more = SpooledRun(id=submitted.id, segments={"0001/000002.jsonl": rows(range(12, 15))})
    assert refused(ada.live(more.piece("0001/000002.jsonl"))) == {submitted.id: "conflict"}
    assert refused(ada.live(submitted.piece(PATH), alive=[submitted.id])) == {}


def test_segments_of_an_attempt_have_one_from_step(ada: Sender, run: SpooledRun) -> None:
    ada.put(run)
    other = run.piece(PATH) | {"n": 2, "from_step": 7}
    assert refused(ada.live(other)) == {run.id: "conflict"}
    ada.live(run.piece(PATH) | {"n": 2})
    assert refused(ada.live(run.piece(PATH) | {"n": 2, "offset": len(run.data(PATH)), "from_step": 7})) == {
        run.id: "conflict"
    }
    assert ada.put(run, n=3, from_step=8).status_code == 409


@pytest.mark.parametrize(
    "changes",
    [
        {"lines": "{}"},
        {"lines": ""},
        {"lines": "x" * LARGEST_PIECE + "\n"},
        {"offset": -1},
        {"offset": 2**24},
        {"run": "x"},
        {"attempt": 0},
        {"from_step": -1},
        {"more": 1},
    ],
)
def test_a_bad_piece_is_refused_in_one_line(ada: Sender, run: SpooledRun, changes: dict[str, Any]) -> None:
    response = ada.live(run.piece(PATH) | changes)
    assert (response.status_code, response.json()["type"]) == (422, "urn:losslake:problem:bad-document")
    assert len(response.json()["detail"]) < 300


def test_a_segment_grows_to_no_more_than_its_limit(ada: Sender, run: SpooledRun) -> None:
    line = "x" * (LARGEST_PIECE - 1) + "\n"
    for n in range(16):
        assert held(ada.live(run.piece(PATH) | {"lines": line, "offset": n * len(line)})) == [
            ((n + 1) * len(line), False)
        ]
    full = ada.live(run.piece(PATH) | {"lines": "{}\n", "offset": 16 * len(line) - 3})
    assert held(full) == [(16 * len(line), False)]
    over = run.piece(PATH) | {"lines": "{}\n", "offset": 2**24 - 1}
    assert held(ada.live(over)) == [(16 * len(line), False)]


def test_a_piece_counts_once_with_the_segment_that_it_becomes(empty_lake: Lake) -> None:
    run = SpooledRun()
    with serving(empty_lake) as service:
        ada = service.sender("Ada", ADA, quota=Quota(bytes=10_000))
        ada.create(run)

        def used() -> int:
            (facts,) = list_tokens(service.database)
            return facts.bytes

        ada.live(run.piece(PATH, 0, 6), run.piece(PATH, 6, 9))
        ada.live(run.piece(PATH, 0, 6))
        assert used() == 2 * LEAST_PIECE, "two pieces count, however small they are"
        ada.put(run)
        assert used() == len(run.data(PATH))
        big = run.piece(PATH) | {"n": 2, "lines": "x" * 10_000 + "\n"}
        response = ada.live(big)
        assert (response.status_code, response.json()["type"]) == (403, "urn:losslake:problem:quota-exceeded")
        assert n_pieces(service.database, run) == (0, 0)


def test_tiny_pieces_use_up_a_quota(empty_lake: Lake) -> None:
    run = SpooledRun()
    with serving(empty_lake) as service:
        ada = service.sender("Ada", ADA, quota=Quota(bytes=10 * LEAST_PIECE))
        ada.create(run)
        line = {**run.piece(PATH), "lines": "{}\n"}
        tiny = [line | {"offset": 3 * n} for n in range(11)]
        assert [ada.live(each).status_code for each in tiny] == [200] * 10 + [403]
        assert n_pieces(service.database, run) == (10, 1)


def test_an_open_segment_counts_as_a_segment_once(empty_lake: Lake) -> None:
    run = SpooledRun(segments={f"0001/{n:06d}.jsonl": rows(range(n, n + 3)) for n in range(1, 4)})
    with serving(empty_lake) as service:
        ada = service.sender("Ada", ADA, quota=Quota(segments=2))
        ada.create(run)
        assert [ada.live(run.piece(path)).status_code for path in run.segments] == [200, 200, 403]
        assert [ada.put(run, path).status_code for path in run.segments] == [201, 201, 403]
        (facts,) = list_tokens(service.database)
        assert facts.segments == 2


def test_a_run_has_no_more_open_and_whole_segments_than_an_end(
    service: Service, ada: Sender, run: SpooledRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("losslake_contributions.intake.segments.MOST_SEGMENTS", 3)
    ada.put(run)
    other = SpooledRun()
    ada.create(other)
    many = [run.piece(PATH) | {"n": n} for n in range(2, 5)]
    answer = ada.live(*many, other.piece(PATH))
    assert refused(answer) == {run.id: "too-large"}
    assert held(answer) == [(len(other.data(PATH)), False)], "the other run is taken"
    assert n_pieces(service.database, run) == (2, 2)
    assert refused(ada.live(run.piece(PATH) | {"n": 9, "attempt": 2})) == {run.id: "too-large"}
    assert ada.put(run, n=9).status_code == 413
    assert [ada.put(run, n=n).status_code for n in (2, 3)] == [201, 201], "whole ones take the place of open ones"
    assert refused(ada.live(run.piece(PATH) | {"n": 4})) == {run.id: "too-large"}


def test_a_request_is_taken_in_portions(ada: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("losslake_contributions.intake.pieces._PORTION", 2)
    runs = [SpooledRun() for _ in range(5)]
    for each in runs[:4]:
        ada.create(each)
    parts = [(run, *lines) for run in runs for lines in ((0, 4), (4, 12))]
    answer = ada.live(*(run.piece(PATH, *lines) for run, *lines in parts), alive=[run.id for run in runs])
    assert held(answer) == [(len(run.data(PATH)), False) for run in runs[:4]]
    assert refused(answer) == {runs[4].id: "unknown-contribution"}


def test_senders_wait_longer_where_there_are_many(ada: Sender, run: SpooledRun) -> None:
    pauses = [ada.live(alive=[run.id]).json()["seconds"] for _ in range(20)]
    assert min(pauses) >= 1
    assert max(pauses) <= 3


def test_a_reviewers_token_sends_nothing(reviewer: Sender, run: SpooledRun) -> None:
    assert reviewer.live(run.piece(PATH)).status_code == 403

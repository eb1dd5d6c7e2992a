"""A live run without a sign of life becomes INCOMPLETE with what is held, and goes on when it is heard of again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from losslake.lake.lake import Lake
from losslake_contributions.intake import silence
from losslake_contributions.intake.cleaning import delete_orphans, delete_unfinished
from losslake_contributions.intake.segment_files import store_segment
from losslake_contributions.intake.segments import lines_of
from losslake_contributions.intake.silence import end_silent_runs
from losslake_contributions.live.reader import RunReader
from losslake_contributions.protocol.contributions import Finish
from losslake_contributions.review.acceptance import accept
from losslake_contributions.review.erasure import erase_runs
from losslake_contributions.store.database import Database
from losslake_contributions.store.tables import Contribution, Piece
from tests.contributions.conftest import ADA, Sender, Service, serving
from tests.contributions.review.test_acceptance import check_stored
from tests.contributions.spooled_runs import SpooledRun, rows

PATH, REWOUND = "0001/000001.jsonl", "0002-from-5/000001.jsonl"
NOW, LONG = timedelta(0), timedelta(minutes=10)


@pytest.fixture
def run(ada: Sender) -> SpooledRun:
    made = SpooledRun(segments={PATH: rows(range(12)), REWOUND: rows(range(5, 9), 0.5)}, status="INCOMPLETE")
    assert ada.create(made).status_code == 201
    return made


def row_of(database: Database, run: SpooledRun) -> Contribution:
    return database.read(lambda session: session.get_one(Contribution, run.id))


def seen(database: Database, run: SpooledRun, when: datetime) -> None:
    with Session(database.lake.engine) as session:
        session.execute(update(Contribution).where(Contribution.id == run.id).values(seen_at=when))
        session.commit()


def curve(database: Database, run: SpooledRun) -> list[Any]:
    reader = RunReader(database, run.id)
    reader.refresh()
    return [each.tolist() for each in reader.curves.curve("val/loss")]


def files(service: Service) -> int:
    return len(list(service.lake.store.list_files("contributions")))


def test_a_silent_run_is_finished_with_what_is_held(service: Service, ada: Sender, run: SpooledRun) -> None:
    ada.live(run.piece(PATH, 0, 8), run.piece(REWOUND, 0, 2))
    before = curve(service.database, run)
    assert end_silent_runs(service.database, LONG) == 0
    assert end_silent_runs(service.database, NOW) == 1
    assert end_silent_runs(service.database, NOW) == 0
    row = row_of(service.database, run)
    end = Finish.model_validate_json(row.end or "")
    assert (end.status, len(end.segments), row.is_silent) == ("INCOMPLETE", 2, True)
    assert end.ended_at == pytest.approx(row.seen_at.timestamp() if row.seen_at else 0)
    assert curve(service.database, run) == before
    assert files(service) == 2


def test_what_is_held_of_a_silent_run_can_be_accepted(service: Service, ada: Sender, run: SpooledRun) -> None:
    ada.live(run.piece(PATH), run.piece(REWOUND))
    end_silent_runs(service.database, NOW)
    accept(service.database, str(ada.submit(run).json()["id"]), "me")
    check_stored(service.lake, run)


def test_a_run_that_was_not_sent_live_is_left_alone(service: Service, ada: Sender, run: SpooledRun) -> None:
    ada.put(run, PATH)
    assert end_silent_runs(service.database, NOW) == 0
    assert row_of(service.database, run).end is None


def test_a_silent_run_goes_on_from_its_first_byte(service: Service, ada: Sender, run: SpooledRun) -> None:
    ada.live(run.piece(PATH, 0, 8))
    end_silent_runs(service.database, NOW)
    assert ada.live(run.piece(PATH, 8)).json()["held"][0]["bytes"] == 0, "the part that is held became a segment"
    assert curve(service.database, run)[0] == list(range(8)), "which is shown meanwhile"
    ada.live(run.piece(PATH))
    assert row_of(service.database, run).end is None
    assert curve(service.database, run)[0] == list(range(12))
    assert end_silent_runs(service.database, NOW) == 1
    assert files(service) == 1
    assert curve(service.database, run)[0] == list(range(12))


def test_a_sign_of_life_is_enough_to_go_on(service: Service, ada: Sender, run: SpooledRun) -> None:
    ada.live(run.piece(PATH, 0, 8))
    end_silent_runs(service.database, NOW)
    ada.live(alive=[run.id])
    assert row_of(service.database, run).end is None
    assert end_silent_runs(service.database, NOW) == 1
    assert curve(service.database, run)[0] == list(range(8))


def test_signs_of_life_in_quick_succession_are_written_once(service: Service, ada: Sender, run: SpooledRun) -> None:
    ada.live(alive=[run.id])
    first = row_of(service.database, run).seen_at
    ada.live(run.piece(PATH), alive=[run.id])
    assert row_of(service.database, run).seen_at == first
    seen(service.database, run, datetime.now(UTC) - timedelta(seconds=10))
    ada.live(alive=[run.id])
    last = row_of(service.database, run).seen_at
    assert first is not None
    assert last is not None
    assert last > first


def test_a_push_replaces_what_was_held(service: Service, ada: Sender, run: SpooledRun) -> None:
    ada.live(run.piece(PATH, 0, 8), run.piece(REWOUND))
    end_silent_runs(service.database, NOW)
    assert [ada.put(run, path).status_code for path in run.segments] == [201, 201]
    assert ada.finish(run).status_code == 200
    assert (files(service), row_of(service.database, run).segments) == (2, 2)
    accept(service.database, str(ada.submit(run).json()["id"]), "me")
    check_stored(service.lake, run)


def test_an_end_names_the_part_that_is_held_or_forgets_it(service: Service, ada: Sender, run: SpooledRun) -> None:
    ada.live(run.piece(PATH), run.piece(REWOUND))
    end_silent_runs(service.database, NOW)
    first = SpooledRun(id=run.id, segments={PATH: run.segments[PATH]})
    assert ada.finish(first).status_code == 200
    assert (files(service), row_of(service.database, run).segments) == (1, 1)
    assert ada.put(run, PATH, data=b"{}\n", sha256="0" * 64).status_code == 409, "it is whole now"


def test_a_submitted_run_neither_falls_silent_nor_goes_on(service: Service, ada: Sender, run: SpooledRun) -> None:
    ada.live(run.piece(PATH))
    end_silent_runs(service.database, NOW)
    ada.submit(run)
    (refused,) = ada.live(alive=[run.id]).json()["refused"]
    assert refused["kind"] == "conflict"
    assert end_silent_runs(service.database, NOW) == 0


def test_what_comes_while_a_run_is_finished_is_kept(
    service: Service, ada: Sender, run: SpooledRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.live(run.piece(PATH, 0, 8))

    def while_storing(*arguments: Any) -> str:
        ada.live(run.piece(PATH, 8))
        return store_segment(*arguments)

    monkeypatch.setattr(silence, "store_segment", while_storing)
    assert end_silent_runs(service.database, NOW) == 0
    assert row_of(service.database, run).end is None
    assert curve(service.database, run)[0] == list(range(12))
    assert files(service) == 0


def test_a_segment_that_a_push_sends_meanwhile_stays_whole(
    service: Service, ada: Sender, run: SpooledRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.live(run.piece(PATH, 0, 8))

    def while_storing(*arguments: Any) -> str:
        assert ada.put(run, PATH).status_code == 201
        return store_segment(*arguments)

    monkeypatch.setattr(silence, "store_segment", while_storing)
    assert end_silent_runs(service.database, NOW) == 0
    monkeypatch.undo()
    assert end_silent_runs(service.database, NOW) == 1
    assert curve(service.database, run)[0] == list(range(12))
    first = SpooledRun(id=run.id, segments={PATH: run.segments[PATH]})
    assert ada.finish(first).status_code == 200


def test_a_run_that_is_silent_again_keeps_what_was_held_at_first(
    service: Service, ada: Sender, run: SpooledRun
) -> None:
    ada.live(run.piece(PATH, 0, 8))
    end_silent_runs(service.database, NOW)
    ada.live(run.piece(PATH, 0, 3))
    assert end_silent_runs(service.database, NOW) == 1
    assert curve(service.database, run)[0] == list(range(8))
    assert (files(service), row_of(service.database, run).segments) == (1, 1)


def test_an_end_lacks_segments_of_which_only_a_part_is_held(service: Service, ada: Sender, run: SpooledRun) -> None:
    ada.live(run.piece(PATH, 0, 8), run.piece(REWOUND, 0, 2))
    end_silent_runs(service.database, NOW)
    refused = ada.finish(run)
    assert refused.json()["type"] == "urn:losslake:problem:incomplete"
    assert refused.json()["missing"] == ["1/1", "2/1"]
    assert row_of(service.database, run).is_silent, "nothing has changed"


def test_a_run_that_shows_signs_of_life_is_not_deleted(service: Service, ada: Sender, run: SpooledRun) -> None:
    ada.live(run.piece(PATH))
    assert delete_unfinished(service.database, timedelta(days=1)) == 0
    old = datetime.now(UTC) - timedelta(days=2)
    with Session(service.lake.engine) as session:
        session.execute(update(Contribution).values(created_at=old))
        session.commit()
    assert delete_unfinished(service.database, timedelta(days=1)) == 0
    seen(service.database, run, old)
    assert delete_unfinished(service.database, timedelta(days=1)) == 1
    assert ada.live(run.piece(PATH)).json()["refused"][0]["kind"] == "unknown-contribution"
    assert delete_orphans(service.database, NOW) == 0


def test_an_erased_run_leaves_no_pieces_and_takes_none(service: Service, ada: Sender, run: SpooledRun) -> None:
    ada.live(run.piece(PATH, 0, 8))
    assert erase_runs(service.lake, [run.id]) == 1
    assert service.database.read(lambda session: session.scalar(select(func.count()).select_from(Piece))) == 0
    (refused,) = ada.live(run.piece(PATH), alive=[run.id]).json()["refused"]
    assert refused["kind"] == "conflict"
    assert end_silent_runs(service.database, NOW) == delete_unfinished(service.database, NOW) == 0


def test_run_that_cannot_be_finished_does_not_stop_others(
    service: Service, ada: Sender, run: SpooledRun, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    others = [SpooledRun(segments={PATH: rows(range(n))}) for n in (3, 4)]
    for each in others:
        ada.create(each)
    for each in (others[0], run, others[1]):
        ada.live(each.piece(PATH))

    def store_others(lake: Lake, name: str, *arguments: Any) -> str:
        if name == run.id:
            raise OSError("no space left")
        return store_segment(lake, name, *arguments)

    monkeypatch.setattr(silence, "store_segment", store_others)
    assert end_silent_runs(service.database, NOW) == 2
    assert [record.levelname for record in caplog.records if run.id in record.getMessage()] == ["ERROR"]
    assert row_of(service.database, run).end is None
    monkeypatch.undo()
    assert end_silent_runs(service.database, NOW) == 1
    assert (files(service), curve(service.database, run)[0]) == (3, list(range(12)))


def test_run_that_is_heard_of_while_others_are_finished_goes_on(
    service: Service, ada: Sender, run: SpooledRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = SpooledRun()
    ada.create(other)
    ada.live(run.piece(PATH), other.piece(PATH))
    for each, minutes in ((run, 40), (other, 30)):
        seen(service.database, each, datetime.now(UTC) - timedelta(minutes=minutes))

    def while_storing(*arguments: Any) -> str:
        ada.live(alive=[other.id])
        return store_segment(*arguments)

    monkeypatch.setattr(silence, "store_segment", while_storing)
    assert end_silent_runs(service.database, LONG) == 1
    assert row_of(service.database, other).end is None


def test_run_whose_end_is_invalid_leaves_no_files(
    service: Service, ada: Sender, run: SpooledRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.live(run.piece(PATH), run.piece(REWOUND))

    def invalid(*_: Any) -> Finish:
        return Finish.model_validate({})

    monkeypatch.setattr(silence, "_end_of", invalid)
    assert [end_silent_runs(service.database, NOW) for _ in "ab"] == [0, 0]
    assert (files(service), curve(service.database, run)[0]) == (0, list(range(9)))


def test_run_stored_with_too_many_segments_is_finished_and_keeps_the_rest(
    service: Service, ada: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = SpooledRun(segments={f"0001/{n:06d}.jsonl": rows(range(10 * n, 10 * n + 10)) for n in range(1, 6)})
    ada.create(run)
    first, *others = run.segments
    ada.live(*(run.piece(path) for path in others))
    ada.put(run, first)
    before = curve(service.database, run)
    monkeypatch.setattr(silence, "MOST_SEGMENTS", 3)
    assert end_silent_runs(service.database, NOW) == 1
    end = Finish.model_validate_json(row_of(service.database, run).end or "")
    assert [each.n for each in end.segments] == [1, 2, 3]
    assert [(gap.n, gap.reason[:15]) for gap in end.gaps] == [(20, "2 more segments")]
    assert curve(service.database, run) == before, "what isn't in the end is still held"
    ada.live(alive=[run.id])
    assert end_silent_runs(service.database, NOW) == 1, "it may go on, and gets an end again"
    assert curve(service.database, run) == before
    monkeypatch.undo()
    assert {ada.put(run, path).status_code for path in others} == {201}, "a push can still send everything"
    assert ada.finish(run).status_code == 200
    assert curve(service.database, run) == before
    assert files(service) == 5


def test_lines_of_a_silent_run_are_in_memory_one_segment_at_a_time(
    service: Service, ada: Sender, run: SpooledRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.live(run.piece(PATH), run.piece(REWOUND))
    done: list[str] = []

    def read(*arguments: Any) -> bytes:
        done.append("read")
        return lines_of(*arguments)

    def store(*arguments: Any) -> str:
        done.append("store")
        return store_segment(*arguments)

    monkeypatch.setattr(silence, "lines_of", read)
    monkeypatch.setattr(silence, "store_segment", store)
    assert end_silent_runs(service.database, NOW) == 1
    assert done == ["read", "store"] * 2


def test_pieces_and_silence_in_postgresql(lake_in_postgresql: Lake) -> None:
    run = SpooledRun(segments={PATH: rows(range(12)), REWOUND: rows(range(5, 9), 0.5)})
    with serving(lake_in_postgresql) as service:
        ada, database = service.sender("Ada", ADA), service.database
        ada.create(run)
        for _ in range(2):
            answer = ada.live(run.piece(PATH, 0, 8), run.piece(REWOUND, 0, 2), alive=[run.id])
            assert [each["is_whole"] for each in answer.json()["held"]] == [False, False]
        before = curve(database, run)
        assert end_silent_runs(database, NOW) == 1
        assert curve(database, run) == before
        ada.live(run.piece(PATH), run.piece(REWOUND))
        assert curve(database, run)[0] == list(range(9))
        assert [ada.put(run, path).status_code for path in run.segments] == [201, 201]
        assert ada.finish(run).status_code == 200
        assert files(service) == 2

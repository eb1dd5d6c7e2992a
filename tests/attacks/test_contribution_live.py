"""Pieces of live runs from strangers with a token; docs/threat-model.md lists the attacks."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from sqlalchemy import func, select

from losslake.record.spool import new_name
from losslake_contributions.intake.silence import end_silent_runs
from losslake_contributions.live.reader import MOST_SERIES, RunReader
from losslake_contributions.people.tokens import Quota
from losslake_contributions.protocol.limits import MOST_PIECES, MOST_SEGMENTS
from losslake_contributions.store.tables import Piece
from losslake_schema.errors import LossLakeError
from tests.attacks.contributors import Target, fresh_run, refused

pytestmark = [pytest.mark.slow, pytest.mark.attack]
CURVE = "0001/000001.jsonl"


def n_bytes(target: Target) -> int:
    """Bytes of the JSON lines of all pieces."""
    return target.database.read(lambda session: session.scalar(select(func.sum(Piece.size)))) or 0


def test_pieces_of_others(target: Target) -> None:
    """add lines to someone's live run, keep it alive, or learn whether it exists"""
    run = fresh_run()
    target.victim.create(run)
    target.victim.live(run.piece(CURVE, 0, 4))
    before, unknown = n_bytes(target), fresh_run()
    told = []
    for each in (run, unknown):
        answer = target.mallory.live(each.piece(CURVE, 4), alive=[each.id]).json()
        assert answer["held"] == []
        told.append(json.dumps(answer["refused"]).replace(each.id, "RUN"))
    assert told[0] == told[1]
    assert n_bytes(target) == before


def test_pieces_that_become_no_segment(target: Target) -> None:
    """fill the database with pieces that become no segment"""
    mallory = target.someone("Piecewise", quota=Quota(bytes=3_000_000))
    run = fresh_run()
    mallory.create(run)
    before, lines = n_bytes(target), "x" * 500_000 + "\n"
    codes = [mallory.live(run.piece(CURVE) | {"n": n, "lines": lines}).status_code for n in range(1, 12)]
    assert codes == sorted(codes)
    assert codes[-1] == 403
    assert n_bytes(target) - before <= 3_000_000


def test_runs_with_too_many_open_segments(target: Target) -> None:
    """keep silent runs of all from getting an end, by a run with more open segments than an end may have"""
    run, other = fresh_run(), fresh_run()
    target.mallory.create(run)
    target.victim.create(other)
    piece = run.piece(CURVE) | {"lines": "{}\n"}
    answers = [
        target.mallory.live(*[piece | {"n": n} for n in range(first, first + MOST_PIECES)], timeout=120)
        for first in range(1, MOST_SEGMENTS + 2, MOST_PIECES)
    ]
    target.victim.live(other.piece(CURVE))
    ended = end_silent_runs(target.database, timedelta(0))
    states = [
        sender.send("GET", f"/v1/contributions/{each.id}").json()
        for sender, each in ((target.mallory, run), (target.victim, other))
    ]
    print(
        f"\n{MOST_SEGMENTS + MOST_PIECES:,} open segments of a run: {states[0]['n_segments']:,} are in its end",
        flush=True,
    )
    assert [each["state"] for each in states] == ["finished", "finished"]
    assert (ended >= 2, states[0]["n_segments"]) == (True, MOST_SEGMENTS)
    assert [each["kind"] for each in answers[-1].json()["refused"]] == ["too-large"]


def test_too_many_pieces(target: Target) -> None:
    """send more pieces, or signs of life, in one request than others wait for"""
    run = fresh_run()
    target.mallory.create(run)
    piece = run.piece(CURVE) | {"lines": "{}\n"}
    refused(target.mallory.live(*[piece] * (MOST_PIECES + 1)), 422)
    refused(target.mallory.live(alive=[new_name() for _ in range(MOST_PIECES + 1)]), 422)
    assert target.mallory.live(*[piece | {"n": n} for n in range(1, MOST_PIECES + 1)]).status_code == 200


def test_lines_that_break_readers(target: Target) -> None:
    """break, or fill the memory of, whoever looks at a live run: nested, huge and endless lines, many metrics"""
    run = fresh_run()
    target.mallory.create(run)
    odd = ["[" * 100_000, '{"step":' * 50_000, '{"step": 1, "a": 1e999}', '{"step": 1, "\\ud800": 1}']
    odd += [
        '{"step": 1, "": 1}',
        '{"step": 99999999999999999999, "a": 1}',
        "\x00\x1b[2J",
        '{"step": 1, "step": 2, "a": 1}',
        "9" * 10_000,
    ]
    target.mallory.live(run.piece(CURVE) | {"lines": "\n".join(odd) + "\n"})
    reader = RunReader(target.database, run.id)
    reader.refresh()
    assert reader.curves.n_unread >= 6
    offset = len(("\n".join(odd) + "\n").encode())
    many = {f"m{n}": 1 for n in range(MOST_SERIES + 1)} | {"step": 1}
    target.mallory.live(run.piece(CURVE) | {"lines": json.dumps(many) + "\n", "offset": offset})
    with pytest.raises(LossLakeError, match="isn't shown live"):
        reader.refresh()

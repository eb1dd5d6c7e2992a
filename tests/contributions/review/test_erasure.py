"""Erased trials are in no byte of what the contribution service keeps; tombstones with ids and digests stay."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import zstandard

from losslake.lake.lake import Lake
from losslake_cli.changes.erase import erase_completely
from losslake_contributions.review.checks.report import Report
from losslake_contributions.review.erasure import GONE, erase_runs
from losslake_contributions.review.submissions import find_any, row_of
from losslake_contributions.store.database import Database
from losslake_contributions.store.tables import ERASED_FACTS, Contribution, HeldSegment
from tests.contributions.conftest import ADA, BOB, Sender, serving
from tests.contributions.spooled_runs import COLLECTION, Rows, SpooledRun, rows
from tests.servers.postgresql import PostgreSQL

SECRET, FACT, NOTE, CLAIMED = 0.123454321, "hush_fact", "a note on hush_note", 0.7654321
WORD = "hush_word"  # a part of notes, and of the name of a parameter, that is removed from what stays
EVERYTHING = {SECRET, FACT, NOTE, CLAIMED}
TRIAL = f"{COLLECTION}/mnist/cnn/sgd/64/1"
SEGMENTS: dict[str, Rows] = {"0001/000001.jsonl": [*rows(range(12)), {"step": 12, "val/loss": SECRET}]}


@dataclass
class Made:
    """A lake with a secret run, which is accepted beside another, and copied by somebody else."""

    lake: Lake
    secret: SpooledRun
    other: SpooledRun
    copy: SpooledRun
    accepted: str
    copied: str


@dataclass
class Erased(Made):
    """The same after WORD was removed, an erasure was killed, and another one ended.

    note, facts: of the accepted submission and of the secret run, before the erasures.
    """

    note: str
    facts: str


@pytest.fixture(scope="module")
def erased(tmp_path_factory: pytest.TempPathFactory) -> Erased:
    made = make(Lake.create(tmp_path_factory.mktemp("erased") / "lake"))
    assert erase_runs(made.lake, [], [WORD]) == 0
    note = find_any(Database.open(made.lake), made.accepted).note or ""
    facts = rows_of(made.lake, made.secret)[0].facts
    assert found(made.lake.folder) == EVERYTHING

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("losslake_ingest.releases.erasure.republish", killed)
        with pytest.raises(KeyboardInterrupt):
            erase_completely(made.lake, [TRIAL], "a court's order", "the operator")
    erase_completely(made.lake, [TRIAL], "a court's order", "the operator")
    return Erased(**vars(made), note=note, facts=facts)


def make(lake: Lake) -> Made:
    parameters = {"learning_rate": 0.1, FACT: 1.0, WORD: 2.0}
    secret, other = SpooledRun(segments=SEGMENTS, parameters=parameters), SpooledRun(batch_size=7)
    copy = SpooledRun(segments=SEGMENTS, parameters=parameters, batch_size=99)
    claim = {"contribution": secret.id, "metric": "val/loss", "target": CLAIMED, "steps": 1}
    with serving(lake) as service:
        ada, bob = service.sender("Ada", ADA), service.sender("Bob", BOB)
        reviewer = service.sender("Rea", None, "review")
        accepted = ada.submitted(secret, other, note=f"{NOTE}, {WORD}", claims=[claim])
        response = reviewer.send("POST", f"/v1/submissions/{accepted}/accept")
        assert response.status_code == 200, response.text
        copied = bob.submitted(copy, note=NOTE)
        assert bob.review(copied).status_code == 200
    lake.engine.dispose()
    return Made(lake, secret, other, copy, accepted, copied)


def found(*folders: Path) -> set[object]:
    """Return which secrets are in any file of some folders, as bytes, text, or in decoded Parquet or zstd data."""
    needles: dict[object, tuple[bytes, ...]] = {
        SECRET: (struct.pack("<d", SECRET), repr(SECRET).encode()), FACT: (FACT.encode(),),
        NOTE: (NOTE.encode(),), CLAIMED: (repr(CLAIMED).encode(),),
    }  # fmt: skip
    seen: set[object] = set()
    for path in (path for folder in folders for path in folder.rglob("*") if path.is_file()):
        data = path.read_bytes()
        if path.suffix == ".parquet":
            data += repr(pq.ParquetFile(path).read().to_pylist()).encode()
        if path.suffix == ".zst":
            frame = data[data.index(zstandard.FRAME_HEADER) :]  # after a digest, in files that machines share
            data += zstandard.ZstdDecompressor().stream_reader(frame).read()
        seen |= {needle for needle, forms in needles.items() if any(form in data for form in forms)}
    return seen


def rows_of(lake: Lake, run: SpooledRun) -> tuple[Contribution, list[HeldSegment]]:
    def query(session: Any) -> tuple[Contribution, list[HeldSegment]]:
        held = session.query(HeldSegment).filter(HeldSegment.contribution == run.id).all()
        return session.get(Contribution, run.id), held

    return lake.read(query)


def test_no_byte_of_an_erased_run_remains_after_one_that_was_killed(erased: Erased) -> None:
    assert found(erased.lake.folder) == set()
    assert not (erased.lake.folder / "drafts").exists()


@pytest.mark.slow
def test_no_byte_remains_in_postgresql(postgresql: PostgreSQL, lake_in_postgresql: Lake, tmp_path: Path) -> None:
    lake = lake_in_postgresql
    made = make(lake)
    with postgresql.connect(autocommit=True) as connection:
        database = "SELECT oid::text FROM pg_database WHERE datname = %s"
        (folder,) = connection.execute(database, [lake.engine.url.database]).fetchone() or [""]
        places = (tmp_path / "files", lake.folder, postgresql.folder / "data" / "base" / folder)
        connection.execute("CHECKPOINT")
        assert found(*places) == EVERYTHING
        assert erase_completely(lake, [TRIAL], "why", "me").runs == {made.secret.id}
        connection.execute("CHECKPOINT")
        assert found(*places) == set()
    assert find_any(Database.open(lake), made.accepted).note == GONE


def test_ids_and_digests_stay_and_other_runs_are_whole(erased: Erased) -> None:
    for run in (erased.secret, erased.copy):
        row, held = rows_of(erased.lake, run)
        assert (row.facts, row.bytes > 0) == (ERASED_FACTS, True)
        assert [(each.sha256, each.path) for each in held] == [(run.place("0001/000001.jsonl")["sha256"], "")]
    database = Database.open(erased.lake)
    accepted, copied = find_any(database, erased.accepted), find_any(database, erased.copied)
    assert (accepted.state, accepted.n_runs, accepted.note, accepted.claims) == ("accepted", 2, GONE, ())
    assert {run.id: run.study.partition("/")[0] for run in accepted.runs} == {
        erased.secret.id: "erased", erased.other.id: COLLECTION,
    }  # fmt: skip
    report = Report.from_json(row_of(database, erased.accepted).report or "")
    assert {finding.run for finding in report.findings} <= {erased.other.id}
    assert (copied.state, copied.reason, copied.note) == ("returned", GONE, GONE)
    row, held = rows_of(erased.lake, erased.other)
    assert row.facts != ERASED_FACTS
    assert all(erased.lake.store.read(each.path) for each in held)


def test_an_erased_run_is_not_taken_again(erased: Erased) -> None:
    with serving(erased.lake) as service:
        ada: Sender = service.sender("Ada", ADA)
        bob: Sender = service.sender("Bob", BOB)
        again = ada.create(erased.secret)
        assert (again.status_code, "was erased" in again.json()["detail"]) == (409, True)
        for sender, run in ((ada, erased.secret), (bob, erased.copy)):
            more = SpooledRun(id=run.id, segments={"0001/000002.jsonl": rows(range(3))})
            for refused in (sender.put(more, "0001/000002.jsonl"), sender.finish(more)):
                assert (refused.status_code, "was erased" in refused.json()["detail"]) == (409, True)
        path = f"/v1/contributions/{erased.secret.id}/segments/1/1"
        assert ada.send("GET", path).status_code == 404
        refused = bob.submit(erased.copy, note="again")
        assert (refused.status_code, "was erased" in refused.json()["detail"]) == (409, True)
        shown = ada.send("GET", f"/v1/submissions/{erased.accepted}")
        assert (shown.status_code, shown.json()["note"]) == (200, GONE)
        assert service.client.get("/healthz").status_code == 200


def test_texts_are_removed_from_what_stays(erased: Erased) -> None:
    assert erased.note == f"{NOTE}, {GONE}"
    assert WORD not in erased.facts
    assert GONE in erased.facts
    assert FACT in erased.facts


def test_a_lake_without_contributions_is_left_as_it_is(empty_lake: Lake) -> None:
    assert erase_runs(empty_lake, ["x"], ["y"]) == 0

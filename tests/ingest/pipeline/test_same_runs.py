"""Logs of one run, with equal values and steps, are one trial that lists them all, in whatever order."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.index.serving import open_release
from losslake.lake.lake import Lake
from losslake.lake.notices import read_notices
from losslake.lake.verification import verify
from losslake_cli.changes.erase import erase_completely
from losslake_ingest.bundles.writing import write_bundle
from losslake_ingest.contracts.report import Summary
from losslake_ingest.contracts.study import Curves, StudyFacts, concatenate, run_digests
from losslake_ingest.mapping.place import PlacedRun
from losslake_ingest.pipeline.gather import OTHER_FACTS, Stored
from losslake_ingest.pipeline.same_runs import SameRuns
from losslake_ingest.releases.compaction import compact
from losslake_ingest.releases.erasure import erase
from losslake_ingest.releases.withdrawal import restore, withdraw
from losslake_ingest.run import ingest
from losslake_schema.names import Study, Trial, Workload
from losslake_schema.registry import CollectionMetadata
from tests.ingest.offers import Files, unpacked
from tests.ingest.stored_rows import stored_rows

STUDY = Study(Workload("c", "d", "m", "o"), 8)
NAN = math.nan


class Log(NamedTuple):
    """A log: its round and path, its rate, its rows of step, value and seconds, and a text that makes its bytes.

    keeps: its mapping keeps repeats.
    """

    round: str
    path: str
    rate: float
    rows: tuple[tuple[int, float, float], ...]
    text: str
    keeps: bool

    @property
    def sha256(self) -> str:
        return hashlib.sha256(repr((self.rows, self.text)).encode()).hexdigest()


def curve_of(rows: Sequence[tuple[int, float, float]]) -> Curves:
    steps, values, times = (np.array(column) for column in zip(*rows, strict=True))
    return Curves(np.array([0, len(rows)]), steps, {"val/loss": values}, {}, times)


def placed(log: Log) -> PlacedRun:
    attributes = {"round": json.dumps(log.round)} if log.round else {}
    return PlacedRun(
        run=log.path, study=STUDY, facts=StudyFacts(STUDY, "examples", 0, early_stopping=False, parameter_configs="{}"),
        trial_id=None, status="COMPLETE", parameters={"rate": log.rate}, attributes=attributes,
        labels=frozenset({"round"}), curve=curve_of(log.rows), files={log.path: log.sha256},
        collection=CollectionMetadata("c"), goals=(), directions=(), left_out=(), remarks={}, keeps_repeats=log.keeps,
    )  # fmt: skip


def have_equal_bytes(one: Log, other: Log) -> bool:
    return one.sha256 == other.sha256 and one.rate == other.rate


def have_equal_times(one: Log, other: Log) -> bool:
    """Equal values, steps and times in milliseconds, enough of them."""
    told = [[shown(t) for *_, t in log.rows] for log in (one, other)]
    return shape(one) == shape(other) and told[0] == told[1] and len(told[0]) >= 4 and len({*told[0]} - {"nan"}) >= 3


def have_equal_curves(one: Log, other: Log) -> bool:
    """Equal values and steps, enough of them and different ones, where neither is to be kept as a repeat."""
    different = {value for _, value in shape(one)} - {"nan"}
    return shape(one) == shape(other) and len(one.rows) >= 4 <= len(different) and not (one.keeps or other.keeps)


def shape(log: Log) -> list[tuple[int, float | str]]:
    return [(step, "nan" if math.isnan(value) else value + 0.0) for step, value, _ in log.rows]


def shown(seconds: float) -> str:
    return "nan" if math.isnan(seconds) else f"{round(seconds * 1000)}"


def are_same_curves(one: Log, other: Log) -> bool:
    return have_equal_curves(one, other) and one.rate == other.rate


RULES = {"bytes": have_equal_bytes, "times": have_equal_times, "curve": are_same_curves}


def by_brute_force(sources: Sequence[Sequence[Log]]) -> tuple[dict[str, dict[str, str]], set[str]]:
    """The path of each trial's log, the first by round and path, with those of its other logs and why they are.

    Also the paths of the trials that have the curve of an earlier one, but other metaparameters.
    """
    trials: list[tuple[Log, dict[str, str]]] = []
    alike = set()
    for logs in sources:
        for log in sorted(logs, key=lambda log: ([float(log.round)] if log.round else [], log.path)):
            same = ((others, why) for why, are_one in RULES.items() for first, others in trials if are_one(log, first))
            others, why = next(same, ({}, ""))
            others[log.path] = why
            if not why:
                if any(have_equal_curves(log, first) for first, _ in trials):
                    alike.add(log.path)
                trials.append((log, {}))
    return {first.path: others for first, others in trials}, alike


SECONDS = st.sampled_from([0.0, 0.0004, 1.0, 1.0002, 2.0, 2.001, 3.0, NAN])
VALUES = st.sampled_from([0.0, -0.0, 1.0, NAN])
ROWS = st.lists(st.tuples(VALUES, SECONDS), min_size=3, max_size=5)
ALIKE = [
    [(2.0, 1.0 + late), (1.0, 2.0 + late), (third, 2.0 + late), (0.5, 3.0 + late)]
    for third in (NAN, 0.25)
    for late in (0, 1e-4, 1, NAN)
]
LOGS = st.tuples(
    st.sampled_from(["", "0.9", "2.0", "10.0"]),
    st.sampled_from([0.1, 0.2]),
    ROWS | st.sampled_from(ALIKE),
    st.sampled_from("xy"),
    st.booleans(),
)
Drawn = tuple[str, float, list[tuple[float, float]], str, bool]


@given(st.lists(st.lists(LOGS, max_size=6), min_size=1, max_size=2))
def test_trials_are_those_of_a_plain_computation(drawn: list[list[Drawn]]) -> None:
    sources, number = [], 0
    for each in drawn:
        logs = []
        for round_, rate, rows, text, keeps in each:
            number += 1
            numbered = tuple((step, value, seconds) for step, (value, seconds) in enumerate(rows))
            logs.append(Log(round_, f"log{number:02}", rate, numbered, text, keeps))
        sources.append(logs)
    stored, kept, found, alike = Stored(None, []), dict[int, str](), dict[str, dict[str, str]](), set[str]()
    for name, logs in enumerate(sources):
        runs = [placed(log) for log in logs]
        stored.look_up(runs, str(name), str(name))
        numbered_runs = stored.number(STUDY, runs, str(name), str(name))
        kept |= {number: run.run for number, run in numbered_runs.runs.items()}
        alike |= {run.run for remark, run in numbered_runs.remarks if remark == OTHER_FACTS}
        for run, first in numbered_runs.copies:
            found.setdefault(kept[first.trial.trial_id], {})[run.run] = first.equal
    assert ({path: found.get(path, {}) for path in kept.values()}, alike) == by_brute_force(sources)
    assert list(kept) == [*range(1, len(kept) + 1)]
    listed = {kept[trial.trial_id]: {copy.source for copy in copies} for trial, copies in stored.copies.offered.items()}
    assert listed == {path: set(copies) for path, copies in found.items()}


@given(ROWS, ROWS, st.booleans())
def test_a_digest_is_that_of_the_measurements_alone(
    one: list[tuple[float, float]], other: list[tuple[float, float]], is_missing: bool
) -> None:
    """Neither a metric that was never measured, nor the trials beside it, nor the sign of NaN and 0 change a digest."""
    first, second = (curve_of([(step, *row) for step, row in enumerate(rows)]) for rows in (one, other))
    losses = first.values["val/loss"]
    absent = {"val/x": np.ones(len(one), np.bool_)} if is_missing else {}
    signed = {"val/loss": np.where(np.isnan(losses), -NAN, 0.0 - (0.0 - losses))}
    changed = replace(first, values=signed | dict.fromkeys(absent, losses), missing=absent)
    assert run_digests(concatenate([second, changed]).trial(1)) == run_digests(first)


MAPPING = """
collection = {name = "c"}
run = {dataset = "d", model = "m", optimizer = "o", batch_size = 8}
path = {patterns = ["v{round}/{org}/{name}.csv"]}
metrics = {loss = "val/cross_entropy_error"}
time = {elapsed_s = "elapsed_s"}
"""
KEPT = MAPPING.replace("batch_size = 8", 'batch_size = 8, repeats = "keep"')
TIMES = (1.5, 2.25, 3.125, 4.001)


def log(*losses: float, times: Sequence[float] = TIMES, note: str = "") -> bytes:
    """Return a CSV with these losses and times; a note in another column makes other bytes."""
    rows = "".join(f"{step},{loss!r},{t!r},{note}\n" for step, (loss, t) in enumerate(zip(losses, times, strict=False)))
    return f"step,loss,elapsed_s,note\n{rows}".encode()


RUN, OTHER = (0.9, 0.5, 0.4, 0.3), (0.9, 0.5, 0.4, 0.2)
OLD = {"v4.0/ann/r0.csv": log(*RUN), "v4.0/ann/r1.csv": log(*OTHER)}
NEW = {"v4.1/bob/r0.csv": log(*RUN, note="1"), "v4.1/bob/r2.csv": log(*RUN[:3], 0.1)}
Listed = dict[int, tuple[str, dict[str, str]]]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.create(tmp_path / "lake")


def offer(lake: Lake, folder: Path, files: Files, mapping: str = MAPPING) -> Summary:
    return ingest(lake, [unpacked(folder, {"losslake.toml": mapping.encode(), **files})])


def listed(lake: Lake, release: int | None = None) -> Listed:
    """Return source and other sources with their rounds, by trial, after a check that the release is whole."""
    assert verify(lake, lake.release(release)).problems == ()
    copies: dict[int, dict[str, str]] = {}
    for row in stored_rows(lake, "copies", release):
        copies.setdefault(row["trial_id"], {})[row["source"]] = dict(row["attributes"]).get("round", "").strip('"')
    trials = stored_rows(lake, "trials", release)
    return {row["trial_id"]: (row["source"], copies.get(row["trial_id"], {})) for row in trials}


BOTH: Listed = {
    1: ("v4.0/ann/r0.csv", {"v4.1/bob/r0.csv": "4.1"}), 2: ("v4.0/ann/r1.csv", {}), 3: ("v4.1/bob/r2.csv", {})
}  # fmt: skip


def test_a_run_that_was_submitted_again_is_one_trial_with_both_sources(lake: Lake, tmp_path: Path) -> None:
    summary = offer(lake, tmp_path / "logs", OLD | NEW)
    assert listed(lake) == BOTH
    (copy,) = summary.quarantined
    assert (copy.rule, copy.path) == ("duplicate_source", "v4.1/bob/r0.csv")
    assert copy.message.startswith("the run of v4.0/ann/r0.csv, which is trial c/d/m/o/8/1, once more: equal values")
    again = offer(lake, tmp_path / "logs", OLD | NEW | {"note.txt": b""})
    assert (again.published, again.quarantined, listed(lake)) == (False, summary.quarantined, BOTH)
    with open_release(lake, lake.release()) as connection:
        trials = connection.sql("SELECT trial_id, also_submitted FROM trials").fetchall()
    ((number, text),) = (row for row in trials if row[1] is not None)
    copies = {each["source"]: each["attributes"]["round"] for each in json.loads(text)}
    assert (number, copies) == (1, BOTH[1][1])


@pytest.mark.parametrize("order", [(OLD, NEW), (NEW, OLD)], ids=["old first", "new first"])
def test_the_order_of_ingests_decides_the_numbers_alone(lake: Lake, tmp_path: Path, order: tuple[Files, Files]) -> None:
    for number, files in enumerate(order):
        offer(lake, tmp_path / str(number), files)
    result = listed(lake)
    assert sorted(result.values(), key=str) == sorted(BOTH.values(), key=str)
    assert result[1] == BOTH[1]
    before = lake.release().number
    for number, files in enumerate(order):
        offer(lake, tmp_path / str(number), files | {"note.txt": b""})
    assert (lake.release().number, listed(lake)) == (before, result)
    (first,) = (row for row in stored_rows(lake, "trials") if row["trial_id"] == 1)
    assert dict(first["attributes"])["round"] == '"4.0"'


@pytest.mark.parametrize(
    "second",
    [log(*RUN, times=(1.5, 2.25, 3.125, 4.002), note="1"), log(*RUN, times=(1.5, 1.5, 2.25, 2.25), note="1"),
     b"step,loss,note\n" + b"".join(b"%d,%r,1\n" % row for row in enumerate(RUN))],
    ids=["other times", "two times", "no times"],
)  # fmt: skip
def test_repeats_that_the_mapping_keeps_are_two_trials(lake: Lake, tmp_path: Path, second: bytes) -> None:
    first = log(*RUN, times=(1.5, 1.5, 2.25, 2.25)) if b"1.5,1\n" in second and b"3.125" not in second else log(*RUN)
    files = {"v4.0/ann/r0.csv": first, "v4.1/ann/r0.csv": second}
    offer(lake, tmp_path / "logs", files)
    assert listed(lake) == {1: ("v4.0/ann/r0.csv", {"v4.1/ann/r0.csv": "4.1"})}
    summary = offer(lake, tmp_path / "logs", files, KEPT)
    assert summary.quarantined == ()
    assert listed(lake) == {1: ("v4.0/ann/r0.csv", {}), 2: ("v4.1/ann/r0.csv", {})}
    assert not offer(lake, tmp_path / "logs", {**files, "note.txt": b""}, KEPT).published
    with open_release(lake, lake.release()) as connection:
        flags = connection.sql("SELECT trial_id, rule, same_as FROM flags").fetchall()
    assert flags == [(2, "equal_curve", 1)]


def test_a_mapping_that_keeps_repeats_lists_logs_with_equal_times(lake: Lake, tmp_path: Path) -> None:
    summary = offer(lake, tmp_path / "logs", OLD | NEW, KEPT)
    assert listed(lake) == BOTH
    assert summary.quarantined[0].message.startswith("the run of v4.0/ann/r0.csv, which is trial c/d/m/o/8/1, once")
    offer(lake, tmp_path / "new", {"v4.1/bob/r0.csv": NEW["v4.1/bob/r0.csv"]}, KEPT)
    assert listed(lake) == BOTH


def test_a_copy_of_equal_bytes_is_listed(lake: Lake, tmp_path: Path) -> None:
    offer(lake, tmp_path / "logs", {"v4.0/ann/r0.csv": log(0.9), "v4.1/ann/r0.csv": log(0.9)})
    assert listed(lake) == {1: ("v4.0/ann/r0.csv", {"v4.1/ann/r0.csv": "4.1"})}


def test_a_copy_whose_log_is_another_now_is_a_trial_of_its_own(lake: Lake, tmp_path: Path) -> None:
    offer(lake, tmp_path / "logs", OLD | NEW)
    offer(lake, tmp_path / "logs", {"v4.1/bob/r0.csv": log(*RUN[:3], 0.25)})
    assert listed(lake) == {**BOTH, 1: ("v4.0/ann/r0.csv", {}), 4: ("v4.1/bob/r0.csv", {})}


def test_a_withdrawn_trial_stays_withdrawn_in_each_of_its_logs(lake: Lake, tmp_path: Path) -> None:
    offer(lake, tmp_path / "old", OLD)
    offer(lake, tmp_path / "new", NEW)
    withdraw(lake, ["c/d/m/o/8/1"], "wrong", "ada")
    offer(lake, tmp_path / "third", {"v4.1/bob/r0.csv": NEW["v4.1/bob/r0.csv"]})
    assert set(listed(lake)) == {2, 3}
    assert [notice.trial for notice in read_notices(lake)] == ["c/d/m/o/8/1"]
    assert restore(lake, ["c/d/m/o/8/1"], "right", "ada") == [Trial(STUDY, 1)]
    offer(lake, tmp_path / "all", OLD | NEW)
    assert sorted(listed(lake).values(), key=str) == sorted(BOTH.values(), key=str)


def in_any_file(lake: Lake, text: str) -> bool:
    return any(text.encode() in path.read_bytes() for path in lake.folder.rglob("*") if path.is_file())


def test_erasing_a_trial_erases_all_of_its_logs(lake: Lake, tmp_path: Path) -> None:
    offer(lake, tmp_path / "new", NEW)
    offer(lake, tmp_path / "old", OLD)
    erase(lake, ["c/d/m/o/8/1"], "law", "ada")
    for release in (1, 2):
        assert 1 not in listed(lake, release)
        assert stored_rows(lake, "copies", release) == []
    offer(lake, tmp_path / "again", OLD | NEW)
    assert {source for source, _ in listed(lake).values()} == {"v4.0/ann/r1.csv", "v4.1/bob/r2.csv"}


def test_an_erased_log_is_no_longer_listed(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A release of an earlier version has both logs as trials; erasing the later one leaves the other."""
    with monkeypatch.context() as earlier:
        earlier.setattr(SameRuns, "find", lambda *_: None)
        offer(lake, tmp_path / "logs", OLD | NEW)
    assert len(listed(lake)) == 4
    summary = offer(lake, tmp_path / "logs", {"note.txt": b""})
    assert (summary.moved, listed(lake)[1]) == ({Trial(STUDY, 3): Trial(STUDY, 1)}, BOTH[1])
    sha256 = hashlib.sha256(NEW["v4.1/bob/r0.csv"]).hexdigest()
    erase_completely(lake, ["c/d/m/o/8/3"], "law", "ada")
    assert set(listed(lake, 1)) == {1, 2, 4}
    assert listed(lake)[1] == ("v4.0/ann/r0.csv", {})
    assert not in_any_file(lake, "v4.1/bob/r0.csv")
    offer(lake, tmp_path / "logs", {"note.txt": b"2"})
    assert not any(row["source_sha256"] == sha256 for row in stored_rows(lake, "copies"))


def test_a_bundle_keeps_copies(lake: Lake, tmp_path: Path) -> None:
    offer(lake, tmp_path / "logs", OLD | NEW)
    write_bundle(lake, lake.release(), tmp_path / "c.tar", "somewhere")
    other = Lake.create(tmp_path / "other")
    ingest(other, [tmp_path / "c.tar"])
    assert listed(other) == BOTH
    assert other.release().content_digest == lake.release().content_digest
    assert not ingest(other, [tmp_path / "c.tar"]).published
    assert not offer(other, tmp_path / "logs", {"note.txt": b""}).published
    assert listed(other) == BOTH


def test_a_new_bundle_states_facts_of_copies_anew(lake: Lake, tmp_path: Path) -> None:
    of_bundles = Lake.create(tmp_path / "of_bundles")
    for mapping in (MAPPING, MAPPING + '\n[attributes]\nentry = "{org}"\n'):
        offer(lake, tmp_path / "logs", OLD | NEW, mapping)
        write_bundle(lake, lake.release(), tmp_path / "c.tar", "somewhere")
        assert ingest(of_bundles, [tmp_path / "c.tar"]).published
        assert stored_rows(of_bundles, "copies") == stored_rows(lake, "copies")
    assert [dict(row["attributes"])["entry"] for row in stored_rows(of_bundles, "copies")] == ['"bob"']
    assert listed(of_bundles) == BOTH


def test_a_new_bundle_merges_the_trials_of_an_old_one(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = Lake.create(tmp_path / "old")
    with monkeypatch.context() as earlier:
        earlier.setattr(SameRuns, "find", lambda *_: None)
        offer(old, tmp_path / "logs", OLD | NEW)
        write_bundle(old, old.release(), tmp_path / "c.tar", "somewhere")
        ingest(lake, [tmp_path / "c.tar"])
    offer(lake, tmp_path / "mine", {"v9/me/mine.csv": log(*RUN[:3], 0.7)})
    assert len(listed(lake)) == 5
    offer(old, tmp_path / "logs", {"note.txt": b""})
    write_bundle(old, old.release(), tmp_path / "c.tar", "somewhere")
    summary = ingest(lake, [tmp_path / "c.tar"])
    assert summary.moved == {Trial(STUDY, 3): Trial(STUDY, 1)}
    assert listed(lake) == {**{n: BOTH[n] for n in (1, 2)}, 4: BOTH[3], 5: ("v9/me/mine.csv", {})}


def test_copies_stay_through_compaction(lake: Lake, tmp_path: Path) -> None:
    for number in range(5):
        path = f"v{number + 1}.0/ann/r{number}.csv"
        offer(
            lake,
            tmp_path / str(number),
            {path: log(*RUN[:3], number), f"v9.0/x/r{number}.csv": log(*RUN, note=str(number))},
        )
    before = listed(lake)
    compact(lake)
    assert listed(lake) == before
    assert len(before[2][1]) == 4

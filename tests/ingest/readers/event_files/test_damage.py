from __future__ import annotations

import io
import random
import struct
import tarfile
from pathlib import Path

import google_crc32c
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import losslake_ingest.formats.tensorboard
from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import SourceBroken
from losslake_ingest.contracts.run_log import RunLog
from losslake_ingest.formats.tensorboard import FORMAT
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.readers.event_files.file import CUT_SHORT, DAMAGED, NO_EVENT, read_event_file
from losslake_ingest.readers.event_files.folder import WRITTEN_TWICE
from losslake_ingest.readers.event_files.records import Break, Data, Records, masked, records
from losslake_ingest.sources.open import open_source
from tests.ingest.formats.reading import read, runs
from tests.ingest.formats.tensorboard_files import (
    FILE,
    SMALL,
    by_careful_parser,
    curves_of,
    event,
    event_file,
    fault,
    framed,
    shown,
    simple,
    steps_and_values,
)


def test_a_record_that_is_no_event_is_left_out_and_counted(tmp_path: Path) -> None:
    good = event(1.0, 0, simple("loss", 1)).SerializeToString()
    (run,) = runs(FORMAT, tmp_path, {FILE: framed([b"\x0b\x0c", good, good[:-1], b"", good])})
    assert steps_and_values(run, "loss") == [(0, 1), (0, 1)]
    assert run.remarks == {NO_EVENT: 2, WRITTEN_TWICE: 1}


def test_a_file_that_is_no_event_file_is_quarantined_and_the_others_are_read(tmp_path: Path) -> None:
    found = read(FORMAT, tmp_path, {f"a/{FILE}": b"step,loss\n1,2\n3,4\n", f"b/{FILE}": SMALL})
    no_log, run = found
    assert isinstance(run, RunLog)
    assert fault([no_log]).rule == "unreadable_log"
    assert fault([no_log]).path == f"a/{FILE}"


def test_a_run_that_breaks_off_before_its_first_scalar_is_quarantined_as_damaged(tmp_path: Path) -> None:
    found = fault(read(FORMAT, tmp_path, {f"run/{FILE}": SMALL[:60]}))
    assert (found.rule, found.path) == ("damaged_file", "run")
    assert FILE in found.message


def whole_records(data: bytes) -> list[int]:
    """Where each record of an intact file ends."""
    ends, at = [], 0
    while at < len(data):
        at += struct.unpack_from("<Q", data, at)[0] + 16
        ends.append(at)
    return ends


def test_a_file_cut_anywhere_gives_every_whole_record() -> None:
    ends = whole_records(SMALL)
    for size in range(len(SMALL)):
        file = read_event_file(SMALL[:size])
        whole = max((end for end in ends if end <= size), default=0)
        assert shown(curves_of(file)) == shown(by_careful_parser(SMALL[:whole]))
        assert file.remarks == ({CUT_SHORT: 1} if size != whole else {})


@pytest.mark.parametrize("flip", [0x01, 0x80, 0xFF])
def test_a_file_with_any_byte_changed_gives_every_record_before_it(flip: int) -> None:
    ends = whole_records(SMALL)
    for at in range(len(SMALL)):
        spoiled = bytearray(SMALL)
        spoiled[at] ^= flip
        file = read_event_file(bytes(spoiled))
        whole = max((end for end in ends if end <= at), default=0)
        assert shown(curves_of(file)) == shown(by_careful_parser(SMALL[:whole]))
        assert file.remarks == {DAMAGED: 1}


def long_log(seed: int, records_in_it: int = 4000) -> bytes:
    """A log whose tags come again and again, with an evaluation now and then and a pause in the routine."""
    chance = random.Random(seed)
    period = chance.choice([1, 2, 3, 7, 50])
    tags = ["t" * chance.randint(1, 30) for _ in range(period)]
    events = [event(float(at), 3 * at, simple(tags[at % period], at)) for at in range(records_in_it)]
    for at in range(chance.randint(0, 400), records_in_it, chance.randint(300, 1500)):
        events[at] = event(float(at), at, simple("val/" + "x" * chance.randint(1, 9), at), simple("val/loss", 1))
    return event_file(events)


@pytest.mark.parametrize("within_header", [0, 8])
@pytest.mark.parametrize("seed", range(6))
def test_long_log_is_read_up_to_damage_or_its_end(seed: int, within_header: int) -> None:
    chance = random.Random(seed)
    data = long_log(seed)
    ends = whole_records(data)
    at = chance.choice([0, *ends[-1500:-1]])
    noise_at = at + within_header
    spoiled = data[:noise_at] + b"\xee" * 4 + data[noise_at + 4 :] if at else data
    for size in (len(data), len(data) - 5, chance.choice(ends), chance.randint(at + 12, len(data))):
        found = list(records(Data(spoiled[:size])))
        portions = [portion for portion in found if isinstance(portion, Records)]
        followed = [end + 4 for portion in portions for end in portion.ends.tolist()]
        limit = min(size, at) if at else size
        assert followed == [end for end in ends if end <= limit]
        assert [item.at for item in found if isinstance(item, Break)] == ([followed[-1]] if followed[-1] < size else [])


def test_damage_in_a_later_file_leaves_the_rest_of_the_run(tmp_path: Path) -> None:
    spoiled = bytearray(SMALL)
    spoiled[whole_records(SMALL)[2] + 20] ^= 1
    (run,) = runs(FORMAT, tmp_path, {FILE: SMALL, "events.out.tfevents.101.b": bytes(spoiled)})
    assert [step for step, _ in steps_and_values(run, "train/loss")] == [0, 1, 2, 3, 4, 5, 0, 1]
    assert run.remarks == {f"{DAMAGED} (in events.out.tfevents.101.b)": 1, WRITTEN_TWICE: 2 + 1}


@pytest.mark.parametrize("claimed", [2**60, 2**63, 2**64 - 1])
def test_a_record_that_claims_to_be_huge_is_cut_short(tmp_path: Path, claimed: int) -> None:
    header = struct.pack("<Q", claimed)
    data = SMALL + header + struct.pack("<I", masked(google_crc32c.value(header))) + bytes(50)
    (run,) = runs(FORMAT, tmp_path, {FILE: data})
    assert run.remarks == {CUT_SHORT: 1}
    assert len(steps_and_values(run, "train/loss")) == 6


def test_a_run_with_too_many_tags_is_quarantined(tmp_path: Path) -> None:
    data = framed(event(1.0, 0, simple(f"tag{number}", 1)).SerializeToString() for number in range(20_001))
    found = fault(read(FORMAT, tmp_path, {FILE: data}))
    assert (found.rule, found.message.count("20,000")) == ("unreadable_log", 1)


def test_duplicate_event_file_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "twice.tar"
    with tarfile.open(path, "w") as archive:
        for _ in range(2):
            entry = tarfile.TarInfo(f"run/{FILE}")
            entry.size = len(SMALL)
            archive.addfile(entry, io.BytesIO(SMALL))
    refused, run = FORMAT.read(open_source(path), LogMapping())
    assert fault([refused]).rule == "duplicate_file"
    assert isinstance(run, RunLog)
    assert len(steps_and_values(run, "train/loss")) == 6


def test_complete_runs_before_a_break_are_read(tmp_path: Path) -> None:
    path = tmp_path / "broken.tar"
    with tarfile.open(path, "w") as archive:
        for name in ("a", "b"):
            entry = tarfile.TarInfo(f"{name}/{FILE}")
            entry.size = len(SMALL)
            archive.addfile(entry, io.BytesIO(SMALL))
    path.write_bytes(path.read_bytes()[:1700])
    found: list[object] = []
    with pytest.raises(SourceBroken, match=r"cut short in b/events\.out"):
        found.extend(FORMAT.read(open_source(path), LogMapping()))
    found = []
    reading = FORMAT.read(open_source(path), LogMapping())
    found.append(next(reading))
    assert isinstance(found[0], RunLog)
    assert found[0].run == "a"
    with pytest.raises(SourceBroken, match=r"cut short in b/events\.out"):
        next(reading)


def test_finished_folders_are_yielded_when_memory_is_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(losslake_ingest.formats.tensorboard, "LARGEST_PENDING", 0)
    path = tmp_path / "runs.tar"
    with tarfile.open(path, "w") as archive:
        for name in ("b/1", "b/2", "b/sub/1", "a/1", "c/1", "a/2"):
            entry = tarfile.TarInfo(f"{name}.tfevents")
            entry.size = len(SMALL)
            archive.addfile(entry, io.BytesIO(SMALL))
    found = list(FORMAT.read(open_source(path), LogMapping()))
    assert [item.run for item in found if isinstance(item, RunLog)] == ["b", "b/sub", "a", "c"]
    assert [len(item.files) for item in found if isinstance(item, RunLog)] == [2, 1, 1, 1]
    (scattered,) = [item for item in found if isinstance(item, Quarantined)]
    assert scattered.path == "a/2.tfevents"


def check_any_bytes(folder: Path, data: bytes, cut: int, noise: bytes, is_framed: bool) -> None:
    """Whatever lies in a file, reading ends in runs and in quarantine."""
    offered = {
        f"a/{FILE}": framed([data]) if is_framed else data,
        f"b/{FILE}": SMALL[:cut] + noise + SMALL[cut + len(noise) :],
    }
    for item in read(FORMAT, folder, offered):
        assert isinstance(item, RunLog | Quarantined)
        if isinstance(item, Quarantined):
            assert "\n" not in str(item)
        else:
            assert all(len({len(column) for column in rows.columns.values()}) == 1 for rows in item.rows)


anything = {
    "data": st.binary(max_size=200),
    "cut": st.integers(0, len(SMALL)),
    "noise": st.binary(max_size=20),
    "is_framed": st.booleans(),
}


@given(**anything)
@settings(suppress_health_check=list(HealthCheck))
def test_any_bytes_end_in_runs_or_in_quarantine(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, cut: int, noise: bytes, is_framed: bool
) -> None:
    check_any_bytes(tmp_path_factory.getbasetemp() / "any", data, cut, noise, is_framed)


@pytest.mark.fuzz
@given(**anything)
@settings(max_examples=22000, suppress_health_check=list(HealthCheck))
def test_any_bytes_end_in_runs_or_in_quarantine_for_a_minute(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, cut: int, noise: bytes, is_framed: bool
) -> None:
    check_any_bytes(tmp_path_factory.getbasetemp() / "any", data, cut, noise, is_framed)

"""An ingest needs at most 1 GB of memory, whatever an archive holds, and stores the good trials beside a bomb."""

from __future__ import annotations

import io
import lzma
import os
import re
import resource
import subprocess
import sys
import time
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

from losslake.lake.lake import Lake
from losslake_ingest.contracts import run_log
from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Refusal, Rule, SourceBroken
from losslake_ingest.formats.format import read_files
from losslake_ingest.mapping.evaluations import on_common_steps
from losslake_ingest.pipeline import engine, offer
from losslake_ingest.readers.tables import csv_table
from losslake_ingest.readers.tables.csv_curves import MOST_BLANK_LINES, read_curves
from losslake_ingest.readers.tables.csv_table import read_csv
from losslake_ingest.run import ingest
from losslake_ingest.sources import member
from losslake_ingest.sources.member import Member
from losslake_ingest.sources.open import open_source
from losslake_ingest.sources.tar import read_tar
from tests.ingest.bomb_list import BOMBS
from tests.ingest.bombs import MB, Bomb, filled, overlapping_zip
from tests.ingest.offers import HEADER, TrialOffer, study_files, tar_bytes, unpacked, written, zip_bytes

MOST_MEGABYTES = 1000
MOST_SECONDS = 300
# Where an ingest forgets its limits, the machine goes on.
MOST_OF_ALL = 4 * 2**30


def peak_megabytes(process: subprocess.Popen[str]) -> float:
    """The most memory that a process had, which is waited for."""
    peak, deadline = 0.0, time.monotonic() + MOST_SECONDS
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            break
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        peak = max(peak, int(found[1]) * 1024 / 1e6 if found else 0.0)
        if time.monotonic() > deadline:
            process.kill()
        time.sleep(0.02)
    return peak


# One of each kind, in each compression; the others take half an hour.
QUICK = (
    "8 x 100 MB of blank lines", "8 x 100 MB of lines of commas", "8 x 60 MB of blank CRLF lines", "a million columns",
    "a cell of 250 MB", "100 MB of quotes", "nesting of depth 100,000", "csv: a cell of 250 MB",
    "csv: 100 MB of headers", "jsonl: a key for each line", "tensorboard: a huge length", "wandb: a record of 120 MB",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    "bomb",
    [pytest.param(bomb, marks=[] if bomb.name in QUICK else pytest.mark.fuzz) for bomb in BOMBS],
    ids=lambda bomb: bomb.name,
)
def test_a_bomb_takes_at_most_a_gigabyte_and_the_trials_beside_it_are_stored(bomb: Bomb, tmp_path: Path) -> None:
    archive = bomb.write(tmp_path)
    command = [sys.executable, "-m", "losslake", "ingest", str(archive), "--lake", str(tmp_path / "lake"), "--quiet"]
    began = time.monotonic()
    with (tmp_path / "output").open("w+") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, text=True, env={**os.environ, "COLUMNS": "500"}
        )
        resource.prlimit(process.pid, resource.RLIMIT_DATA, (MOST_OF_ALL, MOST_OF_ALL))
        peak = peak_megabytes(process)
        process.wait()
        output.seek(0)
        told = output.read()
    stored = re.search(r"^ingested +([\d,]+) trial", told, re.MULTILINE)
    refused = re.search(r"^quarantined +.*\n +(.*)", told, re.MULTILINE)
    what = refused[1][:150] if refused else "nothing quarantined"
    print(
        f"{bomb.name}: {archive.stat().st_size / 1000:,.0f} kB, {time.monotonic() - began:.1f} s, {peak:.0f} MB, {what}"
    )
    assert stored is not None, told
    # The logs before and after the bomb are equal: the second is read, and is a copy.
    assert int(stored[1].replace(",", "")) + told.count(f"{Rule.DUPLICATE_SOURCE}: ") >= bomb.good, told
    assert bomb.may_be_stored or refused is not None, told
    assert "internal error" not in told
    assert peak < MOST_MEGABYTES


def test_stray_files_beyond_the_first_are_counted_and_hide_no_trials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offer, "MOST_STRAYS", 3)
    files = {f"stray/{number}/metadata.json": b"{}" for number in range(10)} | study_files({1: TrialOffer()})
    summary = ingest(Lake.create(tmp_path / "lake"), [written(tmp_path / "a.tar", tar_bytes(files))])
    assert summary.trials_ingested == 1
    assert [q.rule for q in summary.quarantined] == [Rule.BAD_NAME] * 4
    assert summary.quarantined[-1].message == "7 more files break this rule"


def test_a_blank_line_is_refused_by_its_own_rule_before_anything_is_parsed() -> None:
    good, bad = f"{HEADER}\n0,1\n5,0.5\n".encode(), f"{HEADER}\n0,1\n".encode() + b"\n" * 1_000_000
    _, positions, faults = read_curves([good, bad, good])
    assert positions == [0, 2]
    assert (faults[1].rule, faults[1].line) == (Rule.BLANK_LINE, 3)


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_a_few_blank_lines_at_the_end_are_harmless(ending: bytes) -> None:
    text = ending.join([HEADER.encode(), b"0,1", b"5,0.5", b""])
    curves, positions, faults = read_curves([text, text + ending * MOST_BLANK_LINES, text + ending * 50])
    assert positions == [0, 1]
    assert curves.steps.tolist() == [0, 5, 0, 5]
    assert faults[2].rule == Rule.BLANK_LINE


def test_too_many_blank_lines_in_a_table_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_table, "MOST_BLANK_LINES", 10)
    assert read_csv(b"step,loss\n" + b"0,1\n\n" * 10).n_rows == 10
    with pytest.raises(Refusal) as fault:
        read_csv(b"step,loss\n" + b"0,1\n\n" * 11)
    assert fault.value.rule == Rule.BLANK_LINE


def test_a_trial_with_too_many_rows_is_refused_and_the_others_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_log, "LARGEST_ROWS", 100)
    monkeypatch.setattr("losslake_ingest.readers.tables.csv_curves.LARGEST_ROWS", 100)
    small, large = (HEADER + "\n" + "".join(f"{step},1\n" for step in range(n)) for n in (90, 110))
    _, positions, faults = read_curves([small.encode(), large.encode(), small.encode()])
    assert positions == [0, 2]
    assert faults[1].rule == Rule.FILE_TOO_LARGE


def test_metrics_at_many_different_steps_are_refused_before_they_are_laid_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_log, "LARGEST_CELLS", 1000)
    starts = range(0, 400, 40)
    steps = {f"m{start}": np.arange(start, start + 40) for start in starts}
    series = {name: (of, of.astype(float), of.astype(float)) for name, of in steps.items()}
    with pytest.raises(Refusal) as fault:
        on_common_steps(series)
    assert fault.value.rule == Rule.FILE_TOO_LARGE


def test_a_memory_error_of_one_file_quarantines_that_file(tmp_path: Path) -> None:
    def read(member: Member) -> list[Quarantined]:
        if member.path == "b":
            raise MemoryError
        return [Quarantined("", member.path, "read", "")]

    source = open_source(unpacked(tmp_path / "logs", {"a": b"", "b": b"", "c": b""}))
    found = [item for item in read_files(source, lambda _: True, read) if isinstance(item, Quarantined)]
    assert [(item.path, item.rule) for item in found] == [("a", "read"), ("b", Rule.FILE_TOO_LARGE), ("c", "read")]


def test_an_xz_file_that_asks_for_gigabytes_is_not_unpacked(tmp_path: Path) -> None:
    data = bytearray(lzma.compress(tar_bytes({"a.csv": b"step,loss\n"}), lzma.FORMAT_XZ))
    size = (data[12] + 1) * 4
    data[12 + 4] = 40  # the size of its dictionary: 4 GiB
    data[12 + size - 4 : 12 + size] = zlib.crc32(bytes(data[12 : 12 + size - 4])).to_bytes(4, "little")
    with pytest.raises(SourceBroken, match="emory"):
        list(open_source(written(tmp_path / "a.tar.xz", bytes(data))).members(lambda _: True))


def test_a_header_of_gigabytes_is_not_read() -> None:
    header = bytearray(tar_bytes({"x" * 200: b""})[:512])
    assert header[156:157] == b"L"
    header[124:136] = b"17777777777\0"
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    stream = io.BytesIO(bytes(header) + bytes(1 << 23))
    with pytest.raises(SourceBroken, match="header of 2,147,483,647 bytes"):
        list(read_tar(stream.read, lambda _: True))
    assert stream.tell() <= 1 << 22


def test_a_zip_with_too_large_a_directory_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("losslake_ingest.sources.open._LARGEST_DIRECTORY", 100)
    path = written(tmp_path / "a.zip", zip_bytes({f"{number}.csv": b"" for number in range(10)}))
    with pytest.raises(SourceBroken, match="directory"):
        list(open_source(path).members(lambda _: True))


NAMES = [f"shelf/mnist/cnn/sgd/8/{number}/curve.csv" for number in range(300)]


def test_a_zip_whose_entries_share_bytes_is_refused_before_anything_is_unpacked(tmp_path: Path) -> None:
    path = written(tmp_path / "a.zip", overlapping_zip(NAMES, b"\n", 1000))
    with pytest.raises(SourceBroken, match=f"the entry {NAMES[0]} of the zip overlaps"):
        next(open_source(path).members(lambda _: True))


# Of which entry of a directory what is changed by how much: its packed size, or where it begins.
CHANGES = {"the next one": (0, 20, 20_000), "the one before": (-1, 42, -40), "the directory": (-1, 20, 20_000)}


@pytest.mark.parametrize(("entry", "field", "change"), CHANGES.values(), ids=CHANGES)
def test_a_zip_with_an_entry_that_reaches_into_another_or_the_directory_is_refused(
    tmp_path: Path, entry: int, field: int, change: int
) -> None:
    data = zip_bytes({"a.csv": os.urandom(1000), "b.csv": os.urandom(1000)})
    at = [match.start() for match in re.finditer(b"PK\1\2", data)][entry] + field
    number = int.from_bytes(data[at : at + 4], "little") + change
    path = written(tmp_path / "a.zip", data[:at] + number.to_bytes(4, "little") + data[at + 4 :])
    with pytest.raises(SourceBroken, match="overlaps"):
        list(open_source(path).members(bool))


@pytest.mark.parametrize("ending", ["zip", "tar.gz", "tar.bz2", "tar.xz", "tar.zst"])
def test_an_archive_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    bomb = Bomb("", lambda: iter([("a.csv", filled(b"\n", 10)), ("b.csv", filled(b"\n", 10))]), ending)
    path = bomb.write(tmp_path)
    assert len(list(open_source(path).members(lambda _: True))) == 2
    monkeypatch.setattr(member, "_LARGEST_UNPACKED", 15 * MB)
    monkeypatch.setattr(member, "_LARGEST_RATIO", 1)
    with pytest.raises(SourceBroken, match="split"):
        list(open_source(path).members(lambda _: True))


def test_a_zip64_with_folders_behind_other_bytes_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "a.zip", b"PK\3\4 before it")
    with zipfile.ZipFile(path, "a") as archive:
        archive.mkdir("x")
        with archive.open("x/a.csv", "w", force_zip64=True) as file:
            file.write(b"step,loss\n")
        archive.writestr("x/b.csv", b"")
    entries = [entry for entry in open_source(path).members(lambda _: True) if isinstance(entry, Member)]
    assert [(entry.path, entry.data) for entry in entries] == [("x/a.csv", b"step,loss\n"), ("x/b.csv", b"")]


def test_a_zip_member_that_claims_too_much_isnt_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "a.zip", zip_bytes({"a.csv": bytes(2_000_000)}))
    monkeypatch.setattr("losslake_ingest.sources.open.LARGEST_FILE", MB)
    monkeypatch.setattr(zipfile.ZipFile, "open", None)
    (entry,) = open_source(path).members(lambda _: True)
    assert not isinstance(entry, Member)
    assert entry.rule == Rule.FILE_TOO_LARGE


@pytest.mark.slow
def test_an_ingest_of_a_zip_whose_entries_share_bytes_ends_at_once(tmp_path: Path) -> None:
    path = written(tmp_path / "a.zip", overlapping_zip(NAMES, b"\n", 30 * MB))
    began = time.process_time()
    summary = ingest(Lake.create(tmp_path / "lake"), [path])
    print(f"{path.stat().st_size / 1000:.0f} kB that claim 9 GB: {time.process_time() - began:.2f} s of processor time")
    assert summary.broken
    assert time.process_time() - began < 10


def test_a_zip_member_that_is_larger_than_it_says_is_read_up_to_what_it_says(tmp_path: Path) -> None:
    data = zip_bytes({"a.csv": b"5" * 1_000_000}).replace((1_000_000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    (entry,) = open_source(written(tmp_path / "a.zip", data)).members(lambda _: True)
    assert not isinstance(entry, Member)
    assert entry.rule == Rule.DAMAGED_FILE


def test_what_an_archive_leaves_to_remember_is_bounded_and_a_second_ingest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        path: data for size in (1, 2, 3, 4) for path, data in study_files({1: TrialOffer()}, batch_size=size).items()
    }
    archive = written(tmp_path / "a.tar", tar_bytes(files))
    lake = Lake.create(tmp_path / "lake")
    monkeypatch.setattr(offer, "MOST_KEPT", 20_000)
    monkeypatch.setattr(engine, "cores", lambda: 0)
    stored = []
    for _ in range(4):
        summary = ingest(lake, [archive])
        stored.append(summary.trials_ingested + summary.trials_unchanged)
    assert 0 < stored[0] < 4
    assert stored[-1] == 4
    assert not summary.broken

"""`losslake bundle`: what it writes, what it says about newer logs, and how bundles go in one by one."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from losslake_cli.logs.bundle import MOST_SHOWN, show_difference
from losslake_ingest.publication import Difference
from tests.cli.conftest import Run
from tests.ingest.bundles.made_up import LOGS, MAPPING, bundle_of, members, packed
from tests.ingest.offers import unpacked
from tests.ingest.test_publication import SOURCE

OTHERS = {"runs/bo/b4/lr0.1/a.csv": b"step,loss\n0,2\n"}


@pytest.mark.slow
def test_a_bundle_is_written_and_checked_against_newer_logs(losslake: Run, tmp_path: Path) -> None:
    logs = unpacked(tmp_path / "logs", {f"corpus/{path}": data for path, data in LOGS.items()})
    folder = unpacked(tmp_path / "c", {"losslake.toml": MAPPING, "SOURCE.toml": SOURCE})
    command = ("bundle", folder, "--logs", logs, "--quiet")
    missing = losslake(*command, "--check")
    assert missing.returncode == 1
    assert not (folder / "c.tar").exists()
    written = losslake(*command)
    assert written.returncode == 0
    assert written.stdout.startswith("c.tar: 3 trials in 2 studies, ")
    same = losslake(*command, "--check")
    assert (same.returncode, same.stdout.splitlines()[1]) == (0, "  the same bytes as before")
    (logs / "corpus" / "runs" / "ann" / "b16" / "lr0.1" / "a.csv").write_text("step,loss\n0,9\n")
    bundle = (folder / "c.tar").read_bytes()
    newer = losslake(*command, "--check")
    assert newer.returncode == 1
    assert newer.stdout.splitlines()[1:] == ["  changed: 1 study", "    c/d/m/o/16"]
    assert (folder / "c.tar").read_bytes() == bundle
    assert sorted(path.name for path in folder.iterdir()) == ["SOURCE.toml", "c.tar", "losslake.toml"]


def test_of_many_studies_that_differ_the_first_are_named_and_the_rest_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_difference(Difference(("c/d/m/o/1",), [f"c/d/m/o/{size}" for size in range(MOST_SHOWN + 2)], ()), False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["  added: 1 study", "    c/d/m/o/1", f"  changed: {MOST_SHOWN + 2} studies"]
    assert lines[3:] == [*(f"    c/d/m/o/{size}" for size in range(MOST_SHOWN)), "    … and 2 more"]


def test_each_path_is_published_as_a_release_and_a_faulty_one_stops_no_other(losslake: Run, tmp_path: Path) -> None:
    bundle = bundle_of(tmp_path)
    (tmp_path / "cut.tar").write_bytes(bundle.read_bytes()[:5000])
    other = bundle_of(tmp_path, {path: data + b"30,0.5\n" for path, data in OTHERS.items()}, "d")
    command = ("ingest", bundle, tmp_path / "cut.tar", other, "--each", "--quiet", "--lake", tmp_path / "lake")
    done = losslake(*command)
    assert done.returncode == 1
    assert [line.rpartition(", ")[0] for line in done.stdout.splitlines()] == [
        "c.tar: release 1, 3 trials in 2 studies, 1 quarantined",
        "d.tar: release 2, 1 trial in 1 study, 0 quarantined",
    ]
    (refusal,) = done.stderr.splitlines()
    assert "cut short" in refusal
    assert "nothing of it was stored" in refusal
    again = losslake(*command)
    assert [line.split(",")[0] for line in again.stdout.splitlines()] == ["c.tar: nothing new", "d.tar: nothing new"]


def test_no_mapping_is_proposed_for_a_bundle_whose_logs_lacked_something(losslake: Run, tmp_path: Path) -> None:
    bundle = bundle_of(tmp_path, {**LOGS, "runs/ann/lr1/a.csv": b"step,loss\n0,2\n1,1\n"})
    done = losslake("ingest", bundle, "--quiet", "--lake", tmp_path / "lake")
    assert done.returncode == 0
    assert "missing_fact" in done.stdout
    assert "hint" not in done.stdout
    logs = losslake("ingest", tmp_path / "logs-c", "--quiet", "--lake", tmp_path / "other")
    assert "hint" in logs.stdout


def test_a_bundle_that_was_unpacked_or_compressed_is_refused_with_what_to_do(losslake: Run, tmp_path: Path) -> None:
    bundle = bundle_of(tmp_path)
    reordered = packed(tmp_path / "reordered.tar", dict(reversed(members(bundle).items())))
    (tmp_path / "c.tar.gz").write_bytes(gzip.compress(bundle.read_bytes()))
    headless = packed(tmp_path / "headless.tar", {k: v for k, v in members(bundle).items() if k != "bundle.json"})
    for place, why in (
        (reordered, "give the tar itself"),
        (tmp_path / "c.tar.gz", "give the tar itself"),
        (headless, "run"),
    ):
        for mode in ((), ("--dry-run",)):
            done = losslake("ingest", place, "--quiet", "--lake", tmp_path / "lake", *mode)
            assert done.returncode == 1
            assert why in done.stderr

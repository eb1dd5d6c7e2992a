"""Curves that are kept in files are those of the release, and files that can't be used are written again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from losslake.lake.lake import Lake
from losslake_contributions.review.checks.evidence import Evidence
from losslake_contributions.review.checks.run import check
from losslake_contributions.review.checks.stored_curves import stored_curves
from losslake_contributions.review.draft import make_draft
from losslake_ingest.run import ingest
from tests.contributions.made_runs import ERROR, curve, lake_of, write_run
from tests.contributions.review.checks.test_curve_index import descent

LOSS = "val/loss"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    folder = tmp_path_factory.mktemp("base")
    for number in range(3):
        rows = curve(descent(number), LOSS) + curve([0.5, 0.1 * number, 0.4])
        write_run(folder / "stored", number, rows, batch_size=4 + number % 2)
    return lake_of(folder / "lake", folder / "stored")


@pytest.fixture(scope="module")
def plain(base: Lake, tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """The evidence of a near-copy, without files."""
    folder = tmp_path_factory.mktemp("draft")
    copy = [float(f"{value:.4g}") for value in descent(1)]
    spool = write_run(folder / "runs", 7, curve(copy, LOSS, every=3))
    return Evidence(make_draft(folder / "lake", [spool], base), {spool.name: spool}, base=base)


@pytest.fixture
def kept(plain: Evidence, tmp_path: Path) -> Evidence:
    """The same with files in the folder `cache`."""
    return with_files(plain, tmp_path)


def with_files(plain: Evidence, tmp_path: Path) -> Evidence:
    return Evidence(plain.draft, plain.spools, base=plain.base, cache=tmp_path / "cache")


def test_findings_are_the_same_with_and_without_files(tmp_path: Path, plain: Evidence) -> None:
    findings = check(plain).findings
    assert "near_copy" in {finding.rule for finding in findings}
    for _ in ("writes", "reads"):
        assert check(with_files(plain, tmp_path)).findings == findings


def test_kept_curves_are_those_of_the_release(tmp_path: Path, plain: Evidence, kept: Evidence) -> None:
    for metric in (LOSS, ERROR):
        expected = stored_curves(plain, metric)
        assert expected is not None
        for curves in (stored_curves(kept, metric), stored_curves(kept, metric)):
            assert curves is not None
            assert curves.names == expected.names
            for name in ("values", "steps", "offsets"):
                np.testing.assert_array_equal(getattr(curves, name), getattr(expected, name))
            np.testing.assert_array_equal(curves.windows.hashes, expected.windows.hashes)
            np.testing.assert_array_equal(curves.windows.starts, expected.windows.starts)
    assert stored_curves(kept, "val/other") is None
    assert len([*(tmp_path / "cache").glob("*/*")]) == 2


def test_another_release_replaces_the_files(tmp_path: Path, plain: Evidence) -> None:
    cache = tmp_path / "cache"
    base = lake_of(tmp_path / "base", write_run(tmp_path / "stored", 1, curve(descent(1), LOSS)).folder.parent)
    for number in (2, 3):
        release = base.release().number
        evidence = Evidence(replace(plain.draft, base=release), plain.spools, base=base, cache=cache)
        curves = stored_curves(evidence, LOSS)
        assert curves is not None
        assert len(curves.names) == release
        assert len([*cache.iterdir()]) == 1
        write_run(tmp_path / "more", number, curve(descent(number), LOSS))
        ingest(base, [str(tmp_path / "more")])


@pytest.mark.parametrize("damage", [b"", b"nothing", None])
def test_damaged_files_are_written_again(tmp_path: Path, kept: Evidence, damage: bytes | None) -> None:
    stored_curves(kept, LOSS)
    (file,) = (tmp_path / "cache").glob("*/*/values.npy")
    if damage is None:
        file.unlink()
    else:
        file.write_bytes(damage)
    for _ in range(2):
        curves = stored_curves(kept, LOSS)
        assert curves is not None
        assert len(curves.names) == 3
        assert file.stat().st_size > 1000

"""Curves that are kept in files are those of the release, and files that can't be used are written again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from losslake.lake.lake import Lake
from losslake_contributions.checks.evidence import Evidence
from losslake_contributions.checks.run import check
from losslake_contributions.checks.stored_curves import stored_curves
from losslake_contributions.drafts.draft import make_draft
from losslake_ingest.run import ingest
from tests.contributions.checks.test_curve_index import descent
from tests.contributions.made_runs import ERROR, curve, lake_of, write_run

LOSS = "val/loss"


@pytest.fixture
def base(tmp_path: Path) -> Lake:
    for number in range(3):
        rows = curve(descent(number), LOSS) + curve([0.5, 0.1 * number, 0.4])
        write_run(tmp_path / "stored", number, rows, batch_size=4 + number % 2)
    return lake_of(tmp_path / "base", tmp_path / "stored")


def evidence(tmp_path: Path, base: Lake, name: str, **facts: Any) -> Evidence:
    copy = [float(f"{value:.4g}") for value in descent(1)]
    spool = write_run(tmp_path / name / "runs", 7, curve(copy, LOSS, every=3))
    return Evidence(make_draft(tmp_path / name / "lake", [spool], base), {spool.name: spool}, base=base, **facts)


def test_findings_are_the_same_with_and_without_files(tmp_path: Path, base: Lake) -> None:
    plain = check(evidence(tmp_path, base, "plain")).findings
    assert "near_copy" in {finding.rule for finding in plain}
    for name in ("writes", "reads"):
        assert check(evidence(tmp_path, base, name, cache=tmp_path / "cache")).findings == plain


def test_kept_curves_are_those_of_the_release(tmp_path: Path, base: Lake) -> None:
    plain, kept = evidence(tmp_path, base, "plain"), evidence(tmp_path, base, "kept", cache=tmp_path / "cache")
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


def test_another_release_replaces_the_files(tmp_path: Path, base: Lake) -> None:
    cache = tmp_path / "cache"
    stored_curves(evidence(tmp_path, base, "first", cache=cache), LOSS)
    write_run(tmp_path / "more", 9, curve(descent(9), LOSS))
    ingest(base, [str(tmp_path / "more")])
    curves = stored_curves(evidence(tmp_path, base, "second", cache=cache), LOSS)
    assert curves is not None
    assert len(curves.names) == 4
    assert len([*cache.iterdir()]) == 1


@pytest.mark.parametrize("damage", [b"", b"nothing", None])
def test_damaged_files_are_written_again(tmp_path: Path, base: Lake, damage: bytes | None) -> None:
    kept = evidence(tmp_path, base, "kept", cache=tmp_path / "cache")
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

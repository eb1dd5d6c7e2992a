"""An ingest reports how far it has read while it reads, a single large study included."""

from __future__ import annotations

from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake_ingest.pipeline import offer
from losslake_ingest.run import DEFAULT_REQUEST, ingest
from tests.ingest.offers import TrialOffer, study_files, tar_bytes

TRIALS = {
    trial: TrialOffer(rows=[f"{step},{(step * 7919 * trial) % 10007 / 10007!r}" for step in range(3000)])
    for trial in range(1, 16)
}


class Noted:
    """A listener that keeps what it is told."""

    def __init__(self) -> None:
        self.total: int | None = None
        self.calls: list[tuple[int, int]] = []

    def begin(self, source: str, total_bytes: int | None) -> None:
        self.total = total_bytes

    def advance(self, bytes_read: int, trials: int, evaluations: int) -> None:
        self.calls.append((bytes_read, trials))

    def stage(self, name: str) -> None:
        pass


@pytest.mark.parametrize(
    "ending", ["", pytest.param("gz", marks=pytest.mark.slow), pytest.param("bz2", marks=pytest.mark.slow), "xz"]
)
def test_bytes_are_counted_while_a_study_is_read(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offer, "SECONDS_BETWEEN_REPORTS", 0.002)
    archive = tmp_path / f"one.tar{'.' if ending else ''}{ending}"
    archive.write_bytes(tar_bytes(study_files(TRIALS), f"w:{ending}"))
    noted = Noted()
    ingest(Lake.create(tmp_path / "lake"), [archive], DEFAULT_REQUEST, "", noted)
    size = archive.stat().st_size
    assert noted.total == size
    within = {bytes_read for bytes_read, trials in noted.calls if trials == 0}
    assert any(0 < bytes_read <= size for bytes_read in within)
    assert [each for each, _ in noted.calls] == sorted(each for each, _ in noted.calls)
    assert noted.calls[-1] == (size, len(TRIALS))

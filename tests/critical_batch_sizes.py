"""The collection of Zhang et al. 2024: a lake of its bundle, its points, and what the authors printed of them."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from tests.repository.checkout import ROOT
from tests.shared_lakes import shared_lake

FOLDER = ROOT / "published" / "critical-batch-size"
PATTERN = "critical-batch-size/c4/*/adamw"
# By model size: its workload, S_min, E_min and B* (in sequences), as cell 6 of the notebook printed them.
PRINTED = {
    "85M": ("olmo_85m", 1293.8268694659337, 2834258.0888740215, 745.3201466381583),
    "151M": ("olmo_151m", 1752.4211962796799, 5677478.783007255, 955.1582414387951),
    "302M": ("olmo_302m", 2095.3497601960876, 11383269.891870424, 1393.726947253441),
    "604M": ("olmo_604m", 2459.9274969089824, 19449688.58779496, 1888.5221009346358),
    "1.2B": ("olmo_1.2b", 3897.306597333535, 43381130.22429582, 2533.4108017868743),
}
# The sizes of the fit of the law, in millions of parameters.
NOMINAL = {"85M": 85, "151M": 151, "302M": 302, "604M": 604, "1.2B": 1200}


def points() -> list[dict[str, str]]:
    """Return the 45 points, as the table of the collection has them."""
    with (FOLDER / "points.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def zhang_lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Return a lake with the bundle alone, to be read only."""

    def make(folder: Path) -> None:
        ingest(Lake.create(folder), [FOLDER / "critical-batch-size.tar"])

    return shared_lake(tmp_path_factory, "critical-batch-sizes", make)

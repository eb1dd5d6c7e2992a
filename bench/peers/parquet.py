"""Paths of the Parquet files of a release's measurements and trials, in patterns as engines take them.

Every file in these folders is read, so the lake must have been written once, with one release.
"""

from __future__ import annotations

from pathlib import Path

from losslake.lake.data_files import folder_of
from losslake_schema.names import Study, Workload


def measurements_of(lake: Path, workload: Workload) -> str:
    """Return the pattern of a workload, whose folders are named after it: nothing else has to be listed or pruned."""
    any_study = folder_of("measurements", Study(workload, 0))
    return str(lake / any_study.parent / "*" / "*.parquet")


def measurements_of_study(lake: Path, study: Study) -> str:
    return str(lake / folder_of("measurements", study) / "*.parquet")


def trials(lake: Path) -> str:
    return str(lake / folder_of("trials", None) / "*.parquet")

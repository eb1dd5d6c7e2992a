"""Releases without versions of their Iceberg tables, for tests that read none: to write them takes half of an ingest.

Processes that tests start write them, and so do the tests of WITH_HISTORY and the lakes of tests/made_up_lake.py.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

# What publishes, expires, checks, moves or reads tables.
WITH_HISTORY = (
    "tests/bench/test_smallest.py::test_each_benchmark_runs[history]",
    "tests/bench/test_many_studies.py::test_each_release_of_a_history",
    "tests/losslake/lake/",
    "tests/losslake/index/maintenance/",
    "tests/cli/changes/test_maintain.py",
    "tests/contributions/intake/test_segment_files.py",
    "tests/ingest/releases/",
    "tests/ingest/test_releases.py",
    "tests/ingest/test_crashes.py",
    "tests/ingest/test_batch_schedules.py::test_the_same_logs_again",
    "tests/ingest/test_batch_schedules.py::test_withdrawn_and_erased_trials",
    "tests/ingest/test_elsewhere.py",
    "tests/ingest/test_credit.py::test_a_lake_without_contributors",
    "tests/ingest/test_credit.py::test_credit_survives_compaction",
    "tests/ingest/pipeline/test_same_runs.py::test_an_erased_log",
    "tests/ingest/pipeline/test_same_runs.py::test_copies_stay_through_compaction",
    "tests/clients/",
    "tests/contributions/test_crash_points.py",
    "tests/contributions/review/test_erasure.py",
    "tests/cli/changes/test_erase.py",
    "tests/service/web/test_withdrawn.py",
    "tests/service/files/",
    "tests/losslake/spark/",
    "tests/attacks/",
    "tests/topology/",
)
_is_written = False


@pytest.fixture(scope="session", autouse=True)
def history_is_left_out() -> Iterator[None]:
    """Publish releases without versions of tables, and verify them without, if the running test needs none."""
    from losslake.lake import iceberg, verification

    read_tables, differences = iceberg.current_tables, verification._iceberg_differs

    def current_tables(*arguments: Any) -> Any:
        return read_tables(*arguments) if _is_written else {}

    def iceberg_differs(lake: Any, release: Any, files: Any, checked: Any) -> Any:
        return differences(lake, release, files, checked) if release.snapshots else ()

    with pytest.MonkeyPatch.context() as changes:
        changes.setattr(iceberg, "current_tables", current_tables)
        changes.setattr(verification, "_iceberg_differs", iceberg_differs)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, bool, bool]:
    """Write tables for a test of WITH_HISTORY, and for what is set up for it."""
    with history_is_written(item.nodeid.startswith(WITH_HISTORY)):
        return (yield)


@contextmanager
def history_is_written(is_written: bool = True) -> Iterator[None]:
    """Write versions of tables meanwhile, whatever the running test does; or leave them out."""
    global _is_written
    before, _is_written = _is_written, is_written
    try:
        yield
    finally:
        _is_written = before

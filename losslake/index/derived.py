"""The tables of a serving file that are made from others: flags, statuses, equal curves, ranges of targets and others.

The rows of a workload depend on its content, its goals, directions of metrics and trials with small epochs. So those
of workloads that are the same in an earlier release are copied from its serving file, and only records of others are
read. The tables have the same rows as without an earlier release.

To plan a statement takes DuckDB 5 to 15 ms, however few rows there are. So those that can't find a row aren't run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import duckdb

from losslake.index.view_texts import list_of, overridden, quoted
from losslake.index.workloads import target_ranges_of
from losslake.lake.lake import Lake
from losslake.lake.store.store import DataFile
from losslake_schema.names import Workload

BY_TRIAL = ("flags", "missed", "equal_curves")
_CONDITIONS = {"flags": "may_be_flagged", "missed": "may_be_missed"}
_text = partial(overridden, "serving")


def derive_tables(
    connection: duckdb.DuckDBPyConnection, lake: Lake, files: Sequence[DataFile], earlier: Path | None
) -> None:
    """Create the derived tables of `base`, from the others.

    files: of the release. earlier: the serving file of another release. The caller must hold the lock of serving files.
    """
    connection.execute(_text("small_epochs"))
    if earlier is None:
        connection.execute(_text("none_unchanged"))
    else:
        connection.execute(f"ATTACH {quoted(str(earlier))} AS earlier (READ_ONLY)")
        find_unchanged(connection)
    unchanged = {Workload(*row) for row in connection.execute("FROM unchanged").fetchall()}
    records = [file for file in files if file.table == "records"]
    changed = [file for file in records if file.study is None or file.study.workload not in unchanged]
    # DuckDB knows the columns from a file.
    paths = [lake.store.name_for_queries(file.path) for file in changed or records[:1]]
    connection.execute(_text("changed_records").replace("$files", list_of(paths)))
    derive_by_trial(connection)
    if _has_rows(connection, "FROM base.missed"):
        connection.execute(_text("missed_statuses"))
    connection.execute(_text("statuses"))
    names = [name for (name,) in connection.execute(_text("fact_names")).fetchall()]
    connection.execute(_text("base_schedules" if may_have_schedules(names) else "no_schedules"))
    has_copies = _has_rows(connection, "FROM base.copies")
    connection.execute(_text("base_also_submitted" if has_copies else "no_also_submitted"))
    connection.execute(_text("base_frontiers"))
    connection.register("target_ranges", target_ranges_of(lake, files, connection, unchanged))
    connection.execute(_text("base_target_ranges"))
    if unchanged:
        connection.execute(_text("with_earlier_target_ranges"))


def find_unchanged(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the table of the workloads that are the same in the attached database `earlier`."""
    of_earlier = "(FROM earlier.base.flags WHERE rule = 'small_epoch')"
    for name, base, epochs in (("inputs", "base", "small_epochs"), ("earlier_inputs", "earlier.base", of_earlier)):
        text = _text("workload_inputs").replace("$name", name)
        connection.execute(text.replace("$small_epochs", epochs).replace("$base", base))
    connection.execute(_text("unchanged"))


def derive_by_trial(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the tables BY_TRIAL, from `changed_records`, and from `earlier` if any workload is unchanged."""
    connection.execute(_text("base_hits"))
    is_any = _has_rows(connection, "FROM unchanged")
    for table in BY_TRIAL:
        can_have_rows = table not in _CONDITIONS or _has_rows(connection, _text(_CONDITIONS[table]))
        connection.execute(_text(f"base_{table}" if can_have_rows else f"no_{table}"))
        if is_any:
            connection.execute(_text("with_earlier").replace("$table", table))


def _has_rows(connection: duckdb.DuckDBPyConnection, query: str) -> bool:
    return connection.execute(query).fetchone() is not None


def may_have_schedules(names: Iterable[str]) -> bool:
    """Return True if the rules of schedules read any fact of these names."""
    rules = _text("base_schedules")
    return any(f"['{name}']" in rules for name in names)

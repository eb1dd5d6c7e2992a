"""Steps to the targets of MLPerf Training equal a reading of the logs without LossLake."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from losslake.index.serving import open_release
from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from tests.conformance.mlperf_reading import TABLE

BUNDLE = Path(__file__).parents[2] / "published/mlperf-training/mlperf-training.tar"
Counts = dict[tuple[str, str, int, str, float], tuple[int, int, int | None, int]]


def independent() -> Counts:
    with TABLE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        (row["round"], row["benchmark"], int(row["batch_size"]), row["metric"], float(row["target"])): (
            int(row["logs"]),
            int(row["reached"]),
            int(row["least_steps"]) if row["least_steps"] else None,
            int(row["sum_of_steps"]),
        )
        for row in rows
    }


def in_lake(lake: Lake) -> Counts:
    connection = open_release(lake, lake.release())
    # A trial counts in the rounds of all of its logs, each of other bytes.
    rows = connection.sql("""
        WITH logs AS (
            SELECT collection, dataset, model, optimizer, batch_size, trial_id, attributes, source_sha256, 0 AS copy
            FROM trials
            UNION ALL
            SELECT collection, dataset, model, optimizer, batch_size, trial_id, attributes, source_sha256, 1 FROM copies
        ), first_logs AS (
            SELECT *, trim(attributes['round'], '"') AS round, trim(attributes['benchmark'], '"') AS benchmark FROM logs
            WHERE collection IN ('mlperf-training', 'mlperf-training/v0.5', 'mlperf-training/v0.7')
            QUALIFY row_number() OVER (
                PARTITION BY collection, dataset, model, optimizer, batch_size, source_sha256 ORDER BY copy, round
            ) = 1
        )
        SELECT round, benchmark, batch_size, s.metric, s.target,
            count(*), count(s.steps), min(s.steps), coalesce(sum(s.steps), 0)
        FROM first_logs JOIN steps_to_target s USING (collection, dataset, model, optimizer, batch_size, trial_id)
        GROUP BY ALL
    """).fetchall()
    connection.close()
    return {(*row[:5],): row[5:] for row in rows}


@pytest.mark.slow
def test_steps_to_every_target_equal_an_independent_reading(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    ingest(lake, [BUNDLE])
    found, expected = in_lake(lake), independent()
    assert len(expected) > 550
    assert found == expected

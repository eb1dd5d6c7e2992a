"""Derived tables are equal whether rows of unchanged workloads are copied from an earlier release or computed."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from losslake.index import derived, serving
from losslake.index.derived import BY_TRIAL
from losslake.index.serving import open_release, serving_file
from losslake.index.view_texts import overridden
from losslake.index.workloads import target_ranges_of
from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from losslake_schema.names import Workload
from losslake_schema.tables import ALL_TABLES
from tests.ingest.offers import TrialOffer, study_files, unpacked

TABLES = ("studies", "trials", "flags", "missed", "equal_curves", "frontiers", "target_ranges", "also_submitted")
WORKLOADS = [f"shallue2018/mnist/simple_cnn_base/{optimizer}" for optimizer in ("sgd", "momentum", "nesterov_momentum")]


def rows_of(lake: Lake) -> dict[str, list[str]]:
    with open_release(lake, lake.release()) as connection:
        return {name: sorted(map(repr, connection.execute(f"FROM base.{name}").fetchall())) for name in TABLES}


def random_study(rng: random.Random) -> dict[str, bytes]:
    def trial() -> TrialOffer:
        values = [round(rng.choice([0.5, 0.2, 0.011, 0.009, 0.001]) * rng.choice([1, 1, 2]), 4) for _ in range(8)]
        rows = [f"{10 * step},{value}" for step, value in enumerate(values)]
        return TrialOffer(rows, rng.choice(["COMPLETE", "COMPLETE", "INCOMPLETE"]), metadata={"steps": 80})

    return study_files(
        {number: trial() for number in range(1, 4)}, 2 ** rng.randint(3, 9), rng.choice(WORKLOADS), train_steps=60
    )


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_tables_are_those_of_a_release_that_is_built_alone(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, lake, n_unchanged = random.Random(seed), Lake.create(tmp_path / "lake"), []

    def counted(lake: Lake, files: Any, connection: Any, unchanged: set[Workload]) -> pa.Table:
        n_unchanged.append(len(unchanged))
        return target_ranges_of(lake, files, connection, unchanged)

    monkeypatch.setattr("losslake.index.derived.target_ranges_of", counted)
    for number in range(4):
        files: dict[str, bytes] = {}
        for _ in range(6 if number == 0 else 1):
            files |= random_study(rng)
        ingest(lake, [unpacked(tmp_path / str(number), files)])
        found = rows_of(lake)
        with monkeypatch.context() as alone:
            alone.setattr(serving, "_nearest", lambda *_: None)
            serving_file(lake, lake.release()).unlink()
            assert found == rows_of(lake)
    assert n_unchanged[0] == 0
    assert max(n_unchanged) > 0


def test_a_damaged_earlier_file_is_ignored(tmp_path: Path) -> None:
    rng, lake = random.Random(3), Lake.create(tmp_path / "lake")
    ingest(lake, [unpacked(tmp_path / "first", random_study(rng))])
    serving_file(lake, lake.release()).write_bytes(b"no database" * 1000)
    ingest(lake, [unpacked(tmp_path / "second", random_study(rng))])
    assert len(rows_of(lake)["studies"]) == lake.release().n_studies


Trials = dict[int, tuple[str, int, int, str]]
"""A trial per batch size: its status, its steps to the targets 0.1 and 0.05, and the examples in an epoch."""
Workloads = dict[str, Trials]
# The trial of batch size 4 reaches 0.1 too early, but not 0.05.
TRIALS: Trials = {
    1: ("COMPLETE", 400, 800, "160"), 2: ("COMPLETE", 200, 400, "160"), 4: ("COMPLETE", 1, 200, "160"),
    8: ("COMPLETE", 50, 100, "160"), 16: ("INCOMPLETE", 900, 950, "160"),
}  # fmt: skip
LARGE_EPOCHS: Trials = {2**size: ("COMPLETE", 400, 800, "1000") for size in range(8)}
BEFORE: tuple[Workloads, float] = ({"m": TRIALS, "n": TRIALS}, 0.1)


def create_base(connection: duckdb.DuckDBPyConnection, base: str, workloads: Workloads, target: float) -> None:
    """Create the small tables of a release, and its records."""
    rows: dict[str, list[dict[str, Any]]] = {"metrics": [{"metric": "v", "direction": "minimize"}]}
    for optimizer, trials in workloads.items():
        keys = {"collection": "c", "dataset": "d", "model": "cnn", "optimizer": optimizer}
        goal = {"metric": "v", "target": target, "comparator": "inclusive"}
        rows.setdefault("goals", []).append(keys | goal)
        for size, (status, early, late, epoch) in trials.items():
            study = {**keys, "batch_size": size}
            facts = {"status": status, "attributes": [("step", f'"epoch_num x {epoch} / 8"')], "last_step": 1000}
            rows.setdefault("trials", []).append(study | {"trial_id": 1} | facts)
            digest = repr((optimizer, size, trials[size]))
            rows.setdefault("studies", []).append(study | {"metrics": ["v"], "content_digest": digest})
            for step, value in ((early, 0.1), (late, 0.05)):
                rows.setdefault("records", []).append(
                    study | {"trial_id": 1, "metric": "v", "step": step, "value": value}
                )
    connection.execute(f"CREATE SCHEMA {base}")
    for name, of_table in rows.items():
        connection.register("given", pa.Table.from_pylist(of_table, ALL_TABLES[name]))
        connection.execute(f"CREATE TABLE {base}.{name} AS FROM given")
    for name in ("studies", "trials"):
        number = "CAST(dense_rank() OVER (ORDER BY optimizer, batch_size) AS INTEGER) AS study_id"
        connection.execute(f"CREATE OR REPLACE TABLE {base}.{name} AS SELECT *, {number} FROM {base}.{name}")


def tables_by_trial(
    release: tuple[Workloads, float], earlier: Mapping[str, pa.Table] | None = None
) -> dict[str, pa.Table]:
    """The tables by trial of a release. earlier: those of BEFORE, from which rows may be copied."""
    with duckdb.connect() as connection:
        create_base(connection, "base", *release)
        connection.execute(overridden("serving", "small_epochs"))
        if earlier is None:
            connection.execute(overridden("serving", "none_unchanged"))
        else:
            connection.execute("ATTACH ':memory:' AS earlier")
            create_base(connection, "earlier.base", *BEFORE)
            for name, table in earlier.items():
                connection.register("given", table)
                connection.execute(f"CREATE TABLE earlier.base.{name} AS FROM given")
            derived.find_unchanged(connection)
        connection.execute(
            "CREATE TEMP VIEW changed_records AS "
            "FROM base.records ANTI JOIN unchanged USING (collection, dataset, model, optimizer)"
        )
        derived.derive_by_trial(connection)
        return {name: connection.sql(f"FROM base.{name} ORDER BY ALL").to_arrow_table() for name in BY_TRIAL}


@pytest.mark.parametrize(
    "after",
    [
        pytest.param((BEFORE[0], 0.05), id="another goal"),
        pytest.param(({"m": TRIALS, "n": LARGE_EPOCHS}, 0.1), id="epochs of another workload"),
        pytest.param(({"m": {size: TRIALS[size] for size in (1, 2, 4)}, "n": TRIALS}, 0.1), id="fewer studies"),
        pytest.param(({"m": TRIALS | {4: ("COMPLETE", 90, 200, "160")}, "n": TRIALS}, 0.1), id="another trial"),
    ],
)
def test_rows_of_a_workload_are_derived_anew_if_they_can_differ(after: tuple[Workloads, float]) -> None:
    earlier = tables_by_trial(BEFORE)
    alone = tables_by_trial(after)
    assert alone["flags"] != earlier["flags"]
    assert tables_by_trial(after, earlier) == alone


def test_rows_of_unchanged_workloads_are_copied() -> None:
    earlier = tables_by_trial(BEFORE)
    assert earlier["flags"].num_rows
    marked = earlier | {"flags": earlier["flags"].slice(0, 0)}
    assert tables_by_trial(BEFORE, marked) == marked

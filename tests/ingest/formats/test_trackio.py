from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.run_log import RunLog
from losslake_ingest.formats.format import Glimpse
from losslake_ingest.formats.trackio import FORMAT
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.plan import plan_ingest
from losslake_ingest.readers.tables.json_table import NOT_AN_OBJECT
from tests.ingest.formats.reading import cells, read, runs
from tests.ingest.formats.trackio_files import Calls, database
from tests.ingest.offers import unpacked

CALLS: Calls = {
    "a1": [(0, {"loss": 1.5, "h": {"x": 2}}), (10, {"loss": math.nan, "note": "x"})],
    "b2": [(0, {"loss": 3.5})],
}
MAPPING = """
collection.name = "c"
run = { dataset = "d", model = "m", optimizer = "{opt.name}", batch_size = 8 }
metrics.loss = "train/loss"
axis = [{ column = "step", counts = "updates" }]
"""


def test_a_run_id_is_a_run_with_a_row_for_each_call(tmp_path: Path) -> None:
    a, b = runs(FORMAT, tmp_path, {"trackio/p.db": database(CALLS)})
    assert (a.run, b.run) == ("trackio/p.db#a1", "trackio/p.db#b2")
    (rows,) = a.rows
    assert (cells(rows, "step"), cells(rows, "loss")[0], cells(rows, "h.x")) == ([0, 10], 1.5, [2, None])
    assert math.isnan(cells(rows, "loss")[1] or 0)
    assert [time - (a.started_at or 0) for time in rows.columns["timestamp"]] == [2.5, 3.5]


def test_the_configuration_is_parameters_and_fields_without_the_user(tmp_path: Path) -> None:
    a, _ = runs(FORMAT, tmp_path, {"trackio/p.db": database(CALLS)})
    assert a.parameters == {"lr": 0.5, "opt.name": "adam"}
    assert {"run_id": "a1", "run_name": "name of a1", "lr": 0.5}.items() <= a.fields.items()
    assert (a.private, "someone" in str(a)) == (["user name"], False)


def test_values_that_are_no_json_object_are_damage(tmp_path: Path) -> None:
    calls: Calls = {"a": [(0, {"loss": 1.5}), (1, b'{"loss": 2'), (2, {"loss": 0.5})]}
    (run,) = runs(FORMAT, tmp_path, {"trackio/p.db": database(calls)})
    assert (cells(run.rows[0], "step"), run.remarks) == ([0, 2], {NOT_AN_OBJECT: 1})


def test_a_database_is_told_by_its_folder_or_its_write_ahead_log() -> None:
    data = database(CALLS)
    ahead = data[:18] + b"\2\2" + data[20:]
    assert FORMAT.detect(Glimpse("trackio/p.db", data)) >= 0.85
    assert 0 < FORMAT.detect(Glimpse("p.db", ahead)) < 0.85
    assert FORMAT.detect(Glimpse("p.db", data)) == FORMAT.detect(Glimpse("trackio/p.db", b"x")) == 0


def test_a_database_of_another_program_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (item,) = read(FORMAT, tmp_path, {"p.db": database({}).replace(b"metrics", b"metricz")})
    assert isinstance(item, Quarantined)
    assert (item.rule, "no table metrics" in item.message) == ("unreadable_log", True)


def test_runs_are_ingested_by_a_mapping_of_the_config(tmp_path: Path) -> None:
    (tmp_path / "losslake.toml").write_text(MAPPING)
    unpacked(tmp_path, {"trackio/p.db": database(CALLS)})
    plan = plan_ingest(None, [tmp_path], Request())
    assert (list(plan.quarantined), [str(key) for key in plan.studies]) == ([], ["c/d/m/adam/8"])


def test_a_cut_or_flipped_database_is_runs_or_quarantined(tmp_path: Path) -> None:
    data, rng = database(CALLS), random.Random(1)
    for _ in range(150):
        at = rng.randrange(len(data))
        flipped = data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
        for changed in (data[:at], flipped):
            for item in read(FORMAT, tmp_path, {"trackio/p.db": changed}):
                assert isinstance(item, (RunLog, Quarantined))


@pytest.mark.fuzz
def test_many_flipped_databases_are_runs_or_quarantined(tmp_path: Path) -> None:
    data = database(CALLS)
    for seed in range(20_000):
        rng = random.Random(seed)
        changed = bytearray(data)
        for _ in range(rng.randrange(1, 8)):
            changed[rng.randrange(len(data))] = rng.randrange(256)
        for item in read(FORMAT, tmp_path, {"trackio/p.db": bytes(changed)}):
            assert isinstance(item, (RunLog, Quarantined))

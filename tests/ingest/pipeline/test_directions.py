"""A mapping may state the direction of a metric that isn't registered: then questions need none, for any study."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from losslake.index.serving import open_release
from losslake.lake.lake import Lake
from losslake.lake.verification import verify
from losslake_ingest.contracts.report import Summary
from losslake_ingest.contracts.rules import Rule
from losslake_ingest.pipeline.directions import DirectionConflict
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.plan import plan_ingest
from losslake_ingest.releases.compaction import compact
from losslake_ingest.releases.withdrawal import withdraw
from losslake_ingest.run import ingest
from tests.ingest.offers import Files, unpacked

FACTS = """
collection = {name = "c"}
run = {dataset = "d", model = "m", optimizer = "o"}
path = {patterns = ["b{batch_size:int}/{name}.csv"]}
"""
PLAIN = FACTS + 'metrics = {auc = "val/auc", loss = "val/cross_entropy_error"}\n'
STATED = FACTS + 'metrics = {auc = {metric = "val/auc", direction = "maximize"}, loss = "val/cross_entropy_error"}\n'


def log(seed: int, rows: int = 30) -> bytes:
    draw = random.Random(seed)
    lines = [f"{step},{draw.choice(['nan', 'inf', draw.random()])},{draw.random()}" for step in range(0, rows * 10, 10)]
    return "\n".join(["step,auc,loss", *lines, ""]).encode()


def files(batch_size: int, *seeds: int) -> Files:
    return {f"b{batch_size}/{seed}.csv": log(seed) for seed in seeds}


def offer(lake: Lake, folder: Path, mapping: str, logs: Files) -> Summary:
    return ingest(lake, [unpacked(folder, {"losslake.toml": mapping.encode(), **logs})])


def records_agree(lake: Lake) -> dict[tuple[int, int], list[int]]:
    """Return the steps of the records of val/auc by trial, equal to those of a loop over all measurements."""
    connection = open_release(lake, lake.release())
    query = "SELECT batch_size, trial_id, step, value FROM {} WHERE metric = 'val/auc' ORDER BY ALL"
    measured, stored = (connection.sql(query.format(table)).fetchall() for table in ("measurements", "records"))
    expected: dict[tuple[int, int], list[int]] = {}
    best: dict[tuple[int, int], float] = {}
    for batch_size, trial_id, step, value in measured:
        if best.get((batch_size, trial_id), -1.0) < value < float("inf"):
            best[batch_size, trial_id] = value
            expected.setdefault((batch_size, trial_id), []).append(step)
    found: dict[tuple[int, int], list[int]] = {}
    for batch_size, trial_id, step, _ in stored:
        found.setdefault((batch_size, trial_id), []).append(step)
    assert found == expected
    by_macro = connection.sql("SELECT batch_size, steps FROM result_at('val/auc', 0.9) ORDER BY ALL").fetchall()
    stated = "SELECT batch_size, steps FROM result_at('val/auc', 0.9, direction := 'maximize') ORDER BY ALL"
    assert by_macro == connection.sql(stated).fetchall() != []
    connection.close()
    assert verify(lake, lake.release()).problems == ()
    return found


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.create(tmp_path / "lake")


def test_a_stated_direction_answers_steps_to_target(lake: Lake, tmp_path: Path) -> None:
    assert offer(lake, tmp_path / "logs", STATED, files(8, 1, 2) | files(16, 3)).published
    assert len(records_agree(lake)) == 3
    assert not offer(lake, tmp_path / "logs", STATED, files(8, 1, 2) | files(16, 3)).published


def test_studies_stored_without_the_direction_get_it_too(lake: Lake, tmp_path: Path) -> None:
    offer(lake, tmp_path / "old", PLAIN, files(8, 1, 2) | files(16, 3))
    offer(lake, tmp_path / "new", STATED, files(32, 4))
    assert len(records_agree(lake)) == 4


@pytest.mark.slow
def test_logs_offered_again_with_a_direction_get_it(lake: Lake, tmp_path: Path) -> None:
    offer(lake, tmp_path / "logs", PLAIN, files(8, 1, 2))
    assert offer(lake, tmp_path / "logs", STATED, files(8, 1, 2)).published
    assert len(records_agree(lake)) == 2


@pytest.mark.slow
def test_a_known_direction_holds_for_later_runs_whose_mapping_has_none(lake: Lake, tmp_path: Path) -> None:
    offer(lake, tmp_path / "old", STATED, files(8, 1))
    offer(lake, tmp_path / "new", PLAIN, files(8, 2) | files(16, 3))
    assert len(records_agree(lake)) == 3


@pytest.mark.slow
def test_a_direction_survives_withdrawal_and_compaction(lake: Lake, tmp_path: Path) -> None:
    mapping = STATED + "fields = {batch_size = 8}\n"
    folder = unpacked(tmp_path / "logs", {"b8/losslake.toml": mapping.encode(), **files(8, *range(6))})
    ingest(lake, [folder / f"b8/{seed}.csv" for seed in range(6)])
    digest = lake.release().content_digest
    assert compact(lake).studies == 1
    assert lake.release().content_digest == digest
    assert len(records_agree(lake)) == 6
    withdraw(lake, ["c/d/m/o/8/1"], "a test", "me")
    assert len(records_agree(lake)) == 5


def test_another_direction_than_the_lake_s_is_refused(lake: Lake, tmp_path: Path) -> None:
    offer(lake, tmp_path / "old", STATED, files(8, 1))
    stored = {path for path in (lake.folder / "warehouse").rglob("*") if path.is_file()}
    opposite = STATED.replace("maximize", "minimize")
    message = "a mapping says minimize for val/auc, and the lake has maximize: a metric has one direction"
    with pytest.raises(DirectionConflict, match=message):
        offer(lake, tmp_path / "new", opposite, files(16, 2))
    with pytest.raises(DirectionConflict, match=message):
        plan_ingest(lake, [tmp_path / "new"], Request())
    assert {path for path in (lake.folder / "warehouse").rglob("*") if path.is_file()} == stored
    assert lake.release().number == 1


def test_two_mappings_of_one_ingest_that_differ_are_refused(lake: Lake, tmp_path: Path) -> None:
    parts = [
        unpacked(tmp_path / name, {"losslake.toml": mapping.encode(), **files(8, seed)})
        for seed, (name, mapping) in enumerate({"a": STATED, "b": STATED.replace("maximize", "minimize")}.items())
    ]
    with pytest.raises(DirectionConflict, match="another mapping or line says maximize"):
        ingest(lake, parts)


def test_another_direction_than_the_registered_one_is_refused(lake: Lake, tmp_path: Path) -> None:
    wrong = PLAIN.replace(
        'loss = "val/cross_entropy_error"', 'loss = {metric = "val/accuracy", direction = "minimize"}'
    )
    summary = offer(lake, tmp_path / "logs", wrong, files(8, 1))
    (refused,) = summary.quarantined
    assert refused.rule == Rule.BAD_FACT
    assert "the mapping says minimize for val/accuracy, which LossLake knows as maximize" in refused.message


def test_a_direction_of_no_stored_metric_publishes_nothing_twice(lake: Lake, tmp_path: Path) -> None:
    other = STATED.replace("auc = {", "absent = {").replace("loss = ", 'auc = "val/auc", loss = ')
    offer(lake, tmp_path / "logs", other, files(8, 1))
    assert not offer(lake, tmp_path / "logs", other, files(8, 1)).published


def test_a_dry_run_shows_stated_directions(tmp_path: Path) -> None:
    folder = unpacked(tmp_path / "logs", {"losslake.toml": STATED.encode(), **files(8, 1)})
    assert list(plan_ingest(None, [folder], Request()).directions) == [("val/auc", "maximize")]

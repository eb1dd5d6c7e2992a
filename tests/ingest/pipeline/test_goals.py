"""The goals of a workload in a metric have one comparator, since it holds for every target: two of them are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake_ingest.pipeline.goals import GoalConflict
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.plan import plan_ingest
from losslake_ingest.run import ingest
from tests.ingest.offers import unpacked
from tests.ingest.stored_rows import stored_rows

FACTS = """
collection = {name = "c"}
run = {dataset = "d", model = "m", optimizer = "o"}
path = {patterns = ["b{batch_size:int}/{name}.csv"]}
metrics = {loss = "val/cross_entropy_error"}
"""


def mapping(comparator: str, *targets: float) -> bytes:
    goals = [
        f'[[goal]]\nmetric = "val/cross_entropy_error"\ntarget = {target}\nsource = "s"\ncomparator = "{comparator}"\n'
        for target in targets
    ]
    return (FACTS + "".join(goals)).encode()


def log_of(place: str) -> bytes:
    return f"step,loss\n0,0.9\n10,0.5\n{sum(place.encode())},0.4\n".encode()


def logs(folder: Path, stated: bytes, *places: str) -> Path:
    return unpacked(folder, {"losslake.toml": stated} | {place: log_of(place) for place in places})


def comparators(lake: Lake) -> set[tuple[float, str]]:
    rows = stored_rows(lake, "goals")
    return {(row["target"], row["comparator"]) for row in rows if row["collection"] == "c"}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.create(tmp_path / "lake")


@pytest.mark.parametrize("target", [0.5, 0.3])
def test_another_comparator_than_the_lake_s_is_refused(lake: Lake, tmp_path: Path, target: float) -> None:
    ingest(lake, [logs(tmp_path / "old", mapping("strict", 0.5), "b8/a.csv")])
    new = logs(tmp_path / "new", mapping("inclusive", target), "b16/a.csv")
    message = (
        rf"the goal val/cross_entropy_error {target} of c/d/m/o is stated as inclusive \(s\), and the lake has 0.5 as"
    )
    with pytest.raises(GoalConflict, match=message):
        ingest(lake, [new])
    with pytest.raises(GoalConflict, match=message):
        plan_ingest(lake, [new], Request())
    assert lake.release().number == 1


def test_two_comparators_in_one_ingest_are_refused(lake: Lake, tmp_path: Path) -> None:
    parts = [
        logs(tmp_path / "a", mapping("strict", 0.5), "b8/a.csv"),
        logs(tmp_path / "b", mapping("inclusive", 0.5), "b16/a.csv"),
    ]
    for planned in (lake, None):
        with pytest.raises(GoalConflict, match=r"another mapping or log states 0\.5 as strict"):
            plan_ingest(planned, parts, Request())
    with pytest.raises(GoalConflict, match=r"another mapping or log states 0\.5 as strict"):
        ingest(lake, parts)
    assert [path for path in (lake.folder / "warehouse").rglob("*.parquet") if path.is_file()] == []


def test_a_comparator_is_corrected_by_offering_all_logs_of_the_workload_again(lake: Lake, tmp_path: Path) -> None:
    places = ("b8/a.csv", "b8/b.csv", "b16/a.csv")
    ingest(lake, [logs(tmp_path / "logs", mapping("strict", 0.5), *places)])
    (tmp_path / "logs/losslake.toml").write_bytes(mapping("inclusive", 0.5))
    for part in (places[:1], places[::2]):
        with pytest.raises(GoalConflict, match=r"0\.5 .* is stated as inclusive .* the lake has 0\.5 as strict"):
            ingest(lake, [logs(tmp_path / f"part of {len(part)}", mapping("inclusive", 0.5), *part)])
    plan_ingest(lake, [tmp_path / "logs"], Request())
    assert ingest(lake, [tmp_path / "logs"]).published
    assert comparators(lake) == {(0.5, "inclusive")}
    (tmp_path / "logs/losslake.toml").write_bytes(mapping("strict", 0.5))
    assert ingest(lake, [tmp_path / "logs"]).published
    assert comparators(lake) == {(0.5, "strict")}


def test_a_goal_of_another_workload_or_metric_may_have_another_comparator(lake: Lake, tmp_path: Path) -> None:
    ingest(lake, [logs(tmp_path / "old", mapping("strict", 0.5), "b8/a.csv")])
    other = mapping("inclusive", 0.4).replace(b'optimizer = "o"', b'optimizer = "p"')
    ingest(lake, [logs(tmp_path / "new", other, "b8/a.csv")])
    assert comparators(lake) == {(0.5, "strict"), (0.4, "inclusive")}

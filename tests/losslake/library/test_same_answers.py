"""The library gives the same tables for a folder and for the service of that folder, to the last bit."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import losslake
from losslake.library.lake import Lake
from losslake.library.result import Result
from losslake.questions.questions import QUESTIONS
from losslake_schema.errors import LossLakeError
from tests.made_up_league import league_lake
from tests.service.running import served

pytestmark = pytest.mark.slow

WORKLOAD, SGD = "bundled/digits/mlp_64/nesterov_momentum", "bundled/digits/mlp_64/sgd"
# What a question needs besides a workload.
NEEDED: dict[str, dict[str, Any]] = {
    "targets": {"target": [0.05, 0.1]},
    "curves": {"study": f"{WORKLOAD}/64", "points": 20},
    "compare": {"workload": [SGD, WORKLOAD]},
    "profiles": {"workload": [SGD, WORKLOAD], "target": 0.05},
    "forecast": {"batch_size": 64, "curve": ["20=0.8", "40=0.4"]},
    "advice": {"step_time": ["16=0.01", "1024=0.03"]},
    "target_sweep": {"n_targets": 3, "target_min": 0.03, "target_max": 0.1},
    "critical_batch_law": {"unit": "batch_unit"},
    "recommend": {"parameters": 1e9, "tokens": 2e10, "loss": 3.0},
}
OF_COMPETITIONS = ("league", "records")
# Nobody contributed the bundled studies or submitted them to a competition, and none was withdrawn.
WITHOUT_ROWS = ("contributors", "results", "withdrawn", *OF_COMPETITIONS)
METHODS = sorted(
    name
    for name, method in inspect.getmembers(Lake, inspect.isfunction)
    if not name.startswith("_") and name not in ("release", "sql")
)


def arguments_of(name: str, method: Any) -> dict[str, Any]:
    takes_workload = "workload" in inspect.signature(method).parameters
    return {**({"workload": WORKLOAD} if takes_workload and name != "curves" else {}), **NEEDED.get(name, {})}


def assert_same(first: Result, second: Result) -> None:
    assert first.facts == second.facts
    assert first.to_arrow().schema.equals(second.to_arrow().schema, check_metadata=True)
    # NaN is not equal to itself: its bits are compared, as those of every other value.
    ipc = [result.to_arrow().combine_chunks().to_batches() for result in (first, second)]
    assert [batch.serialize() for batch in ipc[0]] == [batch.serialize() for batch in ipc[1]]


def test_there_is_a_method_for_every_question() -> None:
    assert len(METHODS) == len(QUESTIONS)


@pytest.mark.parametrize("name", METHODS)
def test_a_folder_and_its_service_give_the_same_table(folder: Lake, service: Lake, name: str) -> None:
    given = arguments_of(name, getattr(folder, name))
    local, remote = (getattr(lake, name)(**given) for lake in (folder, service))
    assert_same(local, remote)
    assert (len(local) > 0) == (name not in WITHOUT_ROWS)


def test_answers_about_competitions_are_the_same(tmp_path_factory: pytest.TempPathFactory) -> None:
    lake = league_lake(tmp_path_factory).folder
    with served(lake, lake=str(lake), sql_enabled=False) as running:
        folder, service = losslake.open(lake), losslake.open(running.url)
        for name in OF_COMPETITIONS:
            local, remote = (getattr(each, name)() for each in (folder, service))
            assert_same(local, remote)
            assert len(local) > 0


@pytest.mark.parametrize("measure", ["steps", "examples"])
def test_what_is_counted_is_the_same_too(folder: Lake, service: Lake, measure: Any) -> None:
    local, remote = (lake.scaling(WORKLOAD, measure=measure) for lake in (folder, service))
    assert_same(local, remote)
    assert_same(local.critical_batch_size(), remote.critical_batch_size())


@pytest.mark.parametrize(
    ("statement", "parameters"),
    [
        ("FROM result_at('val/classification_error', $target) ORDER BY ALL", {"target": 0.05}),
        ("SELECT 'nan'::DOUBLE, 1.5::DECIMAL(5, 2), [1, NULL], {'a': 1}, DATE '2020-01-02', 'x'::ENUM('x'), ?", [7]),
        ("SELECT 1 WHERE false", None),
    ],
)
def test_sql_gives_the_same_table(folder: Lake, service: Lake, statement: str, parameters: Any) -> None:
    local, remote = (lake.sql(statement, parameters).to_arrow() for lake in (folder, service))
    assert local.schema.equals(remote.schema)
    assert str(local.to_pylist()) == str(remote.to_pylist())


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda lake: lake.scaling("bundled/digits/mlp_64/adamw"), "no workload 'bundled/digits/mlp_64/adamw'"),
        (lambda lake: lake.scaling(WORKLOAD, trials=0), "trials=0: [Ii]nput should be greater than or equal to 1"),
        (lambda lake: lake.scaling(WORKLOAD, metric="val/nothing"), "has no metric 'val/nothing'"),
        (lambda lake: lake.scaling(WORKLOAD, measure="epochs"), "give examples_per_epoch=N"),
        (lambda lake: lake.workloads(colour="red"), "there is no parameter 'colour'"),
        (lambda lake: lake.curves(), "give either trial=… or study=…"),
        (lambda lake: lake.sql("SELEC 1"), 'syntax error at or near "SELEC"'),
        (lambda lake: lake.sql("COPY (SELECT 1) TO 'x.csv'"), "COPY.* disabled|COPY is not allowed"),
        (lambda lake: lake.sql("SET threads = 1"), "only statements with a result|SET is not allowed"),
        (lambda lake: lake.sql("CREATE TABLE x AS SELECT 1"), "only statements with a result|CREATE is not allowed"),
        (lambda lake: lake.release(99).scaling(WORKLOAD), "no release '?99"),
        (lambda lake: lake.metrics().plot().svg(), "has no figure 'metrics"),
    ],
)
def test_both_refuse_what_cannot_be_answered(
    folder: Lake, service: Lake, ask: Callable[[Lake], object], message: str
) -> None:
    for lake in (folder, service):
        with pytest.raises(LossLakeError, match=message):
            ask(lake)


def test_a_figure_is_the_same_but_for_the_addresses_in_it(folder: Lake, service: Lake) -> None:
    first, second = (lake.scaling(WORKLOAD).plot(width=500, title="Mine") for lake in (folder, service))
    local, remote = first.vega_lite(), second.vega_lite()
    assert local["datasets"] == remote["datasets"]
    assert "Mine" in first.svg()
    assert "Mine" in second.svg()

"""What a release is answered from is made once, shared by releases where it is the same, and made again when lost."""

from __future__ import annotations

import math
import os
import random
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pytest

from losslake.index import serving
from losslake.index.serving import MOST_REMOTE_FILES, open_release, remote_file
from losslake.index.view_texts import VIEWS, overridden
from losslake.index.workload_file import OpenWorkloads
from losslake.lake.lake import Lake
from losslake.questions import scaling
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.selection import Goal, Selection
from losslake_ingest.run import ingest
from losslake_schema.errors import LakeBroken
from losslake_schema.names import Workload
from losslake_schema.registry import metrics
from losslake_schema.tables import ALL_TABLES
from tests.ingest.offers import METRIC, TrialOffer, study_files, unpacked
from tests.losslake.questions.views import answer_to

SGD, ADAM = (Workload("root", "mnist", "cnn", optimizer) for optimizer in ("sgd", "adam"))

MACROS = ["steps_to", "result_at", "pooled_result_at", "best_setting_at", "amounts_to", "amount_at"]


@pytest.fixture(scope="module")
def offered(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A lake with two workloads, never opened."""
    folder = tmp_path_factory.mktemp("serving")
    lake = Lake.create(folder / "lake")
    trials = {1: TrialOffer(), 2: TrialOffer(status="INCOMPLETE")}
    files = study_files(trials) | study_files(trials, 16) | study_files(trials, workload=str(ADAM))
    ingest(lake, [unpacked(folder / "logs", files)])
    return lake


@pytest.fixture
def lake(offered: Lake) -> Lake:
    """The same without serving files."""
    shutil.rmtree(offered.folder / "serving", ignore_errors=True)
    return offered


@pytest.fixture(scope="module")
def release(offered: Lake) -> Iterator[duckdb.DuckDBPyConnection]:
    """The release for SQL."""
    with open_release(offered, offered.release()) as connection:
        yield connection


def opened(lake: Lake) -> ReleaseView:
    return ReleaseView.open(lake, lake.release())


def steps(view: ReleaseView, workload: Workload) -> list[object]:
    found: list[object] = (
        answer_to(scaling.QUESTION, view, Selection((workload,), METRIC), Goal(0.3)).table()["steps"].to_pylist()
    )
    return found


def folders(lake: Lake) -> dict[Path, int]:
    """The folders of workloads, and when each was made."""
    return {path: path.stat().st_mtime_ns for path in (lake.folder / "serving" / "workloads").iterdir()}


def mapped(lake: Lake) -> set[str]:
    """The folders of workloads of which this process has files in memory."""
    top = f"{lake.folder}/serving/workloads/"
    lines = Path("/proc/self/maps").read_text().splitlines()
    return {line.partition(top)[2].partition("/")[0] for line in lines if top in line}


def test_a_corrected_study_makes_the_files_of_its_own_workload_alone(lake: Lake, tmp_path: Path) -> None:
    copy = tmp_path / "lake"
    again = Lake.create(copy)
    trials = {1: TrialOffer()}
    files = study_files(trials) | study_files(trials, workload=str(ADAM))
    ingest(again, [unpacked(tmp_path / "logs", files)])
    before = opened(again)
    made = folders(again)
    better = {1: TrialOffer(rows=["0,0.9", "15,0.2"])}
    ingest(again, [unpacked(tmp_path / "more", study_files(better) | study_files(trials, workload=str(ADAM)))])
    after = opened(again)
    assert len(made) == 2
    assert made.items() <= folders(again).items()
    assert len(folders(again)) == 3
    assert (steps(before, SGD), steps(before, ADAM)) == ([20], [20])
    assert (steps(after, SGD), steps(after, ADAM)) == ([15], [20])


def test_files_left_by_a_crash_are_removed(lake: Lake) -> None:
    folder = lake.folder / "serving" / "workloads"
    opened(lake)
    lost = next(iter(folders(lake)))
    lost.rename(lost.with_suffix(".unfinished"))
    (folder / "another.unfinished").mkdir()
    assert steps(opened(lake), SGD) == [20, 20]
    assert {path.suffix for path in folders(lake)} == {""}


def test_a_second_opening_builds_nothing(lake: Lake) -> None:
    def files() -> dict[Path, tuple[int, int]]:
        stats = {path: path.stat() for path in (lake.folder / "serving").rglob("*") if path.is_file()}
        return {path: (stat.st_ino, stat.st_mtime_ns) for path, stat in stats.items()}

    opened(lake)
    built = files()
    opened(lake)
    assert files() == built


def test_files_made_with_kept_views_are_as_the_first_and_nothing_of_a_release_is_kept(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[bytes] = []
    monkeypatch.setattr(serving, "_kept_views", kept)
    first = texts_in(lake)
    assert [len(each) for each in first] == [len(VIEWS) + 1, len(MACROS) + 1, 14]
    assert kept[0]
    assert str(lake.folder).encode() not in kept[0]
    assert b"mnist" not in kept[0]
    shutil.rmtree(lake.folder / "serving")
    assert texts_in(lake) == first


def texts_in(lake: Lake) -> list[list[tuple[object, ...]]]:
    """The texts of all views, macros and tables of a new serving file."""
    with open_release(lake, lake.release()) as connection:
        statements = (
            "SELECT schema_name, view_name, sql FROM duckdb_views() WHERE NOT internal ORDER BY ALL",
            "SELECT function_name, parameters, macro_definition FROM duckdb_functions() WHERE NOT internal ORDER BY 2",
            "SELECT schema_name, table_name, sql FROM duckdb_tables() ORDER BY ALL",
        )
        return [connection.execute(statement).fetchall() for statement in statements]


def test_tables_that_can_have_no_row_have_the_columns_of_those_that_are_derived() -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE SCHEMA base")
        for name, schema in ALL_TABLES.items():
            given = schema.empty_table()  # noqa: F841
            numbered = "0::INTEGER AS study_id, *" if name in ("studies", "trials") else "*"
            connection.execute(f"CREATE TABLE base.{name} AS SELECT {numbered} FROM given")
        connection.execute("CREATE TEMP VIEW changed_records AS FROM base.records")
        for name in ("none_unchanged", "small_epochs", "base_hits"):
            connection.execute(overridden("serving", name))
        for name in ("flags", "missed", "schedules", "also_submitted"):
            columns = []
            for file in (f"no_{name}", f"base_{name}"):
                connection.execute(f"DROP TABLE IF EXISTS base.{name}")
                connection.execute(overridden("serving", file))
                columns.append(connection.execute(f"DESCRIBE base.{name}").fetchall())
            assert columns[0] == columns[1]


def test_the_latest_databases_for_clients_are_kept(lake: Lake) -> None:
    folder = lake.folder / "serving"
    folder.mkdir()
    older = [folder / f"remote-000001-{age}.duckdb" for age in range(MOST_REMOTE_FILES)]
    for age, path in enumerate(older, start=1):
        path.touch()
        os.utime(path, (1000 - age, 1000 - age))
    built = remote_file(lake, lake.release(), "http://lake:1/data/1")
    assert set(folder.glob("remote-*.duckdb")) == {built, *older[:-1]}


def test_two_processes_build_serving_files_once(lake: Lake) -> None:
    with ThreadPoolExecutor(2) as threads:
        views = list(threads.map(lambda _: opened(lake), range(2)))
    assert len(folders(lake)) == 2
    assert [steps(view, SGD) for view in views] == [[20, 20]] * 2


def test_open_release_answers_after_its_files_were_deleted(lake: Lake) -> None:
    view = opened(lake)
    shutil.rmtree(lake.folder / "serving")
    assert steps(view, ADAM) == [20]


def test_a_workload_is_mapped_when_it_is_first_asked_for_and_its_files_are_closed(lake: Lake) -> None:
    view = opened(lake)
    assert mapped(lake) == set()
    steps(view, SGD)
    assert len(mapped(lake)) == 1
    assert not [link for link in Path("/proc/self/fd").iterdir() if "/serving/workloads/" in str(link.resolve())]
    assert len(folders(lake)) == 2


def test_least_recently_used_workloads_are_unmapped_but_not_those_in_use(lake: Lake) -> None:
    opened(lake)
    first, second = sorted(path.name for path in folders(lake))
    workloads = OpenWorkloads(lake.folder / "serving" / "workloads", lambda _: None, most=1)
    kept = workloads.opened(first)
    assert workloads.opened(first) is kept
    workloads.opened(second)
    assert len(workloads) == 1
    assert kept.trials.trials.trial_id.tolist()[:2] == [1, 2]


def test_the_files_of_each_study_are_those_of_the_release(lake: Lake) -> None:
    view = opened(lake)
    found = [file for facts in view.workloads.values() for file in view.measurement_files(facts)]
    listed = [file for file in lake.files(lake.release()) if file.table == "measurements"]
    assert sorted((file.path, file.bytes) for file in found) == [(file.path, file.bytes) for file in listed]
    assert all("batch_size=16/" in file.path for file in view.measurement_files(view.workload(SGD), 1))


@pytest.mark.parametrize("harm", [lambda path: path.write_bytes(b"junk" * 100), lambda path: path.unlink()])
def test_damaged_file_names_what_to_delete(lake: Lake, harm: object) -> None:
    assert callable(harm)
    opened(lake)
    for path in folders(lake):
        harm(path / "frontiers.arrow")
    with pytest.raises(LakeBroken, match="delete the lake's folder `serving`"):
        steps(opened(lake), SGD)


def test_a_missing_data_file_is_named_and_nothing_is_left_half_made(lake: Lake, tmp_path: Path) -> None:
    (file,) = (f for f in lake.files(lake.release()) if f.table == "records" and f.optimizer == "adam")
    shutil.move(lake.folder / file.path, tmp_path / "away")
    with pytest.raises(LakeBroken, match=f"{file.path} is missing"):
        opened(lake)
    shutil.move(tmp_path / "away", lake.folder / file.path)
    assert steps(opened(lake), ADAM) == [20]


def test_result_at_finds_in_target_ranges_what_it_finds_in_records(tmp_path: Path) -> None:
    chance = random.Random(1)
    values = ["0.1", "0.2", "0.3", "0.30000000000000004", "-0.0", "nan", "inf"]

    def trial() -> TrialOffer:
        rows = [f"{step},{chance.choice(values)},{chance.choice(values)}" for step in range(chance.randrange(1, 9))]
        status = chance.choice(["COMPLETE", "COMPLETE", "INCOMPLETE"])
        return TrialOffer(rows, status, header="step,val/loss,val/bleu")

    files = study_files({1: TrialOffer(status="INCOMPLETE")}, 2, str(ADAM))
    for batch_size in (8, 16, 2**62):
        files |= study_files({number: trial() for number in range(12)}, batch_size)
    lake = Lake.create(tmp_path / "lake")
    ingest(lake, [unpacked(tmp_path / "logs", files)])
    release = open_release(lake, lake.release())
    found = 0
    for metric, beyond in (("val/loss", (float("inf"),)), ("val/bleu", ())):
        for target in (-0.0, 0.15, 0.30000000000000004, 9.0, *beyond, None):
            for comparator in ("strict", "inclusive", None):
                arguments = {"m": metric, "t": target, "c": comparator}
                asked = "FROM result_at($m, $t, comparator := $c) ORDER BY ALL"
                rows = release.execute(asked, arguments).fetchall()
                same = asked.replace("comparator", "direction := NULL, comparator")
                assert repr(rows) == repr(release.execute(same, arguments).fetchall())
                found += len(rows)
        with pytest.raises(duckdb.Error, match="the target NaN is no number"):
            release.execute("FROM result_at($m, 'nan'::DOUBLE)", {"m": metric})
    assert found == (6 + 5) * 3 * 3


@pytest.mark.parametrize(("target", "do"), [("25", "did you mean 0.25?"), ("-1", "give a target there, not -1.0")])
@pytest.mark.parametrize("macro", MACROS)
@pytest.mark.parametrize("direction", ["", pytest.param(", direction := 'minimize'", marks=pytest.mark.slow)])
def test_a_macro_refuses_a_target_beyond_the_range_of_its_metric(
    release: duckdb.DuckDBPyConnection, macro: str, direction: str, target: str, do: str
) -> None:
    with pytest.raises(duckdb.Error, match=re.escape(f"{METRIC} lies between 0 and 1: {do}")):
        release.execute(f"FROM {macro}('{METRIC}', {target}{direction})")
    assert release.execute(f"FROM {macro}('{METRIC}', 1.0000001{direction})").fetchall()


def test_limits_of_targets_in_the_serving_file_are_those_of_the_registry(tmp_path: Path) -> None:
    header = f"step,unregistered/loss,{','.join(metrics())}"
    offer = TrialOffer([f"1{',0.5' * (1 + len(metrics()))}"], header=header)
    lake = Lake.create(tmp_path / "lake")
    ingest(lake, [unpacked(tmp_path / "logs", study_files({1: offer}))])
    asked = "SELECT metric, lowest, highest, range_in_words FROM base.frontiers"
    limits = {row[0]: row[1:] for row in open_release(lake, lake.release()).execute(asked).fetchall()}
    assert limits.keys() == {"unregistered/loss", *metrics()}
    for name, (lowest, highest, words) in limits.items():
        metric = metrics().get(name)
        if metric is None or math.isinf(metric.largest):
            assert (lowest, highest, words) == (None, None, None)
        else:
            assert ((lowest, highest), words) == (metric.target_limits, metric.range_in_words)


@pytest.mark.parametrize("macro", MACROS)
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_a_macro_refuses_nan_as_a_target(release: duckdb.DuckDBPyConnection, macro: str, direction: str) -> None:
    """DuckDB orders NaN above every number, so that every trial would reach it."""
    with pytest.raises(duckdb.Error, match="the target NaN is no number"):
        release.execute(f"FROM {macro}('{METRIC}', 'nan'::DOUBLE, direction := '{direction}')")


def test_a_plan_for_result_at_reads_no_data_file(lake: Lake) -> None:
    release = open_release(lake, lake.release())
    ((_, plan),) = release.execute(f"EXPLAIN FROM result_at('{METRIC}', 0.3)").fetchall()
    assert "TARGET_RANGES" in plan.upper()
    assert "PARQUET" not in plan

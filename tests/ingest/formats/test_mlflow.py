from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from losslake.lake.lake import Lake
from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Rule, SourceBroken, UnknownSource
from losslake_ingest.contracts.run_log import RunLog
from losslake_ingest.formats.format import Glimpse
from losslake_ingest.formats.mlflow import CHUNK, FORMAT, rows_in_chunks
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.run import ingest
from losslake_ingest.sources.database import DatabaseSource
from losslake_ingest.sources.member import Source
from losslake_ingest.sources.open import open_source
from tests.ingest.formats.mlflow_stores import HISTORIES, Filled, file_store_allowed, fill
from tests.ingest.formats.postgres import PASSWORD, postgres_server
from tests.ingest.stored_rows import stored_rows

Store = tuple[Source, Filled]
OTHER_STORES = ("sqlite_store", "postgres_store")
EACH_STORE = pytest.mark.parametrize(
    "store", ["file_store", *(pytest.param(name, marks=pytest.mark.slow) for name in OTHER_STORES)], indirect=True
)


@pytest.fixture(scope="module")
def file_store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder: Path = tmp_path_factory.mktemp("files")
    with file_store_allowed():
        return open_source(folder), fill((folder / "mlruns").as_uri())


@pytest.fixture(scope="module")
def sqlite_store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder: Path = tmp_path_factory.mktemp("sqlite")
    return open_source(folder), fill(f"sqlite:///{folder}/mlflow.db")


@pytest.fixture(scope="module")
def postgres_url() -> Iterator[str]:
    with postgres_server() as url:
        yield url


@pytest.fixture(scope="module")
def postgres_store(postgres_url: str) -> Store:
    return DatabaseSource(postgres_url), fill(postgres_url.replace("postgresql", "postgresql+psycopg", 1))


@pytest.fixture
def store(request: pytest.FixtureRequest) -> Store:
    found: Store = request.getfixturevalue(request.param)
    return found


def items_in(store: Store) -> list[RunLog | Quarantined]:
    with file_store_allowed():
        return [item for item in FORMAT.read(store[0], LogMapping()) if isinstance(item, RunLog | Quarantined)]


def run_in(store: Store, run_id: str) -> RunLog:
    (run,) = (item for item in items_in(store) if isinstance(item, RunLog) and item.fields["run_id"] == run_id)
    return run


@EACH_STORE
def test_every_metric_is_what_mlflow_itself_reads_back(store: Store) -> None:
    run = run_in(store, store[1].finished)
    found = {next(name for name in rows.columns if name in HISTORIES): rows for rows in run.rows}
    assert sorted(found) == sorted(HISTORIES)
    for name, rows in found.items():
        with file_store_allowed():
            history = store[1].client.get_metric_history(store[1].finished, name)
        history = sorted(history, key=lambda metric: metric.timestamp)
        assert rows.columns["step"].tolist() == [metric.step for metric in history]
        assert rows.columns["timestamp"].tolist() == [metric.timestamp / 1000 for metric in history]
        infinities = {1.7976931348623157e308: math.inf, -1.7976931348623157e308: -math.inf}
        expected = [infinities.get(metric.value, metric.value) for metric in history]
        assert np.array_equal(rows.columns[name], expected, equal_nan=True)
        assert np.array_equal(rows.columns[name], [value for value, _, _ in HISTORIES[name]], equal_nan=True)
        assert not rows.missing


@EACH_STORE
def test_a_run_has_its_params_as_numbers_or_text_and_its_tags_and_experiment_as_fields(store: Store) -> None:
    run = run_in(store, store[1].finished)
    params = {"lr": 0.1, "layers": 12, "name": "007", "opt/name": "sgd", "nothing": "nan", "text": "a\nb ä"}
    assert run.parameters == params
    own = {"run_id": store[1].finished, "run_name": "nice", "experiment": "lr sweep: ü", "note": "hello"}
    assert own.items() <= run.fields.items()
    assert params.items() <= run.fields.items()
    assert run.started_at == 1_700_000_000.0


@EACH_STORE
def test_user_code_and_paths_are_dropped_and_reported(store: Store) -> None:
    run = run_in(store, store[1].finished)
    assert "someone" not in repr(run)
    assert not any(name.startswith("mlflow.") for name in run.fields)
    assert {"user name", "code and command line", "paths of the machine"} == set(run.private)


@EACH_STORE
def test_deleted_runs_are_left_out_and_those_without_metrics_quarantined(store: Store) -> None:
    filled = store[1]
    found = items_in(store)
    runs = [item for item in found if isinstance(item, RunLog)]
    (refused,) = (item for item in found if isinstance(item, Quarantined))
    assert {run.fields["run_id"] for run in runs} == {filled.finished, filled.failed}
    assert [run.run for run in runs] == sorted(run.run for run in runs)
    assert (refused.rule, filled.empty in refused.path) == (Rule.NO_MEASUREMENTS, True)
    # The folder of a deleted run may come after the last one that there is to tell of it.
    told = sum(run.remarks.get("deleted run before this one: left out", 0) for run in runs)
    assert told == 1 or (told == 0 and filled.deleted > max(filled.finished, filled.failed))
    assert {run.fields["run_id"]: run.status for run in runs} == {filled.finished: "FINISHED", filled.failed: "FAILED"}


@EACH_STORE
def test_tag_never_overrides_a_field_of_the_run(store: Store) -> None:
    run = run_in(store, store[1].failed)
    assert run.fields["run_id"] == store[1].failed
    assert run.remarks["param or tag that isn't a field: another value has the same name"] == 1


@EACH_STORE
def test_reading_twice_gives_the_same(store: Store) -> None:
    assert repr(items_in(store)) == repr(items_in(store))


def test_a_database_s_errors_are_one_line_without_the_password(postgres_url: str) -> None:
    wrong = postgres_url.replace("s3cret", "wrong")
    with pytest.raises(SourceBroken) as caught:
        list(FORMAT.read(DatabaseSource(wrong), LogMapping()))
    assert "password authentication failed" in str(caught.value)
    assert "wrong word" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_database_without_mlflow_s_tables_is_a_broken_source(postgres_url: str) -> None:
    with pytest.raises(SourceBroken, match=r'relation "\w+" does not exist') as caught:
        list(FORMAT.read(DatabaseSource(postgres_url.replace("/postgres?", "/template1?")), LogMapping()))
    assert PASSWORD not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_database_s_rows_come_in_chunks_of_bounded_size(postgres_url: str) -> None:
    with DatabaseSource(postgres_url).connect() as connection:
        chunks = rows_in_chunks(connection, f"SELECT i FROM generate_series(1, {2 * CHUNK + 1}) AS i")
        assert [len(chunk) for chunk in chunks] == [CHUNK, CHUNK, 1]


def test_unreachable_server_is_a_broken_source() -> None:
    source = DatabaseSource("postgresql://someone:hidden@127.0.0.1:1/runs?sslpassword=other")
    assert str(source.path) == "postgresql:127.0.0.1:1/runs"
    assert list(source.members(lambda _path: True)) == []
    with pytest.raises(SourceBroken, match="Connection refused"):
        list(FORMAT.read(source, LogMapping()))


@pytest.mark.parametrize("url", ["sqlite:///x.db", "mysql://u:hidden@h/d", "postgresql://u:hidden@h:port/d", "runs"])
def test_other_urls_are_not_a_source(url: str) -> None:
    with pytest.raises(UnknownSource) as caught:
        DatabaseSource(url)
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    ("path", "start", "sureness"),
    [
        ("mlruns/0/abc/meta.yaml", b"artifact_uri: x\nrun_id: abc\n", 0.95),
        ("mlruns/0/abc/meta.yaml", b"run_uuid: abc\n", 0.95),
        ("mlruns/0/meta.yaml", b"experiment_id: '0'\nname: Default\n", 0.0),
        ("mlflow.db", b"SQLite format 3\0", 0.9),
        ("runs.db", b"SQLite format 3\0...CREATE TABLE latest_metrics", 0.9),
        ("runs.db", b"SQLite format 3\0", 0.4),
        ("runs.csv", b"run_id: abc", 0.0),
    ],
)
def test_stores_are_detected_by_their_bytes(path: str, start: bytes, sureness: float) -> None:
    assert FORMAT.detect(Glimpse(path, start)) == sureness


@pytest.mark.slow
def test_a_database_is_ingested_by_its_url(postgres_store: Store, postgres_url: str, tmp_path: Path) -> None:
    mapping = '[collection]\nname = "mine"\n[run]\ndataset = "d"\nmodel = "m"\noptimizer = "sgd"\nbatch_size = 8\n'
    # One metric goes on to the largest possible step, so that the steps of others are doubted unless stated.
    stated = '[metrics]\n"val accuracy" = ""\n[[axis]]\ncolumn = "step"\ncounts = "steps"\n'
    (tmp_path / "map.toml").write_text(mapping + stated)
    lake = Lake.create(tmp_path / "lake")
    request = Request(mapping=tmp_path / "map.toml")
    summary = ingest(lake, [postgres_url], request)
    assert (summary.trials_ingested, summary.sources[0].files) == (1, {"mlflow": 1})
    (trial,) = stored_rows(lake, "trials")
    assert (trial["status"], dict(trial["parameters"])["lr"]) == ("COMPLETE", 0.1)
    assert not ingest(lake, [postgres_url], request).published
    assert all("@" not in entry.source for entry in lake.ledger(None, 100))

"""The database's role of the read service: every question is answered with it, and it reads nothing else."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import psycopg
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import inspect

from losslake.lake.lake import Lake
from losslake_contributions.people.tokens import create_token
from losslake_contributions.store.database import Database
from losslake_ingest.releases.withdrawal import withdraw
from losslake_ingest.run import ingest
from tests.applications import without_sql
from tests.ingest.offers import TrialOffer, study_files, tar_bytes
from tests.ingest.offers import written as written_archive
from tests.repository.checkout import ROOT
from tests.servers.postgresql import PostgreSQL
from tests.servers.processes import ADDRESS

ROLE = "losslake_reader"
READABLE = {"losslake_version", "losslake_releases", "losslake_release_snapshots", "iceberg_tables"}
NOTICES = "losslake_ledger"
WORKLOAD, METRIC = "shelf/mnist/cnn/sgd", "val/classification_error"
WRITES = (("DELETE FROM", ""), ("TRUNCATE", ""), ("INSERT INTO", " DEFAULT VALUES"), ("DROP TABLE", ""))


def run_script(server: PostgreSQL, database: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the script as docker-compose.yml does."""
    place = {"PGHOST": ADDRESS, "PGPORT": str(server.port), "PGUSER": "postgres", "PGDATABASE": database}
    return subprocess.run(
        ["psql", "--no-psqlrc", "--quiet", "--file", str(ROOT / "deploy/reader.sql")],
        env={"PATH": os.environ["PATH"], **place, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.fixture(scope="module")
def written(postgresql: PostgreSQL, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """A lake with a release, a withdrawn trial and a token, for which the role was made twice."""
    folder = tmp_path_factory.mktemp("reader")
    with pytest.MonkeyPatch.context() as changes:
        changes.setenv("LOSSLAKE_CACHE", str(folder / "cache"))
        lake = Lake.create(f"{postgresql.new_database()} file://{folder / 'files'}")
        offers = {number: TrialOffer(rows=[f"{step},{number / (step + 4)}" for step in range(20)]) for number in (1, 2)}
        ingest(lake, [str(written_archive(folder / "archive.tar", tar_bytes(study_files(offers, 8, WORKLOAD))))])
        withdraw(lake, [f"{WORKLOAD}/8/1"], "a mistake", "the operator")
        create_token(Database.create(lake), "Ada", None, ["contribute"], 1)
        for _ in range(2):
            made = run_script(postgresql, str(lake.location.database.database), READER_PASSWORD="it's secret")
            assert (made.returncode, made.stderr) == (0, "")
        yield lake
        lake.engine.dispose()


@pytest.fixture
def reading(written: Lake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Lake]:
    """The same lake, as the read service opens it."""
    monkeypatch.setenv("LOSSLAKE_CACHE", str(tmp_path / "cache"))
    url = written.location.database.set(username=ROLE)
    lake = Lake.open(f"{url.render_as_string()} {written.location.files_url}")
    yield lake
    lake.engine.dispose()


@pytest.fixture
def connection(written: Lake, postgresql: PostgreSQL) -> Iterator[psycopg.Connection]:
    """A connection of somebody who has the role, and goes as far as it allows."""
    database = written.location.database.database
    with psycopg.connect(host=ADDRESS, port=postgresql.port, user=ROLE, dbname=database, autocommit=True) as opened:
        opened.execute("SET default_transaction_read_only = off")
        yield opened


def test_read_service_answers_as_with_the_role_of_writers(written: Lake, reading: Lake) -> None:
    with TestClient(without_sql(written)) as owner, TestClient(without_sql(reading)) as reader:
        for path in (
            f"/v1/scaling?workload={WORKLOAD}&metric={METRIC}&target=0.3",
            f"/v1/curves?study={WORKLOAD}/8&metric={METRIC}",
            f"/v1/steps-to-target?workload={WORKLOAD}&metric={METRIC}&target=0.3",
            "/v1/workloads",
            "/v1/studies?release=1",
            "/v1/trials",
            "/v1/withdrawn",
            "/v1/releases",
            "/v1/releases/2/files.csv",
            "/data/1/measurements/",
            "/readyz",
        ):
            one, other = owner.get(path), reader.get(path)
            assert (one.status_code, other.status_code) == (200, 200), (path, other.text)
            assert one.text == other.text
        assert [row["reason"] for row in reader.get("/v1/withdrawn").json()["rows"]] == ["a mistake"]
        for path in ("/", f"/workloads/{WORKLOAD}", "/releases/1"):
            assert reader.get(path, headers={"accept": "text/html"}).status_code == 200


def tables(lake: Lake) -> Sequence[str]:
    return inspect(lake.engine).get_table_names()


def test_role_reads_only_what_the_service_answers_from(written: Lake, connection: psycopg.Connection) -> None:
    others = {*tables(written)} - READABLE - {NOTICES}
    assert {"losslake_contribution_tokens", "losslake_contributions", "losslake_remembered_sources"} <= others
    for table in others:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(f'SELECT 1 FROM "{table}"')
    for table in READABLE:
        assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() != (0,)
    outcomes = connection.execute(f"SELECT DISTINCT outcome FROM {NOTICES}").fetchall()
    assert outcomes == [("withdrawn",)]
    assert len(written.rows(f"SELECT DISTINCT outcome FROM {NOTICES}")) > 1


def test_role_writes_nothing(written: Lake, connection: psycopg.Connection) -> None:
    statements = [f'{verb} "{table}"{rest}' for table in tables(written) for verb, rest in WRITES]
    statements += ["CREATE TABLE mine (n int)", "CREATE TEMPORARY TABLE mine (n int)", "SET ROLE postgres"]
    statements += ["UPDATE losslake_releases SET notes = 'x'", "COPY losslake_releases TO PROGRAM 'true'"]
    for statement in statements:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(statement)


def test_transactions_of_the_role_only_read(reading: Lake) -> None:
    assert reading.rows("SHOW transaction_read_only") == [("on",)]


def test_role_is_not_made_without_a_password(written: Lake, postgresql: PostgreSQL) -> None:
    made = run_script(postgresql, str(written.location.database.database))
    assert made.stderr == "set READER_PASSWORD\n"

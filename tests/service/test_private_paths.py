"""The folders that an ingest reads from stay in the ledger: nothing public has them."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient

from losslake.client.client import Client
from losslake.index.serving import open_release
from losslake.lake.export import export
from losslake.lake.lake import Lake
from losslake_cli.logs.remote_archive import RemoteArchive
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.run import ingest
from tests.applications import without_sql
from tests.cli.web import running
from tests.ingest.formats.wandb_files import exit_record, framed, history_record
from tests.ingest.offers import Files, TrialOffer, study_files, tar_bytes, unpacked, written, zip_bytes
from tests.ingest.readers.mlflow_stores.test_sql import FILLING, database
from tests.ingest.stored_rows import stored_rows

SECRET = "zq7-unpublished"
MAPPING = """
[collection]
name = "mine"
[run]
dataset = "d"
model = "m"
optimizer = "o"
batch_size = 4
[metrics]
"loss" = "train/loss"
"""
RUN = b"step,loss\n0,0.9\n10,0.5\n"


def offered(batch_size: int) -> Files:
    return study_files({1: TrialOffer()}, batch_size) | {f"{batch_size}/notes.csv": b"not,a\nlog"}


def mapping(folder: Path, name: str) -> Path:
    return written(folder / f"{name}.toml", MAPPING.replace('"o"', f'"{name}"').encode())


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> tuple[Lake, set[str]]:
    """Return a lake below the secret folder with a source of each kind from there, and their public names."""
    folder = tmp_path_factory.mktemp("private") / SECRET
    folder.mkdir()
    lake = Lake.create(folder / "lake")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for path, data in offered(16).items():
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    ingest(lake, [unpacked(folder / "logs", offered(8))])
    ingest(lake, [written(folder / "a.tar.gz", packed.getvalue()), written(folder / "a.zip", zip_bytes(offered(32)))])
    (folder / "single").mkdir()
    written(folder / "single" / "losslake.toml", MAPPING.replace('"o"', '"single"').encode())
    ingest(lake, [written(folder / "single" / "run.csv", RUN)])
    ingest(lake, [written(folder / "named.csv", RUN)], Request(mapping=mapping(folder, "mapped")))
    # MLflow notes the folder of a run's files, and of its program.
    filling = FILLING.replace("'r1', 'one', ''", f"'r1', 'one', '/home/{SECRET}/train.py'")
    filling = filling.replace("'active', ''", f"'active', 'file:///home/{SECRET}/artifacts'")
    written(folder / "mlflow.db", database(filling=filling))
    ingest(lake, [folder / "mlflow.db"], Request(mapping=mapping(folder, "mlflow")))
    run = framed([history_record(0, {"loss": 0.9}), history_record(5, {"loss": 0.5}), exit_record(0)])
    unpacked(folder / "wandb", {"offline-run-1/run-1.wandb": run})
    ingest(lake, [folder / "wandb"], Request(mapping=mapping(folder, "wandb")))
    with running() as web, Client() as client:
        web.served["/x/b.tar"] = tar_bytes(offered(64))
        address = web.url.replace("//", f"//{SECRET}:pass@") + f"/x/b.tar?key={SECRET}#{SECRET}"
        with RemoteArchive(client, address) as remote:
            ingest(lake, [remote])
        url = f"{web.url}/x/b.tar"
    digests = {e.source: e.sha256 for e in lake.ledger(None, 1000) if not e.path}
    places = {"logs", "a.tar.gz", "a.zip", "single/run.csv", "named.csv", "mlflow.db", "wandb"}
    local = {f"{Path(place).name}@sha256:{digests[str(folder / place)]}" for place in places - {"logs", "wandb"}}
    return lake, local | {"logs", "wandb", f"{url}@sha256:{digests[url]}"}


def test_a_release_names_what_was_offered_and_its_sha256_without_folders(sources: tuple[Lake, set[str]]) -> None:
    lake, names = sources
    rows = stored_rows(lake, "studies")
    assert {row["source"] for row in rows} == names
    assert {entry.source.startswith(("http://", str(lake.folder.parent))) for entry in lake.ledger(None, 1000)} == {
        True
    }


def test_no_byte_of_a_release_has_a_folder_of_the_ingest(sources: tuple[Lake, set[str]], tmp_path: Path) -> None:
    lake, _ = sources
    release = lake.release()
    export(lake, release, tmp_path / "export")
    files = [path for path in (tmp_path / "export").rglob("*") if path.is_file()]
    files.append(lake.folder / release.manifest)
    assert len(files) > 20
    for file in files:
        assert SECRET.encode() not in file.read_bytes(), file
        if file.suffix == ".parquet":
            assert SECRET not in str(pq.read_table(file).to_pydict()), file
            assert SECRET not in str(pq.read_metadata(file).metadata), file


@pytest.mark.slow
def test_no_public_answer_or_page_has_a_folder_of_the_server(sources: tuple[Lake, set[str]], tmp_path: Path) -> None:
    lake, _ = sources
    names = open_release(lake, lake.release()).sql(
        "SELECT collection, dataset, model, optimizer, batch_size FROM studies"
    )
    studies = ["/".join(map(str, row)) for row in names.fetchall()]
    number = lake.release().number
    paths = ["/", "/healthz", "/readyz", "/nothing", "/data/", "/metrics", "/releases"]
    paths += [
        "/v1/studies",
        "/v1/studies.csv",
        "/v1/workloads",
        "/v1/releases",
        "/v1/trials?study=x",
        "/data/1/lake.toml",
    ]
    paths += [f"/releases/{number}", f"/data/{number}/", f"/data/{number}/studies.parquet"]
    paths += [f"/v1/releases/{number}/{name}" for name in ("files", "croissant.json", "README.md", "SHA256SUMS")]
    paths += [f"/v1/trials?study={study}" for study in studies] + [f"/studies/{study}" for study in studies[:2]]
    with TestClient(without_sql(lake), raise_server_exceptions=False) as client:
        paths += [f"/trials/{row['trial']}" for row in client.get("/v1/trials").json()["rows"][:2]]
        for path in paths:
            answer = client.get(path)
            assert answer.status_code == 200 or not path.startswith(("/studies/", "/trials/")), path
            assert SECRET not in f"{answer.headers} {answer.text}", path
        database = client.get(f"/v1/releases/{number}/losslake.duckdb").content
    assert SECRET.encode() not in database
    with duckdb.connect(str(written(tmp_path / "release.duckdb", database)), read_only=True) as connection:
        texts = connection.sql("SELECT sql FROM duckdb_views() UNION ALL SELECT source FROM studies").fetchall()
    assert SECRET not in json.dumps(texts)

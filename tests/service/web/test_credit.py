"""Who contributed to trials is on their pages, in answers, documents and SQL, as text that can't be markup."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.run import ingest
from losslake_schema.contributors import Contributor
from tests.applications import without_sql
from tests.ingest.offers import TrialOffer, study_files, unpacked
from tests.service.web.reading import Page

STUDY = "shelf/mnist/cnn/sgd/8"
HOSTILE = "Ann <script>alert(1)</script> & 'Lee'"
ORCID = "https://orcid.org/0000-0002-1825-0097"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder: Path = tmp_path_factory.mktemp("credit")
    lake = Lake.create(folder / "lake")
    credited = Request(contributors=(Contributor(HOSTILE, ORCID), Contributor("Bob", None, "software", "0199-a")))
    ingest(lake, [unpacked(folder / "a", study_files({1: TrialOffer(), 2: TrialOffer()}, 8, "shelf/mnist/cnn/sgd"))])
    ingest(lake, [unpacked(folder / "b", study_files({1: TrialOffer()}, 16, "shelf/mnist/cnn/sgd"))], credited)
    with TestClient(without_sql(lake)) as client:
        yield client


@pytest.mark.parametrize("path", ["/studies/shelf/mnist/cnn/sgd/16", "/trials/shelf/mnist/cnn/sgd/16/1", "/releases/2"])
def test_pages_name_contributors_with_their_orcid_records(client: TestClient, path: str) -> None:
    page = Page(client.get(path).text)
    assert ORCID in page.links
    assert "(data collection)" in page.text
    assert "Bob" in page.text
    assert "<script>alert" not in page.text


@pytest.mark.parametrize("path", [f"/studies/{STUDY}", f"/trials/{STUDY}/1", "/releases/1"])
def test_pages_without_contributors_say_nothing_of_them(client: TestClient, path: str) -> None:
    assert "Contributors" not in client.get(path).text


def test_the_list_says_who_gave_how_many_trials_of_a_study(client: TestClient) -> None:
    rows = client.get("/v1/contributors").json()["rows"]
    assert [(row["study"], row["name"], row["role"], row["n_trials"]) for row in rows] == [
        ("shelf/mnist/cnn/sgd/16", HOSTILE, "data collection", 1),
        ("shelf/mnist/cnn/sgd/16", "Bob", "software", 1),
    ]
    assert [row["contribution"] for row in client.get("/v1/contributors?orcid=").json()["rows"]] == ["0199-a"]
    assert client.get("/v1/contributors?release=1").json()["rows"] == []
    assert client.get("/v1/contributors?workload=shelf/mnist/cnn/sgd&batch_size=8").json()["rows"] == []


def test_citations_and_documents_name_contributors(client: TestClient) -> None:
    (cited,) = client.get("/v1/cite").json()["rows"]
    assert "Contributors: Ann" in cited["text"]
    assert "0000-0002-1825-0097" in cited["bibtex"]
    authors = yaml.safe_load(client.get("/v1/releases/2/CITATION.cff").text)["authors"]
    assert {"name": HOSTILE, "orcid": ORCID} in authors
    assert client.get("/v1/releases/2/croissant.json").json()["contributor"][1]["name"] == "Bob"
    (before,) = client.get("/v1/cite?release=1").json()["rows"]
    assert "Contributors" not in before["text"] + before["bibtex"]


def test_the_table_is_a_file_of_releases_that_have_it(client: TestClient) -> None:
    assert client.get("/data/2/contributors.parquet").content.startswith(b"PAR1")
    assert client.get("/data/1/contributors.parquet").status_code == 404

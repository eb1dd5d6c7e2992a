"""`losslake cite` prints what /v1/cite and the library say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from fastapi.testclient import TestClient

import losslake as library
from losslake.lake.export import export
from losslake.lake.lake import Lake
from tests.applications import without_sql
from tests.cli.conftest import Run
from tests.ingest.offers import TrialOffer, study_files, unpacked

WORKLOAD = "root/mnist/cnn/sgd"


def test_citations_equal_those_of_the_service_and_of_the_library(losslake: Run, lake: Lake) -> None:
    with TestClient(without_sql(lake)) as client:
        rows = client.get("/v1/cite").json()["rows"]
    assert losslake("cite").stdout == "".join(f"{row['text']}\n" for row in rows)
    assert losslake("cite", "--format", "bibtex").stdout == f"{rows[0]['bibtex']}\n"
    assert json.loads(losslake("cite", "--format", "json").stdout) == rows
    assert library.open(lake.folder).cite().to_dicts() == rows


def test_names_choose_collections_by_name_path_pattern_and_words(losslake: Run, tmp_path: Path) -> None:
    files = study_files({1: TrialOffer()}, 8, "root/deep/mnist/cnn/sgd") | study_files({1: TrialOffer()})
    at = ("--lake", tmp_path / "new")
    losslake("ingest", unpacked(tmp_path / "logs", files), *at)

    def cited(*names: str) -> list[str]:
        return [row["collection"] for row in json.loads(losslake("cite", *names, *at, "--format", "json").stdout)]

    assert cited() == cited("root", "root/deep") == cited("mnist", "sgd") == ["root", "root/deep"]
    assert cited("root") == cited(WORKLOAD) == ["root"]
    assert cited("root/deep/*/cnn/*") == cited("deep") == ["root/deep"]


def test_cff_is_the_file_of_an_export(losslake: Run, lake: Lake, tmp_path: Path) -> None:
    export(lake, lake.release(), tmp_path / "export")
    printed = losslake("cite", "--format", "cff").stdout
    assert printed == (tmp_path / "export/CITATION.cff").read_text()
    assert yaml.safe_load(printed)["cff-version"] == "1.2.0"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nonsense",), "no collection or workload matches 'nonsense': the collections are root"),
        (("root/mnist/cnn/adam",), "did you mean root/mnist/cnn/sgd"),
        ((WORKLOAD, "--format", "cff"), "--format cff cites a whole release: leave out the names"),
        (("--lake", "x", "--url", "http://x"), "give either --lake or --url, not both"),
        (("--lake", "x", "--url", "http://x", "--format", "cff"), "give either --lake or --url, not both"),
        (("--url", "losslake.example"), "--url losslake.example is no URL of a service: give http://… or https://…"),
        (("--release", "9"), "there is no release 9"),
    ],
)
def test_a_wrong_input_is_one_line(losslake: Run, arguments: tuple[str, ...], says: str) -> None:
    done = losslake("cite", *arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert says in done.stderr

"""Citations name the collection and the release, in text and in BibTeX that TeX can set."""

from __future__ import annotations

from pathlib import Path

import pytest

from losslake.lake.citations import tex
from losslake.lake.lake import Lake
from losslake.questions import cite
from losslake.questions.release.errors import UnknownName
from losslake.questions.release.view import ReleaseView
from losslake_ingest.run import ingest
from losslake_schema.names import Workload
from tests.ingest.offers import TrialOffer, study_files, unpacked

SHALLUE = Workload("shallue2018", "mnist", "simple_cnn_base", "nesterov_momentum")
OTHER = Workload("root/sub", "mnist", "cnn", "sgd")


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> ReleaseView:
    folder: Path = tmp_path_factory.mktemp("cite")
    lake, trials = Lake.create(folder / "lake"), {1: TrialOffer()}
    files = study_files(trials, 8, "batch_science/mnist/simple_cnn_base/nesterov_momentum")
    ingest(lake, [unpacked(folder / "logs", files | study_files(trials, 64, "root/sub/mnist/cnn/sgd"))])
    return ReleaseView.open(lake, lake.release())


def test_a_citation_names_collection_release_and_digest(view: ReleaseView) -> None:
    cited = cite.cite(view, [SHALLUE])
    assert cited.text.startswith("Shallue, Lee, Antognini")
    assert f"As shallue2018@{view.number}: release {view.number} of LossLake" in cited.text
    assert cited.text.endswith(f"sha256:{view.release.content_digest}.")
    assert cited.bibtex.startswith(f"@misc{{shallue2018-release-{view.number},\n")
    assert "url = {https://storage.googleapis.com/batch_science_data/" in cited.bibtex
    assert "author = {{Shallue, Lee, Antognini, Sohl-Dickstein, Frostig, Dahl}}" in cited.bibtex


def test_a_citation_with_an_address_leads_to_the_release(view: ReleaseView) -> None:
    cited = cite.cite(view, [SHALLUE], "https://lake.example")
    assert cited.text.endswith(f"sha256:{view.release.content_digest}. https://lake.example/releases/1")
    assert r"howpublished = {\url{https://lake.example/releases/1}}" in cited.bibtex


def test_workloads_are_cited_by_their_collections_and_none_by_all(view: ReleaseView) -> None:
    assert cite.cite(view, []) == cite.cite(view, [SHALLUE, OTHER])
    assert len(cite.cite(view, []).text.splitlines()) == 2
    assert cite.cite(view, [Workload("root/*", "mnist", "*", "*")]) == cite.cite(view, [OTHER])
    assert "@misc{root-sub-release-1," in cite.cite(view, [OTHER]).bibtex
    with pytest.raises(UnknownName, match="no workload 'no/such/work/load'"):
        cite.cite(view, [Workload("no", "such", "work", "load")])


def test_the_answer_has_a_row_per_collection(view: ReleaseView) -> None:
    rows = cite.QUESTION.answer(view, cite.CiteParameters(workload=[str(SHALLUE)])).table().to_pylist()
    assert [(row["collection"], row["citation"], row["doi"]) for row in rows] == [
        ("shallue2018", "shallue2018@1", None)
    ]
    assert rows[0]["authors"] == "Shallue, Lee, Antognini, Sohl-Dickstein, Frostig, Dahl"
    assert rows[0]["title"] == "Measuring the Effects of Data Parallelism on Neural Network Training"
    assert rows[0]["url"].startswith("https://storage.googleapis.com/")
    assert rows[0]["text"] == cite.cite(view, [SHALLUE]).text


def test_tex_is_escaped() -> None:
    assert tex("50% of {a_b}") == r"50\% of \{a\_b\}"

"""README, licences, citation and Croissant metadata of a release, in an export and on pages."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from losslake.lake.croissant import croissant, json_ld
from losslake.lake.export import export
from losslake.lake.lake import Lake
from losslake.lake.readme_and_licences import documents
from losslake_ingest.run import ingest
from losslake_schema.contributors import Person
from losslake_schema.release import Release
from tests.ingest.offers import TrialOffer, study_files, unpacked

TRIALS = {1: TrialOffer(rows=["0,0.9", "10,nan"]), 2: TrialOffer()}
RELEASE = Release(
    number=3,
    created_at=datetime(2026, 11, 21, tzinfo=UTC),
    content_digest="d" * 64,
    n_studies=1,
    n_trials=2,
    n_measurements=3,
)


def collection(**facts: str) -> dict[str, str]:
    return {
        "collection": "shelf/deep",
        "title": "Curves",
        "licence": "CC-BY-4.0",
        "citation": "Ada, Bob: Curves. 2026.",
        "source_url": "https://example.org/curves",
    } | facts


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    folder = tmp_path_factory.mktemp("documents")
    lake = Lake.create(folder / "lake")
    files = study_files(TRIALS, 64, "root/sub/mnist 100%/cnn/sgd")
    files |= study_files(TRIALS, 8, "batch_science/mnist/simple_cnn_base/nesterov_momentum")
    ingest(lake, [unpacked(folder / "logs", files)])
    return lake


@pytest.fixture(scope="module")
def folder(lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("export") / "out"
    export(lake, lake.release(), out)
    return out


def test_each_collection_has_the_licence_of_its_source() -> None:
    texts = documents(RELEASE, [collection(), collection(collection="other", licence="MIT")])
    assert "states it: CC-BY-4.0\n" in texts["LICENSES/collection=shelf%2Fdeep/LICENSE.txt"]
    assert "states it: MIT\n" in texts["LICENSES/collection=other/LICENSE.txt"]


def test_the_citation_names_the_release_and_its_collections() -> None:
    cited = yaml.safe_load(documents(RELEASE, [collection()])["CITATION.cff"])
    assert (cited["cff-version"], cited["type"], cited["version"]) == ("1.2.0", "dataset", "3")
    assert cited["date-released"] == "2026-11-21"
    assert {"message", "title", "authors"} <= cited.keys()
    (reference,) = cited["references"]
    assert reference["version"] == "shelf/deep@3"
    assert reference["authors"] == [{"name": "Ada, Bob"}]
    assert (reference["title"], reference["type"], reference["url"]) == ("Curves", "data", "https://example.org/curves")


ANN = Person("Ann <b> Lee", "0000-0002-1825-0097", ("data collection", "software"))
BOB = Person("Bob", "", ("validation",))


def test_documents_without_contributors_are_as_before() -> None:
    assert documents(RELEASE, [{**collection(), "contributors": []}]) == documents(RELEASE, [collection()])
    assert croissant(RELEASE, [], [{**collection(), "contributors": []}]) == croissant(RELEASE, [], [collection()])


def test_contributors_are_authors_in_the_citation_file_and_named_in_the_readme() -> None:
    credited = [{**collection(), "contributors": [ANN, BOB]}, {**collection(collection="b"), "contributors": [BOB]}]
    texts = documents(RELEASE, credited)
    cited = yaml.safe_load(texts["CITATION.cff"])
    orcid = "https://orcid.org/0000-0002-1825-0097"
    assert cited["authors"][1:] == [{"name": ANN.name, "orcid": orcid}, {"name": "Bob"}]
    assert [reference["authors"][1:] for reference in cited["references"]] == [cited["authors"][1:], [{"name": "Bob"}]]
    assert "Contributors: Ann <b> Lee (0000-0002-1825-0097), Bob.\n" in texts["README.md"]


def test_contributors_are_persons_in_croissant(lake: Lake, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    import mlcroissant

    release = lake.release()
    text = croissant(release, lake.files(release), [{**collection(), "contributors": [ANN, BOB]}], "http://lake:1")
    named = json.loads(text)["contributor"]
    assert [each["name"] for each in named] == [ANN.name, "Bob"]
    assert named[0]["identifier"] == "https://orcid.org/0000-0002-1825-0097"
    assert "identifier" not in named[1]
    (tmp_path / "credited.json").write_text(text)
    with caplog.at_level(logging.WARNING):
        issues = mlcroissant.Dataset(tmp_path / "credited.json").metadata.ctx.issues
    assert (list(issues.errors), list(issues.warnings), caplog.records) == ([], [], [])


@pytest.mark.parametrize("url", ["", "/somewhere", "javascript:alert(1)"])
def test_a_source_that_is_not_a_url_is_omitted_from_the_citation(url: str) -> None:
    cited = yaml.safe_load(documents(RELEASE, [collection(source_url=url)])["CITATION.cff"])
    assert "url" not in cited["references"][0]


@pytest.mark.parametrize("text", ["Ada: Curves. doi:10.5281/zenodo.123.", "Ada: https://doi.org/10.5281/zenodo.123"])
def test_a_doi_in_a_citation_is_one_in_the_citation_file(text: str) -> None:
    cited = yaml.safe_load(documents(RELEASE, [collection(citation=text)])["CITATION.cff"])
    assert cited["references"][0]["doi"] == "10.5281/zenodo.123"


@given(st.text(), st.text())
def test_any_title_and_citation_give_a_valid_citation_file(title: str, citation: str) -> None:
    text = documents(RELEASE, [collection(title=title, citation=citation)])["CITATION.cff"]
    (reference,) = yaml.safe_load(text)["references"]
    assert reference["title"] == (" ".join(title.split()) or "shelf/deep")
    assert reference["authors"][0]["name"]


def test_mlcroissant_reports_no_error(
    folder: Path, lake: Lake, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    import mlcroissant

    release = lake.release()
    (tmp_path / "remote.json").write_text(croissant(release, lake.files(release), [collection()], "http://lake:1"))
    (tmp_path / "brief.json").write_text(croissant(release, lake.files(release), [], "http://lake:1", brief=True))
    with caplog.at_level(logging.WARNING):
        for path in (folder / "croissant.json", tmp_path / "remote.json", tmp_path / "brief.json"):
            dataset = mlcroissant.Dataset(path)
            issues = dataset.metadata.ctx.issues
            assert (list(issues.errors), list(issues.warnings)) == ([], [])
    assert caplog.records == []


def test_mlcroissant_reads_every_table_of_an_export(folder: Path) -> None:
    import mlcroissant

    dataset = mlcroissant.Dataset(folder / "croissant.json")
    rows = {name: list(dataset.records(name)) for name in ("collections", "studies", "trials", "metrics", "goals")}
    assert sorted(row["studies/batch_size"] for row in rows["studies"]) == [8, 64]
    assert len(rows["trials"]) == 4
    assert all(rows.values())
    measurements = list(dataset.records("measurements"))
    assert {row["measurements/dataset"] for row in measurements} == {b"mnist%20100%25", b"mnist"}
    assert {row["measurements/batch_size"] for row in measurements} == {8, 64}
    assert len(measurements) == 10


def test_croissant_lists_every_file_with_its_checksum(lake: Lake) -> None:
    release = lake.release()
    described = json.loads(croissant(release, lake.files(release), [], "http://lake:1"))
    objects = [entry for entry in described["distribution"] if entry["@type"] == "cr:FileObject"]
    assert {entry["sha256"] for entry in objects} == {file.sha256 for file in lake.files(release)}
    odd = next(entry for entry in objects if "mnist%20100%25" in entry["@id"])
    assert odd["contentUrl"].startswith("http://lake:1/data/1/")
    assert "dataset=mnist%2520100%2525/" in odd["contentUrl"]


def test_croissant_lists_the_files_of_a_table_on_a_server_and_matches_them_in_a_folder(lake: Lake) -> None:
    release = lake.release()
    for base_url in ("http://lake:1", None):
        described = json.loads(croissant(release, lake.files(release), [], base_url))["distribution"]
        objects = {entry["@id"] for entry in described if entry["@type"] == "cr:FileObject"}
        for file_set in (entry for entry in described if entry["@type"] == "cr:FileSet"):
            table = file_set["name"].removesuffix("-files")
            of_table = {name for name in objects if name.startswith(f"{table}/")}
            assert of_table
            assert file_set["includes"] == f"{table}/**/*.parquet"
            assert {each["@id"] for each in file_set.get("containedIn", [])} == (of_table if base_url else set())


class Scripts(HTMLParser):
    """The texts of the script elements of a page, and its other elements."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[str] = []
        self.others: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        (self.scripts if tag == "script" else self.others).append("")

    def handle_data(self, data: str) -> None:
        self.scripts[-1] += data


@given(st.text() | st.sampled_from(["</script><img>", "<!--<script>", "]]>", "\u2028&lt;"]))
def test_no_text_escapes_the_script_element_of_a_page(text: str) -> None:
    described = croissant(RELEASE, [], [collection(citation=text)], "http://lake:1", brief=True)
    page = Scripts()
    page.feed(f'<script type="application/ld+json">{json_ld(described)}</script>')
    assert page.others == []
    assert json.loads(page.scripts[0]) == json.loads(described)

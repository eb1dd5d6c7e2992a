"""The report on the published collections is what its command writes, and says what the logs say."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest
import zstandard

from losslake.lake.lake import Lake
from losslake.questions.release.view import ReleaseView
from losslake_ingest.run import ingest
from losslake_schema.errors import LossLakeError
from studies.reports.findings import findings
from tests.conformance.corpora import CORPORA
from tests.conformance.findings_audit import differences
from tests.losslake.questions.views import view_of
from tests.oracle import Row

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
NUMBER = re.compile(r"\d[\d,]*\.?\d*(?:e-?\d+)?")
ANSWER = re.compile(
    r"^\* .*, batch size (?P<size>[\d,]+): .* `(?P<field>\w+)` (?P<position>[\d,.]+), value (?P<value>[\d.]+), v.*\. "
    r"\[.*\]\(https://github\.com/mlcommons/(?P<repository>[\w.]+)/blob/\w+/(?P<path>.*)\)$",
    re.MULTILINE,
)


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> ReleaseView:
    lake = Lake.create(tmp_path_factory.mktemp("published") / "lake")
    ingest(lake, sorted((ROOT / "published").glob("*/*.tar")))
    return ReleaseView.open(lake, lake.release(None))


@pytest.fixture(scope="module")
def report(view: ReleaseView) -> tuple[str, Mapping[str, bytes]]:
    return findings(view, "findings")


def numbers(text: str) -> list[float]:
    return [float(found.replace(",", "")) for found in NUMBER.findall(text)]


@pytest.mark.slow
def test_report_in_docs_equals_the_generated_one(report: tuple[str, Mapping[str, bytes]]) -> None:
    kept, (text, _) = (DOCS / "findings.md").read_text("utf-8"), report
    assert NUMBER.sub("#", kept) == NUMBER.sub("#", text)
    # Other machines round otherwise in the last digit that is printed.
    assert numbers(kept) == pytest.approx(numbers(text), rel=0.02)


@pytest.mark.slow
def test_numbers_of_the_report_in_docs_are_those_of_plain_python(view: ReleaseView) -> None:
    document = (DOCS / "findings.md").read_text("utf-8")
    rows = differences(document, view)
    assert [row for row in rows if not row[3]] == []
    assert len(rows) > 150
    for right, wrong in (("Trials that missed | ", "Trials that missed | 1"), ("x | 1,481, 31 |", "x | 1,481, 32 |")):
        assert document.count(right) == 1
        assert sum(not row[3] for row in differences(document.replace(right, wrong), view)) == 1


@pytest.mark.slow
def test_charts_of_the_report_are_the_files_in_docs(report: tuple[str, Mapping[str, bytes]]) -> None:
    text, charts = report
    assert re.findall(r"\]\(findings/([^)]+)\.svg\)", text) == list(charts)
    assert [name for name, svg in charts.items() if (DOCS / f"findings/{name}.svg").read_bytes() != svg] == []


@pytest.mark.slow
def test_scores_of_algoperf_are_the_published_ones(report: tuple[str, Mapping[str, bytes]]) -> None:
    """Kasimbeg et al. 2025, external tuning, as METHODS 7.4 states them."""
    found = re.findall(r"^\| (\w+) \| (0\.\d{4}) \|", report[0], re.MULTILINE)
    published = [
        ("shampoo_submission", "0.7784"),
        ("schedule_free_adamw", "0.7077"),
        ("baseline", "0.5707"),
        ("amos", "0.4918"),
    ]
    assert [row for row in found if row in published] == published


@pytest.mark.slow
@pytest.mark.skipif(not CORPORA.is_dir(), reason="needs the logs of MLPerf")
def test_answers_to_check_by_eye_are_in_their_logs() -> None:
    answers = [match.groupdict() for match in ANSWER.finditer((DOCS / "findings.md").read_text("utf-8"))]
    assert len(answers) == 7
    for answer in answers:
        log = log_of(answer["repository"], answer["path"])
        size, position = (float(answer[name].replace(",", "")) for name in ("size", "position"))
        assert f'"global_batch_size", "value": {size:.0f}' in log
        logged = [
            float(at)
            for value, at in re.findall(rf'"eval_accuracy", "value": "?([\d.]+).*?"{answer["field"]}": ([\d.]+)', log)
            if f"{float(value):.5g}" == f"{float(answer['value']):.5g}"
        ]
        # Samples are computed from whole steps.
        assert any(0 <= position - at < (size if position > 1000 else 0.5) for at in logged), answer


def log_of(repository: str, path: str) -> str:
    (archive,) = CORPORA.glob(f"mlperf_*/{repository}.tar.zst")
    with (
        archive.open("rb") as file,
        zstandard.ZstdDecompressor().stream_reader(file) as stream,
        tarfile.open(fileobj=stream, mode="r|") as logs,
    ):
        for entry in logs:
            if entry.name.endswith(f"/{path}") and (member := logs.extractfile(entry)) is not None:
                return member.read().decode()
    raise AssertionError(f"{archive} has no {path}")


def test_documents_count_the_same_trials_and_state_the_same_critical_batch_size() -> None:
    document, published = ((DOCS / name).read_text("utf-8") for name in ("findings.md", "published.md"))
    trials = re.findall(r"^\| `[\w-]+` \| [^|]+ \| [^|]+ \| ([\d,]+) \|", published, re.MULTILINE)
    assert f"{sum(int(count.replace(',', '')) for count in trials):,} trials of" in document
    (size,) = re.findall(r"\| ResNet-50, ImageNet: [^|]*\| [^|]*\| ([^|]*) \|", document)
    assert size.replace("(", "images (90%: ") in (ROOT / "README.md").read_text("utf-8")


def test_a_lake_without_the_collections_names_what_to_ingest() -> None:
    with pytest.raises(LossLakeError, match=r"no workload of .*mlperf-training.* ingest --each published"):
        findings(view_of([Row(8, 1, "COMPLETE", 10, 0.1)]), "findings")

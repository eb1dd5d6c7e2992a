"""The report on the bundled studies is what its command writes, and says what their archive says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake.questions import critical_batch_size
from losslake.questions.release.view import ReleaseView
from losslake_schema.errors import LossLakeError
from losslake_schema.names import Workload
from studies.reports.bundled_studies import bundled_studies, subject
from tests.losslake.questions.views import view_of
from tests.oracle import Row

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs"
NUMBER = re.compile(r"\d[\d,]*\.?\d*(?:e-?\d+)?")


@pytest.fixture(scope="module")
def view(bundled: Lake) -> ReleaseView:
    return ReleaseView.open(bundled, bundled.release(None))


@pytest.fixture(scope="module")
def text(view: ReleaseView) -> str:
    return bundled_studies(view, "bundled-studies")


def numbers(text: str) -> list[float]:
    return [float(found.replace(",", "")) for found in NUMBER.findall(text)]


def test_report_in_docs_equals_the_generated_one(text: str) -> None:
    kept = (DOCS / "bundled-studies.md").read_text("utf-8")
    assert NUMBER.sub("#", kept) == NUMBER.sub("#", text)
    # Other machines round otherwise in the last digit that is printed.
    assert numbers(kept) == pytest.approx(numbers(text), rel=0.02)


def test_figures_of_the_report_exist(text: str) -> None:
    shown = re.findall(r"\]\(([^)]+\.svg)\)", text)
    assert len(shown) == 7
    assert [path for path in shown if not (DOCS / path).read_text("utf-8").startswith("<svg")] == []


def test_report_has_the_critical_batch_sizes_of_the_analysis(view: ReleaseView, text: str) -> None:
    workload = Workload.parse("bundled/digits/mlp_64/sgd")
    for question in subject().questions:
        parameters = critical_batch_size.CriticalBatchSizeParameters(**question.about(workload))
        answer = critical_batch_size.QUESTION.answer(view, parameters)
        row = answer.table().to_pylist()[0]
        cells = f"{row['critical_batch_size']:.3g} | {row['lower']:.3g} to {row['upper']:.3g}"
        assert re.search(rf"^\| mlp_64 SGD \|.*\| {re.escape(cells)} \|", text, re.MULTILINE)


def test_every_workload_of_a_pair_is_bundled(view: ReleaseView) -> None:
    pairs = subject().pairs
    assert {pair.question for pair in pairs} == {"momentum", "width"}
    assert {workload for pair in pairs for workload in (pair.first, pair.second)} <= set(view.workloads)


def test_lake_without_the_bundled_studies_names_what_to_ingest() -> None:
    other = view_of([Row(8, 1, "COMPLETE", 10, 0.1)])
    with pytest.raises(
        LossLakeError, match=r"no workload of collection bundled: ingest studies/data/bundled\.tar\.bz2"
    ):
        bundled_studies(other, "figures")

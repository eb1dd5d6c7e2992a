"""The benchmark of analyses asks every analysis for something that it can answer."""

from __future__ import annotations

import pytest

from bench.analysis import queries
from losslake.lake.lake import Lake
from losslake.questions.declaration.question import Question
from losslake.questions.questions import ANALYSES
from losslake.questions.release.view import ReleaseView
from losslake_ingest.run import ingest
from losslake_service.routes.reading import read_query
from tests.archives import write_workload
from tests.oracle import Row

ERROR = "val/classification_error"


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> ReleaseView:
    folder = tmp_path_factory.mktemp("analyses")
    for optimizer in ("sgd", "adam"):
        rows = [
            Row(b, t, "COMPLETE", s, 30 / (s + 30 + t))
            for b in (8, 16)
            for t in range(3, 13)
            for s in range(0, 3000, 99)
        ]
        write_workload(folder / "archive" / "small", f"mnist/cnn/{optimizer}", {ERROR: rows})
    lake = Lake.create(folder / "lake")
    assert not ingest(lake, [folder / "archive"]).quarantined
    return ReleaseView.open(lake, lake.release())


@pytest.mark.parametrize("question", ANALYSES, ids=lambda question: question.path)
def test_every_analysis_is_asked_for_what_it_can_answer(question: Question, view: ReleaseView) -> None:
    for query in queries(question, view, 2):
        question.answer(view, read_query(query.encode(), question.parameters))

"""The pages of trials, studies and comparisons say where learning rates decay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from tests.applications import without_sql
from tests.ingest.offers import METRIC, TrialOffer, study_files, unpacked
from tests.service.web.reading import Page

STUDY = "root/mnist/cnn/sgd/8"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Open a service over a study of two trials, whose learning rates decay from steps 5 and 6 to step 20."""
    folder = tmp_path_factory.mktemp("schedules")
    trials = {}
    for number, last in ((1, 10), (2, 20)):
        facts: dict[str, Any] = {"decay_start": 4 + number, "schedule_end": 20, "rate": 0.1 * number}
        trials[number] = TrialOffer(rows=("0,0.9", f"{last},0.2{number}"), metadata={"parameters": facts})
    lake = Lake.create(folder / "lake")
    assert not ingest(lake, [unpacked(folder / "logs", study_files(trials))]).quarantined
    with TestClient(without_sql(lake), raise_server_exceptions=False) as opened:
        yield opened


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (f"/trials/{STUDY}/1", "decays from step 5 to step 20; not evaluated at that end"),
        (f"/trials/{STUDY}/2", "decays from step 6 to step 20; evaluated at that end or later"),
        (f"/studies/{STUDY}", "decays from steps 5 to 6 to step 20; 1 trial of 2 evaluated at that end or later"),
    ],
)
def test_pages_state_the_schedule(client: TestClient, path: str, words: str) -> None:
    text = client.get(path).text
    Page(text)
    assert f"<dt>Learning rate</dt><dd>{words}</dd>" in text


def test_only_finished_is_a_parameter_of_rest_and_its_rows_have_a_phase(client: TestClient) -> None:
    query = f"workload={quote(STUDY.rpartition('/')[0])}&metric={METRIC}&target=0.5&result=best_trial"
    every, finished = (client.get(f"/v1/scaling?{query}&only_finished={flag}").json() for flag in ("false", "true"))
    assert [(row["steps"], row["phase"]) for row in every["rows"]] == [(10, "decay")]
    assert [(row["steps"], row["phase"]) for row in finished["rows"]] == [(20, "finished")]
    refused = client.get(f"/v1/scaling?{query}&only_finished=2026")
    assert (refused.status_code, refused.json()["parameter"]) == (422, "only_finished")

"""Trials of a study are filtered, sorted and coloured by what their logs say of organisation and system."""

from __future__ import annotations

import re
from collections import Counter
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
ADDRESSES = {1: "https://host/blob/1a2b/log.txt", 2: "javascript:alert(1)", 3: 'https://host/"><script>'}
ORGS = ["Ann", "Bob & <Co>", "Ann", None, "Ann", "Bob & <Co>"]
FIGURE = f"/v1/figures/curves.vl.json?study={STUDY}&metric={METRIC}&colour_by=fact"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Open a service over a study whose trials have organisations, one of them none, and a number of nodes each."""
    folder = tmp_path_factory.mktemp("facts")
    trials = {}
    for number, org in enumerate(ORGS, start=1):
        facts: dict[str, Any] = {"nodes": number % 2, "rate": 0.1 * number} | ({"org": org} if org else {})
        facts |= {"source_url": ADDRESSES[number]} if number in ADDRESSES else {}
        trials[number] = TrialOffer(rows=("0,0.9", f"{number},0.2{number}"), metadata={"parameters": facts})
    lake = Lake.create(folder / "lake")
    assert not ingest(lake, [unpacked(folder / "logs", study_files(trials))]).quarantined
    with TestClient(without_sql(lake), raise_server_exceptions=False) as opened:
        yield opened


def listed(text: str) -> list[int]:
    """Return the numbers of the trials in the table."""
    return [
        int(each) for each in re.findall(rf'<tr><th scope="row" class="number"><a href="/trials/{STUDY}/(\d+)', text)
    ]


@pytest.mark.parametrize(
    ("where", "expected"),
    [("org=Ann", [1, 3, 5]), ("org=Bob & <Co>", [2, 6]), ("nodes=1", [1, 3, 5]), ("org=nobody", [])],
)
def test_table_has_the_trials_of_a_value(client: TestClient, where: str, expected: list[int]) -> None:
    text = client.get(f"/studies/{STUDY}?sort=trial_id&where={quote(where)}").text
    Page(text)
    assert listed(text) == expected
    assert ("No trials match these filters" in text) == (not expected)


def test_table_is_sorted_by_a_fact_with_missing_values_last(client: TestClient) -> None:
    assert listed(client.get(f"/studies/{STUDY}?sort=parameter.org").text)[-1] == 4


def test_few_values_are_offered_and_numbers_of_many_are_not(client: TestClient) -> None:
    text = client.get(f"/studies/{STUDY}?colour=org&where=org%3DAnn").text
    assert '<option value="org" selected>org (2)</option>' in text
    assert '<option value="org=Ann" selected>Ann</option>' in text
    assert '<option value="nodes">nodes (2)</option>' in text
    assert "colour_by=fact&amp;fact=org" in text


def test_colours_are_the_values_with_their_numbers_of_trials(client: TestClient) -> None:
    drawn = client.get(f"{FIGURE}&fact=org").json()
    counts = Counter(org or "not stated" for org in ORGS)
    expected = [f"{org} ({counts[org]})" for org in ("not stated", "Ann", "Bob & <Co>")]
    assert f'"domain": {expected}'.replace("'", '"') in str(drawn).replace("'", '"')


@pytest.mark.parametrize("query", ["", "&fact=orgs"])
def test_an_unknown_fact_is_refused_with_those_near_it(client: TestClient, query: str) -> None:
    answer = client.get(FIGURE + query)
    assert answer.status_code == 422
    assert "org" in answer.json()["detail"]
    assert client.get(f"/studies/{STUDY}?where=orgs%3DAnn").status_code == 422


def test_the_source_file_of_a_trial_links_to_its_address_on_the_web(client: TestClient) -> None:
    for number in range(1, len(ORGS) + 1):
        text = client.get(f"/trials/{STUDY}/{number}").text
        address = ADDRESSES.get(number, "")
        assert (address in Page(text).links) == address.startswith("https:"), number
        assert "<script>" not in text.partition("Source file")[2].partition("</dd>")[0]
        assert f"{STUDY}/{number}/measurements.csv" in text


def test_an_organisation_links_to_its_trials_and_comes_before_the_status(client: TestClient) -> None:
    text = client.get(f"/studies/{STUDY}?sort=trial_id").text
    links = [link for link in Page(text).links if "where=org" in link and link.endswith("#trials")]
    assert len(links) == sum(org is not None for org in ORGS)
    assert listed(client.get(links[1]).text) == [2, 6]
    assert text.index("sort=parameter.org") < text.index("sort=status")

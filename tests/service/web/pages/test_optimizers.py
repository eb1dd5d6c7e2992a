"""The page of optimizers says what the answers say: who leads and whether clearly, verdicts, times, and records."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from fastapi.testclient import TestClient

from losslake_service.web.pages.optimizers import PATH, leader_in_words, verdict_in_words
from tests.applications import without_sql
from tests.made_up_league import league_lake

EXTERNAL, SELF = "algoperf/v05/external_tuning", "algoperf/v06/self_tuning"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with TestClient(without_sql(league_lake(tmp_path_factory))) as client:
        yield client


def text_of(html: str) -> str:
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", html)))


def test_page_has_the_numbers_of_the_answer(client: TestClient) -> None:
    answer = client.get("/v1/analysis/league", params={"collection": EXTERNAL}).json()
    page = client.get(PATH).text
    text = text_of(page)
    assert f"highest score: {answer['scores'][0]['score']:.4f} (90% interval {answer['scores'][0]['lower']:.3f}" in text
    for row in answer["scores"]:
        assert f"{row['score']:.4f} {row['lower']:.3f} to {row['upper']:.3f}" in text
    for row in answer["rows"]:
        if row["time_s"] is not None:
            assert re.search(rf'href="/workloads/{row["workload"]}"[^>]*>{row["time_s"]:,.0f}</a>', page)
        else:
            assert row["outcome"] in text


def test_verdict_is_that_of_the_two_chosen(client: TestClient) -> None:
    answer = client.get("/v1/analysis/league", params={"collection": EXTERNAL}).json()
    for pair in answer["pairs"]:
        query = {"collection": EXTERNAL, "first": pair["second"], "second": pair["first"]}
        page = client.get(PATH, params=query).text
        found = re.search(r'<p class="verdict" role="status"><strong>(.*?)</strong>', page)
        assert found is not None
        assert found[1].startswith("No clear difference") == (pair["verdict"] != "before")
        assert f"a difference of {pair['difference']:.3f} (90% interval {pair['lower']:.3f} to" in found[1]
        assert page.count(" selected>") == 3
    assert "same submission" in client.get(PATH, params={"first": "amos", "second": "amos"}).text


def test_only_submissions_of_the_competition_are_taken(client: TestClient) -> None:
    for query in ({"first": "<b>"}, {"second": "shampoo"}, {"collection": "algoperf"}):
        answer = client.get(PATH, params=query, headers={"accept": "text/html"})
        assert answer.status_code == 422
        assert "<b>" not in answer.text


def test_competition_of_one_submission_has_no_verdict(client: TestClient) -> None:
    page = client.get(PATH, params={"collection": SELF}).text
    assert "It is the only submission." in page
    assert 'class="verdict"' not in page


def test_records_are_listed_with_their_runs(client: TestClient) -> None:
    rows = client.get("/v1/analysis/records").json()["rows"]
    page = client.get(PATH).text
    for row in rows:
        if row["number"] is not None:
            assert f"/trials/{row['workload']}/{row['batch_size'] or 'scheduled'}/{row['trial_id']}" in page
            assert f"{row['mean']:.5f}" in page


def test_charts_draw_profiles_and_records(client: TestClient) -> None:
    for kind in ("league", "records"):
        specification = client.get(f"/v1/figures/{kind}.vl.json").text
        assert '"type":"point"' in specification
        assert client.get(f"/v1/figures/{kind}.svg").status_code == 200


def _facts(*verdicts: str) -> dict[str, Any]:
    names = "abcdefg"[: len(verdicts) + 1]
    scores = [
        {"submission": each, "score": 0.9 - at / 10, "lower": 0.1, "upper": 0.95} for at, each in enumerate(names)
    ]
    pairs = [
        {
            "first": "a",
            "second": each,
            "difference": 0.1,
            "lower": 0.01,
            "upper": 0.2,
            "p_value": 0.03,
            "verdict": verdict,
        }
        for each, verdict in zip(names[1:], verdicts, strict=True)
    ]
    return {"scores": scores, "pairs": pairs}


BEFORE, UNCLEAR = "before", "no clear difference"


@pytest.mark.parametrize(
    ("verdicts", "end"),
    [
        ((BEFORE, BEFORE), "It is clearly before all others."),
        ((UNCLEAR, UNCLEAR), "It isn't clearly before any other."),
        ((UNCLEAR, BEFORE), "It is clearly before 1 of 2 others; its lead over B isn't clear."),
        ((UNCLEAR,) * 5 + (BEFORE,), "its lead over B, C, D, E and 1 more isn't clear."),
    ],
)
def test_leader_is_said_to_lead_only_where_that_is_clear(verdicts: tuple[str, ...], end: str) -> None:
    text = leader_in_words(_facts(*verdicts), {name: name.upper() for name in "abcdefg"})
    assert text.startswith("A has the highest score: 0.9000 (90% interval 0.100 to 0.950). ")
    assert text.endswith(end)


def test_verdict_says_why_an_interval_above_zero_is_not_enough() -> None:
    names = {name: name.upper() for name in "abcdefg"}
    assert verdict_in_words("b", "a", _facts(BEFORE), names).startswith("A is clearly before B: 0.9000 against 0.8000")
    assert verdict_in_words("a", "b", _facts(UNCLEAR, UNCLEAR), names).endswith(
        "(90% interval 0.010 to 0.200). Its p-value is 0.03, which isn't clear among 2 pairs."
    )

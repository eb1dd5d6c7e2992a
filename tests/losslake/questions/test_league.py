"""AlgoPerf's competitions: equal to plain Python over every measurement, and what is said about pairs."""

from __future__ import annotations

from typing import Any

import pytest

from losslake.lake.lake import Lake
from losslake.questions import league
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.league_studies import leagues
from tests.league_oracle import differences
from tests.losslake.questions.views import view_of
from tests.made_up_league import league_lake

EXTERNAL, SELF = "algoperf/v05/external_tuning", "algoperf/v06/self_tuning"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return league_lake(tmp_path_factory)


@pytest.fixture(scope="module")
def view(lake: Lake) -> ReleaseView:
    return ReleaseView.open(lake, lake.release(None))


def asked(view: ReleaseView, collection: str = EXTERNAL) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    answer = league.QUESTION.answer(view, league.LeagueParameters(collection=collection))
    return answer.table().to_pylist(), dict(answer.facts)


@pytest.mark.parametrize("collection", [EXTERNAL, SELF])
def test_times_steps_and_scores_are_those_of_the_measurements(view: ReleaseView, collection: str) -> None:
    texts, n = differences(view, collection)
    assert (texts, n) == ([], {EXTERNAL: 3 * 14 * 5 + 6, SELF: 8 * 5 + 2}[collection])


def test_every_case_of_the_rules_occurs(view: ReleaseView) -> None:
    rows, _ = asked(view)
    assert {row["outcome"] for row in rows} >= {"counts", "no trials", "not reached", "over 4 times the best"}
    assert any(row["outcome"].startswith("variant") for row in rows)
    for row in rows:
        assert (row["ratio"] is not None) == (row["outcome"] == "counts" and not row["is_held_out"])
        assert (row["workload"] is None) == (row["n_trials"] == 0) == (row["outcome"] == "no trials")


def test_scores_lie_in_order_and_the_profiles_have_their_area(view: ReleaseView) -> None:
    _, facts = asked(view)
    scores = facts["scores"]
    assert [each["score"] for each in scores] == sorted((each["score"] for each in scores), reverse=True)
    assert all(each["lower"] <= each["upper"] for each in scores)
    for each in scores:
        points = [point for point in facts["profiles"] if point["submission"] == each["submission"]]
        factors = [point["factor"] for point in points]
        assert factors[0] == 1
        assert factors == sorted(set(factors))
        assert points[-1]["share"] == each["n_counted"] / facts["n_workloads"]
        ends = [min(factor, 4.0) for factor in [*factors[1:], 4.0]]
        area = sum(point["share"] * (end - point["factor"]) for point, end in zip(points, ends, strict=True)) / 3
        assert each["score"] == pytest.approx(area, abs=0.5 / 99)


def test_each_pair_is_judged_once_the_better_score_first(view: ReleaseView) -> None:
    _, facts = asked(view)
    scores = {each["submission"]: each["score"] for each in facts["scores"]}
    assert len(facts["pairs"]) == len(scores) * (len(scores) - 1) // 2
    for pair in facts["pairs"]:
        assert pair["difference"] == scores[pair["first"]] - scores[pair["second"]] >= 0
        assert pair["verdict"] in ("before", "no clear difference")
        if pair["verdict"] == "before":
            assert 0 < pair["lower"] <= pair["upper"]
            assert pair["p_value"] <= 0.05


def test_answers_are_the_same_when_they_are_computed_again(lake: Lake, view: ReleaseView) -> None:
    assert asked(ReleaseView.open(lake, lake.release(None))) == asked(view)


def test_what_the_studies_lack_is_said(view: ReleaseView) -> None:
    _, facts = asked(view)
    assert "baseline on fastmri/unet: 2 of 5 studies have evaluated trials" in facts["left_out"]
    assert any("fewer than 5 trials in" in text for text in facts["left_out"])
    assert "nadamp on wmt17_de_en/transformer: no trials, which count as not reaching the target" in facts["left_out"]
    assert "shampoo_submission, published with 0.7784: its trials aren't in the collection" in facts["left_out"]
    warnings = asked(view, SELF)[1]["warnings"]
    assert warnings[0] == "there is nothing to compare baseline with: its ratios are to itself"
    assert warnings[1].startswith("3 studies say little")


def test_default_is_the_first_competition_and_others_are_refused(view: ReleaseView) -> None:
    assert asked(view, "") == asked(view)
    with pytest.raises(
        BadParameter, match=f"^release {view.number} has no competition algoperf: give {EXTERNAL} or {SELF}$"
    ):
        asked(view, "algoperf")


def test_release_without_a_competition_has_no_rows() -> None:
    rows, facts = asked(view_of([]), "")
    assert (rows, facts["scores"], facts["warnings"]) == ([], [], ["this release has no competition of AlgoPerf"])


def test_published_scores_are_those_of_the_leaderboards() -> None:
    """Kasimbeg et al. 2025, and the README.md of mlcommons/submissions_algorithms."""
    published = {name: each.published for name, each in leagues().items()}
    assert [len(scores) for scores in published.values()] == [11, 6, 2, 0]
    assert published[EXTERNAL]["lawa_ema"] == 0.3384
    assert published["algoperf/v06/external_tuning"] == {"shampoo": 0.6244, "baseline": 0.459}

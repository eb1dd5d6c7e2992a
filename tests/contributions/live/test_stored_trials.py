"""The stored trials beside a run: candidates by nearness, batch sizes, and steps to the goal as by hand."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.questions.release.errors import BadParameter, UnknownName
from losslake.questions.release.view import ReleaseView
from losslake_contributions.live.stored_trials import candidates, drawn_curves, nearest_sizes, stored_trials
from losslake_contributions.live.subject import LiveQuery, Subject, direction_of, subject_of
from losslake_contributions.protocol.contributions import RunFacts
from losslake_schema.names import Workload
from losslake_service.web.goals import PageGoal
from tests.contributions.made_runs import ERROR, FACTS, curve, lake_of, write_run

FALLS = [0.9, 0.6, 0.4, 0.3, 0.2, 0.1]
SAME = Workload("small", "mnist", "cnn", "sgd")
GOAL = PageGoal(ERROR, 0.3, "minimize")


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> ReleaseView:
    """Five trials at batch size 8, one of them INFEASIBLE, and others beside them."""
    folder = tmp_path_factory.mktemp("stored")
    spools = folder / "spools"
    curves: Sequence[Sequence[float]] = (FALLS, FALLS[1:], FALLS[2:], [0.9, 0.8])
    for number, values in enumerate(curves, start=1):
        write_run(spools, number, curve(values), parameters={"seed": number})
    write_run(spools, 5, curve(FALLS[3:]), "INFEASIBLE", parameters={"seed": 5})
    write_run(spools, 6, curve(FALLS), batch_size=32)
    write_run(spools, 7, curve(FALLS, "val/loss"), batch_size=64)
    others = ({"collection": "another"}, {"optimizer": "adam"}, {"optimizer": "adam", "collection": "a"})
    for number, facts in enumerate(others, start=8):
        write_run(spools, number, curve(FALLS), **facts)
    write_run(spools, 11, curve(FALLS), model="mlp")
    write_run(spools, 12, curve(FALLS), collection="tokens", batch_unit="tokens")
    lake = lake_of(folder / "lake", spools)
    return ReleaseView.open(lake, lake.release())


def run_of(**changes: object) -> RunFacts:
    return RunFacts.model_validate(FACTS | changes)


def subject(run: RunFacts, view: ReleaseView | None, measured: Sequence[str] = (ERROR,), **choice: object) -> Subject:
    return subject_of(LiveQuery(**choice), run, measured, view)  # type: ignore[arg-type]


def test_nearest_workload_comes_first(view: ReleaseView) -> None:
    found = [(str(each.workload), each.nearness) for each in candidates(view, SAME, "examples")]
    assert found == [
        ("small/mnist/cnn/sgd", "the same workload"),
        ("another/mnist/cnn/sgd", "the same data set, model and optimizer"),
        ("a/mnist/cnn/adam", "the same data set and model"),
        ("small/mnist/cnn/adam", "the same data set and model"),
    ]


def test_workload_whose_batch_size_counts_something_else_is_no_candidate(view: ReleaseView) -> None:
    found = candidates(view, SAME, "tokens")
    assert [each.workload.collection for each in found] == ["tokens"]


@given(st.lists(st.integers(1, 50), unique=True).map(sorted), st.integers(1, 50))
def test_batch_sizes_next_to_the_runs_are_shown_if_its_own_is_not_stored(sizes: list[int], size: int) -> None:
    shown = nearest_sizes(sizes, size)
    if size in sizes:
        assert shown == [size]
        return
    between = range(shown[0] + 1, size) if shown and shown[0] < size else range(1, size)
    beyond = range(size, shown[-1]) if shown and shown[-1] > size else range(size, 51)
    assert not set(sizes) & {*between, *beyond}
    assert len(shown) <= 2


def test_steps_of_stored_trials_are_those_by_hand(view: ReleaseView) -> None:
    # The first value below 0.3 is the fifth, fourth, third, or none.
    steps = [40, 30, 20, float("inf")]
    found = stored_trials(view, SAME, 8, GOAL)
    assert (found.n, found.n_reached, found.median) == (4, 3, statistics.median(steps))


def test_equal_value_reaches_an_inclusive_goal_only(view: ReleaseView) -> None:
    inclusive = PageGoal(ERROR, 0.3, "minimize", comparator="inclusive")
    assert stored_trials(view, SAME, 8, inclusive).median == statistics.median([30, 20, 10, float("inf")])


def test_median_is_unknown_if_half_of_the_trials_do_not_reach_the_goal(view: ReleaseView) -> None:
    found = stored_trials(view, SAME, 8, PageGoal(ERROR, 0.05, "minimize"))
    assert (found.n_reached, found.median) == (0, None)


def test_too_many_curves_are_sampled_evenly(view: ReleaseView, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = view.workload(SAME)
    query, n, n_stored = drawn_curves(facts, [8, 32])
    assert (query, n, n_stored) == ([("study", f"{SAME}/8"), ("study", f"{SAME}/32")], 6, 6)
    monkeypatch.setattr("losslake_contributions.live.stored_trials._MOST_DRAWN", 3)
    query, n, n_stored = drawn_curves(facts, [8, 32])
    assert (n, n_stored) == (3, 6)
    assert [value.rpartition("/")[0] for _, value in query] == [f"{SAME}/8", f"{SAME}/8", f"{SAME}/32"]


def test_goal_of_the_run_comes_first_and_is_strict_unless_it_says_inclusive(view: ReleaseView) -> None:
    goals: list[dict[str, object]] = [
        {"metric": ERROR, "target": 0.2, "comparator": "inclusive"},
        {"metric": ERROR, "target": 0.3},
        {"metric": ERROR, "target": 0.4, "comparator": "odd"},
    ]
    shown = subject(run_of(goals=goals), view)
    assert shown.goal is not None
    assert [goal.text for goal in shown.goals] == [f"{ERROR} ≤ 0.2", f"{ERROR} < 0.3"]
    assert (shown.goal.target, shown.metric, shown.sizes) == (0.2, ERROR, [8])
    assert shown.trials == stored_trials(view, SAME, 8, shown.goal)
    assert subject(run_of(goals=goals), view, target=0.3).goal == shown.goals[1]


@pytest.mark.parametrize("word", [None, "strict", "inclusive", "odd"])
def test_comparator_of_a_goal_is_read_as_the_ingest_reads_it(tmp_path: Path, word: str | None) -> None:
    goal = {"metric": ERROR, "target": 0.3, "source": "a paper"} | ({} if word is None else {"comparator": word})
    write_run(tmp_path / "spools", 1, curve(FALLS), goals=[goal])
    lake = lake_of(tmp_path / "lake", tmp_path / "spools")
    stored = [(each.target, each.comparator) for each in ReleaseView.open(lake, lake.release()).goals]
    shown = [(each.target, each.comparator) for each in subject(run_of(goals=[goal]), None).goals]
    assert shown == stored == ([] if word == "odd" else [(0.3, word or "strict")])


def test_metric_of_a_goal_is_shown_before_anything_is_measured(view: ReleaseView) -> None:
    shown = subject(run_of(goals=[{"metric": "val/loss", "target": 2.0}]), view, measured=())
    assert shown.metric == "val/loss"
    assert subject(run_of(), view, measured=()).metric is None


def test_metric_with_stored_trials_is_shown_without_a_goal(view: ReleaseView) -> None:
    assert subject(run_of(), view, measured=("test/x", ERROR, "train/loss")).metric == ERROR
    assert subject(run_of(dataset="new"), view, measured=("train/loss", "test/x")).metric == "test/x"


def test_target_is_proposed_if_nobody_set_a_goal(view: ReleaseView) -> None:
    goal = subject(run_of(), view).goal
    assert goal is not None
    assert goal.is_proposed


def test_other_target_than_the_goals_is_compared_as_they_are(view: ReleaseView) -> None:
    goals = [{"metric": ERROR, "target": 0.2, "comparator": "inclusive"}]
    shown = subject(run_of(goals=goals), view, target=0.25).goal
    assert shown == PageGoal(ERROR, 0.25, "minimize", comparator="inclusive")
    with pytest.raises(BadParameter, match="lies between 0 and 1"):
        subject(run_of(), view, target=75.0)


def test_goal_that_no_log_can_reach_is_shown_without_a_comparison(view: ReleaseView) -> None:
    shown = subject(run_of(goals=[{"metric": ERROR, "target": 75.0}]), view)
    assert shown.trials is None
    assert shown.notes[0].startswith("The stored trials aren't compared: ")


def test_run_at_another_batch_size_is_shown_beside_the_nearest_ones(view: ReleaseView) -> None:
    shown = subject(run_of(batch_size=16), view)
    assert (shown.sizes, shown.trials) == ([8, 32], None)
    assert shown.notes == [f"No stored trial of {SAME} has batch size 16: the curves are of 8 and 32."]


@pytest.mark.parametrize(
    ("changes", "metric", "note"),
    [
        ({"dataset": "new"}, ERROR, "No trials of the same data set and model are stored: the run is shown alone."),
        ({}, "val/new", f"No stored trial of {SAME} measures val/new: the run is shown alone."),
    ],
)
def test_run_without_stored_trials_is_shown_alone(
    view: ReleaseView, changes: dict[str, object], metric: str, note: str
) -> None:
    shown = subject(run_of(**changes), view, measured=(metric,))
    assert (shown.sizes, shown.trials, shown.notes) == ([], None, [note])


def test_lake_without_a_release_shows_the_run_alone() -> None:
    shown = subject(run_of(goals=[{"metric": ERROR, "target": 0.2}]), None)
    assert shown.goal is not None
    assert (shown.candidates, shown.sizes, shown.trials) == ([], [], None)


def test_unknown_metric_and_workload_are_refused(view: ReleaseView) -> None:
    with pytest.raises(UnknownName, match="this run has no metric 'val/x'"):
        subject(run_of(), view, metric="val/x")
    with pytest.raises(UnknownName, match="no workload 'small/mnist/mlp/sgd'"):
        subject(run_of(), view, workload="small/mnist/mlp/sgd")
    chosen = subject(run_of(), view, workload="small/mnist/cnn/adam")
    assert chosen.candidate is not None
    assert str(chosen.candidate.workload) == "small/mnist/cnn/adam"


def test_direction_is_the_registered_one_then_that_of_the_run(view: ReleaseView) -> None:
    run = run_of(directions={ERROR: "maximize", "val/x": "maximize"})
    assert direction_of(ERROR, run, view) == "minimize"
    assert direction_of("val/x", run, view) == "maximize"
    assert direction_of("no metric", run, view) is None
    assert subject(run_of(), view, measured=("val/unheard_of",)).goal is None

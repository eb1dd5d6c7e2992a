"""Every number of every figure matches the published scripts, in plain Python."""

from __future__ import annotations

import math
from typing import Any

import pytest

from losslake.figures.papers.paper import paper
from losslake.figures.papers.rows import all_rows, figure_rows
from losslake.questions.release.view import ReleaseView
from tests.losslake.figures.papers import notebook, reference
from tests.losslake.figures.papers.reference import BUDGETS, OPTIMAL, PRINTED_BATCH_SIZES, SCATTER, STEPS, SeriesOf
from tests.losslake.figures.papers.synthetic_archive import (
    NEVER_AT,
    PRECISION,
    SPLIT_WORKLOAD,
    Trial,
    steps_to_goal,
    workloads,
)

pytestmark = pytest.mark.slow

PAPER = paper("shallue2018")
Rows = list[dict[str, Any]]


def drawn(view: ReleaseView, number: str, trials: int | None = None) -> Rows:
    rows: Rows = all_rows(figure_rows(view, PAPER.figure(number), trials)).to_pylist()
    return rows


def of(rows: Rows, panel: int, series: str) -> Rows:
    return [row for row in rows if row["panel"] == panel and row["series"] == series]


def by_size(rows: Rows, name: str) -> dict[int, Any]:
    """Return the values that are not null, by batch size."""
    return {row["batch_size"]: row[name] for row in rows if row[name] is not None}


def results(series: SeriesOf, trials: int | None = None) -> dict[int, tuple[int, int, float]]:
    loaded = notebook.load_workload(workloads()[series.workload], trials or series.trials)
    return notebook.compute_steps_to_result(notebook.table(loaded), series.goal, series.metric == PRECISION)


@pytest.mark.parametrize("number", STEPS)
def test_steps_to_result_match_the_published_scripts(paper_view: ReleaseView, number: str) -> None:
    rows = drawn(paper_view, number)
    assert len(rows) == sum(len(workloads()[s.workload].train_steps) for _, _, panel in STEPS[number] for s in panel)
    for place, (normalize_to, scaling, panel) in enumerate(STEPS[number], start=1):
        for series in panel:
            curve, expected = of(rows, place, series.label), results(series)
            assert {row["workload"] for row in curve} == {f"shallue2018/{series.workload}"}
            assert {(row["metric"], row["goal"]) for row in curve} == {(series.metric, series.goal)}
            assert by_size(curve, "steps") == {size: result[0] for size, result in expected.items()}
            assert by_size(curve, "trial_id") == {size: result[1] for size, result in expected.items()}
            assert by_size(curve, "value") == {size: result[2] for size, result in expected.items()}
            shown: dict[int, float] = {size: result[0] for size, result in expected.items()}
            if normalize_to is not None:
                shown = notebook.normalized(expected, normalize_to)
                assert by_size(curve, "normalized_steps") == shown
            base = normalize_to or min(shown)
            line = {size: shown[base] * base / size for size in workloads()[series.workload].train_steps}
            assert by_size(curve, "perfect_scaling") == (pytest.approx(line) if scaling in ("", series.label) else {})


@pytest.mark.parametrize("number", PRINTED_BATCH_SIZES)
def test_number_of_batch_sizes_matches_the_notebook(paper_view: ReleaseView, number: str) -> None:
    rows = drawn(paper_view, number)
    counts = [
        len(of(rows, place, s.label)) for place, (_, _, panel) in enumerate(STEPS[number], start=1) for s in panel
    ]
    assert counts == PRINTED_BATCH_SIZES[number]


def test_steps_match_the_synthetic_archive(paper_view: ReleaseView) -> None:
    for row in drawn(paper_view, "1"):
        path = row["workload"].removeprefix("shallue2018/")
        never = (path, row["batch_size"]) in NEVER_AT
        at_goal = steps_to_goal(workloads()[path].shape, row["batch_size"])
        assert (row["steps"], row["n_reached"] == 0) == (None if never else at_goal + 1, never)
        assert row["previous_step"] == (None if never else at_goal)


def test_label_smoothing_splits_the_first_100_trials(paper_view: ReleaseView) -> None:
    rows = drawn(paper_view, "7")
    loaded = notebook.load_workload(workloads()[SPLIT_WORKLOAD], 100)
    assert {t.trial_id for t in loaded} != {t.trial_id for t in workloads()[SPLIT_WORKLOAD].trials}
    for value in (0.0, 0.01, 0.1):
        label = f"Label Smoothing = {value:.2f}"
        table = notebook.table(t for t in loaded if t.parameters.get("label_smoothing", 0.0) == value)
        best = notebook.get_best_measurement(table)
        steps = {size: result[0] for size, result in notebook.compute_steps_to_result(table, 0.25).items()}
        assert by_size(of(rows, 1, label), "value") == best
        assert by_size(of(rows, 2, label), "steps") == steps
        line = {size: steps[64] * 64 / size for size in best} if value == 0.1 else {}
        assert by_size(of(rows, 2, label), "perfect_scaling") == pytest.approx(line)
    for size in (64, 65536):
        assert sum(row["n_trials"] for row in rows if (row["panel"], row["batch_size"]) == (1, size)) == 100


def test_optimal_effective_learning_rates_match_the_notebook(paper_view: ReleaseView) -> None:
    rows = drawn(paper_view, "8")
    for place, (series,) in enumerate(OPTIMAL, start=1):
        known = {(t.batch_size, t.trial_id): t.parameters for t in workloads()[series.workload].trials}
        rates = {
            size: known[size, trial_id]["learning_rate"] / (1 - known[size, trial_id]["momentum"])
            for size, (_, trial_id, _) in results(series).items()
        }
        panel_rows = [row for row in rows if row["panel"] == place]
        first = min(rates)
        sizes = workloads()[series.workload].train_steps
        assert by_size(panel_rows, "effective_learning_rate") == pytest.approx(rates)
        assert by_size(panel_rows, "linear_heuristic") == pytest.approx({s: rates[first] * s / first for s in sizes})
        square_root = {s: rates[first] * math.sqrt(s / first) for s in sizes}
        assert by_size(panel_rows, "square_root_heuristic") == pytest.approx(square_root)


def outcome(trial: Trial, goal: float, budget: float) -> str:
    if trial.status == "INFEASIBLE":
        return "infeasible"
    return "reached" if any(value < goal and step <= budget for step, value in trial.curve) else "not reached"


@pytest.mark.parametrize("number", SCATTER)
def test_every_trial_is_reached_not_reached_or_infeasible(paper_view: ReleaseView, number: str) -> None:
    rows = drawn(paper_view, number)
    for place, (path, goal, batch_size, budget) in enumerate(SCATTER[number], start=1):
        workload = workloads()[path.replace("/nm", "/nesterov_momentum")]
        loaded = notebook.load_workload(workload, statuses=("COMPLETE", "INFEASIBLE"))
        trials = [trial for trial in loaded if trial.batch_size == batch_size]
        panel_rows = [row for row in rows if row["panel"] == place]
        assert [(r["trial_id"], r["outcome"]) for r in panel_rows] == [
            (t.trial_id, outcome(t, goal, budget)) for t in trials
        ]
        assert [(r["learning_rate"], r["momentum"]) for r in panel_rows] == [
            (t.parameters["learning_rate"], t.parameters["momentum"]) for t in trials
        ]
        within = notebook.apply_step_budget(notebook.table(trials), budget)
        best = notebook.compute_steps_to_result(within, goal)
        assert {r["batch_size"]: (r["steps"], r["trial_id"], r["value"]) for r in panel_rows if r["is_best"]} == best


def test_best_values_within_budgets_match_the_notebook(paper_view: ReleaseView) -> None:
    rows = drawn(paper_view, "11")
    expected = {}
    for place, (path, training_set, _, thousands, epochs) in enumerate(BUDGETS):
        workload = workloads()[path.replace("/nm", "/nesterov_momentum")]
        table = notebook.table(notebook.load_workload(workload))
        for thousand in thousands:
            best = notebook.get_best_measurement(notebook.apply_step_budget(table, 1000 * thousand))
            long_enough = {s: v for s, v in best.items() if workload.train_steps[s] >= 1000 * thousand}
            expected[2 * place + 1, f"{thousand}k steps"] = long_enough
        for count in epochs:
            budget = count * training_set
            best = notebook.get_best_measurement(notebook.apply_example_budget(table, budget))
            long_enough = {s: v for s, v in best.items() if workload.train_steps[s] >= budget / s}
            expected[2 * place + 2, f"{count} epochs"] = long_enough
    best_values = {key: by_size(of(rows, *key), "value") for key in expected}
    assert best_values == expected
    assert {bool(values) for values in best_values.values()} == {True, False}
    assert {len(values) for values in best_values.values()} > {1, 2, 3}


def test_parameter_limits_the_number_of_trials(paper_view: ReleaseView) -> None:
    rows = drawn(paper_view, "1", trials=7)
    series = reference.WORKLOADS[3][0]
    panel_rows = [row for row in rows if row["panel"] == 4]
    assert by_size(panel_rows, "steps") == {size: result[0] for size, result in results(series, trials=7).items()}
    assert {row["n_trials"] for row in panel_rows} == {7}


def test_fewer_trials_than_in_the_paper_are_noted(paper_view: ReleaseView) -> None:
    panels = figure_rows(paper_view, PAPER.figure("1"))
    words = [{text for curve in panel.curves for text in curve.words} for panel in panels]
    said = "has 2 instead of 100 COMPLETE trials at every batch size: all are used"
    assert words[0] == {f"shallue2018/mnist/simple_cnn_base/nesterov_momentum {said}"}
    assert words[3] == set()

"""Reference convergence points of a workload's runs, and verdicts on submissions, against plain Python."""

from __future__ import annotations

import math
import statistics
from typing import Any

import duckdb
import pytest

from losslake.questions import rcp
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import sql
from losslake.questions.trials.selection import Goal, Selection
from tests.losslake.questions.test_compare import OURS, reaching
from tests.losslake.questions.views import METRIC, OTHER, WORKLOAD, answer_to, view_of
from tests.oracle import Row

GOAL = Goal(0.3)
REFERENCE = {64: [38, 39, 40, 40, 41, 44], 256: [13, 13, 14, 14, 14, 15], 512: [7, 8, 8, 8, 9, 10]}


def rows_of(runs: dict[int, list[int]]) -> list[Row]:
    return [row for size, steps in runs.items() for row in reaching(size, *steps)]


def answer(
    reference: dict[int, list[int]] = REFERENCE, of_other: list[Row] | None = None, **parameters: object
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    view = view_of(rows_of(reference), of_other=of_other)
    found = answer_to(rcp.QUESTION, view, Selection((WORKLOAD,), METRIC), GOAL, **parameters)
    return found.table().to_pylist(), dict(found.facts)


def samples(batch_size: int, *examples: float) -> dict[str, Any]:
    converged = [count for count in examples if math.isfinite(count)]
    return {"batch_size": batch_size, "samples": converged, "failed_runs": len(examples) - len(converged)}


def test_points_are_in_examples_and_as_computed_by_hand() -> None:
    from scipy import stats

    rows, facts = answer(submission_runs=3)
    assert [(row["batch_size"], row["n_runs"], row["n_not_converged"]) for row in rows] == [
        (64, 6, 0), (256, 6, 0), (512, 6, 0),
    ]  # fmt: skip
    for row, (size, steps) in zip(rows, REFERENCE.items(), strict=True):
        examples = [own * size for own in sorted(steps)]
        mean, stdev = statistics.mean(examples[1:-1]), statistics.pstdev(examples)
        least = mean - stats.t.ppf(0.95, 3) * stdev * math.sqrt(1 / 4 + 1 / 1)
        expected = (mean, stdev, least, mean / least)
        assert (row["mean"], row["stdev"], row["least_mean"], row["max_speedup"]) == pytest.approx(expected)
    assert facts["n_used"] == 18
    assert facts["verdicts"] == []


def test_a_point_above_the_line_of_its_neighbours_is_pruned_and_not_compared_with() -> None:
    """Examples 2,560, 3,520 and 4,224: the line through the first and the last is at 3,273 at 256."""
    rows, facts = answer(**samples(256, *[3300.0] * 5))
    assert [row["is_pruned"] for row in rows] == [False, True, False]
    (verdict,) = facts["verdicts"]
    assert (verdict["ground"], verdict["passes"]) == ("interpolated", True)
    assert verdict["reference_mean"] == pytest.approx(2560 + (4224 - 2560) * 192 / 448)
    (verdict,) = answer(**samples(256, *[3300.0] * 5), pruned=False)[1]["verdicts"]
    assert (verdict["ground"], verdict["passes"]) == ("found", True)
    assert verdict["score_factor"] == pytest.approx(verdict["reference_mean"] / 3300)


def test_a_submitted_workload_is_checked_at_each_of_its_batch_sizes() -> None:
    submitted = rows_of({32: [90, 90, 90], 64: [20, 20, 20], 512: [9, 9, 9], 4096: [9, 9, 9]})
    _, facts = answer(of_other=submitted, submission=OTHER)
    found = [(each["batch_size"], each["ground"], each["passes"]) for each in facts["verdicts"]]
    assert found == [(32, "smallest", True), (64, "found", False), (512, "found", True), (4096, "missing", False)]
    assert facts["rules"]["submission_runs"] == 3
    assert facts["submission"] == str(OTHER)


def test_runs_that_did_not_converge_are_counted_on_either_side() -> None:
    reference = {64: [40, 40, 41, 42, 43, 44], 128: [20, 21]}
    _, facts = answer(reference, **samples(64, 2600, 2700, 2800, math.inf))
    (verdict,) = facts["verdicts"]
    assert (verdict["n_runs"], verdict["n_not_converged"], verdict["mean"]) == (4, 1, 2750.0)
    (text,) = facts["left_out"]
    assert text.startswith(f"{OURS}: batch size 128: an olympic mean needs 3 runs or more")
    given = view_of(reaching(64, 40, 40, 41, 42, None))
    found = answer_to(rcp.QUESTION, given, Selection((WORKLOAD,), METRIC), GOAL)
    assert found.table()["n_not_converged"].to_pylist() == [1]
    assert [text for text in found.facts["warnings"] if "runs did not converge, 1 of 5 at batch size 64;" in text]


def test_too_few_runs_submitted_give_no_verdict_and_no_error() -> None:
    (verdict,) = answer(**samples(64, 2600))[1]["verdicts"]
    assert (verdict["passes"], verdict["ground"]) == (None, "unusable")
    assert "needs 3 runs or more" in verdict["in_words"]


def test_outlying_run_gives_a_warning_and_no_verdict() -> None:
    _, facts = answer({64: [40, 40, 40, 40, 40, 40, 40000]}, **samples(64, *[100.0] * 3))
    assert facts["verdicts"][0]["passes"] is None
    assert [
        text
        for text in facts["warnings"]
        if "at batch size 64 runs are far from the median of 2,560: 2,560,000 (1e+03 times)" in text
    ]
    assert [text for text in facts["warnings"] if "no mean would be refused" in text]


def test_trials_of_a_search_do_not_count_as_repeated_runs() -> None:
    _, facts = answer()
    assert [
        text for text in facts["warnings"] if "at batch size 64, 256, 512 the trials differ in metaparameters" in text
    ]


def test_runs_that_differ_in_nothing_but_seeds_are_of_one_setting() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE SCHEMA base")
    connection.execute(
        """
        CREATE TABLE base.trials AS
        SELECT * FROM (VALUES
            (1, 'COMPLETE', MAP {'lr': 0.1, 'seed': 1.0}), (1, 'COMPLETE', MAP {'lr': 0.1, 'data_seed': 2.0}),
            (2, 'COMPLETE', MAP {'lr': 0.1}), (2, 'COMPLETE', MAP {'lr': 0.2}), (2, 'INFEASIBLE', MAP {'lr': 9.0}),
            (3, 'COMPLETE', NULL), (3, 'COMPLETE', NULL)
        ) AS t(study_id, status, parameters)
        """
    )
    asked = {"first_study": 1, "last_study": 3, "statuses": ["COMPLETE"]}
    assert connection.execute(sql("settings_of_studies"), asked).fetchall() == [(1, 1), (2, 2), (3, 1)]


def test_uncheckable_submission_is_refused() -> None:
    view = view_of(rows_of(REFERENCE))
    with pytest.raises(BadParameter, match="give one workload"):
        answer_to(rcp.QUESTION, view, Selection((WORKLOAD, OTHER), METRIC), GOAL, submission=OTHER)
    with pytest.raises(BadParameter, match="tolerated_failures has to be from 0 to trimmed"):
        answer_to(rcp.QUESTION, view, Selection((WORKLOAD,), METRIC), GOAL, tolerated_failures=2)
    with pytest.raises(BadParameter, match="too few to trim"):
        answer_to(rcp.QUESTION, view, Selection((WORKLOAD,), METRIC), GOAL, submission_runs=3, trimmed=4)

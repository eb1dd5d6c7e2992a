"""The trials that a forecast in the browser compares a run with are those of the question."""

from __future__ import annotations

import math

from losslake_service.web.goals import PageGoal
from losslake_service.web.own_run_trials import compared_trials
from tests.losslake.questions.views import METRIC, WORKLOAD, view_of
from tests.oracle import Row

GOAL = PageGoal(METRIC, 0.5, "minimize")
NAN = float("nan")


def test_records_are_those_of_trials_that_ran_to_their_end() -> None:
    rows = [
        Row(8, 1, "COMPLETE", 1, 0.9), Row(8, 1, "COMPLETE", 2, NAN), Row(8, 1, "COMPLETE", 3, 0.4),
        Row(8, 1, "COMPLETE", 4, 0.6),
        Row(8, 2, "INFEASIBLE", 1, 0.8), Row(8, 2, "INFEASIBLE", 9, math.inf),
        Row(8, 3, "INCOMPLETE", 1, 0.1),
        Row(8, 4, "COMPLETE", 1, NAN),
        Row(16, 1, "COMPLETE", 1, 0.2),
    ]  # fmt: skip
    stored = compared_trials(view_of(rows), WORKLOAD, 0, GOAL)
    assert stored["instead"] == ""
    trials = stored["comparable"]["trials"]
    assert [(each["steps"], each["losses"], each["lastStep"], each["isStopped"]) for each in trials] == [
        ([1, 3], [0.9, 0.4], 4, False),
        ([1], [0.8], 9, False),
    ]
    assert stored["comparable"]["sign"] == 1
    assert stored["comparable"]["bound"] == 0.5


def test_losses_of_a_maximized_metric_are_negative() -> None:
    goal = PageGoal("val/accuracy", 0.5, "maximize")
    view = view_of([Row(8, 1, "COMPLETE", 1, 0.25)], "maximize", metric="val/accuracy")
    comparable = compared_trials(view, WORKLOAD, 0, goal)["comparable"]
    assert [each["losses"] for each in comparable["trials"]] == [[-0.25]]
    assert (comparable["sign"], comparable["leastLoss"]) == (-1, -1)

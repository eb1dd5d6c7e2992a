"""The number of curves and points drawn for a study is bounded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from losslake_service.web.studies.charts import select_curves
from tests.service.web.studies.test_study_words import COMPLETE, trials_of


def test_curves_of_few_trials_keep_most_points() -> None:
    selection = select_curves(trials_of(*[(COMPLETE, 1, 0.1)] * 20))
    assert (len(selection.rows), selection.points) == (20, 200)


def test_hundreds_of_curves_are_all_drawn_with_fewer_points() -> None:
    selection = select_curves(trials_of(*[(COMPLETE, 1, 0.1)] * 900))
    assert len(selection.rows) == 900
    assert selection.points < 200
    assert selection.n_evaluations <= 100_000


def test_too_many_evaluations_draw_a_sample_of_trials() -> None:
    trials = replace(trials_of(*[(COMPLETE, 1, 0.1)] * 5000), n_records=np.full(5000, 300, np.int64))
    selection = select_curves(trials)
    assert (selection.rows[0], selection.rows[-1], len(set(selection.rows.tolist()))) == (0, 4999, 100)
    assert selection.n_evaluations <= 100_000


def test_trials_without_evaluations_are_not_drawn() -> None:
    trials = replace(trials_of(*[(COMPLETE, 1, 0.1)] * 3), last_step=np.array([-1, 5, -1], np.int64))
    assert select_curves(trials).rows.tolist() == [1]

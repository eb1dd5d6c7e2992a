"""How many curves of a study are drawn, and with how many points, so that a page is quick whatever the study."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from losslake_service.web.studies.charts import drawn_of
from tests.service.web.studies.test_study_words import COMPLETE, trials_of


def test_curves_of_few_trials_are_hardly_thinned() -> None:
    found = drawn_of(trials_of(*[(COMPLETE, 1, 0.1)] * 20))
    assert (len(found.rows), found.points) == (20, 200)


def test_curves_of_hundreds_of_trials_are_all_drawn_with_fewer_points() -> None:
    found = drawn_of(trials_of(*[(COMPLETE, 1, 0.1)] * 900))
    assert len(found.rows) == 900
    assert found.points < 200
    assert found.n_evaluations <= 100_000


def test_of_too_many_records_some_trials_stand_for_all() -> None:
    trials = replace(trials_of(*[(COMPLETE, 1, 0.1)] * 5000), n_records=np.full(5000, 300, np.int64))
    found = drawn_of(trials)
    assert (found.rows[0], found.rows[-1], len(set(found.rows.tolist()))) == (0, 4999, 100)
    assert found.n_evaluations <= 100_000


def test_trials_that_were_never_evaluated_are_not_drawn() -> None:
    trials = replace(trials_of(*[(COMPLETE, 1, 0.1)] * 3), last_step=np.array([-1, 5, -1], np.int64))
    assert drawn_of(trials).rows.tolist() == [1]

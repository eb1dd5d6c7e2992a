"""The table of trials: order, filters and pagination."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from losslake.questions.release.errors import BadParameter
from losslake_service.web.studies.metaparameters import Metaparameter, Text
from losslake_service.web.studies.trial_table import (
    MOST_METAPARAMETERS,
    ROWS_ON_A_PAGE,
    StudyParameters,
    TrialTable,
    trial_table,
)
from losslake_service.web.studies.trials import StudyTrials
from tests.service.web.studies.test_study_words import COMPLETE, INFEASIBLE, NEVER, trials_of


def table(trials: StudyTrials, metaparameters: Sequence[Metaparameter] = (), **wanted: Any) -> TrialTable:
    return trial_table(trials, metaparameters, StudyParameters(**wanted), str)


def order(*rows: tuple[int, int, float], sort: str, metaparameters: tuple[Metaparameter, ...] = ()) -> list[int]:
    """Return the numbers of trials 1, 2 … in the order of a column."""
    return [row + 1 for row in table(trials_of(*rows), metaparameters, sort=sort).rows]


ROWS = (
    (COMPLETE, 30, 0.1),
    (COMPLETE, NEVER, 0.3),
    (INFEASIBLE, 10, 0.4),
    (COMPLETE, NEVER, 0.2),
    (COMPLETE, NEVER, math.nan),
)


def test_unreached_trials_sort_last_nearest_first() -> None:
    assert order(*ROWS, sort="steps") == [3, 1, 4, 2, 5]
    assert order(*ROWS, sort="-steps") == [1, 3, 4, 2, 5]
    assert order(*ROWS, sort="amount") == order(*ROWS, sort="steps")


def test_trial_without_a_value_sorts_last() -> None:
    assert order(*ROWS, sort="best_value") == [1, 4, 2, 3, 5]
    assert order(*ROWS, sort="-best_value") == [3, 2, 4, 1, 5]


def test_numbers_sort_before_texts_and_missing_values_last() -> None:
    mixed = Metaparameter("m", [Text("auto", "text"), None, math.nan, 0.5, 0.1])
    assert order(*ROWS, sort="parameter.m", metaparameters=(mixed,)) == [5, 4, 3, 1, 2]
    assert order(*ROWS, sort="-parameter.m", metaparameters=(mixed,)) == [1, 3, 4, 5, 2]


def test_a_condition_on_a_metaparameter_keeps_the_trials_with_that_value() -> None:
    mixed = Metaparameter("m", [Text("\u2013", "text"), None, 0.5, 0.1, 0.5])
    kept = {value: table(trials_of(*ROWS), (mixed,), where=f"m={value}").rows for value in ("0.5", "\u2013", "7")}
    assert {value: sorted(rows) for value, rows in kept.items()} == {"0.5": [2, 4], "\u2013": [0], "7": []}


def test_metaparameter_may_share_the_name_of_a_column() -> None:
    steps = Metaparameter("steps", [5.0, 4.0, 3.0, 2.0, 1.0])
    assert order(*ROWS, sort="parameter.steps", metaparameters=(steps,)) == [5, 4, 3, 2, 1]


@pytest.mark.parametrize("sort", ["", "-", "parameter.", "parameter.n", "learning_rate", "--steps"])
def test_an_unknown_column_is_refused(sort: str) -> None:
    with pytest.raises(BadParameter, match="there is no such column"):
        order(*ROWS, sort=sort)


def test_pages_partition_the_trials_and_high_numbers_give_the_last() -> None:
    trials = trials_of(*[(COMPLETE, NEVER, 0.1 * number) for number in range(2 * ROWS_ON_A_PAGE + 1)])
    pages = [table(trials, page=page) for page in (1, 2, 3, 99)]
    assert [len(page.rows) for page in pages] == [ROWS_ON_A_PAGE, ROWS_ON_A_PAGE, 1, 1]
    assert sorted(row for page in pages[:3] for row in page.rows) == list(range(2 * ROWS_ON_A_PAGE + 1))
    assert (pages[3].pages.number, pages[3].pages.n_pages) == (3, 3)


def test_no_matching_trial_is_one_empty_page() -> None:
    result = table(trials_of(*ROWS), status="INCOMPLETE", page=7)
    assert (result.rows, result.pages.number, result.pages.n_pages) == ([], 1, 1)


def test_columns_show_varying_metaparameters_and_the_sort_key() -> None:
    differing = tuple(Metaparameter(f"m{number:02}", [1.0, 2.0, 3.0, 4.0, 5.0]) for number in range(12))
    same = Metaparameter("same", [1.0] * 5)
    result = table(trials_of(*ROWS), (*differing, same), sort="parameter.m11")
    names = [each.name for each in result.columns]
    assert names == [*(each.name for each in differing[:MOST_METAPARAMETERS]), "m11"]
    assert result.n_hidden == 12 - len(names)
    alone = table(trials_of(*ROWS), (same,))
    assert [each.name for each in alone.columns] == ["same"]

"""What a page says of a study in words: its answer, its search space, values of any type."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from losslake_schema.reached import Integers
from losslake_schema.tables import STATUSES
from losslake_service.web.goals import GoalShown
from losslake_service.web.studies.answers import study_answer
from losslake_service.web.studies.metaparameters import (
    Metaparameter,
    Text,
    distinguishing,
    search_space,
    shown,
    span,
    text_of,
)
from losslake_service.web.studies.trials import StudyTrials

GOAL = GoalShown("val/error", 0.05, "minimize")
COMPLETE, INCOMPLETE, INFEASIBLE = (STATUSES.index(status) for status in ("COMPLETE", "INCOMPLETE", "INFEASIBLE"))
NEVER, NAN = -1, math.nan


def integers(values: list[int]) -> Integers:
    return np.array(values, np.int64)


def trials_of(*rows: tuple[int, int, float], last_step: int = 100) -> StudyTrials:
    """Trials 1, 2 …: status, steps to the goal, best value."""
    n = len(rows)
    return StudyTrials(
        trial_id=integers(list(range(1, n + 1))),
        status=integers([row[0] for row in rows]),
        last_step=integers([last_step] * n),
        steps=integers([row[1] for row in rows]),
        previous_step=integers([row[1] - 10 if row[1] > 0 else NEVER for row in rows]),
        best_value=np.array([row[2] for row in rows]),
        best_step=integers([50] * n),
        n_records=integers([1] * n),
    )


ANSWERS: list[tuple[list[tuple[int, int, float]], list[str]]] = [
    (
        [(COMPLETE, 40, 0.01), (COMPLETE, 20, 0.02), (COMPLETE, NEVER, 0.3)],
        [
            "2 of 3 trials reached val/error < 0.05.",
            "The fastest, trial 2, did so after 20 steps (at step 10 not yet).",
            "1 never did in up to 100 steps.",
        ],
    ),
    (
        [(COMPLETE, 40, 0.01), (INCOMPLETE, 5, 0.02), (INFEASIBLE, NEVER, 0.3), (INFEASIBLE, NEVER, NAN)],
        [
            "The only trial that completed reached val/error < 0.05.",
            "It, trial 1, did so after 40 steps (at step 30 not yet).",
            "1 was stopped for an outside reason, though 1 had reached it before: it does not count.",
            "2 diverged: they do not count.",
        ],
    ),
    (
        [(COMPLETE, NEVER, 0.07), (COMPLETE, NEVER, 0.06)],
        ["None of the 2 trials ever reached val/error < 0.05.", "The nearest, trial 2, came to 0.06 at step 50."],
    ),
    (
        [(COMPLETE, NEVER, 0.07)],
        ["The only trial never reached val/error < 0.05.", "It, trial 1, came to 0.07 at step 50."],
    ),
    (
        [(COMPLETE, 0, 0.01)],
        ["The only trial reached val/error < 0.05.", "It, trial 1, did so after 0 steps (its first evaluation)."],
    ),
    (
        [(COMPLETE, 20, 0.0), (COMPLETE, 20, 0.0)],
        [
            "All 2 trials reached val/error < 0.05.",
            "The fastest, trial 1, did so after 20 steps (at step 10 not yet).",
        ],
    ),
    ([(COMPLETE, NEVER, NAN), (COMPLETE, NEVER, NAN)], ["No trial that completed has a finite value of val/error."]),
    (
        [(INFEASIBLE, NEVER, 0.5), (INFEASIBLE, 3, 0.01)],
        [
            "None of the 2 trials completed, so none counts for steps to val/error < 0.05.",
            "2 diverged, though 1 had reached it before.",
        ],
    ),
    (
        [(INCOMPLETE, NEVER, 0.5)],
        [
            "The only trial did not complete, so none counts for steps to val/error < 0.05.",
            "1 was stopped for an outside reason.",
        ],
    ),
]


@pytest.mark.parametrize(("rows", "says"), ANSWERS)
def test_the_answer_tells_who_reached_it_and_who_does_not_count(
    rows: list[tuple[int, int, float]], says: list[str]
) -> None:
    assert study_answer(GOAL, trials_of(*rows), []).text == " ".join(says)


def test_the_answer_names_what_the_fastest_trial_was_given() -> None:
    rates = Metaparameter("learning_rate", [0.1, 0.3125])
    kinds = Metaparameter("schedule", [text_of('"cosine"'), text_of('"linear"')])
    same = Metaparameter("batch_norm", [text_of("true"), text_of("true")])
    found = study_answer(GOAL, trials_of((COMPLETE, 9, 0.0), (COMPLETE, 5, 0.0)), [rates, kinds, same])
    assert found.did.endswith("with learning_rate 0.3125 and schedule linear.")


def test_of_many_metaparameters_the_first_are_named() -> None:
    many = [Metaparameter(f"m{number}", [1.0, float(number)]) for number in range(2, 9)]
    assert distinguishing(many, 1) == "m2 2, m3 3, m4 4, m5 5 and 3 more"
    assert distinguishing([Metaparameter("m", [None, 1.0])], 0) == ""


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"min_value": 0.002, "max_value": 0.2, "scale": "LOG_SCALE"}, "0.002 to 0.2, evenly in its logarithm"),
        ({"type": "INTEGER", "min_value": 1, "max_value": 9}, "a whole number from 1 to 9"),
        (
            {"min_value": 0.0, "max_value": 0.98, "scale": "REVERSE_LOG_SCALE"},
            "0 to 0.98, denser towards the upper end (reverse logarithmic)",
        ),
        ({"type": "CATEGORICAL", "feasible_points": ["adam", 2, True]}, "one of adam, 2, true"),
        ({"type": "DOUBLE"}, ""),
        ({"min_value": True, "max_value": "<b>"}, ""),
        (0.9, "0.9"),
        ("<script>", "<script>"),
        (None, "null"),
    ],
)
def test_a_search_space_is_told_in_words(config: object, says: str) -> None:
    assert search_space(json.dumps({"m": config})) == {"m": says}


@pytest.mark.parametrize("configs", [None, "", "[1]", "no JSON"])
def test_a_search_space_that_says_nothing_is_empty(configs: str | None) -> None:
    assert search_space(configs) == {}


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        ('"cosine"', "text", "cosine"),
        ("true", "true or false", "true"),
        ("[0.9, 0.99]", "list", "[0.9, 0.99]"),
        ('{"a": 1}', "object", '{"a": 1}'),
        ("null", "null", "null"),
        ("12345678901234567890", "number", "12345678901234567890"),
        ("torn {", "text", "torn {"),
    ],
)
def test_an_attribute_is_shown_with_its_type(value: str, kind: str, text: str) -> None:
    assert text_of(value) == Text(text, kind)


def test_what_some_trials_have_is_told_with_how_many_have_nothing() -> None:
    assert span([0.25, 0.1, None, NAN]) == "0.1 to 0.25, NaN (not set in 1 of 4)"
    assert span([2.0, 2.0]) == "2"
    assert span([Text("a", "text"), Text("b", "text"), 3.0]) == "3, a, b"
    assert span([Text(letter, "text") for letter in "abcdef"]) == "a, b, c, d, 2 more"
    assert span([None, None]) == "\u2013"
    assert span([NAN]) == "NaN"
    assert shown(Text("x" * 99, "text")).endswith("x\u2026")

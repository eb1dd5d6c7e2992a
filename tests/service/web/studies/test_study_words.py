"""Texts about a study: its answer, its search space, values of any type."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from losslake_schema.reached import Integers
from losslake_schema.statuses import STATUSES
from losslake_service.web.goals import PageGoal
from losslake_service.web.studies.answers import study_answer, trial_answer
from losslake_service.web.studies.metaparameters import (
    Metaparameter,
    Text,
    distinguishing,
    in_words,
    metaparameter_rows,
    search_space,
    shown,
    span,
    text_of,
)
from losslake_service.web.studies.trials import StudyTrials

GOAL = PageGoal("val/error", 0.05, "minimize")
COMPLETE, INCOMPLETE, INFEASIBLE = (STATUSES.index(status) for status in ("COMPLETE", "INCOMPLETE", "INFEASIBLE"))
NEVER, NAN = -1, math.nan


def integers(values: list[int]) -> Integers:
    return np.array(values, np.int64)


def trials_of(*rows: tuple[int, int, float], last_step: int = 100) -> StudyTrials:
    """Return trials 1, 2 … from status, steps to the goal and best value."""
    n = len(rows)
    return StudyTrials(
        trial_id=integers(list(range(1, n + 1))),
        status=integers([row[0] for row in rows]),
        last_step=integers([last_step] * n),
        steps=integers([row[1] for row in rows]),
        amounts=np.array([float(row[1]) if row[1] != NEVER else NAN for row in rows]),
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
            "The fastest, trial 2, did so after 20 steps (but not yet at step 10).",
            "1 never did in up to 100 steps.",
        ],
    ),
    (
        [(COMPLETE, 40, 0.01), (INCOMPLETE, 5, 0.02), (INFEASIBLE, NEVER, 0.3), (INFEASIBLE, NEVER, NAN)],
        [
            "The only trial that completed reached val/error < 0.05.",
            "It, trial 1, did so after 40 steps (but not yet at step 30).",
            "1 ended early, though 1 had reached it before: it does not count.",
            "2 diverged: they do not count.",
        ],
    ),
    (
        [(COMPLETE, NEVER, 0.07), (COMPLETE, NEVER, 0.06)],
        ["None of the 2 trials ever reached val/error < 0.05.", "The closest, trial 2, got to 0.06 at step 50."],
    ),
    (
        [(COMPLETE, NEVER, 0.07)],
        ["The only trial never reached val/error < 0.05.", "It, trial 1, got to 0.07 at step 50."],
    ),
    (
        [(COMPLETE, 0, 0.01)],
        ["The only trial reached val/error < 0.05.", "It, trial 1, did so after 0 steps (its first evaluation)."],
    ),
    (
        [(COMPLETE, 20, 0.0), (COMPLETE, 20, 0.0)],
        [
            "All 2 trials reached val/error < 0.05.",
            "The fastest, trial 1, did so after 20 steps (but not yet at step 10), as 1 other did.",
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
            "1 ended early.",
        ],
    ),
]


@pytest.mark.parametrize(("rows", "says"), ANSWERS)
def test_answer_counts_reached_and_excluded_trials(rows: list[tuple[int, int, float]], says: list[str]) -> None:
    assert study_answer(GOAL, trials_of(*rows), []).text == " ".join(says)


def test_trials_that_stopped_at_an_easier_goal_did_not_fail() -> None:
    trials = replace(
        trials_of((COMPLETE, 40, 0.01), (COMPLETE, NEVER, 0.06), (COMPLETE, NEVER, 0.3)),
        stopped_earlier=np.array([False, True, False]),
    )
    stopped = "1 stopped earlier, at an easier goal of its own: whether it would have isn't known."
    assert list(study_answer(GOAL, trials, []).more) == [stopped, "1 never did in up to 100 steps."]
    assert (
        trial_answer(GOAL, trials, 1) == "It stopped at an easier goal of its own, at step 50, before val/error < 0.05."
    )
    assert trial_answer(GOAL, trials, 2) == "It never reached val/error < 0.05 within 100 steps."


def test_answer_names_metaparameters_of_the_fastest_trial() -> None:
    rates = Metaparameter("learning_rate", [0.1, 0.3125])
    kinds = Metaparameter("schedule", [text_of('"cosine"'), text_of('"linear"')])
    same = Metaparameter("batch_norm", [text_of("true"), text_of("true")])
    answer = study_answer(GOAL, trials_of((COMPLETE, 9, 0.0), (COMPLETE, 5, 0.0)), [rates, kinds, same])
    assert answer.did.endswith("with learning_rate 0.3125 and schedule linear.")


def test_answer_names_only_the_first_of_many_metaparameters() -> None:
    many = [Metaparameter(f"m{number}", [1.0, float(number)]) for number in range(2, 9)]
    assert distinguishing(many, 1) == "m2 2, m3 3, m4 4, m5 5 and 3 more"
    assert distinguishing([Metaparameter("m", [None, 1.0])], 0) == ""


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"min_value": 0.002, "max_value": 0.2, "scale": "LOG_SCALE"}, "0.002 to 0.2, uniform in the logarithm"),
        ({"type": "INTEGER", "min_value": 1, "max_value": 9}, "integer from 1 to 9"),
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
def test_search_space_is_described_in_words(config: object, says: str) -> None:
    assert search_space(json.dumps({"m": config})) == {"m": says}


@pytest.mark.parametrize("configs", [None, "", "[1]", "no JSON"])
def test_invalid_search_space_has_no_description(configs: str | None) -> None:
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


def test_span_counts_trials_without_a_value() -> None:
    assert span([0.25, 0.1, None, NAN]) == "0.1 to 0.25, NaN (not set in 1 of 4)"
    assert span([2.0, 2.0]) == "2"
    assert span([Text("a", "text"), Text("b", "text"), 3.0]) == "3, a, b"
    assert span([Text(letter, "text") for letter in "abcdef"]) == "a, b, c, d, 2 more"
    assert span([None, None]) == "\u2013"
    assert span([NAN]) == "NaN"
    assert shown(Text("x" * 99, "text")).endswith("x\u2026")


def test_metaparameters_are_shown_as_tried_of_trials_that_reached_the_goal_and_of_the_best() -> None:
    rate = Metaparameter("learning_rate", [0.1, 0.2, 0.3])
    space = {"learning_rate": "0.1 to 1", "momentum": "0 to 1"}
    reached = trials_of((COMPLETE, 40, 0.01), (COMPLETE, 20, 0.02), (COMPLETE, NEVER, 0.3))
    momentum = ("momentum", "0 to 1", "", "", "")
    assert metaparameter_rows(reached, [rate], space) == [
        ("learning_rate", "0.1 to 1", "0.1 to 0.3", "0.1 to 0.2", "0.2"),
        momentum,
    ]
    never = trials_of(*[(COMPLETE, NEVER, value) for value in (0.5, 0.4, 0.3)])
    assert metaparameter_rows(never, [rate], space) == [
        ("learning_rate", "0.1 to 1", "0.1 to 0.3", "", "0.3"),
        momentum,
    ]


def test_the_best_trial_by_time_is_named_with_its_time_and_steps() -> None:
    timed = replace(
        trials_of((COMPLETE, 20, 0.01), (COMPLETE, 40, 0.01), (COMPLETE, 10, 0.01)),
        amounts=np.array([70.0, 12.3, NAN]),
        noun="seconds",
    )
    answer = study_answer(GOAL, timed, [])
    assert (answer.trial_id, answer.did) == (2, "did so after 12.3 seconds, 40 steps (but not yet at step 30).")
    assert timed.ranked == [1, 0, 2]
    assert timed.amount_in_words(2) == "10 steps in an unknown time"


@pytest.mark.parametrize(
    ("metaparameters", "space", "says"),
    [
        ([Metaparameter("learning_rate", [0.1, 0.2])], {}, "2 trials of a search over learning_rate"),
        ([Metaparameter("learning_rate", [0.1, 0.1])], {"momentum": ""}, "2 trials of a search over momentum"),
        ([Metaparameter("learning_rate", [0.1, 0.1])], {}, "2 runs with the same metaparameters"),
        ([Metaparameter("seed", [1.0, 2.0])], {}, "2 runs with the same metaparameters"),
        (
            [
                Metaparameter("lr", [0.1, 0.2]),
                Metaparameter("org", [Text("B", "text"), Text("A", "text")]),
                Metaparameter("round", [Text("0.7", "text")] * 2),
            ],
            {},
            "2 runs by A and B, round 0.7",
        ),
    ],
)
def test_only_trials_of_differing_metaparameters_are_called_a_search(
    metaparameters: list[Metaparameter], space: dict[str, str], says: str
) -> None:
    assert in_words(metaparameters, space, 2) == says


def test_a_submission_is_set_apart_by_who_ran_it_on_what() -> None:
    org = Metaparameter("org", [Text("A", "text"), Text("B", "text")])
    system = Metaparameter("system", [Text("a8", "text"), Text("b64", "text")])
    rate = Metaparameter("learning_rate", [0.1, 0.2])
    assert distinguishing([rate, org, system], 1) == "org B and system b64"

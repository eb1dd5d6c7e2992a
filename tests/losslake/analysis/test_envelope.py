"""The lower envelope answers every target and every budget as brute force over all evaluations does."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.envelope import Envelope, best_losses, breakpoints, lower_envelope, steps_to_targets
from losslake_schema.reached import NEVER

NAN, INF = math.nan, math.inf
VALUES = st.sampled_from([0.0, 0.1, 0.3, 0.30000000000000004, -1.0, 1e308, NAN, INF, -INF]) | st.floats()
TRIALS = st.lists(st.dictionaries(st.integers(0, 9), VALUES, max_size=6), max_size=5)
Trials = list[dict[int, float]]


def arrays(trials: Trials) -> tuple[np.ndarray, np.ndarray]:
    """Steps and losses, trial by trial."""
    rows = [(step, trial[step]) for trial in trials for step in sorted(trial)]
    return np.array([step for step, _ in rows], np.int64), np.array([loss for _, loss in rows], np.float64)


def envelope_of(step: np.ndarray, loss: np.ndarray) -> Envelope:
    """The envelope of evaluations whose previous steps tell them apart: their places."""
    return lower_envelope(step, loss, np.arange(len(step)))


def first_hit(trials: Trials, target: float, budget: float = INF) -> tuple[int, int] | None:
    """Step and trial of the first evaluation below the target, by (step, trial)."""
    hits = [
        (step, number)
        for number, trial in enumerate(trials)
        for step, loss in trial.items()
        if math.isfinite(loss) and loss < target and step <= budget
    ]
    return min(hits, default=None)


@given(TRIALS, st.lists(VALUES, min_size=1, max_size=4))
def test_steps_to_every_target_are_those_of_brute_force(trials: Trials, targets: list[float]) -> None:
    step, loss = arrays(trials)
    trial_of_row = np.repeat(np.arange(len(trials)), [len(trial) for trial in trials]).astype(np.int64)
    envelope = lower_envelope(step, loss, previous_step=trial_of_row)
    hits = envelope.first_hits(np.array(targets))
    found = [None if hit == NEVER else (int(envelope.step[hit]), int(envelope.previous_step[hit])) for hit in hits]
    assert found == [first_hit(trials, target) for target in targets]
    steps = envelope.steps_to(np.array(targets)).tolist()
    assert steps == [INF if place is None else place[0] for place in found]


@given(TRIALS, TRIALS)
def test_nothing_changes_between_breakpoints(one: Trials, other: Trials) -> None:
    envelopes = [envelope_of(*arrays(trials)) for trials in (one, other)]
    points = breakpoints(envelopes)
    steps = steps_to_targets(envelopes, np.append(points, INF))
    hits = np.array([envelope.first_hits(np.append(points, INF)) for envelope in envelopes])
    assert (hits[:, :-1] != hits[:, 1:]).any(axis=0).all()
    just_above = steps_to_targets(envelopes, np.nextafter(points, INF))
    assert (just_above == steps[1:]).all()
    assert np.isinf(steps[0]).all()


def test_equality_is_not_a_hit_and_ties_go_to_the_lower_trial() -> None:
    envelope = envelope_of(np.array([100, 200, 100, 200]), np.array([0.4, 0.28, 0.5, 0.28]))
    assert envelope.previous_step.tolist() == [0, 1]
    assert envelope.steps_to(np.array([0.28, 0.280001, 0.4, 0.41, NAN])).tolist() == [INF, 200, 200, 100, INF]


def test_two_trials_at_one_step_are_both_kept_where_the_second_is_better() -> None:
    envelope = envelope_of(np.array([10, 10]), np.array([0.4, 0.3]))
    assert envelope.previous_step[envelope.first_hits(np.array([0.5, 0.35]))].tolist() == [0, 1]


def test_without_evaluations_nothing_is_reached() -> None:
    nothing = envelope_of(np.empty(0, np.int64), np.empty(0))
    assert nothing.steps_to(np.array([1.0])).tolist() == [INF]
    assert best_losses([nothing]).tolist() == [INF]
    assert steps_to_targets([], np.array([1.0])).shape == (1, 0)
    assert len(breakpoints([])) == 0

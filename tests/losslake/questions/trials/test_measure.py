"""What is counted up to a target, over any rows, is what brute force finds; what the logs don't say is asked for."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from losslake.questions import compare, curves, scaling, steps_to_target, targets
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.selection import Goal, Selection
from tests.losslake.questions.test_time_cost import timed_rows
from tests.losslake.questions.views import METRIC, OTHER, WORKLOAD, answer_to, view_of
from tests.oracle import Goal as OracleGoal
from tests.oracle import Row, amount_of, steps_to_target_rows

SELECTED = Selection((WORKLOAD,), METRIC)
MEASURES = st.sampled_from(["steps", "examples", "epochs", "seconds", "accelerator_seconds"])
EPOCH = 60


def accelerators(batch_size: int, trial_id: int) -> Mapping[str, float]:
    """Every third trial doesn't say; some say it in two numbers."""
    if trial_id % 3 == 0:
        return {"learning_rate": 1.0}
    if trial_id % 3 == 1:
        return {"accelerators": float(batch_size)}
    return {"accelerators_per_node": 4.0, "number_of_nodes": float(trial_id)}


def n_accelerators(batch_size: int, trial_id: int) -> float | None:
    return None if trial_id % 3 == 0 else float(batch_size) if trial_id % 3 == 1 else 4.0 * trial_id


def expected_amounts(rows: list[Row], measure: str) -> dict[tuple[int, int], tuple[int, float | None]]:
    """By batch size and trial_id of the trials that reach 0.5: steps and amount."""
    found = {}
    for trial in steps_to_target_rows(rows, OracleGoal(0.5)):
        size, trial_id, steps = trial["batch_size"], trial["trial_id"], trial["steps"]
        if steps is not None:
            elapsed = next(r.elapsed_s for r in rows if (r.batch_size, r.trial_id, r.step) == (size, trial_id, steps))
            amount = amount_of(measure, size, steps, elapsed, EPOCH, n_accelerators(size, trial_id))
            found[size, trial_id] = (steps, amount)
    return found


def view_that_knows(rows: list[Row], folder: Path | None = None, direction: str = "minimize") -> ReleaseView:
    return view_of(rows, direction, folder, parameters=accelerators, attributes={"system": '"a \\"big\\" one"'})


def given_to(question: Any, view: ReleaseView, measure: str, **others: Any) -> Any:
    return answer_to(question, view, SELECTED, Goal(0.5), measure=measure, examples_per_epoch=EPOCH, **others)


def refusal(act: Callable[[], object]) -> BadParameter | None:
    try:
        act()
    except BadParameter as error:
        return error
    return None


def has_records_with_times(rows: list[Row]) -> bool:
    """Whether any record of the workload has a time; only then are times asked for."""
    best: dict[tuple[int, int], float] = {}
    for row in rows:
        key = (row.batch_size, row.trial_id)
        if row.value is not None and row.value < best.get(key, float("inf")):
            best[key] = row.value
            if row.elapsed_s is not None:
                return True
    return not best


@given(timed_rows(), MEASURES)
def test_the_least_amount_and_its_trial_are_those_of_brute_force(rows: list[Row], measure: str) -> None:
    view = view_that_knows(rows)
    refused = refusal(lambda: given_to(scaling.QUESTION, view, measure))
    if refused is not None:
        trials = {(row.batch_size, row.trial_id) for row in rows}
        lacks_times = not has_records_with_times(rows)
        lacks_counts = all(n_accelerators(*trial) is None for trial in trials)
        assert refused.parameter == ("accelerators" if lacks_counts and "accel" in measure else "measure")
        assert lacks_times if refused.parameter == "measure" else lacks_counts
        return
    expected = expected_amounts(rows, measure)
    for answer, sizes in (
        (given_to(scaling.QUESTION, view, measure), None),
        (
            answer_to(targets.QUESTION, view, SELECTED, None, target=[0.5], measure=measure, examples_per_epoch=EPOCH),
            None,
        ),
    ):
        for row in answer.table().to_pylist():
            own = [(amount, steps, t) for (size, t), (steps, amount) in expected.items() if size == row["batch_size"]]
            known = sorted((amount, steps, t) for amount, steps, t in own if amount is not None)
            least: tuple[Any, Any, Any] = known[0] if known else (None, None, None)
            assert (row["amount"], row["amount_steps"], row["amount_trial_id"]) == least
            assert (row["n_reached"], row["n_amounts"]) == (len(own), len(known))
            if "seconds" in measure and known:
                assert row["hardware"] == 'a \\"big\\" one'
        unknown = sum(amount is None for _, amount in expected.values())
        if answer.facts.get("warnings") is not None:
            assert any(f"is known for {unknown} of the trials" in text for text in answer.facts["left_out"]) == bool(
                unknown
            )
        assert sizes is None
    of_trials = given_to(steps_to_target.QUESTION, view, measure).table().to_pylist()
    assert {
        (r["batch_size"], r["trial_id"]): (r["steps"], r["amount"]) for r in of_trials if r["steps"] is not None
    } == (expected)


@given(timed_rows(), MEASURES)
@example(
    [Row(8, trial_id, "COMPLETE", 1, 0.3, {2: 5.0}.get(trial_id)) for trial_id in (1, 2, 3)], "accelerator_seconds"
)
@settings(max_examples=settings().max_examples // 2)
def test_curves_have_the_amount_of_every_evaluation(rows: list[Row], measure: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        view = view_that_knows(rows, Path(folder))
        sizes = sorted({row.batch_size for row in rows})
        asked = {"study": [f"{WORKLOAD}/{size}" for size in sizes], "metric": [METRIC], "measure": measure}
        parameters = curves.CurvesParameters.model_validate({**asked, "examples_per_epoch": EPOCH})
        refused = refusal(lambda: curves.QUESTION.answer(view, parameters).table())
        if refused is not None:
            assert all(n_accelerators(row.batch_size, row.trial_id) is None for row in rows)
            return
        found = curves.QUESTION.answer(view, parameters).table()
        if measure == "steps":
            assert "amount" not in found.column_names
            return
        amounts = [
            amount_of(measure, r.batch_size, r.step, r.elapsed_s, EPOCH, n_accelerators(r.batch_size, r.trial_id))
            for r in sorted(rows, key=lambda r: (r.batch_size, r.trial_id, r.step or 0))
            if r.step is not None
        ]
        assert found["amount"].to_pylist() == amounts


def timed(size: int, trial_id: int, steps: int, seconds: float) -> list[Row]:
    before = Row(size, trial_id, "COMPLETE", steps - 1, 0.9, seconds * (steps - 1) / steps)
    return [before, Row(size, trial_id, "COMPLETE", steps, 0.4, seconds)]


def test_the_fastest_trial_counts_even_if_another_needs_fewer_steps() -> None:
    rows = [*timed(8, 1, 100, 50.0), *timed(8, 2, 200, 10.0)]
    (row,) = answer_to(scaling.QUESTION, view_of(rows), SELECTED, Goal(0.5), measure="seconds").table().to_pylist()
    assert (row["steps"], row["trial_id"]) == (100, 1)
    assert (row["amount"], row["amount_steps"], row["amount_trial_id"]) == (10.0, 200, 2)


def test_times_for_the_other_direction_come_from_the_measurements() -> None:
    rows = [*timed(8, 1, 100, 50.0), *timed(8, 2, 200, 10.0)]
    with tempfile.TemporaryDirectory() as folder:
        selection = Selection((WORKLOAD,), METRIC, "maximize")
        view = view_of(rows, folder=Path(folder))
        (row,) = answer_to(scaling.QUESTION, view, selection, Goal(0.5), measure="seconds").table().to_pylist()
    assert (row["amount_trial_id"], row["amount_steps"], row["amount"]) == (2, 199, 10.0 * 199 / 200)


def test_what_the_logs_do_not_say_is_asked_for() -> None:
    plain = [Row(8, 1, "COMPLETE", 0, 0.9), Row(8, 1, "COMPLETE", 10, 0.4)]
    for measure, parameter in (
        ("seconds", "measure"),
        ("epochs", "examples_per_epoch"),
        ("accelerator_seconds", "accelerators"),
    ):
        with pytest.raises(BadParameter, match="give ") as caught:
            answer_to(scaling.QUESTION, view_of(plain), SELECTED, Goal(0.5), measure=measure)
        assert caught.value.parameter == parameter


@pytest.mark.parametrize(
    ("parameters", "step", "epoch"),
    [
        ({}, "epoch_num x 128 / 8", 128),
        ({}, "(epoch_num + 1) x 2.5e3 / 8", None),
        ({}, "epoch_num x 0.001 / 8", None),
        ({"train_samples": 99.0}, "samples_count / 8", 99),
        ({"examples_per_epoch": 64.0, "train_samples": 99.0}, "epoch_num x 128 / 8", 64),
    ],
)
def test_the_examples_of_an_epoch_are_those_that_steps_were_made_of(
    parameters: dict[str, float], step: str, epoch: int | None
) -> None:
    rows = [Row(8, 1, "COMPLETE", 10, 0.4)]
    view = view_of(rows, parameters=lambda *_: parameters, attributes={"step": f'"{step}"'})
    if epoch is None:
        with pytest.raises(BadParameter, match="don't say how many examples"):
            answer_to(scaling.QUESTION, view, SELECTED, Goal(0.5), measure="epochs")
        return
    (row,) = answer_to(scaling.QUESTION, view, SELECTED, Goal(0.5), measure="epochs").table().to_pylist()
    assert row["amount"] == 10 * (8 / epoch)


def test_epochs_of_several_sizes_are_not_mixed() -> None:
    rows = [Row(8, 1, "COMPLETE", 10, 0.4), Row(8, 2, "COMPLETE", 12, 0.4)]
    view = view_of(rows, parameters=lambda _, trial_id: {"train_samples": 100.0 * trial_id})
    with pytest.raises(BadParameter, match="have epochs of 100, 200 examples: give examples_per_epoch"):
        answer_to(scaling.QUESTION, view, SELECTED, Goal(0.5), measure="epochs")


def test_workloads_are_compared_by_what_is_counted() -> None:
    """Ours needs half the steps, and twice the time."""
    ours = [row for trial in range(1, 7) for row in timed(8, trial, 100 + trial, 100.0 + trial)]
    theirs = [row for trial in range(1, 7) for row in timed(8, trial, 200 + trial, 50.0 + trial)]
    both = Selection((OTHER, WORKLOAD), METRIC)
    for measure, ratio, difference in (("steps", 201 / 101, "more"), ("seconds", 51 / 101, "fewer")):
        answer = answer_to(compare.QUESTION, view_of(theirs, of_other=ours), both, Goal(0.5), measure=measure)
        row = answer.table().to_pylist()[1]
        assert (row["ratio"], row["difference"]) == (ratio, difference)
        assert f"{difference} {measure} to" in answer.facts["conclusions"][0]["in_words"]


def test_trials_without_times_are_left_out_of_a_comparison_and_that_is_said() -> None:
    ours = [row for trial in range(1, 7) for row in timed(8, trial, 100 + trial, 100.0 + trial)]
    untimed = [Row(8, 9, "COMPLETE", 0, 0.9), Row(8, 9, "COMPLETE", 1, 0.1)]
    both = Selection((OTHER, WORKLOAD), METRIC)
    answer = answer_to(compare.QUESTION, view_of([*ours, *untimed], of_other=ours), both, Goal(0.5), measure="seconds")
    assert [row["n_trials"] for row in answer.table().to_pylist()] == [6, 6]
    assert f"{WORKLOAD}: no time is known for 1 of the trials that reached the target" in answer.facts["left_out"]

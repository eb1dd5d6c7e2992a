"""What is counted up to a target, over any rows, is what brute force finds; what the logs don't say is asked for."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from losslake.output.answer import Answer
from losslake.questions import compare, curves, frontier, scaling, steps_to_target, targets
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.selection import Goal, Selection
from losslake.questions.trials.step_amounts import MeasureName
from tests.losslake.questions.test_time_cost import timed_rows
from tests.losslake.questions.views import METRIC, OTHER, WORKLOAD, answer_to, view_of
from tests.oracle import Goal as OracleGoal
from tests.oracle import Row, amount_of, flops_per_token, steps_to_target_rows

SELECTED = Selection((WORKLOAD,), METRIC)
MEASURES = st.sampled_from(get_args(MeasureName))
EPOCH = 60
TOKENS: tuple[dict[str, float], ...] = ({}, {"tokens_per_example": 128.0}, {"tokens_per_example": 100.5})
SIZES: tuple[dict[str, float], ...] = (
    {},
    {"n_parameters": 1000.0, "n_parameters_non_embedding": 700.0},
    {"n_parameters_non_embedding": 700.0},
    {"flops_per_token": 4321.0, "n_parameters": 1000.0},
    {"n_active_parameters": 300.0, "n_parameters": 5000.0},
)
# By batch size and trial_id: the facts of the trial's model.
ModelFacts = Callable[[int, int], Mapping[str, float]]


def facts_by_trial(batch_size: int, trial_id: int) -> Mapping[str, float]:
    return {**TOKENS[trial_id % 3], **SIZES[(batch_size + trial_id) % 5]}


def facts_by_study(batch_size: int, _: int) -> Mapping[str, float]:
    return {**TOKENS[batch_size % 3], **SIZES[batch_size % 5]}


MODELS = st.sampled_from([facts_by_trial, facts_by_study])


def accelerators(batch_size: int, trial_id: int) -> Mapping[str, float]:
    """Every third trial doesn't say; some say it in two numbers."""
    if trial_id % 3 == 0:
        return {"learning_rate": 1.0}
    if trial_id % 3 == 1:
        return {"accelerators": float(batch_size)}
    return {"accelerators_per_node": 4.0, "number_of_nodes": float(trial_id)}


def n_accelerators(batch_size: int, trial_id: int) -> float | None:
    return None if trial_id % 3 == 0 else float(batch_size) if trial_id % 3 == 1 else 4.0 * trial_id


def expected_amounts(
    rows: list[Row], measure: str, model: ModelFacts
) -> dict[tuple[int, int], tuple[int, float | None]]:
    """By batch size and trial_id of the trials that reach 0.5: steps and amount."""
    found = {}
    for trial in steps_to_target_rows(rows, OracleGoal(0.5)):
        size, trial_id, steps = trial["batch_size"], trial["trial_id"], trial["steps"]
        if steps is not None:
            elapsed = next(r.elapsed_s for r in rows if (r.batch_size, r.trial_id, r.step) == (size, trial_id, steps))
            given_accelerators, facts = n_accelerators(size, trial_id), model(size, trial_id)
            amount = amount_of(measure, size, steps, elapsed, EPOCH, given_accelerators, facts)
            found[size, trial_id] = (steps, amount)
    return found


def view_that_knows(rows: list[Row], folder: Path | None = None, model: ModelFacts = facts_by_trial) -> ReleaseView:
    return view_of(
        rows,
        "minimize",
        folder,
        parameters=lambda *trial: {**accelerators(*trial), **model(*trial)},
        attributes={"system": '"a \\"big\\" one"'},
    )


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


def missing_fact(rows: list[Row], measure: str, model: ModelFacts) -> str | None:
    """The parameter that asks for what no trial of the rows says; None if some trial says it."""
    trials = {(row.batch_size, row.trial_id) for row in rows}
    lacks: dict[str, dict[str, bool]] = {
        "accelerator_seconds": {"accelerators": all(n_accelerators(*trial) is None for trial in trials)},
        "tokens": {"tokens_per_example": all("tokens_per_example" not in model(*trial) for trial in trials)},
        "flops": {
            "tokens_per_example": all("tokens_per_example" not in model(*trial) for trial in trials),
            "n_parameters": all(flops_per_token(model(*trial)) is None for trial in trials),
        },
    }
    missing = [name for name, is_missing in lacks.get(measure, {}).items() if is_missing]
    if "seconds" in measure and not has_records_with_times(rows):
        missing.append("measure")
    return next(iter(missing), None)


@given(timed_rows(), MEASURES, MODELS)
def test_the_least_amount_and_its_trial_are_those_of_brute_force(
    rows: list[Row], measure: str, model: ModelFacts
) -> None:
    view = view_that_knows(rows, model=model)
    refused = refusal(lambda: given_to(scaling.QUESTION, view, measure))
    assert (refused and refused.parameter) == missing_fact(rows, measure, model)
    if refused is not None:
        return
    expected = expected_amounts(rows, measure, model)
    in_one_call = {"target": [0.5], "measure": measure, "examples_per_epoch": EPOCH}
    for answer in (
        of_scaling := given_to(scaling.QUESTION, view, measure),
        answer_to(targets.QUESTION, view, SELECTED, None, **in_one_call),
    ):
        for row in answer.table().to_pylist():
            own = [(amount, steps, t) for (size, t), (steps, amount) in expected.items() if size == row["batch_size"]]
            known = sorted((amount, steps, t) for amount, steps, t in own if amount is not None)
            least: tuple[Any, Any, Any] = known[0] if known else (None, None, None)
            assert (row["amount"], row["amount_steps"], row["amount_trial_id"]) == least
            assert (row["n_reached"], row["n_amounts"]) == (len(own), len(known))
            assert row["hardware"] == ('a \\"big\\" one' if "seconds" in measure and known else None)
        unknown = sum(amount is None for _, amount in expected.values())
        if answer is of_scaling:
            assert any(f"is known for {unknown} of the trials" in text for text in answer.facts["left_out"]) == bool(
                unknown
            )
    of_trials = given_to(steps_to_target.QUESTION, view, measure).table().to_pylist()
    assert {
        (r["batch_size"], r["trial_id"]): (r["steps"], r["amount"]) for r in of_trials if r["steps"] is not None
    } == (expected)


@given(timed_rows(), MEASURES, MODELS)
@example(
    [Row(8, trial_id, "COMPLETE", 1, 0.3, {2: 5.0}.get(trial_id)) for trial_id in (1, 2, 3)],
    "accelerator_seconds",
    facts_by_trial,
)
@settings(max_examples=settings().max_examples // 2)
def test_curves_have_the_amount_of_every_evaluation(rows: list[Row], measure: str, model: ModelFacts) -> None:
    with tempfile.TemporaryDirectory() as folder:
        view = view_that_knows(rows, Path(folder), model)
        sizes = sorted({row.batch_size for row in rows})
        asked = {"study": [f"{WORKLOAD}/{size}" for size in sizes], "metric": [METRIC], "measure": measure}
        parameters = curves.CurvesParameters.model_validate({**asked, "examples_per_epoch": EPOCH})
        refused = refusal(lambda: curves.QUESTION.answer(view, parameters).table())
        missing = missing_fact(rows, measure, model)
        if refused is not None or missing not in (None, "measure"):
            assert refused is not None
            assert refused.parameter == missing
            return
        found = curves.QUESTION.answer(view, parameters).table()
        if measure == "steps":
            assert "amount" not in found.column_names
            return
        amounts = [
            amount_of(
                measure,
                r.batch_size,
                r.step,
                r.elapsed_s,
                EPOCH,
                n_accelerators(r.batch_size, r.trial_id),
                model(r.batch_size, r.trial_id),
            )
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
        ("tokens", "tokens_per_example"),
        ("flops", "tokens_per_example"),
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
    assert row["amount"] == 10 * 8 / epoch


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


PLAIN = [Row(8, 1, "COMPLETE", 0, 0.9), Row(8, 1, "COMPLETE", 10, 0.4), Row(8, 2, "COMPLETE", 5, 0.4)]


def of_plain(model: ModelFacts, measure: str, unit: str = "sequences", **others: Any) -> Answer:
    view = view_of(PLAIN, parameters=model, batch_units={WORKLOAD: unit})
    return answer_to(scaling.QUESTION, view, SELECTED, Goal(0.5), measure=measure, **others)


def test_what_is_given_counts_for_all_trials() -> None:
    stated = {"tokens_per_example": 100.0, "n_parameters": 1000.0, "flops_per_token": 9.0}
    examples, amounts = 5 * 8, []
    requests: tuple[tuple[str, dict[str, Any]], ...] = (
        ("tokens", {"tokens_per_example": 7}),
        ("flops", {"tokens_per_example": 7, "flops_per_token": 11}),
        ("flops", {"n_parameters": 13}),
        ("flops", {"n_parameters": 13, "flops_per_token": 11}),
    )
    for measure, others in requests:
        (row,) = of_plain(lambda *_: stated, measure, **others).table().to_pylist()
        amounts.append(row["amount"])
    assert amounts == [examples * 7, examples * 7 * 11, examples * 100 * 6 * 13, examples * 100 * 11]


def test_batch_sizes_that_count_tokens_need_no_tokens_per_example() -> None:
    of_each: tuple[dict[str, Any], ...] = ({}, {"tokens_per_example": 7})
    for others in of_each:
        (row,) = of_plain(lambda *_: {"n_parameters": 10.0}, "flops", "tokens", **others).table().to_pylist()
        assert row["amount"] == 5 * 8 * 60


def test_the_trial_of_the_smaller_model_may_take_the_fewest_flops_in_more_steps() -> None:
    def model(_: int, trial_id: int) -> Mapping[str, float]:
        return {"tokens_per_example": 2.0, "n_parameters": 100.0 if trial_id == 2 else 10.0}

    (row,) = of_plain(model, "flops").table().to_pylist()
    assert (row["steps"], row["trial_id"]) == (5, 2)
    assert (row["amount"], row["amount_steps"], row["amount_trial_id"]) == (10 * 8 * 2 * 60, 10, 1)


@pytest.mark.parametrize(
    ("model", "others", "warnings"),
    [
        (lambda *_: {"flops_per_token": 7.0}, {}, []),
        (
            lambda *_: {"n_parameters": 9.0},
            {},
            ["FLOPs are 6 x n_parameters a token: .* counts look-ups"],
        ),
        (
            lambda *_: {"n_parameters_non_embedding": 9.0},
            {},
            ["FLOPs are 6 x n_parameters_non_embedding a token: .* the layer that predicts tokens"],
        ),
        (
            lambda _, trial_id: {"n_parameters": 9.0} if trial_id == 1 else {"n_active_parameters": 3.0},
            {},
            ["FLOPs of 1 of 2 trials are 6 x n_active_parameters", "FLOPs of 1 of 2 trials are 6 x n_parameters a"],
        ),
        (lambda *_: {"n_parameters": 9.0}, {"n_parameters": 5}, ["FLOPs are 6 x n_parameters=5 a token"]),
        (lambda *_: {"n_parameters": 9.0}, {"flops_per_token": 5}, []),
    ],
)
def test_the_rule_by_which_flops_are_counted_is_said(
    model: ModelFacts, others: dict[str, Any], warnings: list[str], tmp_path: Path
) -> None:
    view = view_of(PLAIN, "minimize", tmp_path, parameters=model)
    asked = {"measure": "flops", "tokens_per_example": 2, **others}
    answers = [
        answer_to(scaling.QUESTION, view, SELECTED, Goal(0.5), **asked),
        answer_to(steps_to_target.QUESTION, view, SELECTED, Goal(0.5), **asked),
        answer_to(targets.QUESTION, view, SELECTED, None, target=[0.5], **asked),
        answer_to(frontier.QUESTION, view, SELECTED, None, **asked),
        answer_to(compare.QUESTION, view, SELECTED, Goal(0.5), **asked),
    ]
    of_curves = {"study": [f"{WORKLOAD}/8"], **asked}
    answers.append(curves.QUESTION.answer(view, curves.CurvesParameters.model_validate(of_curves)))
    for answer in answers:
        texts = [text for text in answer.facts["warnings"] if "FLOPs" in text]
        assert len(texts) == len(warnings)
        for text, pattern in zip(texts, warnings, strict=True):
            assert re.search(pattern, text), text


def test_models_are_compared_by_flops() -> None:
    """Ours needs half the FLOPs of theirs."""
    ours = [row for trial in range(1, 7) for row in timed(8, trial, 100 + trial, 1.0)]
    theirs = [row for trial in range(1, 7) for row in timed(8, trial, 200 + trial, 1.0)]
    both = Selection((OTHER, WORKLOAD), METRIC)
    model = {"tokens_per_example": 2.0, "n_parameters": 10.0}
    view = view_of(theirs, of_other=ours, parameters=lambda _, trial_id: {**model, "learning_rate": 0.1 * trial_id})
    answer = answer_to(compare.QUESTION, view, both, Goal(0.5), measure="flops")
    row = answer.table().to_pylist()[1]
    assert (row["ratio"], row["difference"]) == (201 / 101, "more")
    assert "more FLOPs to" in answer.facts["conclusions"][0]["in_words"]

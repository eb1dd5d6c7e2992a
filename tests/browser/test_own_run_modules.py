"""The modules behind a reader's own run: its columns, its curve, and what is drawn of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page

from losslake_schema import registry
from losslake_schema.reached import COMPARATORS, hits, sign_of
from losslake_service.web.goals import PageGoal
from losslake_service.web.own_run import own_run
from tests.browser.own_run_modules import PAGE, in_modules
from tests.browser.quiet import median_times
from tests.browser.visit import Visit
from tests.losslake.questions.views import WORKLOAD, view_of
from tests.oracle import Row

pytestmark = pytest.mark.slow

METRIC = "val/classification_error"

COLUMNS: tuple[tuple[str, str, str | None, str | None], ...] = (
    # The text, the metric, and the columns of steps and of the metric; None where the reader is asked.
    ("step,train_loss\n1,2\n", "val/classification_error", "step", None),
    ("step,train_loss,val_loss\n1,2,3\n", "val/loss", "step", "val_loss"),
    ("step,train_loss,loss\n1,2,3\n", "val/loss", "step", None),
    ("step,classification_error\n1,2\n", "val/classification_error", "step", "classification_error"),
    ("step,loss,eval_loss\n1,2,3\n", "val/loss", "step", "eval_loss"),
    ("step,validation_loss\n1,2\n", "val/loss", "step", "validation_loss"),
    ("step,valid/loss,test_loss\n1,2,3\n", "val/loss", "step", "valid/loss"),
    ("step,eval_loss\n1,2\n", "train/loss", "step", None),
    ("Wall time,Step,Value\n1,2,3\n", "val/loss", "Step", "Value"),
    ("1 2\n", "val/loss", "column 1", "column 2"),
    ("1 2 3\n", "val/loss", None, None),
    ("step,best_val/loss\n1,2\n", "val/loss", "step", None),
    ("step,best/val/loss\n1,2\n", "val/loss", "step", None),
    ("step,interval/loss\n1,2\n", "val/loss", "step", None),
    ("step,metrics.val/loss,metrics.ema.val/loss\n1,2,3\n", "val/loss", "step", "metrics.val/loss"),
    ("Step,run 1 - val/loss,run 1 - val/loss__MIN\n1,2,3\n", "val/loss", "Step", "run 1 - val/loss"),
    ("Step,run 1 - val/loss,run 2 - val/loss\n1,2,3\n", "val/loss", "Step", None),
    ("_step,trainer/global_step,val/loss\n1,50,2\n", "val/loss", None, "val/loss"),
    ("step,iteration,val/loss\n1,1,2\n2,2.0,3\n", "val/loss", "step", "val/loss"),
    ("step,iteration,val/loss\n,1,2\n2,2,3\n", "val/loss", None, "val/loss"),
    ("step,iteration,val/loss\n1,,2\n2,,3\n", "val/loss", "step", "val/loss"),
    ("step,val/loss\n1_000,90%\n", "val/loss", "step", "val/loss"),
)


def test_columns_are_taken_only_where_their_names_are_clear(visit: Visit) -> None:
    page = visit.open(PAGE)
    columns = "(({ step, value }) => [step ?? null, value ?? null])(guessed(readTable(argument[0]), argument[1]))"
    for text, metric, step, value in COLUMNS:
        assert in_modules(page, columns, [text, metric]) == [step, value], text


TABLES: tuple[tuple[str, list[str], list[str]], ...] = (
    ("a,b\n1,2\n", ["a", "b"], ["1", "2"]),
    ("\ufeffa;b\r\n1;2\r\n", ["a", "b"], ["1", "2"]),
    ("# comment\na\tb\n1\t2\n\n", ["a", "b"], ["1", "2"]),
    ("1 2\n", ["column 1", "column 2"], ["1", "2"]),
    ('"a, ""b""",c\n"x\ny", 3\n', ['a, "b"', "c"], ["x\ny", "3"]),
    ("a,b\n1,\n", ["a", "b"], ["1", ""]),
    ('{"a": 1, "b": {"c": NaN}, "d": null, "e": [1]}', ["a", "b.c"], ["1", "NaN"]),
    ('[{"a": -Infinity}]', ["a"], ["-Infinity"]),
    ('{"a": 1}\n{"b": 2}\n', ["a", "b"], ["1", ""]),
    ('"a"\t"b"\t"c"\n"1"\t\t"3"\n', ["a", "b", "c"], ["1", "", "3"]),
    ('"a","b"\n"1",\n"2","4"\n', ["a", "b"], ["1", ""]),
    ("a,b\r1,2\r", ["a", "b"], ["1", "2"]),
    ('{\n"epoch": 3.0,\n"best": null,\n"log_history": [\n{"a": 1, "b": NaN}]\n}', ["a", "b"], ["1", "NaN"]),
    ('{"a": [1, 2], "b": [NaN, 4]}', ["a", "b"], ["1", "NaN"]),
    ('{"a": "is: NaN, \\"Infinity\\"", "b": 2}', ["a", "b"], ['is: NaN, "Infinity"', "2"]),
)


def test_tables_are_read_as_they_are_written(visit: Visit) -> None:
    page = visit.open(PAGE)
    for text, names, cells in TABLES:
        table = "(({ names, rows }) => [names, rows[0].cells])(readTable(argument))"
        assert in_modules(page, table, text) == [names, cells], text


def test_steps_are_those_of_python(visit: Visit) -> None:
    page = visit.open(PAGE)
    nan = float("nan")
    infinity = float("inf")
    curves = [[0.5, 0.2], [nan, 0.1, 0.3], [0.1], [nan], [0.3, 0.1, 0.1], [-infinity, infinity, 0.05, 0.3]]
    curve = "{ steps: argument[0].map((_, at) => at), values: Float64Array.from(argument[0]) }"
    for values in curves:
        for direction, comparator in product(("minimize", "maximize"), COMPARATORS):
            reached = np.flatnonzero(hits(sign_of(direction) * np.array(values), sign_of(direction) * 0.1, comparator))
            goal = PageGoal(METRIC, 0.1, direction, comparator=comparator).for_scripts
            expected = int(reached[0]) if len(reached) else None
            assert in_modules(page, f"stepsTo({curve}, argument[1])", [values, goal]) == expected


def test_nearest_trial_and_ratio_are_looked_up_for_the_steps_of_a_run(visit: Visit) -> None:
    page = visit.open(PAGE)
    stored = {
        "trials": "3 trials",
        "median": 30,
        "medianText": "30",
        "withoutRatio": "",
        "reached": "3 of 3 trials reach it, the median after 30.",
        "nearest": [[0, 2, 20, "lr", 1e-5], [25, 1, 30]],
    }
    goal = {"target": 0.1, "sign": "<", "text": "x < 0.1"}
    text = (
        "compared({ steps: Float64Array.of(argument[0]), values: Float64Array.of(argument[1]) }, ...argument.slice(2))"
    )
    for steps, times, nearest in (
        (24, "0.8 times the steps of", "trial 2 (20 steps, lr 0.00001)"),
        (30, "about as many steps as", "trial 1 (30 steps)"),
    ):
        begin = f"Your run needs {times} the median of 3 trials to x < 0.1 ({steps} rather than 30)"
        assert in_modules(page, text, [steps, 0, goal, stored]) == f"{begin}; the nearest is {nearest}."
    never = (
        "Your run doesn't reach x < 0.1 within its 24 steps: its best value is 1. 3 of 3 trials reach it, the median"
    )
    assert in_modules(page, text, [24, 1, goal, stored]).startswith(never)


@pytest.mark.parametrize("metric", ["val/accuracy", "val/bleu", "val/word_error_rate"])
def test_values_in_other_units_are_converted_or_refused(visit: Visit, metric: str) -> None:
    page = visit.open(PAGE)
    view = view_of([Row(8, 1, "COMPLETE", 1, 0.5)], "maximize", metric=metric)
    about = own_run(view, WORKLOAD, None, metric, None)
    assert about is not None
    percent, fractions = "look like percent: {}. They were divided by 100.", "look like fractions"
    infinity = float("inf")
    cases: dict[str, list[tuple[list[float], str | None]]] = {
        "val/accuracy": [
            ([90, 5.1, 1.1], percent),
            ([90, 0.9], percent),
            ([infinity, 0.9, 1], None),
            ([500, 0.9], "up to 500 are too large"),
            ([-0.5, 0.9], "down to -0.5 are too small"),
            ([infinity], None),
        ],
        "val/bleu": [([0, 0.2, 0.35], fractions), ([0, 0], None), ([0, 35], None), ([101, 35], "too large")],
        "val/word_error_rate": [([14.9, 0.9, 0.3], None), ([105, 60, 9, 0.9], percent)],
    }
    body = """(([values, limits]) => {
      try {
        const [curve, said] = inUnits({ values: Float64Array.from(values) }, limits);
        return [[...curve.values], said ?? null];
      } catch (error) {
        return [null, error.message];
      }
    })(argument)"""
    for values, expected in cases[metric]:
        read, said = in_modules(page, body, [values, about["limits"]])
        converted = {percent: [value / 100 for value in values], fractions: [value * 100 for value in values]}
        assert read == converted.get(expected or "", None if expected else values), values
        if expected is None:
            assert said is None, values
        else:
            assert expected.format(registry.metrics()[metric].range_in_words) in said, values


def drawn(page: Page, figure: str, points: Sequence[tuple[int, float]], scale: str) -> tuple[list[str], list[Any]]:
    """Return the notes that a run adds to a figure whose axes go from 1 to 100, and the marks with their values."""
    run = {"metric": METRIC, "batchSize": 8, "goal": {"sign": "<"}}
    body = """(() => {
      const [figure, points, scale, run] = argument;
      const axis = () => ({ field: 'a', scale: { type: scale, domain: [1, 100] } });
      const plot = { layer: [{ mark: 'line', encoding: { x: axis(), y: axis() } }] };
      const specification = { concat: [plot], usermeta: { notes: [] } };
      const [steps, values] = [0, 1].map((at) => Float64Array.from(points.map((point) => point[at])));
      showOwnRun({ ...run, steps, values });
      addOwnRun({ dataset: { live: `/figures/${figure}.json?metric=${run.metric}&target=2` } }, specification, 'light');
      const layers = plot.layer.slice(1).filter(({ mark }) => mark.type !== 'text');
      return [specification.usermeta.notes, layers.map(({ mark, data }) => [mark.type, data.values.map(({ y }) => y)])];
    })()"""
    notes, marks = in_modules(page, body, [figure, points, scale, run])
    return notes, marks


def test_what_is_not_seen_of_a_run_is_said(visit: Visit) -> None:
    page = visit.open(PAGE)
    nan = float("nan")
    assert drawn(page, "curves", [(5, 50.0)], "linear") == ([], [["line", [50]], ["point", [50]]])
    gaps = [(1, 9.0), (2, 8.0), (3, nan), (4, 7.0), (5, nan), (6, 6.0), (7, 5.0)]
    notes, marks = drawn(page, "curves", gaps, "log")
    assert notes == ["2 of 7 evaluations of your run aren't finite, so not drawn."]
    assert marks == [["line", [9, 8, None, 7, None, 6, 5]], ["point", [7]]]
    notes, _ = drawn(page, "curves", [(1, 9.0), (2, nan), (3, 500.0), (900, 5.0)], "linear")
    assert notes == [
        "2 of 4 evaluations of your run lie outside of this picture; the curve viewer shows all.",
        "1 of 4 evaluations of your run isn't finite, so not drawn.",
    ]
    notes, _ = drawn(page, "scaling", [(0, 1.0)], "log")
    assert notes == ["Your run isn't drawn: it is at the target at step 0, for which a logarithmic axis has no place."]
    assert drawn(page, "scaling", [(0, 1.0)], "linear")[0] == []
    assert drawn(page, "scaling", [(1, float("-inf")), (5, 1.0)], "log")[1] == [["point", [5]]]


def test_a_file_of_a_hundred_thousand_lines_is_read_within_a_second(visit: Visit) -> None:
    page = visit.open(PAGE)
    text = "step,loss,other,more\n" + "".join(f"{step},{1 / (step + 1)},{step * 2},text\n" for step in range(100_000))
    page.evaluate("(text) => { window.given = text; }", text)
    clocked = "[performance.now(), curveOf(readTable(window.given), 'step', 'loss').steps.length, performance.now()]"

    def reading() -> dict[str, float]:
        begin, n_steps, end = in_modules(page, clocked, None)
        assert n_steps == 100_000
        return {"reading": end - begin}

    times = median_times(reading)
    print(f"100,000 lines, ms: {times}")
    assert times["reading"] < 1000

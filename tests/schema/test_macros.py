"""The macros, and the views of goals, find what brute force finds, for both directions and comparators."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.index.view_texts import MACROS, sql
from losslake_schema.reached import COMPARATORS, Comparator
from losslake_schema.registry import DIRECTIONS
from losslake_schema.tables import GOALS, MEASUREMENTS, METRICS, RECORDS, STUDIES, TRIALS
from tests.oracle import Goal, Row, amount_of, steps_to_target_rows

KEYS = {"collection": "c", "dataset": "d", "model": "m", "optimizer": "o", "batch_size": 8}
NAN, INF = float("nan"), float("inf")
VALUES = st.sampled_from([0.1, 0.3, 0.30000000000000004, -0.0, 0.0, 5e-324, NAN, INF, -INF])
CURVES = st.lists(st.dictionaries(st.integers(0, 9), VALUES, min_size=1, max_size=6), min_size=1, max_size=3)


def database(
    curves: list[dict[int, float]],
    own: str | None,
    goal: tuple[float, Comparator] | None,
    flagged: Sequence[int] = (),
    facts: Sequence[Mapping[str, float]] = (),
    batch_unit: str | None = None,
) -> str:
    """Fill the tables of CONNECTION; own: the metric's direction. facts: of the trials. Return the metric."""
    measured = [{**KEYS, "metric": "v/x", "trial_id": n, "step": step, "value": curve[step]}
                for n, curve in enumerate(curves) for step in sorted(curve)]  # fmt: skip
    records = []
    sign = -1.0 if own == "maximize" else 1.0
    for n, rows in itertools.groupby(measured if own else [], key=lambda row: row["trial_id"]):
        best, previous = INF, None
        for row in rows:
            loss = sign * float(str(row["value"]))
            if abs(loss) < INF and loss < best:
                best = loss
                records.append({**row, "trial_id": n, "previous_step": previous})
            previous = row["step"]
    trials = [{**KEYS, "trial_id": n, "status": "COMPLETE", "last_step": max(c)} for n, c in enumerate(curves)]
    for trial, known in zip(trials, facts, strict=False):
        trial["parameters"] = list(known.items())
    goals = [{**KEYS, "metric": "v/x", "target": goal[0], "comparator": goal[1]}] if goal else []
    tables = {
        "base.records": (records, RECORDS), "measurements": (measured, MEASUREMENTS), "base.trials": (trials, TRIALS),
        "base.studies": ([{**KEYS, "metrics": ["v/x"], "batch_unit": batch_unit}], STUDIES),
        "base.goals": (goals, GOALS),
        "base.metrics": ([{"metric": "v/x", "direction": own}, {"metric": "v/other"}], METRICS),
    }  # fmt: skip
    flags = [{**KEYS, "trial_id": n} for n in flagged]
    tables["base.flags"] = flags, pa.schema([TRIALS.field(name) for name in (*KEYS, "trial_id")])
    for name, (given_rows, schema) in tables.items():
        CONNECTION.register("given", pa.Table.from_pylist(given_rows, schema))
        CONNECTION.execute(f"CREATE OR REPLACE TABLE {name} AS FROM given")
    return "v/x"


CONNECTION = duckdb.connect()
CONNECTION.execute("CREATE SCHEMA base")
database([{0: 0.1}], "minimize", None)
for statement in ("trial_resources", *MACROS, "steps_to_target", "steps_to_result"):
    CONNECTION.execute(sql(statement))


@given(
    curves=CURVES,
    target=st.sampled_from([0.0, 0.1, 0.3]),
    own=st.sampled_from([*DIRECTIONS, None]),
    direction=st.sampled_from([*DIRECTIONS, None]),
    goal=st.none() | st.tuples(st.sampled_from([0.1, 0.3]), st.sampled_from(COMPARATORS)),
    comparator=st.sampled_from([*COMPARATORS, None]),
)
def test_macros_and_views_find_what_brute_force_finds(
    curves: list[dict[int, float]],
    target: float,
    own: str | None,
    direction: str | None,
    goal: tuple[float, Comparator] | None,
    comparator: Comparator | None,
) -> None:
    rows = [Row(8, n, "COMPLETE", step, c[step]) for n, c in enumerate(curves) for step in sorted(c)]
    metric, used = database(curves, own, goal), direction or own
    if used is not None:
        by = comparator or (goal[1] if goal else "strict")
        query = "SELECT trial_id, steps, previous_step, comparator FROM steps_to($m, $t, $d, $c) ORDER BY trial_id"
        arguments = {"m": metric, "t": target, "d": direction, "c": comparator}
        expected = expected_rows(rows, Goal(target, used, by))
        assert CONNECTION.execute(query, arguments).fetchall() == [(*row, by) for row in expected]
        best = CONNECTION.execute("SELECT steps, n_reached FROM result_at($m, $t, $d, $c)", arguments).fetchall()
        steps = [row[1] for row in expected if row[1] is not None]
        assert best == [(min(steps, default=None), len(steps))]
    if own is not None and goal is not None:
        query = "SELECT trial_id, steps, previous_step, comparator FROM steps_to_target ORDER BY trial_id"
        of_goal = expected_rows(rows, Goal(goal[0], own, goal[1]))
        assert CONNECTION.execute(query).fetchall() == [(*row, goal[1]) for row in of_goal]


def expected_rows(rows: list[Row], goal: Goal) -> list[tuple[int, int | None, int | None]]:
    return [(row["trial_id"], row["steps"], row["previous_step"]) for row in steps_to_target_rows(rows, goal)]


FACTS = st.fixed_dictionaries(
    {},
    optional={
        "tokens_per_example": st.sampled_from([1.0, 100.5, 2048.0]),
        "flops_per_token": st.sampled_from([0.5, 9.0e11]),
        "n_active_parameters": st.just(300.0),
        "n_parameters": st.sampled_from([1000.0, 405e9]),
        "n_parameters_non_embedding": st.just(700.0),
    },
)
REQUESTED = st.fixed_dictionaries(
    {"tokens_per_example": st.sampled_from([None, 7.5]), "n_parameters": st.sampled_from([None, 13])}
    | {"flops_per_token": st.sampled_from([None, 11.0])}
)


@given(
    curves=CURVES,
    facts=st.lists(FACTS, min_size=3, max_size=3),
    measure=st.sampled_from(["tokens", "flops"]),
    requested=REQUESTED,
    batch_unit=st.sampled_from([None, "sequences", "tokens"]),
)
def test_amounts_of_tokens_and_flops_are_those_of_brute_force(
    curves: list[dict[int, float]],
    facts: list[dict[str, float]],
    measure: str,
    requested: dict[str, float | None],
    batch_unit: str | None,
) -> None:
    rows = [Row(8, n, "COMPLETE", step, c[step]) for n, c in enumerate(curves) for step in sorted(c)]
    metric = database(curves, "minimize", None, facts=facts, batch_unit=batch_unit)
    names = ", ".join(f"{name} := ${name}" for name in requested)
    expected = {}
    for trial in expected_rows(rows, Goal(0.3)):
        known = facts[trial[0]] | {name: value for name, value in requested.items() if value is not None}
        if requested["n_parameters"] is not None and requested["flops_per_token"] is None:
            known["flops_per_token"] = 6 * requested["n_parameters"]
        if batch_unit == "tokens":
            known["tokens_per_example"] = 1.0
        expected[trial[0]] = None if trial[1] is None else amount_of(measure, 8, trial[1], None, 1, None, known)
    arguments = {"m": metric, "measure": measure, **requested}
    query = f"SELECT trial_id, amount FROM amounts_to($m, 0.3, $measure, {names})"
    assert dict(CONNECTION.execute(query, arguments).fetchall()) == expected
    query = f"SELECT amount, n_reached, n_amounts FROM amount_at($m, 0.3, $measure, {names})"
    amounts = [amount for amount in expected.values() if amount is not None]
    n_reached = sum(trial[1] is not None for trial in expected_rows(rows, Goal(0.3)))
    (found,) = CONNECTION.execute(query, arguments).fetchall()
    assert found == (min(amounts, default=None), n_reached, len(amounts))


@pytest.mark.parametrize("macro", MACROS)
def test_an_unknown_comparator_is_refused(macro: str) -> None:
    with pytest.raises(duckdb.Error, match="comparator '=' is neither strict nor inclusive"):
        CONNECTION.execute(
            f"FROM {macro}('{database([{0: 0.1}], 'minimize', None)}', 0.1, comparator := '=')"
        ).fetchall()

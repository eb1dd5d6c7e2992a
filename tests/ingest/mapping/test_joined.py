"""A goal that joins metrics is reached where each metric reaches its own target, to the last bit."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from losslake.lake.lake import Lake
from losslake.questions import scaling
from losslake.questions.release.view import ReleaseView
from losslake_ingest.contracts.rules import BadMapping
from losslake_ingest.mapping.evaluations import on_common_steps
from losslake_ingest.mapping.goals import REACHED, add_margins
from losslake_ingest.mapping.mapping import JoinedGoal, JoinedTarget, parse_mapping
from losslake_ingest.run import ingest
from losslake_schema.reached import Comparator
from losslake_schema.registry import Direction
from tests.ingest.offers import unpacked
from tests.ingest.stored_rows import stored_rows

UP, DOWN, MARGIN = "val/up", "val/down", "val/margin"
DIRECTIONS: Mapping[str, Direction] = {UP: "maximize", DOWN: "minimize"}
Series = Mapping[int, float]
targets = st.floats(1e-300, sys.float_info.max, allow_subnormal=False)
values = st.floats(width=16) | st.sampled_from([0.25, 0.5, 0.75])
series = st.dictionaries(st.integers(0, 6), values, max_size=6)


def margins(up: Series, down: Series, goal: JoinedGoal) -> dict[int, float]:
    curve = on_common_steps(
        {
            name: (np.array(sorted(of)), np.array([of[step] for step in sorted(of)]), np.full(len(of), np.nan))
            for name, of in ((UP, up), (DOWN, down))
            if of
        }
    )
    joined, formulas = add_margins(curve, [goal], DIRECTIONS)
    assert formulas.keys() == joined.values.keys() - curve.values.keys()
    if MARGIN not in joined.values:
        return {}
    absent = joined.missing.get(MARGIN, np.zeros(len(joined.steps), bool))
    columns = zip(joined.steps.tolist(), joined.values[MARGIN].tolist(), absent.tolist(), strict=True)
    return {step: value for step, value, is_absent in columns if not is_absent}


def joined_goal(up: float, down: float, comparator: Comparator = "strict") -> JoinedGoal:
    return JoinedGoal(MARGIN, "a test", [JoinedTarget(UP, up), JoinedTarget(DOWN, down)], comparator)


@given(targets, st.sampled_from([-math.inf, math.inf]), st.integers(0, 3))
@example(1.0, -math.inf, 1)
@example(2.0 - 2**-52, math.inf, 1)
@example(0.377, -math.inf, 1)
def test_margin_is_on_the_side_of_1_on_which_the_value_is_of_its_target(target: float, towards: float, n: int) -> None:
    value = target
    for _ in range(n):
        value = math.nextafter(value, towards)
    if not math.isfinite(value):
        return
    goal = joined_goal(target, 1.0)
    assert np.sign(margins({0: value}, {0: -1.0}, goal)[0] - REACHED) == np.sign(value - target)
    goal = joined_goal(1.0, target)
    assert np.sign(margins({0: math.inf}, {0: value}, goal)[0] - REACHED) == np.sign(target - value)


@given(
    series, series, st.sampled_from([0.25, 0.5]), st.sampled_from([0.5, 0.75]), st.sampled_from(["strict", "inclusive"])
)
def test_goal_is_reached_where_a_plain_loop_finds_it(
    up: Series, down: Series, most: float, least: float, comparator: Comparator
) -> None:
    if not (up or down):
        return
    expected = [
        step
        for step in sorted(up.keys() & down.keys())
        if (
            up[step] >= most and down[step] <= least
            if comparator == "inclusive"
            else up[step] > most and down[step] < least
        )
    ]
    found = margins(up, down, joined_goal(most, least, comparator))
    reached = [step for step, value in found.items() if (value >= 1 if comparator == "inclusive" else value > 1)]
    assert reached == expected
    assert sorted(found) == (sorted(up.keys() & down.keys()))
    assert [step for step, value in found.items() if math.isnan(value)] == [
        step for step in sorted(found) if math.isnan(up[step]) or math.isnan(down[step])
    ]


MAPPING = """
collection.name = "c"
run = { dataset = "d", model = "m", optimizer = "o", batch_size = 8 }
[metrics]
box = { metric = "val/box", direction = "maximize" }
loss = "val/loss"
[[joined]]
metric = "val/margin"
source = "a rule"
comparator = "inclusive"
of = [{ metric = "val/box", target = 0.3 }, { metric = "val/loss", target = 0.5 }]
"""
LOG = b"step,box,loss\n1,0.3,0.9\n2,0.2,0.5\n3,0.3,0.5\n4,0.4,0.1\n"


def test_a_joined_goal_answers_as_any_other(tmp_path: Path) -> None:
    logs = unpacked(
        tmp_path / "logs", {"a/run.csv": LOG, "b/run.csv": b"step,box\n1,0.9\n", "losslake.toml": MAPPING.encode()}
    )
    lake = Lake.create(tmp_path / "lake")
    assert not ingest(lake, [logs]).quarantined
    view = ReleaseView.open(lake, lake.release())
    (goal,) = view.goals
    assert (goal.metric, goal.target, goal.source, goal.comparator) == ("val/margin", 1.0, "a rule", "inclusive")
    answer = scaling.QUESTION.answer(
        view, scaling.ScalingParameters(workload=["c/d/m/o"], metric="val/margin", target=1.0)
    )
    (row,) = answer.table().to_pylist()
    assert (row["steps"], row["n_reached"], row["previous_step"]) == (3, 1, 2)
    trials = stored_rows(lake, "trials")
    formulas = [dict(row["attributes"] or ()).get("val/margin") for row in trials]
    assert sorted(filter(None, formulas)) == ['"least of val/box / 0.3 and 0.5 / val/loss"']


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('{ metric = "val/box", target = 0.3 }, ', "", "[joined] 0.of: list should have at least 2 items"),
        ("target = 0.5", "target = 0.0", "[[joined]] the target 0.0 of val/loss: give a number above 0"),
        ("target = 0.5", "target = nan", "[joined] 0.of.1.target: input should be"),
        ('source = "a rule"', 'sauce = "a rule"', "[joined]"),
    ],
)
def test_a_bad_declaration_is_one_line(old: str, new: str, says: str) -> None:
    with pytest.raises(BadMapping) as error:
        parse_mapping(MAPPING.replace(old, new).encode(), "losslake.toml")
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (', direction = "maximize"', "", "the direction of val/box is unknown"),
        ('metric = "val/margin"', 'metric = "val/box"', "val/box is the name of another metric"),
        ('metric = "val/margin"', 'metric = "val/accuracy"', "val/accuracy is the name of another metric"),
        ('metric = "val/margin"', 'metric = "margin"', "the mapping names the metric 'margin', which has no slash"),
    ],
)
def test_a_joined_goal_that_no_run_can_have_is_refused(tmp_path: Path, old: str, new: str, says: str) -> None:
    logs = unpacked(tmp_path / "logs", {"run.csv": LOG, "losslake.toml": MAPPING.replace(old, new).encode()})
    (refused,) = ingest(Lake.create(tmp_path / "lake"), [logs]).quarantined
    assert says in refused.message

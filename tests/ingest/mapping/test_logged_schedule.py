"""Logged learning rates tell where decay starts and ends, if they rise, stay and fall once."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import losslake
from losslake.lake.lake import Lake
from losslake_ingest.mapping.logged_schedule import LoggedSchedule, schedule_of
from losslake_ingest.run import ingest

DISTANCE = 5


def oracle(steps: list[int], rates: list[float]) -> LoggedSchedule | None:
    """The same step by step, for rates that differ clearly or not at all."""
    if len(rates) < 4 or any(math.isnan(rate) or math.isinf(rate) or rate < 0 for rate in rates) or max(rates) == 0:
        return None
    peak = max(index for index, rate in enumerate(rates) if rate == max(rates))
    rising, falling = rates[: peak + 1], rates[peak:]
    if rising != sorted(rising) or falling != sorted(falling, reverse=True) or len(falling) == 1:
        return None
    top, bottom = rates.index(max(rates)), peak + falling.index(min(falling))
    is_over = bottom < len(rates) - 1 or rates[-1] == 0
    return LoggedSchedule(
        steps[top] if top else None, steps[peak], steps[bottom] if is_over else None, steps[peak + 1] - steps[peak]
    )


RATES = st.sampled_from([0.0, 0.25, 0.5, 1.0])
SHAPED = st.tuples(st.lists(RATES, max_size=4), st.lists(RATES, max_size=6)).map(
    lambda parts: [*sorted(parts[0]), *sorted(parts[1], reverse=True)]
)
ODD = st.lists(RATES | st.sampled_from([math.nan, math.inf, -0.5]), max_size=8)


@given(SHAPED | ODD, st.data())
def test_schedules_of_rates_are_those_found_step_by_step(rates: list[float], data: st.DataObject) -> None:
    gaps = data.draw(st.lists(st.integers(1, 50), min_size=len(rates), max_size=len(rates)))
    steps = np.cumsum(np.array(gaps, np.int64))
    assert schedule_of(steps, np.array(rates, np.float64)) == oracle(steps.tolist(), rates)


def wsd(step: int) -> float:
    return min(step / 10, 1.0, max(0.0, (100 - step) / 40))


def cosine_to_a_tenth(step: int) -> float:
    return 0.1 + 0.45 * (1 + math.cos(math.pi * min(step / 80, 1.0)))


@pytest.mark.parametrize(
    ("rate", "schedule"),
    [
        (wsd, (10, 60, 100)),
        (cosine_to_a_tenth, (None, 0, 80)),
        (lambda step: 1 - step / 120, (None, 0, None)),  # the log ends before the schedule
        (lambda step: math.cos(step), None),
        (lambda _: 0.1, None),
    ],
)
def test_usual_schedules_give_their_steps(
    rate: Callable[[int], float], schedule: tuple[int | None, int | None, int | None] | None
) -> None:
    steps = np.arange(0, 101, DISTANCE)
    found = schedule_of(steps, np.array([rate(step) for step in steps.tolist()]))
    assert (found and found[:3]) == schedule


def test_a_trainer_state_with_learning_rates_gives_a_known_schedule(tmp_path: Path) -> None:
    """Its curve has no metric of learning rates, and the lake still knows when they fell."""
    history = [
        {"step": step, "loss": 1 / step, "learning_rate": wsd(step), "epoch": step / 100} for step in range(5, 101, 5)
    ]
    folder = tmp_path / "logs" / "run"
    folder.mkdir(parents=True)
    state = {"global_step": 100, "max_steps": 100, "train_batch_size": 8, "log_history": history}
    (folder / "trainer_state.json").write_text(json.dumps(state))
    (tmp_path / "logs" / "losslake.toml").write_text(
        'collection = { name = "mine" }\nrun = { dataset = "d", model = "m", optimizer = "adamw", batch_size = 8 }\n'
        "[parameters]\nschedule_end = 80\n"
    )
    lake = Lake.create(tmp_path / "lake")
    summary = ingest(lake, [tmp_path / "logs"])
    row = losslake.open(lake.folder).sql("FROM trial_schedules").to_dicts()[0]
    assert (row["warmup_end"], row["decay_start"], row["schedule_end"]) == (10, 60, 80)
    assert "schedule_end is stated as 80, but logged learning rates say 100: the stated one counts" in str(summary)

"""The forecast that the browser computes is that of the question, on the same stored trials and curves."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from losslake.analysis.comparable import Comparable
from losslake.analysis.forecast import LEVELS, REQUIRED_LEVEL, Forecast, ForecastRefused, forecast
from losslake_service.web.own_run_trials import records_of
from tests.browser.own_run_modules import PAGE, in_modules
from tests.browser.visit import Visit
from tests.losslake.analysis.test_comparable import comparable_of

pytestmark = pytest.mark.slow

N = 150


def case(dice: random.Random, number: int) -> tuple[Comparable, list[int], list[float]]:
    """Return stored trials and the curve of a run, odd ones among them."""
    n, kind = dice.choice([3, 10, 12, 30, 60, 310]) if number % 10 else 320, number % 5

    def curve(length: int) -> list[float]:
        rate, floor = dice.uniform(0.02, 0.3), dice.choice([0.0, 0.05, dice.random() / 5])
        values = [floor + math.exp(-rate * at) * dice.uniform(0.9, 1.1) for at in range(length)]
        if kind == 1:
            values = [round(value, 1) for value in values]  # ties, and zeros
        if kind == 2:
            values = [value - 0.5 for value in values]  # of both signs
        if kind == 3:
            values[dice.randrange(length)] = dice.choice([math.nan, math.inf, 1e200, 0.0])
        return values

    curves = [curve(dice.choice([5, 20, 21, 30])) for _ in range(n)]
    settings = [dice.randrange(max(2, n // 2)) for _ in range(n)] if kind == 4 else None
    trials = comparable_of(curves, bound=dice.choice([0.05, 0.2, -0.4, 0.0]), settings_of=settings)
    stopped = np.array([dice.random() < 0.1 for _ in range(n)])
    sign = dice.choice([1.0, -1.0])
    trials = replace(trials, is_stopped=stopped, sign=sign, least_loss=dice.choice([0.0, -math.inf, -1.0]))
    steps = [10 * at for at in range(dice.choice([1, 3, 8, 19, 40]))]
    values = [sign * value for value in curve(max(len(steps), 2))[: len(steps)]]
    return trials, steps, values


def plain(result: Forecast) -> dict[str, Any]:
    """Return a forecast as the browser gives it."""
    band = result.bands[LEVELS.index(REQUIRED_LEVEL)]
    assert band.final is not None
    target = None
    if band.target_steps is not None and result.target is not None:
        target = [*band.target_steps, result.target.n_alike, result.target.n_alike_reached]
    return {
        "step": result.step, "best": result.best, "final": list(band.final), "median": result.median,
        "place": result.place, "reachedAt": result.reached_at, "target": target, "trials": result.n_trials,
    }  # fmt: skip


def test_forecasts_are_those_of_the_question(visit: Visit) -> None:
    dice = random.Random(5)
    cases = [case(dice, number) for number in range(N)]
    given = json.dumps(
        [
            {"stored": records_of(trials), "steps": steps, "values": [repr(value) for value in values]}
            for trials, steps, values in cases
        ]
    )
    body = """JSON.parse(argument).map(({ stored, steps, values }) => {
      const curve = { steps: Float64Array.from(steps), values: Float64Array.from(values, numberIn) };
      try {
        const { target, ...others } = forecast(stored, curve, 0.8);
        return { ...others, target: target && [...target.steps, target.alike, target.reached] };
      } catch (error) {
        return error.message;
      }
    })"""
    n_forecast = n_target = 0
    for number, ((trials, steps, values), answer) in enumerate(
        zip(cases, in_modules(visit.open(PAGE), body, given), strict=True)
    ):
        try:
            expected = plain(forecast(trials, steps, values))
        except ForecastRefused:
            assert isinstance(answer, str), number
            assert "\n" not in answer
            continue
        assert not isinstance(answer, str), (number, answer)
        n_forecast += 1
        n_target += expected["target"] is not None
        for name, value in expected.items():
            # Logarithms of the browser may differ in the last bit.
            near = value if value is None or isinstance(value, str) else pytest.approx(value, rel=1e-9, abs=1e-12)
            assert answer[name] == near, (number, name)
    assert n_forecast > N / 2
    assert n_target > N / 4

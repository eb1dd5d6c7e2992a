import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.search_range import SearchRange, search_ranges

NAN, INF = math.nan, math.inf
LINEAR = SearchRange("DOUBLE", "LINEAR_SCALE", 2.0, 4.0)
LOG = SearchRange("DOUBLE", "LOG_SCALE", 1e-4, 1e-2)
REVERSE_LOG = SearchRange("DOUBLE", "REVERSE_LOG_SCALE", 0.0, 0.99)
INTEGER = SearchRange("INTEGER", "LINEAR_SCALE", 0.0, 40.0)
DISCRETE = SearchRange("DISCRETE", "LINEAR_SCALE", 0.0, 0.1, (0.0, 0.01, 0.1))
BETWEEN = st.floats(0, 1)


@pytest.mark.parametrize(
    ("searched", "value", "expected"),
    [
        (LINEAR, 2.5, 0.25),
        (LOG, 1e-3, 0.5),
        (REVERSE_LOG, 0.9, 0.5),
        (INTEGER, 10.0, 0.25),
        (DISCRETE, 0.01, 0.5),
        (LINEAR, 5.0, 1.5),
        (LOG, 0.0, NAN),
        (REVERSE_LOG, 1.0, NAN),
        (DISCRETE, 0.02, NAN),
        (LINEAR, NAN, NAN),
        (LINEAR, INF, NAN),
    ],
)
def test_the_position_is_on_the_scale_of_the_range(searched: SearchRange, value: float, expected: float) -> None:
    assert searched.positions(np.array([value])).tolist() == pytest.approx([expected], nan_ok=True)


@given(BETWEEN)
def test_positions_turn_back_what_a_search_draws(u: float) -> None:
    drawn = {
        LINEAR: 2 + 2 * u,
        LOG: 1e-4 * 100**u,
        REVERSE_LOG: 1 - 0.01**u,
    }
    for searched, value in drawn.items():
        assert searched.positions(np.array([value]))[0] == pytest.approx(u, abs=1e-9)


@pytest.mark.parametrize(
    ("searched", "value", "expected"),
    [
        (LINEAR, 2.09, (True, False)),
        (LINEAR, 2.11, (False, False)),
        (LINEAR, 3.91, (False, True)),
        (LINEAR, 4.5, (False, True)),
        (LOG, 1.2e-4, (True, False)),
        (LOG, 1.3e-4, (False, False)),
        (REVERSE_LOG, 0.0, (True, False)),
        (REVERSE_LOG, 0.985, (False, False)),
        (REVERSE_LOG, 0.988, (False, True)),
        (INTEGER, 1.0, (True, False)),
        (INTEGER, 39.0, (False, True)),
        (DISCRETE, 0.0, (True, False)),
        (DISCRETE, 0.01, (False, False)),
        (DISCRETE, 0.1, (False, True)),
        (LINEAR, NAN, (False, False)),
    ],
)
def test_the_boundary_is_the_outer_twentieth_and_the_end_of_a_list(
    searched: SearchRange, value: float, expected: tuple[bool, bool]
) -> None:
    low, high = searched.at_boundary(np.array([value]))
    assert (bool(low[0]), bool(high[0])) == expected


def test_a_flat_optimum_is_flagged_by_chance_once_in_ten() -> None:
    assert [searched.chance for searched in (LINEAR, LOG, REVERSE_LOG)] == [0.1] * 3
    drawn = np.random.default_rng(1).uniform(2, 4, 20_000)
    low, high = LINEAR.at_boundary(drawn)
    assert (low | high).mean() == pytest.approx(0.1, abs=0.01)


def test_few_values_are_flagged_by_chance_more_often() -> None:
    assert DISCRETE.chance == pytest.approx(2 / 3)
    assert INTEGER.chance == pytest.approx(4 / 41)
    assert SearchRange("INTEGER", "LINEAR_SCALE", 1.0, 2.0).chance == 1
    assert SearchRange("INTEGER", "LINEAR_SCALE", 0.0, 1e12).chance == 0.1


def test_ranges_are_read_from_a_study() -> None:
    configs: dict[str, dict[str, Any]] = {
        "learning_rate": {"type": "DOUBLE", "min_value": 1e-4, "max_value": "0.01", "scale": "LOG_SCALE"},
        "momentum": {"min_value": 0, "max_value": 0.99, "scale": "REVERSE_LOG_SCALE", "feasible_points": []},
        "warmup": {"type": "INTEGER", "min_value": 0, "max_value": 40, "scale": ""},
        "label_smoothing": {"type": "DISCRETE", "feasible_points": [0.1, 0.0, 0.01, 0.01], "scale": ""},
    }
    expected = {"learning_rate": LOG, "momentum": REVERSE_LOG, "warmup": INTEGER, "label_smoothing": DISCRETE}
    assert search_ranges(json.dumps(configs)) == expected
    as_list = [{"name": name, **config} for name, config in configs.items()]
    assert search_ranges(json.dumps(as_list)) == expected


@pytest.mark.parametrize(
    "config",
    [
        {"type": "DOUBLE"},
        {"type": "DOUBLE", "min_value": 1, "max_value": 1},
        {"type": "DOUBLE", "min_value": 2, "max_value": 1},
        {"type": "DOUBLE", "min_value": 0, "max_value": 1, "scale": "LOG_SCALE"},
        {"type": "DOUBLE", "min_value": 0, "max_value": 1, "scale": "REVERSE_LOG_SCALE"},
        {"type": "DOUBLE", "min_value": NAN, "max_value": 1},
        {"type": "DOUBLE", "min_value": True, "max_value": 10**400},
        {"type": "DOUBLE", "min_value": "low", "max_value": 1},
        {"type": "CATEGORICAL", "feasible_points": ["a", "b"]},
        {"type": "DOUBLE", "min_value": 0, "max_value": 1, "scale": "CUBIC"},
        {"type": "DISCRETE", "feasible_points": [0.1]},
        {"type": "DISCRETE", "feasible_points": None},
        "0 to 1",
    ],
)
def test_entries_without_a_range_are_ignored(config: Any) -> None:
    assert search_ranges(json.dumps({"x": config})) == {}


@pytest.mark.parametrize("text", [None, "", "{}", "[]", "3", '["x"]'])
def test_study_without_search_ranges_has_none(text: str | None) -> None:
    assert search_ranges(text) == {}

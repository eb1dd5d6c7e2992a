import math
from collections import Counter

import numpy as np
import pytest

from studies.search import Range, sobol_points
from studies.workloads import load_workloads

RANGES = {"learning_rate": Range(1e-3, 10.0, "LOG_SCALE"), "momentum": Range(0.0, 0.99, "REVERSE_LOG_SCALE")}


def points(seed: int = 1) -> list[dict[str, float]]:
    return sobol_points(RANGES, 64, np.random.SeedSequence(seed))


def test_every_point_lies_in_its_range() -> None:
    for point in points():
        assert all(RANGES[name].min_value <= value <= RANGES[name].max_value for name, value in point.items())


def test_64_points_fill_8_by_8_cells_one_each_in_log_learning_rate_and_log_one_minus_momentum() -> None:
    cells = Counter(
        (int(8 * (math.log10(point["learning_rate"]) + 3) / 4), int(8 * -math.log10(1 - point["momentum"]) / 2))
        for point in points()
    )
    assert cells == {(row, column): 1 for row in range(8) for column in range(8)}


def test_the_ends_of_a_range_are_its_bounds() -> None:
    for values in RANGES.values():
        assert values.at(0.0) == values.min_value
        assert values.at(1.0) == pytest.approx(values.max_value, rel=1e-12)


def test_the_middle_of_a_reverse_log_range_is_where_one_minus_the_value_is_the_geometric_mean() -> None:
    assert RANGES["momentum"].at(0.5) == pytest.approx(0.9)


def test_another_seed_gives_other_points() -> None:
    assert points(1) == points(1)
    assert not {point["learning_rate"] for point in points(1)} & {point["learning_rate"] for point in points(2)}


def test_an_unknown_scale_is_refused() -> None:
    with pytest.raises(ValueError, match="LINEAR"):
        Range(0.0, 1.0, "LINEAR_SCALE").at(0.5)


def test_sgd_tunes_the_learning_rate_only_and_adam_its_beta1() -> None:
    tuned = {workload.optimizer: sorted(workload.ranges(1)) for workload in load_workloads()}
    assert tuned["sgd"] == ["learning_rate"]
    assert tuned["adam"] == ["beta1", "learning_rate"]
    assert tuned["momentum"] == tuned["nesterov_momentum"] == ["learning_rate", "momentum"]

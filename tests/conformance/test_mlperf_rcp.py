"""The reference convergence points that MLPerf published: numbers known from its checker, and every record of all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from losslake.analysis.rcp import ReferencePoint, Rules, interpolated, outlying_runs, point_at, pruned, reference_point
from losslake_ingest.formats.rcps import ReferenceRuns, reference_runs
from tests.conformance.corpora import sample
from tests.losslake.analysis.test_rcp import bisected

RESNET = Rules(5)
GPT3 = Rules(3)


def files() -> list[Path]:
    return sorted(sample("mlperf_rcp").glob("mlperf_logging/rcp_checker/*/rcps_*.json"))


def read(version: str, benchmark: str) -> list[ReferenceRuns]:
    path = sample("mlperf_rcp") / "mlperf_logging/rcp_checker" / f"training_{version}" / f"rcps_{benchmark}.json"
    return reference_runs(path.read_bytes(), path.name)


def points(version: str, benchmark: str, rules: Rules) -> dict[float, ReferencePoint]:
    return {each.batch_size: point_of(each, rules) for each in read(version, benchmark)}


def point_of(reference: ReferenceRuns, rules: Rules) -> ReferencePoint:
    return reference_point(reference.batch_size, np.array(reference.runs), rules)


@pytest.mark.parametrize(
    ("version", "benchmark", "runs", "batch_size", "expected"),
    [
        ("1.0.0", "resnet", 5, 4096, (39.875, 1.0, 38.634, 1.03212)),
        ("1.0.0", "bert", 10, 256, (2.54922e6, 2.1841e5, 2.39044e6, 1.06642)),
        ("6.1.0", "llama31_8b", 10, 16, (161109, 4387.7, 157920, 1.02020)),
    ],
)
def test_reference_point_equals_the_published_checker(
    version: str, benchmark: str, runs: int, batch_size: int, expected: tuple[float, ...]
) -> None:
    point = points(version, benchmark, Rules(runs))[batch_size]
    assert (point.mean, point.stdev, point.least_mean, point.max_speedup) == pytest.approx(expected, rel=2e-5)


def test_a_missing_batch_size_of_resnet_is_interpolated_between_pruned_points_or_all() -> None:
    full = list(points("3.1.0", "resnet", RESNET).values())
    least = pruned(full)
    assert [point.batch_size for point in least] == [1632, 3264, 32768, 49152, 67840]
    for given, expected in ((least, (50.211914, 0.530821, 49.584370)), (full, (51.636364, 0.537026, 51.001457))):
        found = point_at(given, 24576, RESNET)
        assert found is not None
        mean, stdev, n = found[0].mean, found[0].stdev, found[0].n_compared
        assert (mean, stdev) == pytest.approx(expected[:2], abs=6e-7)
        # The printed one is the checker's, which halves until 1e-4 wide.
        assert found[0].least_mean == pytest.approx(expected[2], abs=5e-5)
        (halved,) = bisected(*(np.array([value], np.float64) for value in (mean, stdev, n, 3)))
        assert halved == pytest.approx(expected[2], abs=6e-7)


@pytest.mark.parametrize(
    ("version", "benchmark", "rules", "means"),
    [
        ("6.1.0", "llama31_8b", Rules(10), {16: 161109, 32: 178859, 64: 226645, 96: 278640, 128: 344747}),
        ("5.1.0", "llama31_405b", GPT3, {1152: 313344, 2304: 368640, 4608: 493056}),
        ("6.1.0", "gpt_oss_20b", Rules(10), {16: 194560, 32: 234837, 64: 301056}),
        ("6.1.0", "llama2_70b_lora", Rules(10), {8: 3178.67, 16: 4032, 32: 6037.33, 128: 11264}),
        (
            "3.1.0", "resnet", RESNET,
            {
                1632: 35, 3264: 35.1538, 4096: 39.875, 8192: 41.875, 13056: 45.5, 32768: 56, 49152: 68, 58880: 80,
                65536: 84.5, 67840: 85.8462,
            },
        ),
        (
            "4.1.0", "gpt3", GPT3,
            {1536: 1.19538e9, 2048: 1.17776e9, 3072: 1.21803e9, 4096: 1.25829e9, 6144: 1.40929e9, 8192: 1.6232e9},
        ),
    ],
)  # fmt: skip
def test_olympic_means_are_those_published(version: str, benchmark: str, rules: Rules, means: dict[int, float]) -> None:
    found = points(version, benchmark, rules)
    assert list(found) == list(means)
    assert [found[size].mean for size in means] == pytest.approx(list(means.values()), rel=4e-6)


def test_the_stray_digit_of_gpt3_gives_a_warning_and_no_speedup() -> None:
    references = read("4.1.0", "gpt3")
    warnings = [text for each in references for text in outlying_runs(each.batch_size, np.array(each.runs))]
    assert len(warnings) == 1
    assert warnings[0].startswith(
        "at batch size 3072 runs are far from the median of 1,207,959,552: 13,790,871,552 (11.4"
    )
    found = points("4.1.0", "gpt3", GPT3)
    assert [size for size, point in found.items() if point.max_speedup is None] == [3072]
    assert all(point.max_speedup is None or point.max_speedup < 1.2 for point in found.values())


def test_closed_form_equals_the_checkers_bisection_for_all_records() -> None:
    rules, found = [], []
    for path in files():
        references = reference_runs(path.read_bytes(), path.name)
        first = references[0]
        own = Rules(40, trimmed=4) if first.benchmark == "unet3d" else Rules(max(3, len(first.runs) // 2))
        for each in references:
            rules.append(own)
            found.append(point_of(each, own))
    assert len(found) >= 536
    mean, stdev, n = (
        np.array([getattr(point, name) for point in found], np.float64) for name in ("mean", "stdev", "n_compared")
    )
    oracle = bisected(mean, stdev, n, np.array([own.submission_runs - 2 for own in rules], np.float64))
    least = np.array([point.least_mean or 0.0 for point in found])
    assert np.abs(least - oracle).max() < 6e-5


def test_outlying_runs_are_rare_among_all_records() -> None:
    texts = [
        text
        for path in files()
        for each in reference_runs(path.read_bytes(), path.name)
        for text in outlying_runs(each.batch_size, np.array(each.runs))
    ]
    assert len(texts) == 1


def test_interpolated_point_is_near_the_measured_one() -> None:
    """Between 32 and 96, 64 of llama31_8b is within a tenth: linear in the batch size is the hyperbola's law."""
    found = points("6.1.0", "llama31_8b", Rules(10))
    between = interpolated(found[32], found[96], 64, Rules(10))
    assert between.mean == pytest.approx(found[64].mean, rel=0.1)

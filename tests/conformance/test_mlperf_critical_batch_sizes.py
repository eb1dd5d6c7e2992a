"""Hyperbolas through MLPerf's reference convergence points, as METHODS 7.3 has them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from losslake.analysis.hyperbola import fit_hyperbola
from losslake.analysis.identifiability import identifiability
from losslake_schema.reached import Floats
from tests.conformance.corpora import sample


def examples_to_converge(round_of: str, benchmark: str) -> tuple[Floats, Floats]:
    """Batch sizes, and the mean of the examples (or epochs) to converge without the least and the most."""
    folder = sample("mlperf_rcp") / "mlperf_logging" / "rcp_checker" / f"training_{round_of}"
    points = json.loads((folder / f"rcps_{benchmark}.json").read_text()).values()
    means = {}
    for point in points:
        (name,) = (key for key in point if key.endswith("to converge"))
        means[point["BS"]] = float(np.mean(sorted(point[name])[1:-1]))
    sizes = np.array(sorted(means), np.float64)
    return sizes, np.array([means[size] for size in sizes], np.float64)


@pytest.mark.parametrize(
    ("round_of", "benchmark", "e_min", "critical", "rms"),
    [
        ("6.1.0", "llama31_8b", 131784, 83.7, 0.025),
        ("5.1.0", "llama31_405b", 252114, 4858, 0.006),
        ("6.1.0", "gpt_oss_20b", 160466, 72.1, 0.010),
        ("6.1.0", "llama2_70b_lora", 2874.7, 39.9, 0.094),
        ("3.1.0", "resnet", 34.64, 46909, 0.037),
        ("5.1.0", "bert", 2.334e6, 12774, 0.063),
        ("4.1.0", "gpt3", 1.051e9, 16820, 0.030),
        ("6.1.0", "deepseekv3_671b", 41198, 927, 0.003),
    ],
)
def test_fits_of_reference_convergence_points(
    round_of: str, benchmark: str, e_min: float, critical: float, rms: float
) -> None:
    sizes, examples = examples_to_converge(round_of, benchmark)
    fit = fit_hyperbola(sizes, examples / sizes, kind="least-squares")
    assert fit is not None
    assert fit.e_min == pytest.approx(e_min, rel=5e-4)
    assert fit.critical_batch_size == pytest.approx(critical, rel=1e-3)
    assert fit.rms_log_residual == pytest.approx(rms, abs=6e-4)


def test_a_flat_curve_far_above_its_bend_is_refused() -> None:
    sizes, examples = examples_to_converge("6.1.0", "deepseekv3_671b")
    found = identifiability(sizes, examples / sizes)
    assert not found.is_identifiable
    assert (found.lower, found.upper) == (None, None)

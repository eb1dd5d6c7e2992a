"""Times to target of a published AlgoPerf submission: one study of it, in seconds, read from its own tables."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest

from losslake.analysis.performance_profile import TimedCurve, time_to_target
from tests.conformance.corpora import sample

INF = math.inf
STUDY = "logs/external_tuning/amos/study_0"


def trials(workload: str, metric: str, sign: float) -> list[TimedCurve]:
    found = []
    for path in sorted((sample("algoperf") / STUDY).glob(f"{workload}_jax/trial_*/eval_measurements.csv")):
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        times = [float(row["accumulated_submission_time"]) for row in rows]
        losses = [sign * float(row[metric] or "nan") for row in rows]
        found.append(TimedCurve(np.array(times), np.array(losses)))
    return found


@pytest.mark.parametrize(
    ("workload", "metric", "sign", "target", "expected"),
    [
        ("criteo1tb", "loss", 1, 0.123735, INF),
        ("fastmri", "ssim", -1, 0.723653, 2543.3),
        ("imagenet_resnet", "accuracy", -1, 0.77431, INF),
        ("imagenet_vit", "accuracy", -1, 0.77309, 50065.7),
        ("librispeech_conformer", "wer", 1, 0.085884, 43293.0),
        ("librispeech_deepspeech", "wer", 1, 0.119936, 31733.2),
        ("ogbg", "mean_average_precision", -1, 0.28098, 11550.7),
        ("wmt", "bleu", -1, 30.8491, 39557.9),
    ],
)
def test_the_time_to_target_of_a_study(workload: str, metric: str, sign: float, target: float, expected: float) -> None:
    """Targets: METHODS 7.4. Here both rules agree: evaluations come at about even times."""
    given = trials(workload, f"validation/{metric}", sign)
    assert len(given) == (1 if workload == "criteo1tb" else 5)
    found = [time_to_target(given, sign * target, rule) for rule in ("index", "time")]
    assert found == pytest.approx([expected, expected], abs=0.06)

"""A submission is compared with the lists of reference runs that MLPerf had in its round."""

from __future__ import annotations

from typing import Any, cast

import pytest

from losslake.questions.release.view import ReleaseView
from losslake.questions.results.references import References
from losslake.questions.results.rules import SubmissionRules, rules_of

EPOCH = 1_281_167.0
RESNET = cast(SubmissionRules, rules_of("mlperf-training", "resnet"))


class Release:
    """A release with these lists of runs: folder, file, record, batch size, epochs."""

    def __init__(self, *lists: tuple[str, str, str, int, list[float]]) -> None:
        self.lists = lists

    def rows(self, name: str) -> list[tuple[Any, ...]]:
        assert name == "reference_runs"
        return [
            (folder, file, record, size, epochs * EPOCH, EPOCH)
            for folder, file, record, size, runs in self.lists
            for epochs in runs
        ]


def references(*lists: tuple[str, str, str, int, list[float]]) -> References:
    return References(cast(ReleaseView, Release(*lists)))


def runs_around(epochs: float) -> list[float]:
    return [epochs + n / 10 for n in range(-5, 5)]


def sizes(found: References, round_: str, benchmark: str = "resnet") -> list[float]:
    rules = cast(SubmissionRules, rules_of("mlperf-training", benchmark))
    return [point.batch_size for point in found.points("mlperf-training", round_, benchmark, rules)]


def test_a_list_counts_from_its_first_round_to_its_last() -> None:
    found = references(
        ("training_1.0.0", "resnet", "resnet_ref_2048", 2048, runs_around(37)),  # not in 1.1 and later
        ("training_1.0.0", "resnet", "resnet_ref_4096", 4096, runs_around(40)),
        ("training_2.0.0", "resnet", "resnet_ref_67840", 67840, runs_around(80)),
        ("hpc_1.0.0", "resnet", "resnet_ref_1", 1, runs_around(30)),
    )
    assert sizes(found, "0.7") == []
    assert sizes(found, "1.0") == [2048, 4096]
    assert sizes(found, "1.1") == [4096]
    assert sizes(found, "4.0") == [4096, 67840]
    assert sizes(found, "x") == []


def test_a_benchmark_that_was_renamed_has_its_older_lists() -> None:
    found = references(("training_4.0.0", "ssd", "ssd_ref_256", 256, runs_around(4)))
    assert sizes(found, "4.1", "ssd") == sizes(found, "5.0", "retinanet") == [256]


@pytest.mark.parametrize(
    ("size", "epochs", "passes", "ground"),
    [
        (4096, 40, True, "found"), (4096, 38, False, "found"), (8192, 44, True, "interpolated"),
        (2048, 50, True, "smallest"), (2048, 30, None, "smallest"), (65536, 80, None, "missing"),
    ],
)  # fmt: skip
def test_verdicts_decide_at_or_between_points_only(size: int, epochs: float, passes: bool | None, ground: str) -> None:
    small, large = ("training_1.0.0", "resnet", "a"), ("training_1.0.0", "resnet", "b")
    found = references((*small, 4096, runs_around(40)), (*large, 16384, runs_around(50)))
    check = found.check("mlperf-training", "1.0", "resnet", RESNET, size, [epochs * EPOCH] * 5)
    assert (check.passes, check.ground, check.by) == (passes, ground, "training_1.0.0")


def test_rounding_to_whole_batches_decides_nothing() -> None:
    """As DeepCAM in HPC v1.0: nine epochs of 473 whole batches are fewer examples than nine epochs."""
    found = references(("training_1.0.0", "resnet", "a", 4096, [40.0] * 10))
    batches = int(EPOCH // 4096) * 4096
    close = found.check("mlperf-training", "1.0", "resnet", RESNET, 4096, [40.0 * batches] * 5)
    assert close.passes is None
    assert "rounding" in close.in_words
    assert found.check("mlperf-training", "1.0", "resnet", RESNET, 4096, [39.8 * batches] * 5).passes is False


def test_too_many_runs_without_the_target_are_no_verdict() -> None:
    found = references(("training_1.0.0", "resnet", "a", 4096, runs_around(40)))
    check = found.check("mlperf-training", "1.0", "resnet", RESNET, 4096, [40 * EPOCH] * 3 + [float("inf")] * 2)
    assert (check.passes, check.ground) == (None, "not_converged")

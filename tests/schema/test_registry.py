"""The registries of metrics, collections and goals are complete and consistent."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path

import pytest

from losslake_schema.errors import LossLakeError
from losslake_schema.registry import DIRECTIONS, collections, goals, metric_named, metrics

WITHOUT_DIRECTION = {"train/grad_norm", "train/noise_scale"}
"""Metrics of which neither lower nor higher values are better."""


def test_every_registered_metric_has_direction_unit_and_description() -> None:
    assert {name for name, metric in metrics().items() if metric.direction is None} == WITHOUT_DIRECTION
    for metric in metrics().values():
        assert metric.direction in (*DIRECTIONS, None)
        assert metric.unit
        assert metric.description.endswith(".")


def test_the_published_metrics_have_their_known_direction() -> None:
    assert metric_named("val/classification_error").direction == "minimize"
    assert metric_named("test/cross_entropy_error").direction == "minimize"
    assert metric_named("val/average_precision").direction == "maximize"


def test_gradients_are_known_in_training_only() -> None:
    assert "val/grad_norm" not in metrics()
    assert metric_named("train/grad_norm").unit


def test_an_unregistered_metric_has_no_direction() -> None:
    assert metric_named("val/surprise").direction is None


@pytest.mark.parametrize(
    ("metric", "target", "is_reached", "meant"),
    [
        ("val/accuracy", 0.75, True, None),
        ("val/accuracy", 75.9, False, 0.759),
        ("val/accuracy", -0.1, False, None),
        ("val/accuracy", 101, False, None),
        ("val/classification_error", 1 + 2**-52, True, None),
        ("val/word_error_rate", 1.5, False, 0.015),
        ("val/bleu", 25, True, None),
        ("val/bleu", 101, False, None),
        ("val/ssim", -0.5, True, None),
        ("val/loss", -1e300, True, None),
        ("val/surprise", 1e300, True, None),
    ],
)
def test_a_log_reaches_only_targets_in_the_range_of_the_metric(
    metric: str, target: float, is_reached: bool, meant: float | None
) -> None:
    known = metric_named(metric)
    assert known.can_reach(target) == is_reached
    if not is_reached:
        assert known.meant_by(target) == meant


@pytest.mark.parametrize("name", ["", "loss", "/loss", "val/", "a/b/c"])
def test_a_metric_is_split_slash_quantity(name: str) -> None:
    with pytest.raises(LossLakeError, match="give split/quantity"):
        metric_named(name)


def test_every_goal_has_a_registered_collection_and_metric_and_a_source() -> None:
    names = {collection.collection for collection in collections()}
    for goal in goals():
        assert goal.workload.collection.split("/")[0] in names
        assert goal.metric in metrics()
        assert math.isfinite(goal.target)
        assert goal.source


def test_the_goals_of_figure_1_are_registered() -> None:
    published = {
        (g.workload.dataset, g.workload.model): g.target for g in goals() if g.workload.collection == "shallue2018"
    }
    assert published == {
        ("mnist", "simple_cnn_base"): 0.01,
        ("fashion_mnist", "simple_cnn_base"): 0.1,
        ("cifar_10", "resnet_8"): 0.3,
        ("imagenet", "resnet_50"): 0.25,
        ("open_images_v4", "resnet_50"): 0.31,
        ("lm1b", "transformer_base"): 3.9,
        ("common_crawl", "transformer_base"): 3.9,
        ("imagenet", "vgg_11"): 0.35,
        ("lm1b", "lstm"): 3.9,
    }


def test_the_goals_of_the_bundled_studies_are_those_that_the_studies_state() -> None:
    stated = tomllib.loads((Path(__file__).parents[2] / "studies" / "goals.toml").read_text("utf-8"))["goal"]
    keys = ("dataset", "model", "optimizer", "metric", "target", "source")
    bundled = [g for g in goals() if g.workload.collection == "bundled"]
    registered = {
        (g.workload.dataset, g.workload.model, g.workload.optimizer, g.metric, g.target, g.source) for g in bundled
    }
    assert registered == {tuple(goal[key] for key in keys) for goal in stated}

from __future__ import annotations

from collections.abc import Mapping

import pytest

from losslake_ingest.contracts.rules import Refusal
from losslake_ingest.contracts.run_log import Scalar
from losslake_ingest.mapping.mapping import MetricLine
from losslake_ingest.mapping.metrics import guess_metric, metric_of
from losslake_ingest.mapping.template import Template
from losslake_ingest.pipeline.mapping_draft import guess_patterns


def line(metric: str) -> MetricLine:
    return MetricLine(Template(metric))


def name_of(column: str, lines: Mapping[str, MetricLine], fields: Mapping[str, Scalar]) -> str | None:
    metric = metric_of(column, lines, fields)
    return metric.name if metric is not None else None


def test_a_column_takes_the_metric_of_its_line() -> None:
    assert name_of("eval_loss", {"eval_loss": line("val/loss")}, {}) == "val/loss"


def test_exact_column_name_precedes_an_earlier_pattern() -> None:
    lines = {"eval_*": line("val/*"), "eval_loss": line("")}
    assert name_of("eval_loss", lines, {}) is None
    assert name_of("eval_accuracy", lines, {}) == "val/accuracy"


def test_a_star_is_text_and_not_an_expression() -> None:
    assert name_of("a.b/loss", {"a.b/*": line("test/*")}, {}) == "test/loss"
    with pytest.raises(KeyError, match="aXb/loss"):
        name_of("aXb/loss", {"a.b/*": line("test/*")}, {})


def test_a_column_named_as_metrics_are_needs_no_line() -> None:
    assert name_of("val/f1", {}, {}) == "val/f1"
    with pytest.raises(KeyError, match="performance/f1"):
        name_of("performance/f1", {}, {})


def test_the_metric_may_depend_on_a_field() -> None:
    assert name_of("eval", {"eval": line("val/{what}")}, {"what": "accuracy"}) == "val/accuracy"


@pytest.mark.parametrize("name", ["loss", "val/", "val/a/b", "/x", "val/" + "x" * 500, "val/a\nb"])
def test_a_metric_that_is_no_split_and_quantity_is_refused(name: str) -> None:
    with pytest.raises(Refusal, match="give split/quantity"):
        name_of("a", {"a": line(name)}, {})


@pytest.mark.parametrize(
    ("column", "metric"),
    [
        ("eval_loss", "val/loss"),
        ("Loss/train", "train/loss"),
        ("valid.top1", "val/accuracy"),
        ("test_wer", "test/word_error_rate"),
        ("total_grad_norm", "train/grad_norm"),
        ("train/gns", "train/noise_scale"),
        ("loss", None),
        ("lr", None),
        ("train_val_loss", None),
    ],
)
def test_a_metric_is_guessed_only_from_a_plain_name(column: str, metric: str | None) -> None:
    assert guess_metric(column) == metric


def test_a_path_pattern_is_guessed_from_names_that_end_in_numbers() -> None:
    paths = ["runs/b64/sgd/lr1/seed3/log.csv", "runs/b128/adam/lr0.1/seed4/log.csv", "runs/log.csv"]
    assert guess_patterns(paths) == ["runs/b{batch_size:int}/*/lr{lr:float}/seed{seed:int}/log.csv"]
    assert guess_patterns(["runs/log.csv"]) == []


@pytest.mark.parametrize(
    ("names", "pattern"),
    [
        (["resnet_b64_seed1", "resnet_b128_seed1"], "resnet_b{batch_size:int}_seed1"),
        (["resnet_b64_seed1", "vgg_b128_seed2"], "*_b{batch_size:int}_seed*"),
        (["cnn-batch_size=64", "cnn-batch_size=128"], "cnn-batch_size={batch_size:int}"),
        (["bs32-adam", "bs64-sgd"], "bs{batch_size:int}-*"),
    ],
)
def test_a_batch_size_within_names_is_guessed(names: list[str], pattern: str) -> None:
    assert guess_patterns([f"{name}/log.csv" for name in names]) == [f"{pattern}/log.csv"]


@pytest.mark.parametrize(
    "names", [["resnet_b64", "resnet_x"], ["web64", "rub8"], ["b64_b32_x", "y"], ["ab_b1.5", "b_b2.5"]]
)
def test_no_batch_size_is_guessed_where_a_name_has_none(names: list[str]) -> None:
    assert not any("batch_size" in pattern for pattern in guess_patterns([f"{name}/log.csv" for name in names]))

from __future__ import annotations

import pytest

from losslake_ingest.mapping.metrics import guessed_metric, metric_of
from losslake_ingest.mapping.template import Template
from losslake_ingest.rules import Refusal
from losslake_ingest.starting import guessed_pattern


def test_a_column_takes_the_metric_of_its_line() -> None:
    assert metric_of("eval_loss", {"eval_loss": Template("val/loss")}, {}) == "val/loss"


def test_its_own_name_goes_before_a_pattern_that_stands_earlier() -> None:
    lines = {"eval_*": Template("val/*"), "eval_loss": None}
    assert metric_of("eval_loss", lines, {}) is None
    assert metric_of("eval_accuracy", lines, {}) == "val/accuracy"


def test_a_star_is_text_and_not_an_expression() -> None:
    assert metric_of("a.b/loss", {"a.b/*": Template("test/*")}, {}) == "test/loss"
    with pytest.raises(KeyError):
        metric_of("aXb/loss", {"a.b/*": Template("test/*")}, {})


def test_a_column_named_as_metrics_are_needs_no_line() -> None:
    assert metric_of("val/f1", {}, {}) == "val/f1"
    with pytest.raises(KeyError):
        metric_of("performance/f1", {}, {})


def test_the_metric_may_depend_on_a_field() -> None:
    assert metric_of("eval", {"eval": Template("val/{what}")}, {"what": "accuracy"}) == "val/accuracy"


@pytest.mark.parametrize("name", ["loss", "val/", "val/a/b", "/x", "val/" + "x" * 500, "val/a\nb"])
def test_a_metric_that_is_no_split_and_quantity_is_refused(name: str) -> None:
    with pytest.raises(Refusal, match="give split/quantity"):
        metric_of("a", {"a": Template(name)}, {})


@pytest.mark.parametrize(
    ("column", "metric"),
    [
        ("eval_loss", "val/loss"),
        ("Loss/train", "train/loss"),
        ("valid.top1", "val/accuracy"),
        ("test_wer", "test/word_error_rate"),
        ("loss", None),
        ("lr", None),
        ("train_val_loss", None),
    ],
)
def test_a_metric_is_guessed_only_from_a_plain_name(column: str, metric: str | None) -> None:
    assert guessed_metric(column) == metric


def test_a_path_pattern_is_guessed_from_names_that_end_in_numbers() -> None:
    assert (
        guessed_pattern("runs/b64/lr0.1/seed3/log.csv") == "runs/b{batch_size:int}/lr{lr:float}/seed{seed:int}/log.csv"
    )
    assert guessed_pattern("runs/log.csv") is None

from __future__ import annotations

import tomllib
from fnmatch import fnmatchcase

import pytest

from losslake.record.callbacks.names import HUGGING_FACE, KERAS, LIGHTNING, Names
from losslake_ingest.formats.format import defaults_of


@pytest.mark.parametrize(("names", "format_name"), [(HUGGING_FACE, "hf_trainer"), (LIGHTNING, "csv"), (KERAS, "csv")])
def test_names_are_those_of_the_formats_defaults(names: Names, format_name: str) -> None:
    document = tomllib.loads(defaults_of(format_name))
    for column, metric in document["metrics"].items():
        is_of_others = (
            "(" in column or "/" in column or column in ("step", "global_step", "iteration", "iter", "time", "epoch")
        )
        if is_of_others and format_name == "csv":
            continue  # Ultralytics' columns and axes, which callbacks don't get
        expected = metric.replace("{table_split}", document.get("fields", {}).get("table_split", "")) or None
        assert names.metric(column.replace("*", "")) == expected, column


@pytest.mark.parametrize(
    ("names", "name", "metric"),
    [
        (HUGGING_FACE, "eval_bleu", "val/bleu"),
        (HUGGING_FACE, "test_loss", "test/loss"),
        (HUGGING_FACE, "rewards/chosen", "rewards/chosen"),
        (HUGGING_FACE, "eval_rewards/chosen", "eval_rewards/chosen"),
        (HUGGING_FACE, "eval_model_preparation_time", None),
        (LIGHTNING, "train_loss_step", "train/loss_step"),
        (LIGHTNING, "val/loss", "val/loss"),
        (LIGHTNING, "lr-AdamW", None),
        (LIGHTNING, "perplexity", "perplexity"),
        (KERAS, "dense_loss", "train/dense_loss"),
        (KERAS, "val_dense_loss", "val/dense_loss"),
        (KERAS, "val_", "train/val_"),
    ],
)
def test_other_names(names: Names, name: str, metric: str | None) -> None:
    assert names.metric(name) == metric
    assert names.metrics({name: 1.5}) == ({} if metric is None else {metric: 1.5})


def test_every_known_name_is_that_of_one_metric() -> None:
    assert not any(fnmatchcase(name, pattern) for name in LIGHTNING.known for pattern in LIGHTNING.left_out)

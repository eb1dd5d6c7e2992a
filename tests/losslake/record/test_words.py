from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from losslake.record.run import Run
from losslake.record.words import (
    bounds_of,
    nearest_licences,
    proposed_metric,
    settled_metric,
    spdx_identifier,
    words,
)
from losslake_contributions.review.checks.licences import licences
from losslake_ingest.mapping.metrics import SPLITS
from losslake_schema.registry import metric_named, metrics
from tests.losslake.record.runs import curve, place

PROPOSED_LICENCE = (
    "licence 'CC BY 4.0' isn't an SPDX identifier (https://spdx.org/licenses): give licence='CC-BY-4.0'; for one that "
    'SPDX lacks, "LicenseRef-" and a name of your own'
)
PROPOSED_METRIC = (
    "metrics: 'acc' is 'accuracy': give split/quantity, such as \"train/accuracy\" (splits are train, val, test), or "
    '("train/accuracy", 0.01) for percent, or None to leave it out'
)


def test_bounds_are_those_of_the_registry() -> None:
    assert set(words()["splits"]) == SPLITS
    for name, metric in metrics().items():
        known = bounds_of(name)
        if not math.isfinite(metric.smallest):
            assert known is None
            continue
        assert known is not None
        stated = known["smallest"], known["largest"], known["unit"], known.get("is_largest_best", False)
        assert stated == (metric.smallest, metric.largest, metric.unit, metric.is_largest_best)


def test_settled_words_are_registered_quantities_and_guesses_of_nothing_else() -> None:
    for quantity, spellings in words()["settled"].items():
        assert metric_named(f"val/{quantity}").direction is not None
        for spelling in spellings:
            assert [known for known, same in words()["quantities"].items() if spelling in same] in ([], [quantity])


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("val_loss", "val/loss"),
        ("Validation Accuracy", "val/accuracy"),
        ("eval-acc", "val/accuracy"),
        ("valid.ppl", "val/perplexity"),
        ("train/loss", "train/loss"),
        ("val/acc", "val/acc"),  # a metric by its form: what was recorded under it before stays so
        ("val/acc/top1", None),
        ("grad_norm", "train/grad_norm"),
        ("loss", None),
        ("acc", None),
        ("val_error", None),
        ("train_time", None),
        ("validate_loss", None),
        ("", None),
        ("/", None),
    ],
)
def test_only_clear_names_are_settled(name: str, metric: str | None) -> None:
    assert settled_metric(name) == metric


def test_unclear_names_get_a_proposal() -> None:
    named = {"loss": "train/loss", "acc": "train/accuracy", "loss_val": "val/loss", "f1": "train/f1", "": "train/loss"}
    assert {name: proposed_metric(name) for name in named} == named


@pytest.mark.parametrize(
    ("text", "identifier", "nearest"),
    [
        ("CC-BY-4.0", "CC-BY-4.0", "CC-BY-4.0"),
        ("cc-by-4.0", "CC-BY-4.0", "CC-BY-4.0"),
        ("LicenseRef-of-my-lab", "LicenseRef-of-my-lab", None),
        ("CC BY 4.0", None, "CC-BY-4.0"),
        ("Creative Commons Attribution 4.0 International", None, "CC-BY-4.0"),
        ("Apache License, Version 2.0", None, "Apache-2.0"),
        ("GPLv3", None, "GPL-3.0"),
        ("mine", None, None),
        ("MIT License", None, "MIT"),
        ("x" * 10_000, None, None),
    ],
)
def test_licences_are_identifiers_of_spdx_and_the_nearest_is_proposed(
    text: str, identifier: str | None, nearest: str | None
) -> None:
    assert spdx_identifier(text) == identifier
    if nearest is not None:
        assert nearest_licences(text)[0] == nearest


def test_licences_of_open_data_are_identifiers_of_spdx() -> None:
    assert [name for name in licences() if spdx_identifier(name) != name] == []


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"licence": "CC BY 4.0"}, PROPOSED_LICENCE),
        ({"goals": [{"metric": "val/accuracy", "target": 95}]},
         "goals: the target 95 of val/accuracy, which lies between 0 and 1: give 0.95 for 95%"),
        ({"goals": [{"metric": "test/bleu", "target": 101}]},
         "goals: the target 101 of test/bleu, which lies between 0 and 100: give one of these"),
        ({"metrics": {"acc": "accuracy"}}, PROPOSED_METRIC),
        ({"metrics": {"acc": ("val/accuracy", 0)}}, "metrics: the scale 0 of 'acc' isn't a finite number other than 0"),
        ({"metrics": {"a": "val/loss", "b": "val/loss"}}, "metrics: 'a' and 'b' are both val/loss: rename one of them"),
        ({"metrics": ["loss"]}, "metrics ['loss']: give {\"acc\": \"val/accuracy\"}, names with their metrics"),
        ({"tags": "one"}, "tags 'one': give a list of at most 100 printable texts"),
        ({"name": ""}, "name '': give a printable text of at most 200 characters"),
        ({"group": "a\nb"}, "group 'a\\nb': give a printable text of at most 200 characters"),
    ],
)  # fmt: skip
def test_wrong_terms_are_refused_at_the_start(started: Callable[..., Run], changed: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the whole message is compared
        started(**changed)
    assert str(refused.value) == says


def test_names_are_settled_at_the_start_and_values_scaled_as_decimal_fractions(
    started: Callable[..., Run], caplog: pytest.LogCaptureFixture
) -> None:
    run = started(metrics={"acc": ("val/accuracy", 0.01), "loss": "train/loss", "lr": None})
    values = [93.21, 0.1, 7, math.nan, 1e-300]
    for step, value in enumerate(values):
        run.log({"acc": value, "loss": 1.5, "lr": 0.1, "val_loss": 2.0}, step=step)
    run.finish()
    known = curve(place(run))
    assert caplog.messages == []
    assert sorted(known) == ["train/loss", "val/accuracy", "val/loss"]
    assert repr(list(known["val/accuracy"].values())) == repr([0.9321, 0.001, 0.07, math.nan, 1e-302])


def test_names_that_are_not_settled_are_warned_of_once_with_the_line_to_add(
    started: Callable[..., Run], caplog: pytest.LogCaptureFixture
) -> None:
    run = started()
    for step in range(5):
        run.log({"acc": 0.5, "lr": 0.1, "epoch": 1, "val_acc": 99.0, "val/accuracy": 0.5}, step=step)
    run.finish()
    starts = [message.partition(":")[0] for message in caplog.messages]
    assert starts == [
        "acc isn't the name of a metric",
        "val_acc gives 99 at step 0, and val/accuracy lies between 0 and 1",
        "val/accuracy and val_acc would both be val/accuracy, so the former has a curve of its own",
    ]
    assert "metrics={'acc': \"train/accuracy\"} if it is that, or None to leave it out" in caplog.messages[0]
    assert "metrics={'val_acc': (\"val/accuracy\", 0.01)}" in caplog.messages[1]


def test_names_that_mean_the_same_never_share_a_curve(started: Callable[..., Run]) -> None:
    run = started()
    run.log({"val_acc": 0.1, "eval_acc": 0.2, "val/accuracy": 0.3}, step=1)
    run.finish()
    assert curve(place(run)) == {"val/accuracy": {1: 0.1}, "eval_acc": {1: 0.2}, "val/accuracy (2)": {1: 0.3}}

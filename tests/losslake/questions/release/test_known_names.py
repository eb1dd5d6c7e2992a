"""Display names and aliases: each line of the file is sound, and a name holds only where its collection uses it."""

from __future__ import annotations

import pytest

from losslake.questions.release.known_names import (
    display_name,
    heading_of,
    known_names,
    labels_of,
    name_of_part,
    other_names,
)
from losslake.questions.release.workload_facts import workload_labels
from losslake_schema.names import Workload
from tests.repository.checkout import ROOT


def test_every_line_has_a_name_of_its_own_and_a_display_name() -> None:
    lines = (ROOT / "losslake/questions/release/known_names.csv").read_text().splitlines()[1:]
    assert len(known_names()) == len(lines)
    assert all(each.display.strip() == each.display != "" for each in known_names().values())
    assert {kind for kind, _ in known_names()} == {"collection", "dataset", "model", "optimizer"}


@pytest.mark.parametrize(
    ("workload", "heading"),
    [
        ("mlperf-training/imagenet/resnet/lars", "ResNet-50 on ImageNet, LARS · MLPerf Training"),
        ("mlperf-training/open/imagenet/resnet/lars", "ResNet-50 on ImageNet, LARS · MLPerf Training, open division"),
        ("mlperf-training-2/imagenet/resnet/lars", "resnet on ImageNet, LARS · mlperf-training-2"),
        ("mine/my_data/my_net/my_rule", "my_net on my_data, my_rule · mine"),
    ],
)
def test_a_heading_has_display_names_where_they_are_known(workload: str, heading: str) -> None:
    assert heading_of(Workload.parse(workload)) == heading


def test_other_names_are_display_names_and_aliases() -> None:
    names = other_names(Workload("shallue2018", "imagenet", "resnet_50", "nobody"))
    assert {"ImageNet", "ILSVRC2012", "ResNet-50", "RN50"} <= set(names)
    assert display_name("optimizer", Workload("a", "b", "c", "nobody")) == "nobody"


def test_a_part_is_called_as_its_collection_calls_it() -> None:
    assert name_of_part("optimizer", "lars") == "LARS"
    assert (name_of_part("model", "bert"), name_of_part("model", "bert", "mlperf-training/open")) == (
        "bert",
        "BERT-large",
    )
    assert name_of_part("model", "gpt3", "mlperf-rcp") == "GPT-3 175B"
    assert name_of_part("collection", "mlperf-training/v0.5") == "MLPerf Training 0.5"


def test_series_of_figures_and_sentences_are_called_by_display_names() -> None:
    labels = workload_labels([f"mlperf-training/imagenet/resnet/{name}" for name in ("lars", "sgd", "my_rule")])
    assert labels.common == "mlperf-training/imagenet/resnet"
    assert list(labels.short.values()) == ["LARS", "SGD", "my_rule"]
    assert workload_labels(["a/b/c/sgd"]).short == {"a/b/c/sgd": ""}
    alike = [f"algoperf/imagenet/vit/{name}" for name in ("lawa_ema", "shampoo", "shampoo_submission")]
    named = ["LAWA-EMA", "Shampoo (shampoo)", "Shampoo (shampoo_submission)"]
    assert list(workload_labels(alike).short.values()) == named
    assert list(workload_labels(["a/b/c/sgd", "a/b/mlp/adam"]).short.values()) == ["c, SGD", "mlp, Adam"]


def test_labels_are_what_sets_workloads_apart() -> None:
    names = ("bundled/digits/mlp_64/sgd", "bundled/digits/mlp_64/adam", "shelf/digits/mlp_64/sgd")
    sgd, adam, elsewhere = map(Workload.parse, names)
    common, labels = labels_of([sgd, adam])
    assert common.startswith("mlp_64 on Digits")
    assert labels == ["SGD", "Adam"]
    _, labels = labels_of([sgd, adam, elsewhere])
    assert len(set(labels)) == 3
    other = Workload.parse("mlperf-training/imagenet/resnet/lars")
    assert labels_of([sgd, other]) == ("", [heading_of(sgd), heading_of(other)])
    assert labels_of([sgd]) == (heading_of(sgd), [heading_of(sgd)])

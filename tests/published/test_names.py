"""The mappings of MLPerf and AlgoPerf name organisations, optimizers, goals and the addresses of logs by one rule."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from losslake.questions.release.known_names import known_names
from losslake_ingest.formats import algoperf, mllog
from losslake_ingest.formats.format import Format
from losslake_ingest.mapping.mapping import load_mapping, parse_mapping
from losslake_ingest.mapping.place import PlacedRun, place
from losslake_ingest.pipeline.reading import with_defaults
from losslake_ingest.publication import publication
from tests.ingest.formats.reading import runs
from tests.ingest.formats.test_mllog import STOP, line
from tests.repository.checkout import ROOT

PUBLISHED = ROOT / "published"
TRAINING, HPC = PUBLISHED / "mlperf-training", PUBLISHED / "mlperf-hpc"
LOG = "{org}/results/{system}/{benchmark}/result_0.txt"


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def placed(folder: Path, format_: Format, collection: Path, files: dict[str, bytes]) -> PlacedRun:
    mapping = with_defaults(load_mapping(collection / "losslake.toml"), format_)
    (run,) = runs(format_, folder, files, parse_mapping(format_.defaults.encode(), "defaults"))
    return place(run, mapping, "logs", {})


def trained(
    folder: Path,
    number: str = "1.1",
    org: str = "NVIDIA",
    benchmark: str = "bert",
    path: str = f"training_results_v{{number}}/{LOG}",
    **stated: Any,
) -> PlacedRun:
    """Place a log of MLPerf Training that states these keys."""
    keys = {"submission_division": "closed", "global_batch_size": 448, "train_samples": 1000} | stated
    places = {"epoch_num": 1, "samples_count": 4480, "step_num": 10}
    evaluation = line("eval_accuracy", {"BBOX": 0.3} if benchmark == "maskrcnn" else 0.5, **places)
    lines = [*(line(key, value) for key, value in keys.items()), evaluation, *STOP, ""]
    place_ = path.format(number=number, org=org, system="my system", benchmark=benchmark)
    return placed(folder, mllog.FORMAT, TRAINING, {place_: "\n".join(lines).encode()})


def attribute(run: PlacedRun, name: str) -> object:
    return json.loads(run.attributes.get(name, "null"))


@pytest.mark.parametrize(
    ("benchmark", "keys", "optimizer", "source"),
    [
        ("bert", {"opt_lamb_beta_1": 0.9}, "lamb", "inferred"),
        ("bert", {"opt_lamb_beta_1": 0.9, "opt_name": "LAMB"}, "lamb", None),
        ("bert", {"opt_lamb_beta_1": 0.9, "opt_name": "Adam"}, "adam", None),
        ("bert", {"opt_lamb_beta_1": 0.9, "submission_division": "open"}, "lamb", "inferred"),
        ("bert", {"submission_division": "open"}, "unknown", None),
        ("llama2_70b_lora", {"opt_adamw_weight_decay": 0.0001}, "adamw", "inferred"),
        ("dlrm", {"sgd_opt_base_learning_rate": 24}, "sgd", "inferred"),
        ("ssd", {}, "sgd_with_momentum", "rules"),
        ("ssd", {"opt_name": "Adam"}, "adam", None),
        ("ssd", {"submission_division": "open"}, "unknown", None),
        ("maskrcnn", {}, "sgd_with_momentum", "rules"),
    ],
)
def test_an_optimizer_that_the_log_does_not_name_comes_from_its_keys_or_else_from_the_rules(
    tmp_path: Path, benchmark: str, keys: dict[str, Any], optimizer: str, source: str | None
) -> None:
    run = trained(tmp_path, benchmark=benchmark, **keys)
    assert (run.study.workload.optimizer, attribute(run, "optimizer_source")) == (optimizer, source)
    assert ("training_rules.adoc" in str(attribute(run, "optimizer_stated_in"))) == (source == "rules")


def test_stored_names_of_optimizers_have_display_names_and_rules_have_sources() -> None:
    prescribed = table(TRAINING / "prescribed_optimizers.csv")
    assert all("training_rules.adoc at " in row["optimizer_stated_in"] for row in prescribed)
    names = {row["prescribed_optimizer"] for row in prescribed} | {"adamw", "lars", "nag", "unknown"}
    names |= {row["named_optimizer"] for each in (TRAINING, HPC) for row in table(each / "optimizers.csv")}
    assert sorted(name for name in names if ("optimizer", name) not in known_names()) == []


def test_an_organisation_has_one_name_and_its_own_is_kept(tmp_path: Path) -> None:
    for row in table(TRAINING / "organisations.csv"):
        run = trained(tmp_path / row["org"], "4.0", row["org"], "resnet", submission_org="NVIDIA", opt_name="lars")
        assert (attribute(run, "org"), attribute(run, "org_as_written")) == (row["organisation"], row["org"])
        assert attribute(run, "submission_org") == "NVIDIA"
        assert {"org", "org_as_written"} <= run.labels
    run = trained(tmp_path / "one", org="Supermicro", benchmark="resnet", opt_name="lars")
    assert (attribute(run, "org"), attribute(run, "org_as_written")) == ("Supermicro", None)


@pytest.mark.parametrize("collection", [TRAINING, HPC], ids=lambda path: path.name)
def test_no_two_names_of_organisations_differ_in_capitals_only(collection: Path) -> None:
    names = {row["org"]: row["organisation"] for row in table(collection / "organisations.csv")}
    of_rounds = {names.get(row["org"], row["org"]) for row in table(collection / "accelerators.csv")}
    assert len(of_rounds) > 5
    assert len({name.casefold().replace("_", "") for name in of_rounds}) == len(of_rounds)


@pytest.mark.parametrize("collection", [TRAINING, HPC], ids=lambda path: path.name)
def test_the_repositories_of_rounds_are_those_of_the_source(collection: Path) -> None:
    trees = {row["round"]: row["tree"].split("/")[0] for row in table(collection / "repositories.csv")}
    assert trees == {each.repository.partition("_v")[2]: each.commit for each in publication(collection).logs}


@pytest.mark.parametrize(
    ("number", "path", "expected"),
    [
        (
            "0.7",
            "training_results_v0.7/NVIDIA/results/my system/resnet/result_0.txt",
            "training_results_v0.7/blob/0a8a85a209c8/NVIDIA/results/my system/resnet",
        ),
        (
            "5.1",
            "training_results_v5.1/smc/results/my system/x/retinanet/result_0.txt",
            "training_results_v5.1/blob/441d65f4445c/smc/results/my system/x/retinanet",
        ),
        (
            "0.5",
            "training_results_v0.5/nvidia/entry/results/dgx1_ngc18.11_pytorch/ncf/result_0.txt",
            "training_results_v0.5/blob/c71f2e7c4b11/v0.5.0/nvidia/entry/results/dgx1_ngc18.11_pytorch/ncf",
        ),
        (
            "0.5",
            "training_results_v0.5/v0.5.0/nvidia/entry/results/dgx1_ngc18.11_pytorch/ncf/result_0.txt",
            "training_results_v0.5/blob/c71f2e7c4b11/v0.5.0/nvidia/entry/results/dgx1_ngc18.11_pytorch/ncf",
        ),
    ],
)
def test_a_trial_links_to_its_log_in_the_repository_of_its_round(
    tmp_path: Path, number: str, path: str, expected: str
) -> None:
    run = trained(tmp_path, number, path=path, opt_name="adam")
    url = str(attribute(run, "source_url"))
    assert unquote(url) == f"https://github.com/mlcommons/{expected}/result_0.txt"
    assert " " not in url
    assert run.collection.source_url == (
        "https://github.com/mlcommons/training_results_v0.5"
        if number == "0.5"
        else "https://mlcommons.org/benchmarks/training"
    )


def test_the_targets_of_resnet_50_with_silu_are_accuracies(tmp_path: Path) -> None:
    folder = "algoperf_v05/logs/external_tuning/baseline/study_1/imagenet_resnet_silu_jax/trial_1"
    wrong = {"target_metric_name": "accuracy", "validation_target_value": 0.22009, "test_target_value": 0.3426}
    files = {
        "eval_measurements.csv": b"global_step,validation/accuracy,test/accuracy,score\n1,0.5,0.4,9\n",
        "meta_data_0.json": json.dumps({f"workload.{name}": value for name, value in wrong.items()}).encode(),
    }
    run = placed(
        tmp_path,
        algoperf.FORMAT,
        PUBLISHED / "algoperf",
        {f"{folder}/{name}": data for name, data in files.items()},
    )
    targets = [(goal.metric, goal.target, goal.comparator) for goal in run.goals]
    assert targets == [("val/accuracy", 0.75445, "inclusive"), ("test/accuracy", 0.6323, "inclusive")]

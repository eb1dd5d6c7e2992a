"""Collections of which LossLake has addresses only: fetched from files made up in the layout that is documented.

The publishers can't be reached by a test. PD1: README.txt of its archive; Step Law: the columns of its CSV at the
commit; NCPL: src/generate_dataset.py of its repository.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from losslake.lake.lake import Lake
from losslake_ingest import publication
from tests.cli.conftest import Run
from tests.cli.web import Web, running
from tests.ingest.offers import tar_bytes
from tests.ingest.stored_rows import stored_rows

NAN = math.nan
STEPLAW = """h,ffnh,numh,numl,lr,bs,ti,loss,smooth loss,exp_name,D,N,D/N
960,9368,15,7,0.0003453,736,66342,2.413517,2.3976109618296744,step_a_lr3.453e-04_bs736,100000000000,214663680,465.8
960,9368,15,7,0.005524,736,66342,11.09227,11.0927,step_a_lr5.524e-03_bs736,100000000000,214663680,465.8
"""


def pd1_trial(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "dataset": "mnist",
        "model": "simple_cnn",
        "hparams": '{"a": 1}',
        "trial_dir": f"study/{number}",
        "status": "done",
        "hps.batch_size": 256,
        "hps.activation_fn": "relu",
        "hps.lr_hparams.schedule": "polynomial",
        "hps.lr_hparams.initial_value": 0.1 * number,
        "hps.lr_hparams.power": 0.9,
        "hps.opt_hparams.momentum": 0.95,
        "hps.optimizer": "nesterov",
        "hps.kernel_sizes": [[3, 3], [3, 3]],
        "hps.input_shape": [28, 28, 1],
        "epoch": [0, 1, 2],
        "eval_time": [3.0, 2.5, 2.5],
        "global_step": [10, 20, 30],
        "learning_rate": [0.1, 0.05, 0.0],
        "train/ce_loss": [2.5, 1.0, 0.5],
        "train/error_rate": [0.9, 0.5, 0.1],
        "train_cost": [2.5, 1.0, 0.5],
        "valid/ce_loss": [2.6, 1.2, 0.7],
        "valid/error_rate": [0.9, 0.6, 0.2],
        "valid/denominator": [10000.0, 10000.0, 10000.0],
        "best_train_cost": 0.5,
        "best_train_cost_step": 30,
    } | changes


def pd1_archive() -> bytes:
    diverged = {"status": "diverged", "global_step": [10], "train/ce_loss": [NAN], "valid/ce_loss": [NAN]}
    short = {name: None for name, value in pd1_trial(1).items() if isinstance(value, list)}
    files = {
        "pd1/README.txt": b"PD1",
        "pd1/mnist_simple_cnn.json": json.dumps({"batch_size": 256, "steps": [1, 2, 3]}).encode(),
        "pd1/pd1_matched_phase0_results.jsonl.gz": lines(
            pd1_trial(1),
            pd1_trial(2, **{"hps.activation_fn": "tanh"}),
            pd1_trial(3, **{**short, **diverged}),
            pd1_trial(4, **{**short, "status": "diverged"}),
        ),
        "pd1/pd1_unmatched_phase1_results.jsonl.gz": lines(pd1_trial(5, **{"hps.activation_fn": None})),
    }
    return gzip.compress(tar_bytes(files), mtime=0)


def lines(*documents: Any) -> bytes:
    return gzip.compress(b"".join(json.dumps(each).encode() + b"\n" for each in documents), mtime=0)


@pytest.fixture
def web() -> Iterator[Web]:
    with running() as web:
        yield web


def trials(lake: Path) -> dict[str, dict[str, Any]]:
    """The trials of the newest release by the end of their source."""
    return {row["source"].partition("#")[2]: row for row in stored_rows(Lake.open(lake), "trials")}


def curve(lake: Path, metric: str) -> dict[str, list[tuple[int, float]]]:
    """The steps and values of a metric by study."""
    series: dict[str, list[tuple[int, float]]] = {}
    for row in stored_rows(Lake.open(lake), "measurements"):
        if row["metric"] == metric:
            series.setdefault(f"{row['model']}/{row['batch_size']}/{row['trial_id']}", []).append(
                (row["step"], row["value"])
            )
    return series


def test_pd1_keeps_diverged_trials_and_tells_networks_apart(losslake: Run, web: Web, tmp_path: Path) -> None:
    archive = pd1_archive()
    web.served["/pd1.tar.gz"] = archive
    lake = tmp_path / "lake"
    done = losslake("fetch", "pd1", "--mirror", f"{web.url}/pd1.tar.gz", "--quiet", "--lake", lake)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert said[0].startswith("licence      CC-BY-4.0, of Google Research. Cite the paper.")
    assert f"sha256       {hashlib.sha256(archive).hexdigest()}: with --sha256" in said[-1]
    stored = trials(lake)
    assert {name: (row["model"], row["status"]) for name, row in stored.items()} == {
        "study/1": ("simple_cnn_relu", "COMPLETE"),
        "study/2": ("simple_cnn_tanh", "COMPLETE"),
        "study/3": ("simple_cnn_relu", "INFEASIBLE"),
        "study/5": ("simple_cnn", "COMPLETE"),
    }
    assert "no_measurements: pd1/pd1_matched_phase0_results.jsonl.gz#study/4" in done.stdout
    parameters, attributes = dict(stored["study/2"]["parameters"]), dict(stored["study/5"]["attributes"])
    assert (parameters["learning_rate"], parameters["momentum"]) == (0.2, 0.95)
    assert (attributes["points"], attributes["phase"]) == ('"unmatched"', '"phase1"')
    losses = curve(lake, "val/cross_entropy_error")
    assert losses["simple_cnn/256/1"] == [(10, 2.6), (20, 1.2), (30, 0.7)]
    assert [step for step, value in losses["simple_cnn_relu/256/2"] if math.isnan(value)] == [10]


def test_a_pinned_archive_that_differs_is_refused(losslake: Run, web: Web, tmp_path: Path) -> None:
    web.served["/pd1.tar.gz"] = pd1_archive()
    lake = ("--lake", tmp_path / "lake")
    refused = losslake("fetch", "pd1", "--mirror", f"{web.url}/pd1.tar.gz", "--sha256", "0" * 64, "--quiet", *lake)
    assert refused.returncode == 1
    assert "nothing of it was stored" in refused.stderr
    known = losslake("fetch", "shallue2018", "--sha256", "0" * 64)
    assert "the sha256 of shallue2018 is known" in known.stderr
    assert "leave --mirror and --sha256 out" in losslake("fetch", "steplaw", "--sha256", "0" * 64).stderr


def serve_repository(web: Web, name: str, files: dict[str, bytes]) -> None:
    """Serve a repository at its commit, as GitHub does."""
    (logs,) = publication.publication(publication.publications()[name]).logs
    path = "/" + logs.archive_url.removeprefix(f"{web.url}/")
    top = f"{logs.top}-{logs.commit}"
    web.served[path] = gzip.compress(tar_bytes({f"{top}/{file}": data for file, data in files.items()}))


def test_step_law_is_fetched_at_its_commit_with_sizes_and_tokens(
    losslake: Run, web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publication, "GITHUB", web.url)
    files = {"data/dense_lr_bs_loss.csv": STEPLAW.encode(), "data/moe_lr_bs_loss.csv": STEPLAW.encode()}
    serve_repository(web, "steplaw", files)
    done = losslake("fetch", "steplaw", "--quiet", "--lake", tmp_path / "lake")
    assert done.returncode == 0, done.stderr
    assert "none stated, of StepFun. The repository has no licence file" in done.stdout.splitlines()[0]
    stored = trials(tmp_path / "lake")
    assert sorted(stored) == ["step_a_lr3.453e-04_bs736", "step_a_lr5.524e-03_bs736"]
    facts = dict(stored["step_a_lr3.453e-04_bs736"]["parameters"])
    assert facts["n_parameters_non_embedding"] == 214663680
    assert facts["tokens_per_example"] == 2048
    assert curve(tmp_path / "lake", "train/loss")["dense_l7_h960_ffn9368/736/1"] == [(66342, 2.413517)]


def test_ncpl_is_fetched_at_its_commit_with_a_collection_for_each_source(
    losslake: Run, web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publication, "GITHUB", web.url)
    conf = {"model size": 134.2, "data size": 2.68, "optimizer": "muon", "learning rate": 0.008, "batch size": 128}
    conf |= {"lr schedule": "cosine", "num layers": 32, "weight decay": 0.1, "epsilon": 15}
    marin = {"source": "marin", "name": "muon-130m", "conf": conf, "max_step": 5120, "final_loss": 3.2}
    marin |= {"c4en_steps": [1000, 2000], "c4en_losses": [3.9, 3.5]}
    steplaw = {"source": "steplaw", "name": "step_a", "conf": conf | {"optimizer": "adamw"}, "final_loss": 2.4}
    steplaw |= {"smoothed_loss_steps": [50, 100, 150], "smoothed_loss": [9.0, 8.0, 7.0], "max_step": 150}
    files = {
        "processed_data/marin_processed_data.json": json.dumps([marin, {**marin, "name": "b"}], indent=4).encode(),
        "processed_data/steplaw_processed_data.json": json.dumps([steplaw], indent=4).encode(),
        "processed_data/keys/marin_keys_model_split.json": b'{"train": ["muon-130m"]}',
    }
    serve_repository(web, "ncpl", files)
    done = losslake("fetch", "ncpl", "--quiet", "--lake", tmp_path / "lake")
    assert done.returncode == 0, done.stderr
    assert "Step Law, which states none" in done.stdout.splitlines()[0]
    stored = trials(tmp_path / "lake")
    assert {name: row["collection"] for name, row in stored.items()} == {
        "muon-130m": "ncpl/marin",
        "b": "ncpl/marin",
        "step_a": "ncpl/steplaw",
    }
    assert dict(stored["step_a"]["parameters"])["learning_rate"] == 0.008
    assert dict(stored["step_a"]["attributes"])["schedule"] == '"cosine"'
    assert curve(tmp_path / "lake", "val/cross_entropy_error")["marin_134.2/128/1"] == [(1000, 3.9), (2000, 3.5)]
    assert curve(tmp_path / "lake", "train/smoothed_loss")["steplaw_134.2/128/1"] == [(50, 9), (100, 8), (150, 7)]


def test_addresses_are_listed_and_have_no_bundle(losslake: Run) -> None:
    listed = losslake("fetch").stdout
    assert "storage.googleapis.com/gresearch/pint/pd1.tar.gz" in listed
    folder = publication.publications()["pd1"]
    refused = losslake("bundle", folder, "--logs", folder)
    assert "has addresses only, and no bundle: 'losslake fetch pd1' gets its logs" in refused.stderr

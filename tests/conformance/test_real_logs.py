"""Logs that people really have go in with one command each, and nothing of them is lost without a reason."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake_ingest.reading import Request
from losslake_ingest.report import Summary
from losslake_ingest.run import ingest
from tests.conformance.corpora import corpus


def ingested(tmp_path: Path, name: str, mapping: str) -> tuple[Lake, Summary]:
    lake = Lake.create(tmp_path / "lake")
    return lake, ingest(lake, [corpus(name)], Request(mapping=Path(mapping)))


@pytest.mark.parametrize(
    ("name", "mapping", "formats", "trials", "evaluations", "quarantined"),
    [
        ("mlperf", "mlperf", {"mllog": 280}, 260, 9_851, {"step_unknown": 20}),
        ("algoperf", "algoperf", {"algoperf": 194}, 62, 10_677, {"missing_file": 8}),
        ("w2v2_wandb_csv", "w2v2", {"wandb": 4}, 8, 28_080, {}),
        ("hf_trainer_state", "hf_lora_roberta", {"hf_trainer": 3}, 1, 12, {}),
        ("llmc_main_log", "llmc", {"llmc": 1}, 1, 19_561, {}),
    ],
)
def test_a_corpus_is_ingested_and_every_run_of_it_is_accounted_for(
    tmp_path: Path,
    name: str,
    mapping: str,
    formats: dict[str, int],
    trials: int,
    evaluations: int,
    quarantined: dict[str, int],
) -> None:
    lake, summary = ingested(tmp_path, name, mapping)
    assert summary.sources[0].files == formats
    assert (summary.trials_ingested, summary.evaluations) == (trials, evaluations)
    assert Counter(reason.rule for reason in summary.quarantined) == quarantined
    assert summary.sources[0].left_out == ()
    again = ingest(lake, [corpus(name)], Request(mapping=Path(mapping)))
    assert (again.published, again.trials_unchanged) == (False, trials)


def test_licences_and_goals_of_the_corpora_travel_into_the_release(tmp_path: Path) -> None:
    lake, _ = ingested(tmp_path, "algoperf", "algoperf")
    (collection,) = lake.table("collections").scan().to_arrow().to_pylist()
    assert (collection["collection"], collection["licence"]) == ("algoperf-v0.5/external_tuning", "Apache-2.0")
    goals = {
        (row["dataset"], row["model"], row["metric"]): row["target"]
        for row in lake.table("goals").scan().to_arrow().to_pylist()
    }
    assert goals["librispeech", "deepspeech", "val/word_error_rate"] == 0.119936  # METHODS 7.4: targets of v0.5
    assert goals["wmt17_de_en", "transformer", "val/bleu"] == 30.8491
    assert goals["ogbg_molpcba", "gnn", "val/mean_average_precision"] == 0.28098


def test_a_training_log_of_mlperf_is_quarantined_only_where_its_axis_cant_be_decided(tmp_path: Path) -> None:
    _, summary = ingested(tmp_path, "mlperf", "mlperf")
    assert {reason.path.split("/")[4] for reason in summary.quarantined} == {"transformer"}

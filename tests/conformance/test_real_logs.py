"""Published logs are ingested with one command each, and every run of them is stored or quarantined with a rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake_ingest.contracts.report import Summary
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.run import ingest
from tests.conformance.corpora import CORPORA, corpus
from tests.ingest.stored_rows import stored_rows

Ingested = tuple[Lake, Summary]


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path, str], Ingested]:
    """Ingest a corpus into a lake of its own, once."""

    @cache
    def ingested_once(folder: Path, mapping: str) -> Ingested:
        lake = Lake.create(tmp_path_factory.mktemp("corpus") / "lake")
        return lake, ingest(lake, [folder], Request(mapping=Path(mapping)))

    return ingested_once


Case = tuple[str, str, str, dict[str, int], int, int, dict[str, int]]

# Corpus, mapping, part, and what is in it: files by format, trials, evaluations, quarantined runs by rule.
SAMPLES: tuple[Case, ...] = (
    ("mlperf", "mlperf", "sample", {"mllog": 190}, 180, 1_701, {"step_unknown": 10}),
    ("algoperf", "algoperf", "sample", {"algoperf": 119}, 37, 6_556, {"missing_file": 8}),
    ("w2v2_wandb_csv", "w2v2", "sample", {"wandb": 4}, 8, 4_688, {}),
    ("hf_trainer_state", "hf_lora_roberta", "sample", {"hf_trainer": 3}, 1, 12, {}),
    ("llmc_main_log", "llmc", "sample", {"llmc": 1}, 1, 19_561, {}),
)
WHOLE: tuple[Case, ...] = (
    ("mlperf", "mlperf", "whole", {"mllog": 280}, 260, 9_851, {"step_unknown": 20}),
    ("algoperf", "algoperf", "whole", {"algoperf": 194}, 62, 10_677, {"missing_file": 8}),
    ("w2v2_wandb_csv", "w2v2", "whole", {"wandb": 4}, 8, 28_080, {}),
)


@pytest.mark.parametrize(
    ("name", "mapping", "part", "formats", "trials", "evaluations", "quarantined"),
    [*SAMPLES, *(pytest.param(*case, marks=pytest.mark.slow) for case in WHOLE if CORPORA.is_dir())],
)
def test_every_run_of_a_corpus_is_ingested_or_quarantined(
    ingested: Callable[[Path, str], Ingested],
    name: str,
    mapping: str,
    part: str,
    formats: dict[str, int],
    trials: int,
    evaluations: int,
    quarantined: dict[str, int],
) -> None:
    lake, summary = ingested(corpus(name, part), mapping)
    assert summary.sources[0].files == formats
    assert (summary.trials_ingested, summary.evaluations) == (trials, evaluations)
    assert Counter(reason.rule for reason in summary.quarantined) == quarantined
    assert summary.sources[0].left_out == ()
    again = ingest(lake, [corpus(name, part)], Request(mapping=Path(mapping)))
    assert (again.published, again.trials_unchanged) == (False, trials)


def test_release_has_the_licence_and_goals_of_the_corpus(ingested: Callable[[Path, str], Ingested]) -> None:
    lake, _ = ingested(corpus("algoperf", "sample"), "algoperf")
    (collection,) = stored_rows(lake, "collections")
    assert (collection["collection"], collection["licence"]) == ("algoperf-v0.5/external_tuning", "Apache-2.0")
    goals = {(row["dataset"], row["model"], row["metric"]): row["target"] for row in stored_rows(lake, "goals")}
    assert goals["librispeech", "deepspeech", "val/word_error_rate"] == 0.119936  # METHODS 7.4: targets of v0.5
    assert goals["wmt17_de_en", "transformer", "val/bleu"] == 30.8491
    assert goals["ogbg_molpcba", "gnn", "val/mean_average_precision"] == 0.28098


def test_only_mlperf_logs_without_a_known_step_are_quarantined(ingested: Callable[[Path, str], Ingested]) -> None:
    _, summary = ingested(corpus("mlperf", "sample"), "mlperf")
    assert {reason.path.split("/")[4] for reason in summary.quarantined} == {"transformer"}

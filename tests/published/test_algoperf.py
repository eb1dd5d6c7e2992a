"""AlgoPerf's bundle has what its logs say between evaluations, and the trials whose batch size is in their code."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import losslake
from losslake.lake.lake import Lake
from losslake_ingest.bundles.short_values import with_long_values
from losslake_ingest.publication import publication
from losslake_ingest.run import ingest
from losslake_ingest.sources.member import Member
from losslake_ingest.sources.open import open_source
from losslake_schema.tables import STUDY_KEYS
from tests.conformance.corpora import CORPORA
from tests.ingest.bundles.made_up import members
from tests.published.test_names import PUBLISHED

FOLDER = PUBLISHED / "algoperf"
ARCHIVE = CORPORA / publication(FOLDER).logs[0].path
BETWEEN = {"loss": "train/batch_loss", "grad_norm": "train/grad_norm"}
OF_NADAMW = "algoperf_v05/logs/self_tuning/nadamw_sequential/study_0/wmt_jax/trial_1"


@pytest.fixture(scope="module")
def files() -> Mapping[str, bytes]:
    return members(FOLDER / "algoperf.tar")


@pytest.fixture(scope="module")
def values(files: Mapping[str, bytes]) -> pl.DataFrame:
    """Every measurement of an optimizer, nadamw_sequential."""
    return measurements_of(files, pc.field("optimizer") == "nadamw_sequential")


def measurements_of(files: Mapping[str, bytes], condition: pc.Expression | None = None) -> pl.DataFrame:
    """Every measurement of the bundle for which a condition holds, with the path of its log."""
    names = list(STUDY_KEYS[:4])
    rows = pq.read_table(pa.BufferReader(files["measurements.parquet"]), read_dictionary=names, filters=condition)
    trials = pl.DataFrame(
        pq.read_table(pa.BufferReader(files["trials.parquet"]), columns=[*STUDY_KEYS, "trial_id", "source"])
    )
    frame = pl.DataFrame(with_long_values(rows)).with_columns(pl.col(STUDY_KEYS[:4]).cast(pl.String))
    return frame.join(trials, on=[*STUDY_KEYS, "trial_id"], validate="m:1")


def test_a_log_has_its_losses_and_gradient_norms_between_evaluations(values: pl.DataFrame) -> None:
    rows = values.filter(pl.col("source") == OF_NADAMW).sort("step")
    assert set(rows["batch_size"]) == {128}
    for metric, first, last in (("train/batch_loss", 11.119386, 1.5293418), ("train/grad_norm", 5.019856, 0.26169506)):
        curve = rows.filter(pl.col("metric") == metric)
        assert curve["step"].to_list() == list(range(0, 116_801, 100))
        assert (curve["value"][0], curve["value"][-1]) == (first, last)


def test_every_trial_of_nadamw_sequential_is_there(values: pl.DataFrame) -> None:
    trials = values.unique(["dataset", "source"])
    assert dict(trials.group_by("dataset").agg(pl.col("batch_size").unique().sort()).rows()) == {
        "criteo1tb": [262_144], "fastmri": [32], "imagenet": [1024], "librispeech": [256], "ogbg_molpcba": [512],
        "wmt17_de_en": [128],
    }  # fmt: skip
    assert len(trials) == 70


def test_the_loss_of_a_batch_has_no_direction(files: Mapping[str, bytes]) -> None:
    metrics = pq.read_table(pa.BufferReader(files["metrics.parquet"])).to_pylist()
    directions = {row["metric"]: row["direction"] for row in metrics}
    assert {name: directions[name] for name in BETWEEN.values()} == dict.fromkeys(BETWEEN.values())


@pytest.mark.slow
def test_the_league_gives_the_published_score_of_nadamw_sequential(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    ingest(lake, [FOLDER / "algoperf.tar"])
    league = losslake.open(lake.folder).league(collection="algoperf/v05/self_tuning")
    scores = {row["submission"]: round(row["score"], 4) for row in league.facts["scores"]}
    assert scores == {
        "schedule_free_adamw": 0.8542, "baseline": 0.8194, "nadamw_sequential": 0.3308,
        "sinv6_75": 0.1420, "sinv6": 0.0903, "adamg": 0.0,
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(not ARCHIVE.is_file(), reason="the published logs aren't at hand")
def test_200_random_series_equal_a_reading_by_the_csv_module(files: Mapping[str, bytes]) -> None:
    values = measurements_of(files)
    with_losses = values.filter(pl.col("metric") == "train/grad_norm")["source"].unique().sort().to_list()
    chosen = {f"algoperf/{source}/measurements.csv" for source in random.Random(71).sample(with_losses, 100)}
    n_series = 0
    for member in open_source(ARCHIVE).members(chosen.__contains__):
        assert isinstance(member, Member)
        rows = list(csv.DictReader(io.StringIO(member.data.decode())))
        source = member.path.removeprefix("algoperf/").removesuffix("/measurements.csv")
        stored = values.filter(pl.col("source") == source)
        for column, metric in BETWEEN.items():
            logged = {int(row["global_step"]): float(row[column]) for row in rows if row[column]}
            curve = dict(stored.filter(pl.col("metric") == metric).select("step", "value").rows())
            calls = curve if "lawa" not in source else {step // _factor(curve, logged): curve[step] for step in curve}
            assert {step: repr(value) for step, value in calls.items()} == {s: repr(v) for s, v in logged.items()}
            n_series += 1
    assert n_series == 200


def _factor(curve: dict[int, float], logged: dict[int, float]) -> int:
    """The steps of a call of LAWA, which has the same number of calls in all of a log."""
    factor, rest = divmod(max(curve), max(logged))
    assert rest == 0
    return factor

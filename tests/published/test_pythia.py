"""Pythia's evaluations: steps to a perplexity at five batch sizes, and what each document says."""

from __future__ import annotations

import json
import re

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from losslake.index.serving import open_release
from losslake.lake.lake import Lake
from losslake_ingest.bundles.short_values import with_long_values
from losslake_ingest.publication import publication
from losslake_ingest.run import ingest
from losslake_ingest.sources.member import Member
from losslake_ingest.sources.open import open_source
from tests.conformance.corpora import CORPORA
from tests.ingest.bundles.made_up import members
from tests.published.test_names import PUBLISHED, table

FOLDER = PUBLISHED / "pythia"
ARCHIVE = CORPORA / publication(FOLDER).logs[0].path
TOKENS = 299_892_736_000
"""The tokens of each run, as the README of EleutherAI/pythia states."""


@pytest.fixture
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = Lake.create(tmp_path_factory.mktemp("pythia") / "lake")
    ingest(lake, [FOLDER / "pythia.tar"])
    return lake


@pytest.fixture(scope="module")
def values() -> pl.DataFrame:
    """Every measurement of the bundle, with the numbers that a lake has of it."""
    rows = pq.read_table(pa.BufferReader(members(FOLDER / "pythia.tar")["measurements.parquet"]))
    return pl.DataFrame(with_long_values(rows))


@pytest.mark.parametrize(
    ("model", "shots", "target", "expected"),
    [
        ("pythia_1.4b", 5, 15, {("v1", 1 << 20): 46_000, ("v1", 1 << 21): 23_000}),
        ("pythia_1.4b", 0, 15, {("v1", 1 << 21): 13_000, ("v0", 1 << 22): 6_500}),
        ("pythia_410m", 5, 30, {("v1", 1 << 19): 52_000, ("v1", 1 << 21): 13_000}),
        ("pythia_410m", 0, 30, {("v1", 1 << 21): 13_000, ("v0", 1 << 22): 6_500}),
    ],
)
def test_steps_to_a_perplexity(
    values: pl.DataFrame, model: str, shots: int, target: float, expected: dict[tuple[str, int], int]
) -> None:
    metric = f"test/lambada_perplexity_{shots}_shot"
    reached = values.filter(
        (pl.col("metric") == metric)
        & (pl.col("model") == model)
        & (pl.col("dataset") == "pile")
        & (pl.col("value") <= target)
    )
    first = reached.group_by(pl.col("collection").str.strip_prefix("pythia/"), "batch_size").agg(pl.col("step").min())
    assert {(version, size): step for version, size, step in first.rows()} == expected


def test_every_run_takes_the_same_tokens() -> None:
    rows = table(FOLDER / "models.csv")
    assert {int(row["batch_size"]) * int(row["train_steps"]) for row in rows} == {TOKENS}
    assert len({(row["version"], row["folder"]) for row in rows}) == len(rows) == 37


def test_parameters_are_those_of_the_layers() -> None:
    """GPT-NeoX has biases in attention and MLP, two layer norms a layer and one at the end, and untied embeddings."""
    layers = {"70m": (6, 512), "160m": (12, 768), "410m": (24, 1024), "1b": (16, 2048), "1.4b": (24, 2048),
              "2.8b": (32, 2560), "6.9b": (32, 4096), "12b": (36, 5120)}  # fmt: skip
    for row in table(FOLDER / "models.csv"):
        n_layers, width = layers[row["model"].removeprefix("pythia_")]
        assert int(row["n_parameters_non_embedding"]) == n_layers * (12 * width**2 + 13 * width) + 2 * width
        embeddings = int(row["n_parameters"]) - int(row["n_parameters_non_embedding"])
        vocabulary, rest = divmod(embeddings, 2 * width)
        assert (rest, vocabulary % 128, 50_277 <= vocabulary <= 50_688) == (0, 0, True)


@pytest.mark.slow
@pytest.mark.skipif(not ARCHIVE.is_file(), reason="the published logs aren't at hand")
def test_every_value_equals_its_document(lake: Lake) -> None:
    with open_release(lake, lake.release()) as connection:
        query = "SELECT collection, dataset, model, batch_size, metric, step, value FROM measurements"
        stored = {tuple(row[:-1]): row[-1] for row in connection.execute(query).fetchall()}
    models = {(row["version"], row["folder"]): row for row in table(FOLDER / "models.csv")}
    found: dict[tuple[str | int, ...], float] = {}
    for member in open_source(ARCHIVE).members(lambda path: "-shot" in path or "MtokBS" in path):
        assert isinstance(member, Member)
        ((version, folder),) = re.findall(r"/pythia-(v\d)/([^/]+)/", member.path)
        document = json.loads(member.data)
        row = models[version, folder]
        shots = document["config"]["num_fewshot"]
        step = int(re.findall(r"step(\d+)", member.path.rpartition("/")[2])[0])
        key = (f"pythia/{version}", row["dataset"], row["model"], int(row["batch_size"]))
        for task, measures in document["results"].items():
            name = task.removesuffix("_openai")
            if "ppl" in measures:
                found[*key, f"test/{name}_perplexity_{shots}_shot", step] = measures["ppl"]
            if not task.startswith(("hendrycks", "blimp", "crows", "wikitext")):
                found[*key, f"test/{name}_accuracy_{shots}_shot", step] = measures["acc"]
    assert found.keys() == stored.keys()
    assert {key: repr(value) for key, value in stored.items()} == {key: repr(value) for key, value in found.items()}

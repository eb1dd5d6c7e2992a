"""The Gemstones: every stored loss equals a reading with json, and the points of their fits are among them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from losslake.index.serving import open_release
from losslake.lake.lake import Lake
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.run import ingest
from tests.conformance.corpora import ROOT, SAMPLE_AND_WHOLE, corpus, texts_in

# collection, model, parameters with and without embeddings, start and end of the schedule, and the curve
Run = tuple[str, str, int, int, int | None, int, tuple[tuple[int, float], ...]]
NAME = "gemstones"
TOKENS = 2048 * 2048
VOCABULARY = 50304
STORED = """
  SELECT t.collection, t.model, parameters['n_parameters'], parameters['n_parameters_non_embedding'],
    parameters['decay_start'], parameters['schedule_end'], array_agg((m.step, m.value) ORDER BY m.step)
  FROM trials AS t JOIN measurements AS m USING (collection, dataset, model, optimizer, batch_size, trial_id)
  GROUP BY ALL
"""


def rows_of(texts: dict[str, str], name: str) -> list[dict[str, Any]]:
    """The rows of one of the files for fitting."""
    (text,) = (text for path, text in texts.items() if path.endswith(f"/wandb_df_for_fitting_{name}.jsonl"))
    return [json.loads(line) for line in text.splitlines()]


def plain(texts: dict[str, str]) -> Counter[Run]:
    """The runs in the files: those with evaluations every 477 steps, and a run for each row of a cooldown."""
    runs: Counter[Run] = Counter()
    for name, collection, end in (
        ("hot_100b+_477", NAME, 83_475),
        ("lr_ablation_hot_477", f"{NAME}/lr_ablation", 23_840),
    ):
        curves: dict[str, list[dict[str, Any]]] = {}
        for row in rows_of(texts, name):
            curves.setdefault(row["run_name"], []).append(row)
        runs.update(run_of(collection, rows, None, end) for rows in curves.values())
    for begin, row in zip(rows_of(texts, "cool_begin"), rows_of(texts, "cool_end"), strict=True):
        assert begin["run_name"] == row["run_name"]
        runs[run_of(f"{NAME}/cooldown", [row], begin["step"], row["step"])] += 1
    return runs


def run_of(collection: str, rows: list[dict[str, Any]], begin: int | None, end: int) -> Run:
    model, width = f"gemstone_{rows[0]['width']}x{rows[0]['depth']}", rows[0]["width"]
    n_parameters = rows[0]["params_active_precise"]
    curve = tuple(sorted((row["step"], row["final_loss"]) for row in rows))
    return (collection, model, n_parameters, n_parameters - VOCABULARY * width, begin, end, curve)


@pytest.mark.parametrize("part", SAMPLE_AND_WHOLE)
def test_every_run_equals_a_reading_with_json_and_has_the_points_of_their_fits(tmp_path: Path, part: str) -> None:
    folder = corpus(NAME, part) / ("gemstones.tar.zst" if part == "whole" else "gemstone-scaling-laws")
    lake = Lake.create(tmp_path / "lake")
    for published in (NAME, f"{NAME}-cooldown"):
        summary = ingest(lake, [folder], Request(mapping=ROOT / "published" / published / "losslake.toml"))
        assert (summary.quarantined, summary.broken) == ((), ())
    with open_release(lake, lake.release()) as connection:
        stored = Counter((*run, tuple(curve)) for *run, curve in connection.execute(STORED).fetchall())
    texts = texts_in(folder)
    assert stored == plain(texts)
    points = {
        (collection, n_parameters, step * TOKENS, loss)
        for collection, _, n_parameters, _, _, _, curve in stored
        for step, loss in curve
    }
    for name, collection in (
        ("hot", NAME),
        ("hot_100b+", NAME),
        ("hot_120b+_only_477", NAME),
        ("lr_ablation_hot", f"{NAME}/lr_ablation"),
        ("cool_end", f"{NAME}/cooldown"),
    ):
        fitted = {
            (collection, row["params_active_precise"], row["tokens"], row["final_loss"]) for row in rows_of(texts, name)
        }
        assert fitted
        assert fitted <= points

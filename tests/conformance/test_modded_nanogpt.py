"""The records of modded-nanogpt: what is stored equals a reading of every file line by line, in plain Python."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from losslake.index.serving import open_release
from losslake.lake.lake import Lake
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.run import ingest
from tests.conformance.corpora import SAMPLE_AND_WHOLE, corpus, texts_in

Run = tuple[str, str, int, tuple[tuple[str, int, float, float | None], ...]]
TRAIN, VAL = "train/cross_entropy_error", "val/cross_entropy_error"
METRICS = {"train_loss": TRAIN, "val_loss": VAL, "trl": TRAIN, "tel": VAL}
TIME = re.compile(r" train_time:([0-9.]+)(m?)s")


def product(text: str) -> int:
    result = 1
    for factor in text.split("*"):
        result *= int(factor)
    return result


def batch_size(track: str, text: str, first: str) -> int | None:
    """Tokens in a batch, as the log's script assigns them."""
    facts: dict[str, int] = {}
    for line in text.split("\n"):
        name, equals, value = line.partition("#")[0].partition("=")
        if equals and re.fullmatch(r" *[0-9]+( *\* *[0-9]+)* *", value):
            facts.setdefault(name.strip(), product(value))
    tokens = facts.get("batch_size", facts.get("train_batch_size: int"))
    if tokens is None and "batch_size : int" in facts:
        tokens = facts["batch_size : int"] * facts["sequence_length : int"]
    if tokens is None and track == "track_3_optimization":
        tokens = 524_288
    device = facts.get("seq_len", facts.get("train_seq_len"))
    if tokens is None and device is not None:
        tokens = 8 * device
    return 524_288 if tokens is None and first in ("2024-06-06_AdamW", "2024-10-13_llmc") else tokens


def plain(texts: dict[str, str]) -> tuple[Counter[Run], int]:
    """The runs in the logs, and the number of those whose batch size isn't stated."""
    runs: Counter[Run] = Counter()
    unstated = 0
    for path, text in texts.items():
        if path.endswith("_combined_stdout.txt"):
            continue
        _, _, track, record, *_ = path.split("/")
        tokens = batch_size(track, text, record)
        curves: list[dict[tuple[str, int], float]] = [{}]
        times: list[dict[int, float]] = [{}]
        for line in text.split("\n"):
            if line.startswith("step:0/"):
                curves.append({})
                times.append({})
            words = line.split(" ")
            key, _, step = words[0].partition(":")
            if key not in ("step", "s") or len(words) < 2:
                continue
            name, colon, value = words[1].partition(":")
            if colon and name in METRICS:
                curves[-1][METRICS[name], int(step.partition("/")[0])] = float(value)
                time = TIME.search(line) if name == "val_loss" else None
                if time is not None:
                    times[-1][int(step.partition("/")[0])] = float(time[1]) / (1000 if time[2] else 1)
        for curve, at in zip(curves, times, strict=True):
            unstated += tokens is None and bool(curve)
            if curve and tokens is not None:
                evaluations = tuple((m, s, v, at.get(s)) for (m, s), v in sorted(curve.items()))
                runs[f"gpt2_{track}", record, tokens, evaluations] += 1
    return runs, unstated


def stored(lake: Lake) -> Counter[Run]:
    """The runs of the newest release."""
    curves: dict[tuple[str, str, int, int], list[tuple[str, int, float, float | None]]] = {}
    query = """
      SELECT model, optimizer, batch_size, trial_id, metric, step, value, elapsed_s FROM measurements ORDER BY ALL
    """
    with open_release(lake, lake.release()) as connection:
        for *trial, metric, step, value, elapsed in connection.execute(query).fetchall():
            curves.setdefault(tuple(trial), []).append((metric, step, value, elapsed))
    return Counter((model, optimizer, batch, tuple(curve)) for (model, optimizer, batch, _), curve in curves.items())


@pytest.mark.parametrize("part", SAMPLE_AND_WHOLE)
def test_every_run_equals_a_reading_line_by_line(tmp_path: Path, part: str) -> None:
    name = "modded_nanogpt"
    source = corpus(name, part) / ("modded_steps.tar.zst" if part == "whole" else "modded_steps")
    lake = Lake.create(tmp_path / "lake")
    summary = ingest(lake, [source], Request(mapping=Path("modded_nanogpt_records")))
    runs, unstated = plain(texts_in(source))
    once = Counter(dict.fromkeys(runs, 1))  # some logs were published with their program's output beside them
    left_out = Counter(missing_fact=unstated, duplicate_source=runs.total() - once.total())
    assert Counter(item.rule for item in summary.quarantined) == +left_out
    assert (summary.trials_ingested, summary.broken) == (once.total(), ())
    assert stored(lake) == once

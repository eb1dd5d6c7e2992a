"""Logs of Parameter Golf: what is stored equals a reading of every file line by line, in plain Python."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from losslake.index.serving import open_release
from losslake.lake.lake import Lake
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.run import ingest
from tests.conformance.corpora import ROOT, SAMPLE_AND_WHOLE, corpus, texts_in

# tokens in a batch, parameters of the model, and the curve: metric, step, value, seconds
Run = tuple[int, int, tuple[tuple[str, int, float, float | None], ...]]
LEFT_OUT = ("/ttt_pr1767/", "/log_eggroll_", "_LegendreGPT/", "/train_seed42_pr1851_original.log", "requirements.txt")
METRICS = {
    "val_loss": "val/cross_entropy_error",
    "val_bpb": "val/bits_per_byte",
    "train_loss": "train/cross_entropy_error",
    "loss": "train/cross_entropy_error",
    "ce": "train/cross_entropy_error",
}
STORED = """
  SELECT t.batch_size, parameters['n_parameters'],
    array_agg((m.metric, m.step, m.value, m.elapsed_s) ORDER BY m.metric, m.step)
  FROM trials AS t JOIN measurements AS m USING (collection, dataset, model, optimizer, batch_size, trial_id)
  GROUP BY t.batch_size, parameters['n_parameters'], model, t.trial_id
"""


def runs_in(text: str) -> list[list[str]]:
    """The lines of each run of a log, from its settings on; before them it has the script."""
    runs: list[list[str]] = []
    for line in (re.sub(r"^\d{10}\.\d+ ", "", each) for each in text.split("\n")):
        is_start = line.startswith(("val_bpb:enabled ", "Hyperparameters:", "--- Hyperparameters ---"))
        if is_start:
            runs.append([])
        if runs:
            runs[-1].append(line)
    return runs


def number(lines: list[str], *names: str) -> int:
    """The number that follows the first of these names that has one."""
    for name in names:
        words = re.compile(rf"(?:^| ){name}[:=] ?([\d,]+)(?: |$)")
        values = {match[1] for line in lines if (match := words.search(line)) is not None}
        if values:
            (value,) = values
            return int(value.replace(",", ""))
    raise AssertionError(names)


def plain_run(lines: list[str]) -> Run | None:
    """A run, or None if it has no values."""
    curve: dict[tuple[str, int], float] = {}
    times: dict[int, float] = {}
    ends: dict[int, float] = {}
    for line in lines:
        end = re.match(r"stopping_early: wallclock_cap train_time: ?(\d+)ms step: ?(\d+)/", line)
        if end is not None:
            ends[int(end[2])] = int(end[1]) / 1000
        if not re.match(r"(?:step:)?\d+/\d+ ", line) or "[" in line:
            continue
        step = int(line.partition("/")[0].removeprefix("step:"))
        pairs = dict(re.findall(r"(\w+): ?([-\d.naif]+)", line))
        loss = pairs.pop("loss") if "ce" in pairs else None
        found = {METRICS[name]: float(value) for name, value in pairs.items() if name in METRICS}
        assert found or loss
        curve |= {(metric, step): value for metric, value in found.items()}
        milliseconds = re.search(r" (?:train_time|t):(\d+)ms", line)
        if milliseconds is not None:
            times[step] = max(times.get(step, 0), int(milliseconds[1]) / 1000)
        minutes = re.search(r" train_time: ([\d.]+)m ", line)
        if minutes is not None:
            times[step] = float(minutes[1]) * 60
    if not curve:
        return None
    size, n_parameters = number(lines, "train_batch_tokens"), number(lines, "model_params", "params")
    times = ends | times
    return size, n_parameters, tuple((*key, value, times.get(key[1])) for key, value in sorted(curve.items()))


@pytest.mark.parametrize("part", SAMPLE_AND_WHOLE)
def test_every_run_equals_a_reading_line_by_line(tmp_path: Path, part: str) -> None:
    name = "parameter_golf"
    folder = corpus(name, part) / (f"{name}.tar.zst" if part == "whole" else "parameter-golf")
    lake = Lake.create(tmp_path / "lake")
    summary = ingest(lake, [folder], Request(mapping=ROOT / "published" / "parameter-golf" / "losslake.toml"))
    texts = {
        path: text
        for path, text in texts_in(folder).items()
        if path.endswith((".log", ".txt")) and not any(each in path for each in LEFT_OUT)
    }
    runs = Counter(run for text in texts.values() for lines in runs_in(text) if (run := plain_run(lines)) is not None)
    once = Counter(dict.fromkeys(runs, 1))
    assert Counter(item.rule for item in summary.quarantined) == +Counter(duplicate_source=(runs - once).total())
    assert (summary.trials_ingested, summary.broken) == (once.total(), ())
    with open_release(lake, lake.release()) as connection:
        stored = Counter((size, n, tuple(curve)) for size, n, curve in connection.execute(STORED).fetchall())
    assert stored == once

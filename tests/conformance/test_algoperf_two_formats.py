"""The same runs as AlgoPerf's CSV and as its event files: the same curves, but for differences that are known."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from losslake_ingest.contracts.run_log import RunLog
from losslake_ingest.formats import algoperf, tensorboard
from losslake_ingest.formats.format import Format
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.sources.open import open_source
from tests.conformance.corpora import SAMPLE_AND_WHOLE, corpus
from tests.ingest.formats.reading import cells

Curves = dict[str, dict[str, dict[float, float]]]
QUANTITIES = ("loss", "grad_norm", "wer", "ctc_loss", "accuracy", "ssim", "bleu", "mean_average_precision")


def curves(folder: Path, log_format: Format, axis: str) -> Curves:
    """Return the last value by run, column and step, of the runs that have event files."""
    found: Curves = {}
    with_events = {path.parent.relative_to(folder).as_posix() for path in folder.rglob("*tfevents*")}
    for run in log_format.read(open_source(folder), LogMapping()):
        if isinstance(run, RunLog) and run.run in with_events:
            own = found.setdefault(run.run, {})
            for column, step, value in _values(run, axis):
                own.setdefault(column, {})[step] = value
    return found


def _values(run: RunLog, axis: str) -> Iterator[tuple[str, float, float]]:
    for rows in run.rows:
        steps = cells(rows, axis)
        for column in rows.columns:
            if column.rpartition("/")[2] in QUANTITIES:
                pairs = zip(steps, cells(rows, column), strict=True)
                yield from ((column, step, value) for step, value in pairs if step is not None and value is not None)


@pytest.fixture(scope="module", params=SAMPLE_AND_WHOLE)
def part(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def table(part: str) -> Curves:
    return curves(corpus("algoperf", part), algoperf.FORMAT, "global_step")


@pytest.fixture(scope="module")
def events(part: str) -> Curves:
    return curves(corpus("algoperf", part), tensorboard.FORMAT, "step")


def test_both_formats_hold_the_same_runs_and_columns(part: str, table: Curves, events: Curves) -> None:
    assert len(table) == {"sample": 7, "whole": 62}[part]
    assert {run: set(columns) for run, columns in table.items()} == {run: set(events[run]) for run in table}


def test_table_and_event_files_hold_equal_float32_values(part: str, table: Curves, events: Curves) -> None:
    """Event files hold float32; the table has the float64 or more digits of the same float32."""
    compared = 0
    for run, columns in table.items():
        for column, values in columns.items():
            for step, value in values.items():
                logged = events[run][column][step]
                assert np.float32(value) == np.float32(logged) or (math.isnan(value) and math.isnan(logged))
                compared += 1
    assert compared > {"sample": 3_600, "whole": 40_000}[part]


def test_only_an_abandoned_attempt_has_evaluations_in_event_files_alone(table: Curves, events: Curves) -> None:
    """Two criteo runs were started again from nothing: the table was written anew, the first event file stayed."""
    more = {
        run.split("study_0/")[1]
        for run, columns in table.items()
        for column, values in columns.items()
        if set(events[run][column]) - set(values)
    }
    assert more == {"criteo1tb_embed_init_jax/trial_1", "criteo1tb_jax/trial_1"}

"""Series of random values come out of a lake as an independent reading of their logs in plain Python has them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from losslake.index.serving import open_release
from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from tests.ingest.made_up.documents import DOCUMENTS
from tests.ingest.made_up.folders import FOLDERS
from tests.ingest.made_up.logs import Content, MadeUp, runs
from tests.ingest.made_up.stores import STORES
from tests.ingest.made_up.texts import TEXTS
from tests.ingest.offers import unpacked

EVERY = (*TEXTS, *DOCUMENTS, *FOLDERS, *STORES)
N_RUNS, N_SERIES = 50, 200
IN_MAKE_TEST = ("text", "csv", "tensorboard", "mllog")


def values_in(lake: Lake) -> Content:
    """Every value of the newest release by the log that it was read from, with NaN as text."""
    query = """
        SELECT source, metric, step, value FROM measurements
        JOIN trials USING (collection, dataset, model, optimizer, batch_size, trial_id) ORDER BY ALL
    """
    found: Content = {}
    with open_release(lake, lake.release()) as connection:
        for source, metric, step, value in connection.execute(query).fetchall():
            found.setdefault(source, ({}, {}))[1].setdefault(metric, {})[step] = repr(value)
    return found


@pytest.mark.parametrize(
    "made",
    [pytest.param(made, id=made.name, marks=[] if made.name in IN_MAKE_TEST else pytest.mark.slow) for made in EVERY],
)
def test_200_random_series_equal_an_independent_reading(tmp_path: Path, made: MadeUp) -> None:
    files = made.write(runs(made, 22, N_RUNS))
    folder = unpacked(tmp_path / "logs", files)
    (folder / "losslake.toml").write_text(made.mapping)
    lake = Lake.create(tmp_path / "lake")
    summary = ingest(lake, [folder])
    assert (list(map(str, summary.quarantined)), summary.broken, summary.trials_ingested) == ([], (), N_RUNS)
    expected = {run: values for run, (_, values) in made.read(files).items()}
    assert sum(map(len, expected.values())) == N_SERIES
    assert json.dumps({run: values for run, (_, values) in values_in(lake).items()}) == json.dumps(
        {run: expected[run] for run in sorted(expected)}
    )

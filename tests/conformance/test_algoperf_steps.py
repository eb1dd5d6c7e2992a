"""Steps of AlgoPerf's submissions are steps: on the same machines, all train about as many examples in a second."""

from __future__ import annotations

from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake.questions.release.view import ReleaseView
from losslake_ingest.run import ingest
from tests.repository.checkout import ROOT

pytestmark = pytest.mark.slow

FACTOR = 8
"""From the median of a workload's trials. Steps differ 6-fold in what they take; LAWA's calls have 42 to 582 steps."""
_RATES = """
  WITH spans AS (
    SELECT dataset, model, optimizer, batch_size, trial_id, count(DISTINCT step) AS n,
           batch_size * (max(step) - min(step)) / (max(elapsed_s) - min(elapsed_s)) AS rate
    FROM measurements WHERE metric LIKE 'val/%' AND elapsed_s IS NOT NULL
    GROUP BY collection, dataset, model, optimizer, batch_size, trial_id HAVING n >= 5)
  SELECT optimizer, dataset, model, rate / median(rate) OVER (PARTITION BY dataset, model) AS ratio FROM spans
"""


def test_examples_in_a_second_are_those_of_other_submissions(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    ingest(lake, [ROOT / "published/algoperf/algoperf.tar"])
    rows = ReleaseView.open(lake, lake.release(None)).cursor().sql(_RATES).fetchall()
    assert {row[0] for row in rows} >= {"lawa_ema", "lawa_queue", "baseline"}
    assert [row for row in rows if not 1 / FACTOR < row[-1] < FACTOR] == []

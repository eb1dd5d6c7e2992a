"""The charts of the report on published collections are drawn from what their analyses return."""

from __future__ import annotations

import numpy as np
import pytest

from studies.reports import findings_charts
from studies.reports.algoperf import Standing
from studies.reports.findings_charts import profiles_chart


def test_performance_profiles_name_the_best_submissions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings_charts, "MOST_PROFILES", 2)
    ratios = {"shampoo": [1.0, 1.5], "nadamw": [1.2, 1.0], "baseline": [np.inf, 3.0]}
    entries = [Standing(name, 1.0, np.array(each), None, 2) for name, each in ratios.items()]
    drawn = profiles_chart(entries).decode()
    assert [name in drawn for name in ratios] == [True, True, False]

"""The report on laws has the numbers of the answers, and says which laws can't be compared and why."""

from __future__ import annotations

import pytest

from losslake.questions import critical_batch_law
from losslake.questions.critical_batch_law import CriticalBatchLawParameters
from losslake.questions.release.view import ReleaseView
from studies.reports.laws import laws
from tests.critical_batch_sizes import PATTERN, zhang_lake


def test_report_has_the_numbers_of_the_answers(tmp_path_factory: pytest.TempPathFactory) -> None:
    lake = zhang_lake(tmp_path_factory)
    view = ReleaseView.open(lake, lake.release(None))
    texts = laws(view, PATTERN)
    answer = critical_batch_law.QUESTION.answer(view, CriticalBatchLawParameters(workload=[PATTERN]))
    (law,) = (law for law in answer.facts["laws"] if law["variable"] == "parameters")
    expected = f"{law['exponent']:.2f} ({law['exponent_lower']:.2f} to {law['exponent_upper']:.2f})"
    assert texts["mccandlish2018_parameters"] == expected
    assert texts["law_points"].count("olmo_") == 5
    ranges = {line.split(" | ")[0].removeprefix("| "): line for line in texts["published_laws"].splitlines()}
    assert ranges["kaplan2020"].endswith("| not known |")
    assert ranges["zhang2024-parameters"].endswith("| 5 of 5 |")
    assert "bergsma2025-critical (only its exponent could be verified)" in texts["laws_not_compared"]
    assert "merrill2025" in texts["laws_not_compared"]

from __future__ import annotations

from typing import Any

from losslake.questions import doublings
from losslake.questions.trials.selection import Goal, Selection
from tests.losslake.questions.test_compare import reaching
from tests.losslake.questions.views import METRIC, WORKLOAD, answer_to, view_of


def answer(*steps: tuple[int, int | None]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    rows = [row for size, reached in steps for row in reaching(size, reached)]
    found = answer_to(doublings.QUESTION, view_of(rows), Selection((WORKLOAD,), METRIC), Goal(0.3))
    return found.table().to_pylist(), dict(found.facts)


def test_each_doubling_is_compared_with_the_batch_size_before_that_reached_the_target() -> None:
    rows, facts = answer((1, 100), (2, 50), (4, None), (8, 25))
    assert [(row["since"], row["saved"]) for row in rows] == [(None, None), (1, 0.5), (None, None), (2, 1 - 0.5**0.5)]
    assert facts["n_used"] == 3
    assert any("batch size 4" in text for text in facts["left_out"])


def test_single_batch_size_has_no_saving() -> None:
    rows, facts = answer((8, 30))
    assert [row["saved"] for row in rows] == [None]
    assert facts["warnings"]

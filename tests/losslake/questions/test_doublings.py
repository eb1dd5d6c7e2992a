from __future__ import annotations

from typing import Any

from losslake.questions import doublings
from losslake.questions.trials.selection import Goal, Selection
from losslake_schema.names import Workload
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


def test_no_saving_is_told_between_workloads_of_a_pool() -> None:
    """Two recipes: the better one has batch sizes 4 and 8 alone, so that from 2 to 4 the recipe changes."""
    ours = [row for size, steps in ((1, 400), (2, 200), (4, 150)) for row in reaching(size, steps)]
    others = [row for size, steps in ((4, 95), (8, 50)) for row in reaching(size, steps)]
    pool = Workload(WORKLOAD.collection, WORKLOAD.dataset, WORKLOAD.model, "*d*")
    view = view_of(ours, of_other=others)
    found = answer_to(doublings.QUESTION, view, Selection((pool,), METRIC), Goal(0.3))
    rows = found.table().to_pylist()
    assert [(row["batch_size"], row["since"], row["saved"]) for row in rows] == [
        (1, None, None), (2, 1, 0.5), (4, 2, None), (8, 4, 1 - 50 / 95),
    ]  # fmt: skip
    assert (rows[2]["lower"], rows[2]["upper"]) == (None, None)
    (text,) = found.facts["left_out"]
    assert text.endswith("than at the batch size before, so steps don't compare, at batch size 4")

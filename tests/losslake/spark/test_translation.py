"""The translation of views to Spark's SQL, where only the text shows a difference without a session of Spark."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("view", "part"),
    [
        ("workloads", " FILTER(SORT_ARRAY(COLLECT_LIST(batch_size)), size -> size > 0) AS batch_sizes"),
        ("steps_to_target", " MIN_BY(r.value, r.step) FILTER(WHERE NOT r.value IS NULL) AS value"),
        (
            "steps_to_target",
            " STRUCT(MIN_BY(r.step, r.step) AS step, MIN_BY(r.previous_step, r.step) AS ",
        ),
        ("amount_at", " MIN_BY(STRUCT(t.hardware AS name), STRUCT(t.amount, t.steps, t.trial_id)) FILTER("),
    ],
    ids=["a list is sorted", "a value isn't null", "a struct is split by field", "a struct is kept for several keys"],
)
def test_aggregates_mean_in_spark_what_they_mean_in_duckdb(view: str, part: str) -> None:
    from losslake.spark.translation import view_in_spark

    assert part in view_in_spark(view)

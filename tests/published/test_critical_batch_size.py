"""The collection of Zhang et al. 2024: its bundle has its points, and gives the fits that the authors printed."""

from __future__ import annotations

from typing import Any

import pytest

from losslake.questions import critical_batch_size
from losslake.questions.critical_batch_size import CriticalBatchSizeParameters
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.scaling_curve import EXACT_STEPS
from tests.critical_batch_sizes import PRINTED, points, zhang_lake
from tests.losslake.analysis.test_hyperbola import ZHANG, ZHANG_BATCH_SIZES

DIFFERING = {
    ("85M", 2048): (2528, 2500),
    ("85M", 4096): (1917, 1800),
    ("151M", 512): (12000, 11951),
    ("151M", 2048): (4350, 4200),
    ("151M", 4096): (2940, 2760),
    ("1.2B", 64): (642000, 643000),
}


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> ReleaseView:
    lake = zhang_lake(tmp_path_factory)
    return ReleaseView.open(lake, lake.release(None))


def test_table_has_each_run_and_point_once_and_says_where_versions_differ() -> None:
    rows = points()
    places = [(row["model_size"], int(row["batch_size"])) for row in rows]
    assert sorted(places) == sorted((size, int(batch)) for size in PRINTED for batch in ZHANG_BATCH_SIZES)
    assert len({row["run_id"] for row in rows}) == 45
    steps = {place: (int(row["step"]), int(row["printed_step"])) for place, row in zip(places, rows, strict=True)}
    assert {place: each for place, each in steps.items() if each[0] != each[1]} == DIFFERING
    for size, (expected, *_) in ZHANG.items():
        assert tuple(steps[size, int(batch)][0] for batch in ZHANG_BATCH_SIZES) == expected


def test_bundle_has_the_points_of_the_table(view: ReleaseView) -> None:
    query = """
      SELECT model, batch_size, last_step, parameters['target_loss'], trim(BOTH '"' FROM attributes['run_id']),
          CAST(attributes['printed_step'] AS BIGINT), parameters['tokens_per_example']
      FROM trials ORDER BY ALL
    """
    expected = [
        (
            PRINTED[row["model_size"]][0],
            int(row["batch_size"]),
            int(row["step"]),
            float(row["target_loss"]),
            row["run_id"],
            int(row["printed_step"]),
            512.0,
        )
        for row in points()
    ]
    assert view.cursor().execute(query).fetchall() == sorted(expected)


def test_no_metaparameter_of_another_run_is_stored(view: ReleaseView) -> None:
    names = {name for (name,) in view.cursor().execute("SELECT unnest(map_keys(parameters)) FROM trials").fetchall()}
    assert names == {"n_parameters", "n_parameters_non_embedding", "target_loss", "tokens_per_example"}


@pytest.mark.parametrize("size", PRINTED)
def test_points_give_the_fits_that_the_authors_printed(view: ReleaseView, size: str) -> None:
    model, s_min, e_min, critical = PRINTED[size]
    workload = f"critical-batch-size/c4/{model}/adamw"
    parameters = CriticalBatchSizeParameters(workload=[workload], fit="least-squares")
    answer = critical_batch_size.QUESTION.answer(view, parameters)
    rows: list[dict[str, Any]] = answer.table().to_pylist()
    # Theirs stopped at their optimizer's tolerance.
    assert rows[1]["critical_batch_size"] == pytest.approx(critical, rel=1e-6)
    assert rows[1]["s_min"] == pytest.approx(s_min, rel=1e-6)
    assert rows[1]["e_min"] == pytest.approx(e_min, rel=1e-6)
    assert rows[0]["identifiable"]
    assert f"{workload}: {EXACT_STEPS}" in answer.facts["warnings"]

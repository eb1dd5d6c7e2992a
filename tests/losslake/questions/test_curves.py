"""Curves: whole, cut by steps, every so many, and thinned for a plot so that no target crossing moves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from losslake.index.measurement_files import measurements
from losslake.lake.store.folder import FolderStore
from losslake.lake.store.store import DataFile
from losslake.questions.curves import ROWS_IN_A_COLUMN, every_so_many, kept_for_plot
from tests.losslake.index.test_measurement_files import files_of
from tests.made_up_lake import ERROR, METRICS, ODD, PRECISION, Curves
from tests.service.test_http_answers import as_json

DEEP = "shelf/deep/mnist/cnn/sgd"
Point = tuple[int, float]
VALUES = st.sampled_from([0.1, 0.2, 0.2, 0.30000000000000004, -1.0, 0.0, -0.0, 1e308, math.nan, math.inf, -math.inf])
STEPS = st.sets(st.integers(0, 40) | st.integers(0, 2**40), max_size=40).map(sorted)


@st.composite
def drawn_curves(draw: st.DrawFn) -> list[list[Point]]:
    """Curves of a few trials with their steps ascending, each of at least one evaluation."""
    steps = draw(st.lists(STEPS.filter(bool), min_size=1, max_size=3))
    return [[(step, draw(VALUES | st.floats())) for step in of_trial] for of_trial in steps]


def thinned(
    trials: Sequence[Sequence[Point]], signs: tuple[float, ...], points: int, is_log: bool
) -> list[list[Point]]:
    ids = np.array([number for number, curve in enumerate(trials) for _ in curve], np.int64)
    steps, values = (np.array([point[at] for curve in trials for point in curve]) for at in (0, 1))
    kept = kept_for_plot(ids, steps.astype(np.int64), values.astype(np.float64), signs, points, is_log)
    flags = iter(kept.tolist())
    return [[point for point in curve if next(flags)] for curve in trials]


def first_crossing(curve: Sequence[Point], target: float, sign: float) -> int | None:
    return next((step for step, value in curve if math.isfinite(value) and value * sign < target * sign), None)


def record_steps(curve: Sequence[Point], sign: float) -> set[int]:
    found, best = set(), math.inf
    for step, value in curve:
        if math.isfinite(value) and value * sign < best:
            best = value * sign
            found.add(step)
    return found


def columns_of(trials: Sequence[Sequence[Point]], points: int, is_log: bool) -> list[list[list[Point]]]:
    """Each trial's points by column of the plot; columns are even from the first to the last step of all trials."""
    n_columns = max(points // ROWS_IN_A_COLUMN, 1)

    def position(step: int) -> float:
        return float(np.log(float(max(step, 1)))) if is_log else float(step)

    places = [position(step) for curve in trials for step, _ in curve]
    low, width = min(places), max(places) - min(places)

    def column(step: int) -> int:
        return min(int((position(step) - low) / width * n_columns), n_columns - 1) if width else 0

    return [
        [
            [point for point in curve if column(point[0]) == number]
            for number in {column(step): None for step, _ in curve}
        ]
        for curve in trials
    ]


@given(drawn_curves(), st.sampled_from([(1.0,), (-1.0,), (1.0, -1.0)]), st.integers(4, 40), st.booleans())
def test_no_crossing_of_any_target_moves(
    trials: list[list[Point]], signs: tuple[float, ...], points: int, is_log: bool
) -> None:
    values = sorted({value for curve in trials for _, value in curve if math.isfinite(value)})
    around = {
        near for value in values for near in (math.nextafter(value, -math.inf), value, math.nextafter(value, math.inf))
    }
    for curve, kept in zip(trials, thinned(trials, signs, points, is_log), strict=True):
        for target in around:
            for sign in signs:
                assert first_crossing(kept, target, sign) == first_crossing(curve, target, sign)


@given(drawn_curves(), st.integers(4, 40), st.booleans())
def test_a_thinned_curve_is_m4_and_records_and_no_more(trials: list[list[Point]], points: int, is_log: bool) -> None:
    signs = (1.0,)
    for curve, kept, columns in zip(
        trials, thinned(trials, signs, points, is_log), columns_of(trials, points, is_log), strict=True
    ):
        wanted = record_steps(curve, 1.0)
        for column in columns:
            finite = [point for point in column if math.isfinite(point[1])]
            wanted |= {column[0][0], column[-1][0]}
            wanted |= {point[0] for point in column if not math.isfinite(point[1])} and {
                next(step for step, value in column if not math.isfinite(value))
            }
            if finite:
                wanted |= {min(finite, key=lambda point: point[1])[0], max(finite, key=lambda point: point[1])[0]}
        assert [step for step, _ in kept] == sorted(wanted)
        n_odd = sum(any(not math.isfinite(value) for _, value in column) for column in columns)
        assert len(kept) <= points + len(record_steps(curve, 1.0)) + n_odd


@given(st.lists(st.integers(0, 30), max_size=4), st.integers(1, 12))
def test_every_n_counts_from_the_first_evaluation_of_each_trial(lengths: list[int], every: int) -> None:
    ids = np.repeat(np.arange(len(lengths)), lengths).astype(np.int64)
    expected = [at % every == 0 for length in lengths for at in range(length)]
    assert every_so_many(ids, every).tolist() == expected


def rows(client: TestClient, **asked: Any) -> list[tuple[Any, ...]]:
    response = client.get("/v1/curves", params=asked)
    assert response.status_code == 200, response.text
    return [
        (row["workload"], row["batch_size"], row["trial_id"], row["metric"], row["step"], row["value"])
        for row in response.json()["rows"]
    ]


def oracle(curves: Curves, places: list[tuple[str, int, int | None]], metrics: Sequence[str]) -> list[tuple[Any, ...]]:
    """The rows of studies or trials as they were logged, by place, metric, trial and step."""
    return [
        (workload, batch_size, row.trial_id, metric, row.step, as_json(row.value))
        for workload, batch_size, trial_id in places
        for metric in metrics
        for row in sorted(curves[workload][metric], key=lambda row: (row.trial_id, row.step or 0))
        if row.batch_size == batch_size and row.step is not None and trial_id in (None, row.trial_id)
    ]  # fmt: skip


def test_several_studies_come_one_after_the_other_with_metrics_in_the_order_asked(
    client: TestClient, curves: Curves
) -> None:
    found = rows(client, study=[f"{DEEP}/64", "shelf/mnist/cnn/sgd/8", f"{DEEP}/64"], metric=[PRECISION, ERROR])
    places: list[tuple[str, int, int | None]] = [(DEEP, 64, None), ("shelf/mnist/cnn/sgd", 8, None)]
    assert found == oracle(curves, places, [PRECISION, ERROR])


def test_trials_of_one_study_come_together_by_number(client: TestClient, curves: Curves) -> None:
    by_study = {
        batch: sorted({row.trial_id for row in curves[DEEP][ERROR] if row.batch_size == batch}) for batch in (8, 64)
    }
    first, last = by_study[8][0], by_study[8][-1]
    other = by_study[64][0]
    found = rows(client, trial=[f"{DEEP}/8/{last}", f"{DEEP}/64/{other}", f"{DEEP}/8/{first}"], metric=ERROR)
    assert found == oracle(curves, [(DEEP, 8, first), (DEEP, 8, last), (DEEP, 64, other)], [ERROR])


@pytest.mark.parametrize(("low", "high"), [(0, 20), (20, 2**63 - 1), (13, 13), (59, 60), (60, 70)])
def test_step_bounds_are_inclusive(client: TestClient, curves: Curves, low: int, high: int) -> None:
    found = rows(client, study=f"{DEEP}/64", step_min=low, step_max=high)
    assert found == [row for row in oracle(curves, [(DEEP, 64, None)], sorted(METRICS)) if low <= row[4] <= high]


@pytest.mark.parametrize("every", [1, 2, 7, 2**63 - 1])
def test_every_n_counts_within_the_step_bounds(client: TestClient, curves: Curves, every: int) -> None:
    found = rows(client, study=f"{DEEP}/64", every=every, step_min=5, metric=ERROR)
    whole = [row for row in oracle(curves, [(DEEP, 64, None)], [ERROR]) if row[4] >= 5]
    trials = dict.fromkeys(row[2] for row in whole)
    assert found == [row for trial in trials for row in [r for r in whole if r[2] == trial][::every]]


@pytest.mark.parametrize("axis", ["linear", "log"])
@pytest.mark.parametrize(("metric", "signs"), [(ERROR, (1,)), (PRECISION, (-1,)), (ODD, (1, -1))])
def test_a_thinned_study_says_so_and_crosses_every_target_where_the_whole_does(
    client: TestClient, metric: str, signs: tuple[int, ...], axis: str
) -> None:
    asked: dict[str, Any] = {"study": f"{DEEP}/64", "metric": metric}
    answer = client.get("/v1/curves", params={**asked, "points": 8, "axis": axis}).json()
    assert answer["thinned"].startswith("for a plot, to about 8 evaluations")
    assert ("logarithm" in answer["thinned"]) == (axis == "log")
    whole, few = rows(client, **asked), rows(client, **asked, points=8, axis=axis)
    assert len(few) < len(whole)
    assert [row for row in whole if row in few] == few
    for trial in {row[2] for row in whole}:
        for target in (0.1, 0.15, 0.3, 0.30000000000000004, 0.9, 1.0):
            for sign in signs:
                assert first_crossing(points(few, trial), target, sign) == first_crossing(
                    points(whole, trial), target, sign
                )


def points(found: Sequence[tuple[Any, ...]], trial: int) -> list[Point]:
    return [(row[4], float(row[5])) for row in found if row[2] == trial]


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("", "trial"),
        (f"study={DEEP}/8&trial={DEEP}/8/1", "trial"),
        (f"study={DEEP}/8&step_min=5&step_max=4", "step_min"),
        (f"study={DEEP}/8&every=0", "every"),
        (f"study={DEEP}/8&points=3", "points"),
        (f"study={DEEP}/8&points=10&every=2", "every"),
        (f"study={DEEP}/8&axis=cubic", "axis"),
        (f"study={DEEP}", "study"),
    ],
)
def test_contradictory_parameters_are_refused(client: TestClient, query: str, parameter: str) -> None:
    document = client.get(f"/v1/curves?{query}").json()
    assert (document["status"], document["parameter"]) == (422, parameter)


def test_the_most_points_and_the_most_every_are_answered(client: TestClient) -> None:
    whole = rows(client, study=f"{DEEP}/8", metric=ERROR)
    assert rows(client, study=f"{DEEP}/8", metric=ERROR, points=2**63 - 1) == whole


# ---- data files whose row groups don't respect trials


Rows = list[tuple[str, int, int, float]]


def data_file(path: Path, content: Rows, rows_in_a_group: int, has_statistics: bool = True) -> DataFile:
    names = ("metric", "trial_id", "step", "value")
    columns = {name: [row[at] for row in content] for at, name in enumerate(names)}
    kinds = (pa.string(), pa.int64(), pa.int64(), pa.float64())
    table = pa.table({name: pa.array(columns[name], kind) for name, kind in zip(names, kinds, strict=True)})
    table = table.append_column("elapsed_s", pa.nulls(len(content), pa.float64()))
    pq.write_table(table, path, row_group_size=rows_in_a_group, write_statistics=has_statistics)
    return DataFile("measurements", path.name, path.stat().st_size, "", len(content))


CONTENT: Rows = [
    (metric, trial, step, trial + step / 100) for metric in ("a", "b", "c") for trial in (1, 4, 9) for step in range(5)
]


@pytest.mark.parametrize("has_statistics", [True, False])
@pytest.mark.parametrize("rows_in_a_group", [1, 2, 3, 7, 100])
def test_trials_and_metrics_are_found_wherever_row_groups_are_cut(
    tmp_path: Path, rows_in_a_group: int, has_statistics: bool
) -> None:
    stored = data_file(tmp_path / "x.parquet", CONTENT, rows_in_a_group, has_statistics)
    files = files_of(FolderStore(tmp_path), [stored])
    for metric, trials in product("abcd", (None, (1,), (4,), (1, 9), (2,), (0, 4, 10))):
        tables = list(measurements(FolderStore(tmp_path), files, metric, trials))
        found = [
            (metric, *row)
            for table in tables
            for row in zip(*(table[n].to_pylist() for n in ("trial_id", "step", "value")), strict=True)
        ]
        assert found == [row for row in CONTENT if row[0] == metric and (trials is None or row[1] in trials)]


def test_a_metric_in_several_files_is_read_from_each(tmp_path: Path) -> None:
    halves = [row for row in CONTENT if row[1] < 9], [row for row in CONTENT if row[1] == 9]
    files = [data_file(tmp_path / f"{number}.parquet", half, 4) for number, half in enumerate(halves)]
    found = [
        step
        for table in measurements(FolderStore(tmp_path), files_of(FolderStore(tmp_path), files), "b", None)
        for step in table["trial_id"].to_pylist()
    ]
    assert found == [1] * 5 + [4] * 5 + [9] * 5

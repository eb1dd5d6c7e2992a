"""modded-nanogpt's records: equal to plain Python over the measurements, and to the published history."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from statistics import mean
from typing import Any

import pytest
from scipy.stats import ttest_1samp

from losslake.lake.lake import Lake
from losslake.questions import records
from losslake.questions.release.view import ReleaseView
from losslake_ingest.run import ingest
from tests.losslake.questions.views import view_of
from tests.made_up_league import league_lake
from tests.repository.checkout import ROOT

FOLDER = ROOT / "published" / "modded-nanogpt"
Curve = dict[int, tuple[float, float | None]]


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> ReleaseView:
    lake = league_lake(tmp_path_factory)
    return ReleaseView.open(lake, lake.release(None))


def asked(view: ReleaseView, **query: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    answer = records.QUESTION.answer(view, records.RecordsParameters(**query))
    return answer.table().to_pylist(), dict(answer.facts)


# Track, record, batch size, last step and parameters.
Setting = tuple[str, str, int | None, int, str]


def settings(view: ReleaseView) -> dict[Setting, list[Curve]]:
    """The curves of validation losses and times by setting, in plain Python."""
    query = """
      SELECT t.model, concat_ws('/', t.attributes['recipe'], t.attributes['variant']), t.batch_size, t.trial_id,
        t.last_step, t.parameters::VARCHAR, m.step, m.value, m.elapsed_s
      FROM trials AS t JOIN measurements AS m
        ON m.collection = t.collection AND m.dataset = t.dataset AND m.model = t.model AND m.optimizer = t.optimizer
        AND m.batch_size IS NOT DISTINCT FROM t.batch_size AND m.trial_id = t.trial_id
      WHERE m.metric = 'val/cross_entropy_error' ORDER BY ALL
    """
    runs: dict[tuple[Setting, int], Curve] = defaultdict(dict)
    for model, recipe, batch, trial, last, stated, step, value, elapsed in view.cursor().sql(query).fetchall():
        setting = model.removeprefix("gpt2_"), recipe.replace('"', ""), batch, last, stated
        runs[setting, trial][step] = value, elapsed
    found: dict[Setting, list[Curve]] = defaultdict(list)
    for (setting, _), curve in runs.items():
        found[setting].append(curve)
    return found


def expected(track: str, curves: list[Curve]) -> dict[str, Any]:
    """The row's numbers by the rule of a track."""
    target, n = 2.92 if track == "track_2_medium" else 3.28, len(curves)
    shared = sorted(set.intersection(*(set(curve) for curve in curves)))
    means = {step: mean(curve[step][0] for curve in curves) for step in shared}
    steps: int | None = shared[-1]
    if track == "track_3_optimization":
        steps = next((step for step in shared if (target - means[step]) * math.sqrt(n) >= 0.004), None)
    at = shared[-1] if steps is None else steps
    times = [time for curve in curves if (time := curve[at][1]) is not None]
    p_value = ttest_1samp([curve[at][0] for curve in curves], target, alternative="less").pvalue if n > 1 else None
    # Of the decimals of the logs: the mean of eight runs is the target itself, and that of their floats isn't.
    exact = mean(Fraction(repr(curve[at][0])) for curve in curves)
    return {
        "n_runs": n,
        "target": target,
        "steps": steps,
        "mean": pytest.approx(means[at], abs=1e-12),
        "p_value": None if steps is None or p_value is None else pytest.approx(p_value, rel=1e-6),
        "holds": steps is not None and (track == "track_3_optimization" or exact <= Fraction(repr(target))),
        "seconds": pytest.approx(mean(times)) if steps is not None and len(times) == n else None,
    }


def compared(view: ReleaseView) -> int:
    """Compare every row with plain Python; return their number."""
    rows, _ = asked(view)
    plain = settings(view)
    last = {key: max(curve) for key, curves in plain.items() for curve in curves}
    for row in rows:
        same = [
            curves
            for (track, record, batch, *_), curves in plain.items()
            if (track, record, batch, len(curves)) == (row["track"], row["record"], row["batch_size"], row["n_runs"])
        ]
        numbers = [expected(row["track"], curves) for curves in same]
        assert {name: row[name] for name in numbers[0]} in numbers
    assert len(last) == len(plain)
    return len(rows)


def test_rows_are_those_of_the_measurements(view: ReleaseView) -> None:
    assert compared(view) >= 8


def test_history_is_by_date_and_its_fastest_take_less_than_all_before(view: ReleaseView) -> None:
    for track, column in (("track_1_short", "seconds"), ("track_3_optimization", "steps")):
        rows, _ = asked(view, track=track)
        assert rows
        assert [row["date"] for row in rows] == sorted(row["date"] for row in rows)
        before = math.inf
        for row in rows:
            is_less = row["number"] is not None and row["holds"] and row[column] is not None and row[column] < before
            assert row["is_fastest"] == is_less
            before = row[column] if is_less else before


def test_record_has_its_published_number_date_and_time(view: ReleaseView) -> None:
    rows, facts = asked(view, track="track_1_short")
    by_record = {row["record"]: row for row in rows}
    row = by_record["2024-10-18_PyTorch25"]
    assert (row["number"], row["date"], row["description"]) == (7, "2024-10-18", "Upgraded PyTorch 2.5.0")
    assert (row["steps"], row["mean"], row["seconds"], row["published_seconds"]) == (5100, 3.2755, 721.882, 720)
    assert "83 of 89 published records have no runs here: 2 (2024-06-06)" in facts["left_out"][0]


def test_release_without_the_collection_has_no_rows() -> None:
    rows, facts = asked(view_of([]))
    assert (rows, facts["warnings"]) == ([], ["release 1 doesn't have the collection modded-nanogpt"])


def test_published_history_is_complete_and_dated() -> None:
    numbers = {track: [each["number"] for each in records.published(track)] for track in records.TRACKS}
    assert {track: sorted(set(each)) for track, each in numbers.items()} == {
        "track_1_short": list(range(1, 90)),
        "track_2_medium": list(range(1, 19)),
        "track_3_optimization": list(range(1, 47)),
    }


@pytest.mark.slow
def test_bundle_gives_the_published_steps_and_times(tmp_path_factory: pytest.TempPathFactory) -> None:
    lake = Lake.create(tmp_path_factory.mktemp("bundle") / "lake")
    ingest(lake, [FOLDER / "modded-nanogpt.tar"])
    view = ReleaseView.open(lake, lake.release(None))
    assert compared(view) == 213
    rows = [row for row in asked(view)[0] if row["number"] is not None]
    steps = [row for row in rows if row["published_steps"] is not None]
    # 1 to 3 have one run each, which their history marks, too; here 16 has more runs, and 41 and 46 have fewer.
    assert {row["number"] for row in steps if row["steps"] != row["published_steps"]} == {1, 2, 3, 16, 34, 41, 46}
    assert len(steps) == 46
    times = [row for row in rows if row["published_seconds"] is not None and row["seconds"] is not None]
    apart = [abs(row["seconds"] / row["published_seconds"] - 1) for row in times]
    assert len(times) == 102
    assert sum(each < 0.01 for each in apart) == 74
    # Those who publish a record run it again, some on another machine; the runs of 88 are of one GPU.
    far = {row["number"] for row, each in zip(times, apart, strict=True) if each >= 0.05}
    assert far == {17, 80, 83, 84, 88, 89}

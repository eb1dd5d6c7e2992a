"""A recorded run is shown as far as it is written, and growing gives the same as reading it at once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.record.layout import RUN
from losslake_contributions.dashboard import recorded
from losslake_contributions.dashboard.recorded import RecordedReader
from losslake_contributions.dashboard.runs import LiveRun
from tests.contributions.dashboard.recorded_runs import begin, end, loss_rows, write

SCHEDULED = {"batch_schedule": [[0, 8]], "batch_size": None}


def read(folder: Path) -> LiveRun:
    run = RecordedReader(folder.parent, folder.name).refresh()
    assert run is not None
    return run


def points(run: LiveRun, metric: str = "val/loss") -> dict[int, float]:
    series = run.series.get(metric)
    return {} if series is None else dict(zip(series.step.tolist(), series.value.tolist(), strict=True))


def test_growing_run_has_each_new_line_and_nothing_is_read_twice(tmp_path: Path) -> None:
    folder = begin(tmp_path / "run", parameters={"learning_rate": 0.1})
    reader = RecordedReader(tmp_path, "run")
    first = reader.refresh()
    assert first is not None
    assert first.notes == ("Nothing was measured so far.",)
    assert reader.refresh() is None
    write(folder, loss_rows(range(5)))
    run = reader.refresh()
    assert run is not None
    assert points(run) == {step: 1 / (1 + step) for step in range(5)}
    write(folder, loss_rows(range(5, 8)))
    write(folder, loss_rows(range(8, 12)), number=2)
    run = reader.refresh()
    assert run is not None
    assert points(run) == {step: 1 / (1 + step) for step in range(12)}
    assert run.series["val/loss"].elapsed.tolist() == [step / 10 for step in range(12)]
    assert (run.parameters, run.batch_size, run.workload) == ({"learning_rate": 0.1}, 64, "local/digits/mlp/sgd")
    assert run.state_at(0.0) == "running"
    end(folder)
    run = reader.refresh()
    assert run is not None
    assert (run.status, run.state_at(9e9)) == ("COMPLETE", "finished")


def test_torn_last_line_waits_for_its_end(tmp_path: Path) -> None:
    folder = begin(tmp_path / "run")
    write(folder, loss_rows([0]))
    file = folder / "0001/000001.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole + whole.replace(b'"step":0', b'"step":1')[:20])
    reader = RecordedReader(tmp_path, "run")
    run = reader.refresh()
    assert run is not None
    assert (points(run), run.notes) == ({0: 1.0}, ())
    file.write_bytes(whole + whole.replace(b'"step":0', b'"step":1'))
    run = reader.refresh()
    assert run is not None
    assert points(run) == {0: 1.0, 1: 1.0}


OPERATIONS = st.lists(st.tuples(st.sampled_from(["go on", "rewind", "repeat"]), st.integers(0, 12)), max_size=8)


@given(OPERATIONS)
def test_growing_run_is_the_same_as_the_whole_whatever_is_rewound_or_repeated(
    tmp_path_factory: pytest.TempPathFactory, operations: list[tuple[str, int]]
) -> None:
    folder = begin(tmp_path_factory.mktemp("runs") / "run")
    reader = RecordedReader(folder.parent, "run")
    expected: dict[int, float] = {}
    attempt, from_step, step, count = 1, None, 0, 0.0
    run = None
    for what, number in operations:
        if what == "rewind":
            attempt, from_step, step = attempt + 1, number, number
            expected = {at: value for at, value in expected.items() if at < number}
            rows: list[dict[str, Any]] = []
        else:
            begins = max(0, step - 2) if what == "repeat" else step
            rows = [{"step": at, "val/loss": (count := count + 1)} for at in range(begins, begins + number)]
            step = max(step, begins + number)
        expected |= {row["step"]: row["val/loss"] for row in rows}
        write(folder, rows, attempt, 1, from_step)
        run = reader.refresh() or run
    assert points(run or read(folder)) == points(read(folder)) == expected


def test_run_without_a_heartbeat_is_running_while_lines_come(tmp_path: Path) -> None:
    folder = begin(tmp_path / "run")
    write(folder, loss_rows([0]))
    os.utime(folder / RUN, (100, 100))
    os.utime(folder / "0001/000001.jsonl", (200, 200))
    assert [read(folder).state_at(now) for now in (259.0, 261.0)] == ["running", "silent"]


def test_lines_that_a_crash_took_back_are_forgotten(tmp_path: Path) -> None:
    folder = begin(tmp_path / "run")
    write(folder, loss_rows(range(6)))
    reader = RecordedReader(tmp_path, "run")
    reader.refresh()
    file = folder / "0001/000001.jsonl"
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:3]))
    run = reader.refresh()
    assert run is not None
    assert sorted(points(run)) == [0, 1, 2]


def test_sample_of_a_large_run_is_of_its_own_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded, "_SAMPLED_FROM", 10_000)
    folder = begin(tmp_path / "run")
    for number in range(1, 4):
        write(folder, loss_rows(range(4000 * (number - 1), 4000 * number)), number=number)
    reader = RecordedReader(tmp_path, "run")
    sampled = reader.refresh(is_sample_enough=True)
    assert sampled is not None
    assert sampled.is_sampled
    seen = points(sampled)
    assert {0, 11_999} <= seen.keys()
    assert all(value == 1 / (1 + step) for step, value in seen.items())
    whole = reader.refresh()
    assert whole is not None
    assert not whole.is_sampled
    assert whole.series["val/loss"].count == 12_000
    assert reader.refresh(is_sample_enough=True) is None


@pytest.mark.parametrize(
    ("facts", "note"),
    [
        ({"collection": None}, "run.json doesn't state a workload: it isn't shown with stored curves."),
        (
            {"batch_schedule": [[0, 8]], "batch_size": None},
            "It changes its batch size: its curves have no axis of examples.",
        ),
        ({"batch_size": "many"}, "It states no batch size: its curves have no axis of examples."),
    ],
)
def test_run_that_lacks_facts_says_so_and_shows_its_curve(tmp_path: Path, facts: dict[str, Any], note: str) -> None:
    folder = begin(tmp_path / "run", **facts)
    write(folder, loss_rows(range(3)))
    run = read(folder)
    assert note in run.notes
    assert len(points(run)) == 3


def test_broken_run_says_what_is_wrong_without_the_path_of_the_folder(tmp_path: Path) -> None:
    folder = begin(tmp_path / "run")
    (folder / RUN).write_bytes((folder / RUN).read_bytes()[:60])
    reader = RecordedReader(tmp_path, "run")
    run = reader.refresh()
    assert run is not None
    assert reader.refresh() is None
    assert run.notes == ("It can't be read: run/run.json is no JSON object: copy the folder of the run again.",)


def test_names_tags_and_groups_are_those_of_the_run(tmp_path: Path) -> None:
    labels = {"run_name": "wide", "tags": ["a", "b", 3], "run_group": "widths"}
    folder = begin(tmp_path / "run", attributes=labels)
    write(folder, loss_rows([0]))
    run = read(folder)
    assert (run.name, run.tags, run.group) == ("wide", ("a", "b"), "widths")
    assert np.isfinite(run.series["val/loss"].value).all()

"""The yardstick at full scale says what it measured, in all parts, and a wrong answer fails it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from bench import correction, full, full_questions
from bench.archive import write_studies
from bench.asking import WrongAnswer
from bench.floors import parse
from bench.full_questions import CurvesQuestion, Effort, check_scaling
from bench.full_statements import measure_sql
from bench.measure import measured
from bench.opening import Opening, opened
from bench.plan import Scale, plans
from bench.servers import Server
from bench.truth import StudyTruth, read_truth, truth_path
from losslake.lake.lake import Lake
from losslake.questions.release.view import ReleaseView
from tests.service.running import served

pytestmark = pytest.mark.slow
FEW = Effort(scaling=5, all_workloads=2, curves=5, studies=2, openings=1, processes=2)
SCALE = 0.001


@dataclass(frozen=True)
class Run:
    """A run at a tiny scale, of every twentieth study."""

    report: str
    folder: Path
    truths: tuple[StudyTruth, ...]

    @property
    def lake(self) -> Path:
        return self.folder / "lake-0.001"

    @property
    def view(self) -> ReleaseView:
        """The release before the correction."""
        lake = Lake.open(self.lake)
        return ReleaseView.open(lake, lake.release(1))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """All parts in this process: to start one for each would take longer than the parts."""
    folder = tmp_path_factory.mktemp("full")
    archive = folder / "synthetic-0.001.tar.bz2"
    write_studies(archive, plans(Scale(SCALE))[::20], processes=1)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(full, "in_own_process", measured)
        patched.setattr(correction, "in_own_process", measured)
        patched.setattr(full, "opened_by_new_process", lambda lake: Opening(opened(lake), 1.0, 1.0))
        patched.setattr(full_questions, "service", _service)
        report = "\n".join(full.report([SCALE], folder, folder, FEW, keep=True))
    return Run(report, folder, tuple(read_truth(truth_path(archive))))


@contextmanager
def _service(folder: Path, workers: int) -> Iterator[Server]:
    with served(folder, lake=str(folder), workers=workers) as running:
        yield Server(running.port, running.process.pid)


@pytest.mark.parametrize(
    "part",
    [
        "| evaluations |  | 3,",
        "| floor: decompression on all cores | s |",
        "| ingest to a verified release | s |",
        "| … over the sum of the floors | x |",
        "| the same archive again | s |",
        "| … over the .tar.bz2 | x |",
        "| serving files | MB |",
        "| opening, warm, the first in a process | ms |",
        "| scaling of a workload, over HTTP, median | ms |",
        "| scaling of all workloads, in-process, p99 | ms |",
        "| a trial's curve, in-process, median | ms |",
        "| a study's curves, over HTTP, median | ms |",
        "| SQL: extreme values | s |",
        "| export, hard links | s |",
        "| … to a new release | s |",
        "| … its own files rewritten |  | 3 |",
        "| … files of other studies rewritten |  | 0 |  | ≤ 0 ok |",
        "limits are kept at scale 0.001.",
    ],
)
def test_each_part_is_in_the_report(run: Run, part: str) -> None:
    assert part in run.report


def test_the_lakes_of_a_run_are_kept_when_asked_for(run: Run) -> None:
    assert [release.number for release in Lake.open(run.lake).releases()] == [2, 1]


@pytest.mark.parametrize(
    "wrong", [{"steps": 1}, {"trial_id": 7777}, {"value": 0.5}, {"previous_step": 0}, {"complete": 999}]
)
def test_scaling_that_differs_from_the_truth_fails(run: Run, wrong: dict[str, Any]) -> None:
    check_scaling(run.view, run.truths)
    spoilt = (*run.truths[:-1], replace(run.truths[-1], **wrong))
    with pytest.raises(WrongAnswer, match="scaling of synthetic/"):
        check_scaling(run.view, spoilt)


@pytest.mark.parametrize("wrong", [{"steps": 1}, {"value": 0.5}, {"previous_step": 0}])
def test_a_curve_that_differs_from_the_truth_fails(run: Run, wrong: dict[str, Any]) -> None:
    truth = run.truths[0]
    answer = CurvesQuestion(truth, False).answered(run.view)
    CurvesQuestion(truth, False).check(answer)
    with pytest.raises(WrongAnswer, match="curve"):
        CurvesQuestion(replace(truth, **wrong), False).check(answer)


@pytest.mark.parametrize("wrong", [{"evaluations": 3}, {"infeasible": 99}])
def test_a_study_with_other_evaluations_or_trials_than_the_truth_fails(run: Run, wrong: dict[str, Any]) -> None:
    truth = run.truths[0]
    answer = CurvesQuestion(truth, True).answered(run.view)
    CurvesQuestion(truth, True).check(answer)
    with pytest.raises(WrongAnswer, match=r"^(evaluations|trials) of "):
        CurvesQuestion(replace(truth, **wrong), True).check(answer)


def test_sql_that_counts_other_measurements_than_the_truth_fails(run: Run) -> None:
    spoilt = (*run.truths[:-1], replace(run.truths[-1], evaluations=1))
    with pytest.raises(WrongAnswer, match="the number of measurements"):
        measure_sql(run.lake, spoilt)


def test_parsing_some_studies_at_a_time_parses_all_of_them(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[int] = []

    def count(text: bytes) -> int:
        parsed.append(text.count(b"\n") - 1)
        return parsed[-1]

    monkeypatch.setattr("bench.floors._parsed", count)
    monkeypatch.setattr("bench.floors._wait_for_rest", lambda: None)
    assert parse(run.folder / "synthetic-0.001.tar.bz2", text_at_once=10_000) > 0
    assert sorted(parsed) == sorted(truth.evaluations for truth in run.truths)

"""Every benchmark runs at its smallest size; those that ask in several ways fail unless all answers are the same."""

from __future__ import annotations

import io
import multiprocessing
import os
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from bench import analysis, load, measure, servers
from bench.__main__ import PARTS, Part, smallest
from bench.analysis import forecastable
from bench.lakes import write_smallest
from bench.measure import measured
from bench.peers.drawing import drawable_workloads, questions
from bench.peers.questions import Kind, Sweep
from bench.scaling import LANGUAGE_LOSS
from bench.servers import Server
from losslake.lake.lake import Lake
from losslake.questions import forecast
from losslake.questions.release.view import ReleaseView
from losslake_ingest.pipeline import offer
from losslake_schema import registry
from tests.forked import Forked

START, SERVICE, IN_OWN_PROCESS = measure.start, servers.service, measure.in_own_process


class ForkedProgram(Forked):
    """A program of Python in a fork of a process that has imported it already."""

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str], output: int) -> None:
        super().__init__(_run_module, arguments, environment, streams={1: output}, may_start_others=True)

    def poll(self) -> int | None:
        """Return the exit status, None while it runs."""
        return None if self.is_running() else self.wait()


def _run_module(arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    os.environ.update(environment)
    sys.argv = [*arguments]
    runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)


def start(command: Sequence[str], environment: Mapping[str, str], output: int) -> object:
    """Start a program: to start Python anew for each would take longer than the benchmarks."""
    if command[:2] != [sys.executable, "-m"]:
        return START(command, environment, output)
    with Path(os.devnull).open("w") as nothing:
        opened = nothing.fileno() if output == subprocess.DEVNULL else output
        return ForkedProgram(command[2:], dict(environment), opened)


@pytest.fixture(scope="module")
def existing(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    return write_smallest(tmp_path_factory.mktemp("smallest"))


@pytest.fixture(scope="module")
def view(existing: Mapping[str, Path]) -> ReleaseView:
    lake = Lake.open(existing["--lake"])
    return ReleaseView.open(lake, lake.release())


@pytest.fixture(scope="module")
def forks() -> Iterator[None]:
    """Fork what would be started."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(measure, "start", start)
        patched.setattr(measure, "STARTING", multiprocessing.get_context("forkserver"))
        yield


@pytest.fixture(scope="module")
def server(existing: Mapping[str, Path], forks: None) -> Iterator[Server]:
    # A process for expensive answers, too, would import everything anew.
    settings = {"LOSSLAKE_SQL_WORKERS": "1", "LOSSLAKE_EXPENSIVE_SECONDS": "3600"}
    with SERVICE(existing["--lake"], 1, servers.NO_ANSWERS_KEPT | settings) as running:
        yield running


@pytest.fixture
def shared(existing: Mapping[str, Path], server: Server, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Return a function that imports a benchmark, which then measures in this process and shares a service.

    A service of another lake is one of its own, without SQL, whose processes take long to start.
    """

    @contextmanager
    def service(lake: Path, workers: int, settings: Mapping[str, str] | None = None, *_: object) -> Iterator[Server]:
        if lake == existing["--lake"]:
            yield server
            return
        with SERVICE(lake, workers, {**(settings or {}), "LOSSLAKE_SQL_ENABLED": "false"}) as own:
            yield own

    def imported(name: str) -> Any:
        module = import_module(name)
        if hasattr(module, "__path__"):
            module = import_module(f"{name}.__main__")
        for each in [each for name, each in sys.modules.items() if name.startswith("bench.")]:
            if getattr(each, "service", None) is SERVICE:
                monkeypatch.setattr(each, "service", service)
            if getattr(each, "in_own_process", None) is IN_OWN_PROCESS:
                monkeypatch.setattr(each, "in_own_process", measured)
        return module

    return imported


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_each_benchmark_runs(
    part: Part,
    existing: Mapping[str, Path],
    shared: Callable[[str], Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(offer, "MOST_KEPT", offer.MOST_KEPT)  # many-studies sets it
    monkeypatch.setattr(load, "_READ", 1 << 16)
    monkeypatch.setattr("bench.service.CLIENTS", (1, 2))
    monkeypatch.setattr("bench.many_studies.OPENINGS", 1)
    monkeypatch.setenv("LOSSLAKE_CONTRIBUTIONS_LIVE_SECONDS", "0.1")  # not a second until anything is held
    assert shared(part.module).main(smallest(part, existing)) in (None, 0)
    assert len(capsys.readouterr().out.splitlines()) > 1


@pytest.mark.parametrize(("module", "measures"), [("bench.pages", "PAGES"), ("bench.analysis", "ANALYSES")])
def test_slow_answer_gives_exit_status_1(
    existing: Mapping[str, Path],
    shared: Callable[[str], Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    module: str,
    measures: str,
) -> None:
    benchmark = shared(module)
    monkeypatch.setattr(benchmark, measures, getattr(benchmark, measures)[:1])
    assert benchmark.main(["--questions", "1", "--limit", "0", "--lake", str(existing["--lake"])]) == 1
    assert capsys.readouterr().out.splitlines()[-1].endswith("| **no** |")


def test_two_trees_are_compared_in_each_kind_of_question(
    existing: Mapping[str, Path],
    shared: Callable[[str], Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    in_turn, lake = shared("bench.in_turn"), str(existing["--lake"])

    def run(_: object, name: str, *arguments: str) -> str:
        printed = io.StringIO()
        with redirect_stdout(printed):
            shared(name).main(arguments)
        return printed.getvalue()

    monkeypatch.setattr(in_turn.Tree, "run", run)  # a process would import everything first
    monkeypatch.setattr(in_turn, "MOST", float("inf"))
    assert in_turn.main(["--tree", "elsewhere", lake, lake, "--questions", "1", "--rounds", "1"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")][2:]
    assert len(rows) == 10
    assert all(float(row.split("|")[-2]) > 0 for row in rows)


def test_targets_are_values_that_the_metric_can_have(view: ReleaseView) -> None:
    workloads = drawable_workloads(view)
    for sweep in islice(questions(workloads, Kind.SWEEP), 50):
        assert isinstance(sweep, Sweep)
        lowest, highest = registry.metrics()[sweep.aim.metric].limits
        assert all(lowest <= target <= highest for target in sweep.targets)


def test_forecasts_are_asked_where_9_settings_can_be_compared(view: ReleaseView) -> None:
    (workload,) = (each for each in view.workloads if each.dataset == "lm1b")
    facts = view.workloads[workload]
    n_trials = [len(facts.trials.trial_id[facts.rows_of(study)]) for study in range(len(facts.batch_sizes))]
    assert n_trials == [15, 11, 8]
    assert forecastable(view, workload, LANGUAGE_LOSS) == list(facts.batch_sizes[:2])


def test_no_forecast_is_asked_where_no_study_has_enough_settings(
    view: ReleaseView, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analysis, "groups_needed", lambda _: 1000)
    assert list(analysis.queries(forecast.QUESTION, view, 3)) == []
    assert analysis.measured(forecast.QUESTION, view, Server(0, 0), 3, 100.0) is None

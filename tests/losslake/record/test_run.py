from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import losslake.record
from losslake.record.run import Run
from losslake.record.spool import Spool
from tests.losslake.record.runs import FACTS, curve, end, lines, place
from tests.repository.checkout import ROOT
from tests.servers.processes import wait_until


def test_facts_and_measurements_are_in_the_folder(started: Callable[..., Run]) -> None:
    goals = [{"metric": "val/loss", "target": 0.5}]
    with started(parameters={"lr": 0.1, "nesterov": True, "bad": math.inf}, licence="CC0-1.0", goals=goals) as run:
        run.log({"train/loss": 0.1 + 0.2, "val/loss": math.nan}, step=1)
        run.log({"train/loss": math.inf}, step=2)
    facts = json.loads((place(run) / "run.json").read_text())
    assert next(iter(facts)) == "format"
    assert (facts["format"], facts["collection"], facts["batch_size"]) == ("losslake-record/1", "mine", 64)
    assert facts["parameters"] == {"lr": 0.1, "nesterov": True, "bad": "Infinity"}
    assert facts["goals"] == [
        {"metric": "val/loss", "target": 0.5, "comparator": "strict", "source": "losslake.record"}
    ]
    (_, _, first), (_, _, second) = lines(place(run))
    assert (first["train/loss"], first["val/loss"], second["train/loss"]) == (0.1 + 0.2, "NaN", "Infinity")
    assert 0 <= first["elapsed_s"] <= second["elapsed_s"]
    assert (end(place(run))["status"], end(place(run))["n_dropped"]) == ("COMPLETE", 0)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"workload": "a/b/c"}, "workload 'a/b/c'"),
        ({"workload": "a//c/d"}, "workload"),
        ({"workload": "../b/c/d"}, "workload"),
        ({"workload": 5}, "workload 5"),
        ({"batch_size": 0}, "batch_size 0"),
        ({"batch_size": True}, "batch_size True"),
        ({"batch_size": "64"}, "batch_size '64'"),
        ({"batch_unit": ""}, "batch_unit"),
        ({"licence": 5}, "licence 5"),
        ({"parameters": {"a": [1]}}, "parameters['a']"),
        ({"parameters": {5: 1}}, "parameters: the name 5"),
        ({"goals": [{"metric": "loss", "target": 1}]}, "goals: the metric 'loss'"),
        ({"goals": [{"metric": "val/loss", "target": math.nan}]}, "goals: the target nan"),
        ({"goals": [{"metric": "val/loss", "target": 1, "comparator": "<"}]}, "goals: the comparator"),
        ({"goals": [5]}, "goals: 5"),
        ({"resume": "../x"}, "resume '../x'"),
        ({"resume": ".."}, "resume '..'"),
        ({"resume": "nothing"}, "there is no recorded run in"),
    ],
)
def test_wrong_facts_are_refused_before_training(
    started: Callable[..., Run], tmp_path: Path, changed: dict[str, Any], says: str
) -> None:
    with pytest.raises(ValueError, match="^" + says.replace("[", r"\[").replace("..", r"\.\.")) as refused:
        started(**changed)
    assert "\n" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


class Raising:
    def __float__(self) -> float:
        raise RuntimeError("device lost")


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (np.float32(0.5), 0.5),
        (np.float64(0.25), 0.25),
        (np.int64(3), 3.0),
        (np.array([2.0]), 2.0),
        (True, 1.0),
        (7, 7.0),
    ]
    + [(value, None) for value in ("0.5", b"1", None, 1j, [1.0], np.zeros(2), {}, object())],
)
def test_numbers_of_any_kind_are_recorded_and_others_left_out(
    started: Callable[..., Run], value: Any, kept: float | None
) -> None:
    run = started()
    run.log({"train/loss": 1.0, "val/loss": value}, step=1)
    run.finish()
    assert curve(place(run)) == {"train/loss": {1: 1.0}} | ({} if kept is None else {"val/loss": {1: kept}})
    known = end(place(run))
    assert (known["status"], known["n_dropped"], run.n_left_out) == ("COMPLETE", 0, int(kept is None))
    if kept is None:
        (row,) = known["left_out"]
        assert (row["name"], row["n"], row["first_step"], row["last_step"]) == ("val/loss", 1, 1, 1)


@pytest.mark.parametrize("value", [10**400, -(10**400), Raising()])
def test_number_that_cannot_be_read_is_lost(started: Callable[..., Run], value: Any) -> None:
    run = started()
    run.log({"train/loss": 1.0, "val/loss": value}, step=1)
    run.finish()
    assert (end(place(run))["status"], end(place(run))["n_dropped"]) == ("INCOMPLETE", 1)
    assert curve(place(run)) == {"train/loss": {1: 1.0}}


@pytest.mark.parametrize("step", [-1, 1.5, "1", True, 2**53, math.nan, 10**400])
def test_steps_that_are_none_are_counted(started: Callable[..., Run], step: Any) -> None:
    run = started()
    run.log({"train/loss": 1.0}, step=step)
    run.log({"train/loss": 1.0}, step=np.int64(5))
    run.log({"train/loss": 1.0}, step=6.0)
    run.rewind(step)
    run.finish()
    assert curve(place(run)) == {"train/loss": {5: 1.0, 6: 1.0}}
    assert (end(place(run))["status"], end(place(run))["n_dropped"]) == ("INCOMPLETE", 2)


@pytest.mark.parametrize("values", [None, 5, [1], {5: 1.0}, {"": 1.0}, {"step": 1.0}, {"elapsed_s": 1.0}, {None: 1.0}])
def test_what_is_no_measurement_is_counted_and_the_run_is_complete(started: Callable[..., Run], values: Any) -> None:
    run = started()
    run.log(values, step=1)
    run.finish()
    assert (lines(place(run)), run.n_left_out, end(place(run))["status"]) == ([], 1, "COMPLETE")


@given(
    st.lists(
        st.tuples(
            st.integers(0, 6),
            st.dictionaries(
                st.sampled_from(["val/loss", "a.b", "ü", "\ud800", '"', "\n", "\x00"])
                | st.text(min_size=1, max_size=3),
                st.floats() | st.integers(),
                max_size=4,
            ),
        )
        | st.integers(0, 6),
        max_size=30,
    )
)
def test_any_calls_are_recorded_as_a_plain_list_has_them(
    tmp_path_factory: pytest.TempPathFactory, calls: list[tuple[int, dict[str, float]] | int]
) -> None:
    """The oracle: a step below an earlier one of its metric, or a rewind, takes back what was from there on."""
    run = losslake.record.start(**FACTS, folder=tmp_path_factory.getbasetemp() / "any")
    expected: dict[str, dict[int, float]] = {}
    last: dict[str, int] = {}
    pending: int | None = None
    for call in calls:
        if isinstance(call, int):
            run.rewind(call)
            pending = call if pending is None else min(pending, call)
            last = {name: min(step, call) for name, step in last.items()}
            continue
        step, values = call
        run.log(values, step=step)
        if not values:
            continue
        if any(last.get(name, -1) > step for name in values):
            pending = step if pending is None else min(pending, step)
            last = {name: min(known, step) for name, known in last.items()}
        if pending is not None:
            expected = {name: {at: v for at, v in old.items() if at < pending} for name, old in expected.items()}
            pending = None
        for name, value in values.items():
            expected.setdefault(name, {})[step] = float(value)
            last[name] = step
    run.finish()
    assert repr(sorted(curve(place(run)).items())) == repr(sorted((n, v) for n, v in expected.items() if v))
    assert end(place(run))["n_dropped"] == 0


def test_ten_thousand_metrics_are_recorded_and_no_more(started: Callable[..., Run]) -> None:
    run = started()
    for step in range(3):
        run.log({f"train/m{at}": at / 7 for at in range(10_001)}, step=step)
    run.finish()
    assert len(curve(place(run))) == 10_000
    assert run.n_dropped == 3


def test_folder_that_cannot_be_written_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    run = losslake.record.start(**FACTS, folder=tmp_path / "file" / "runs")
    run.log({"train/loss": 1.0}, step=1)
    run.rewind(0)
    run.finish()
    assert run.folder is None
    (message,) = caplog.messages
    assert message.startswith("the run isn't recorded: ")


def test_removed_folder_is_not_made_again_and_is_reported(
    started: Callable[..., Run], caplog: pytest.LogCaptureFixture
) -> None:
    run = started()
    run.log({"train/loss": 1.0}, step=1)
    wait_until(lambda: any(place(run).rglob("*.jsonl")), "a segment is there")
    for path in sorted(place(run).rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    place(run).rmdir()
    run.log({"train/loss": 2.0}, step=2)
    run.finish()
    assert not place(run).exists()
    assert run.n_dropped == 2
    assert "was removed while it was being written" in caplog.text


def test_removed_segment_is_a_gap_and_the_rest_is_recorded(started: Callable[..., Run]) -> None:
    run = started()
    run.log({"train/loss": 1.0}, step=1)
    wait_until(lambda: any(path.stat().st_size for path in place(run).rglob("*.jsonl")), "a segment has lines")
    next(place(run).rglob("*.jsonl")).unlink()
    wait_until(lambda: run.n_dropped == 1, "the loss is noticed")
    run.log({"train/loss": 2.0}, step=2)
    run.finish()
    assert curve(place(run)) == {"train/loss": {2: 2.0}}
    assert end(place(run))["gaps"] == [{"reason": "the file was removed", "n": 1, "first_step": 1, "last_step": 1}]


def test_status_is_kept_and_only_the_first_finish_counts(started: Callable[..., Run]) -> None:
    run = started()
    run.log({"train/loss": math.nan, "train/x": 10**400}, step=1)
    run.finish("INFEASIBLE")
    run.finish("COMPLETE")
    run.log({"train/loss": 1.0}, step=2)
    assert (end(place(run))["status"], end(place(run))["n_dropped"]) == ("INFEASIBLE", 1)
    assert len(lines(place(run))) == 1


def test_exception_in_the_block_leaves_the_run_incomplete(started: Callable[..., Run]) -> None:
    run = started()

    def train() -> None:
        with run:
            run.log({"train/loss": 1.0}, step=1)
            raise KeyError("batch")

    with pytest.raises(KeyError, match="batch"):
        train()
    assert end(place(run))["status"] == "INCOMPLETE"


def test_handler_that_raises_does_not_reach_the_training(
    started: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("losslake.record.run._LOGGER.warning", fail)
    run = started()
    run.log({"train/loss": None}, step=1)
    run.finish("done")
    assert end(place(run))["status"] == "INCOMPLETE"


def test_resumed_run_is_a_new_attempt_and_its_clock_goes_on(started: Callable[..., Run]) -> None:
    with started() as first:
        for step in range(10):
            first.log({"train/loss": 1.0}, step=step)
    before = lines(place(first))[-1][2]["elapsed_s"]
    with started(resume=first.name) as second:
        assert not (place(second) / "end.json").exists()
        second.rewind(5)
        second.log({"train/loss": 2.0}, step=6)
    assert curve(place(second)) == {"train/loss": {**dict.fromkeys(range(5), 1.0), 6: 2.0}}
    assert lines(place(second))[-1][2]["elapsed_s"] >= before
    assert len(end(place(second))["segments"]) == 2


@pytest.mark.parametrize("changed", [{"batch_size": 65}, {"workload": "mine/mnist/cnn/adam"}, {"batch_unit": "tokens"}])
def test_run_with_other_facts_is_not_resumed(started: Callable[..., Run], changed: dict[str, Any]) -> None:
    with started() as run:
        run.log({"train/loss": 1.0}, step=1)
    with pytest.raises(ValueError, match="in the run to resume"):
        started(resume=run.name, **changed)
    assert (place(run) / "end.json").exists()


def test_run_of_a_newer_version_is_not_resumed(started: Callable[..., Run]) -> None:
    with started() as run:
        run.log({"train/loss": 1.0}, step=1)
    path = place(run) / "run.json"
    path.write_text(path.read_text().replace("losslake-record/1", "losslake-record/2"))
    with pytest.raises(ValueError, match="newer version of losslake, as losslake-record/2"):
        started(resume=run.name)


def test_runs_that_resume_at_once_have_attempts_of_their_own_and_one_writes_the_end(
    started: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    with started() as first:
        first.log({"train/loss": 0.0}, step=1)
    both = [started(resume=first.name) for _ in range(2)]
    for step in range(2, 50):
        for number, run in enumerate(both, 1):
            run.log({"train/loss": float(number)}, step=step)
    ends: list[Spool] = []
    write = Spool.end

    def counted(spool: Spool, facts: Mapping[str, Any]) -> None:
        ends.append(spool)
        write(spool, facts)

    monkeypatch.setattr(Spool, "end", counted)
    for run in both:
        run.finish()
    # The other one doesn't try again, as it does with a disk that is full.
    assert len(ends) == 2
    attempts = {attempt for attempt, _, _ in lines(place(first))}
    assert attempts == {1, 2, 3}
    values = set(curve(place(first))["train/loss"].values())
    assert values in ({0.0, 1.0}, {0.0, 2.0})
    assert len(end(place(first))["segments"]) == 3


@pytest.mark.parametrize("variable", ["RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"])
def test_only_rank_0_records(
    started: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "1")
    run = started(resume="of-another-node")
    run.log({"train/loss": 1.0}, step=1)
    run.finish()
    assert (run.folder, list(tmp_path.iterdir())) == (None, [])
    recorded = started(rank=0)
    recorded.finish()
    assert recorded.folder is not None


def test_threads_log_together(started: Callable[..., Run]) -> None:
    def work(number: int) -> None:
        for step in range(500):
            run.log({f"train/m{number}": float(step)}, step=step)
            if step % 100 == 0:
                run.log({"train/x": None}, step=step)

    run = started()
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    run.finish()
    assert {name: len(values) for name, values in curve(place(run)).items()} == {f"train/m{n}": 500 for n in range(4)}
    assert run.n_left_out == 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_child_records_nothing_and_ends(started: Callable[..., Run]) -> None:
    run = started()
    run.log({"train/loss": 1.0}, step=1)
    child = os.fork()
    if not child:
        run.log({"train/loss": 9.0}, step=2)
        run.finish()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    run.log({"train/loss": 2.0}, step=2)
    run.finish()
    assert curve(place(run)) == {"train/loss": {1: 1.0, 2: 2.0}}
    assert end(place(run))["status"] == "COMPLETE"


def test_process_that_ends_without_finish_leaves_measurements_and_no_end(tmp_path: Path) -> None:
    ran(f"run = losslake.record.start(workload='a/b/c/d', batch_size=1, folder={str(tmp_path)!r})\n"
        "for step in range(1000): run.log({'train/loss': 1.0}, step=step)")  # fmt: skip
    (run,) = tmp_path.iterdir()
    assert len(curve(run)["train/loss"]) == 1000
    assert not (run / "end.json").exists()


def test_signal_handler_may_log_and_finish(tmp_path: Path) -> None:
    ran(
        "import os, signal, sys\n"
        f"run = losslake.record.start(workload='a/b/c/d', batch_size=1, folder={str(tmp_path)!r})\n"
        "def stop(*_):\n    run.log({'val/loss': 1.0}, step=7)\n    run.finish('INCOMPLETE')\n    sys.exit(0)\n"
        "signal.signal(signal.SIGALRM, stop)\nsignal.setitimer(signal.ITIMER_REAL, 0.05)\n"
        "while True: run.log({'train/loss': 1.0}, step=1)"
    )
    (run,) = tmp_path.iterdir()
    assert curve(run)["val/loss"] == {7: 1.0}
    assert end(run)["status"] == "INCOMPLETE"


def test_recorder_needs_only_the_standard_library(tmp_path: Path) -> None:
    code = (
        "import sys\nbefore = set(sys.modules)\nimport losslake.record, losslake.record.callbacks\n"
        "names = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(*sorted(names - sys.stdlib_module_names))"
    )
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"
    command = [sys.executable, "-I", "-S", "-c", program]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed.split() == ["losslake"]


def ran(code: str) -> None:
    """Run a program that records."""
    subprocess.run([sys.executable, "-c", f"import losslake.record\n{code}"], cwd=ROOT, check=True, timeout=60)


@pytest.mark.parametrize("replaced_from", [None, 0, 5, 20])
def test_what_was_lost_before_a_resume_goes_on_being_lost_unless_it_is_recorded_again(
    started: Callable[..., Run], replaced_from: int | None
) -> None:
    with started() as first:
        for step in range(10):
            first.log({"train/loss": 1.0, "train/x": None}, step=step)
        first.log({"train/loss": 10**400}, step=10)
    assert end(place(first))["status"] == "INCOMPLETE"
    with started(resume=first.name) as second:
        if replaced_from is not None:
            second.rewind(replaced_from)
        second.log({"train/loss": 1.0}, step=30 if replaced_from is None else replaced_from)
        second.log({"train/x": None}, step=31)
    known = end(place(second))
    is_again = replaced_from in (0, 5)
    assert (known["status"], known["n_dropped"]) == (("COMPLETE", 0) if is_again else ("INCOMPLETE", 1))
    assert [(row["n"], row["first_step"], row["last_step"]) for row in known["left_out"]] == [(11, 0, 31)]


def test_unannounced_rewinds_before_a_resume_go_on_being_stated(started: Callable[..., Run]) -> None:
    with started() as first:
        for step in (1, 2, 1, 2):
            first.log({"train/loss": 1.0}, step=step)
    with started(resume=first.name) as second:
        second.log({"train/loss": 1.0}, step=3)
    known = end(place(second))
    assert (known["status"], known["assumed_rewinds"], known["began_again"]) == ("INCOMPLETE", 1, 1)

"""How text logs end: in the middle of a line, or in an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ingest.test_silence import planned

TEXT = r"""
[text]
lines = ['^step (?P<step>\d+) val_loss (?P<val_loss>[\d.]+)']
[metrics]
val_loss = "val/loss"
"""
LOG = "step 1 val_loss 0.9\nstep 2 val_loss 0.8\n"
STATED = 'status = "COMPLETE"\n'


def ended(folder: Path, log: str, mapping: str = TEXT) -> tuple[dict[str, int], list[str], list[tuple[int, float]]]:
    plan = planned(folder, {"run.log": log}, mapping)
    ((_, study),) = plan.studies.items()
    rows = [(step, values["val/loss"] or 0.0) for _, step, values in study.first_rows]
    return dict(study.statuses), [str(item) for item in plan.quarantined], rows


def test_a_value_at_the_end_of_a_last_line_without_its_end_is_left_out(tmp_path: Path) -> None:
    statuses, said, rows = ended(tmp_path / "cut", f"{LOG}step 300 val_loss 0")
    assert (statuses, rows) == ({"INCOMPLETE": 1}, [(1, 0.9), (2, 0.8)])
    assert said == [
        (
            "damaged_log: run.log:3: 1 x the last line has no line end, so its last value may be cut: left out; the "
            "run isn't COMPLETE: copy the file again, or end the line if it is whole"
        )
    ]
    assert ended(tmp_path / "whole", f"{LOG}step 300 val_loss 0\n") == ({"COMPLETE": 1}, [], [*rows, (300, 0.0)])


def test_a_last_line_that_is_cut_after_its_step_makes_the_run_incomplete(tmp_path: Path) -> None:
    statuses, said, rows = ended(tmp_path, f"{LOG}step 300 val")
    assert (statuses, len(said), rows) == ({"INCOMPLETE": 1}, 1, [(1, 0.9), (2, 0.8)])


@pytest.mark.parametrize("last", ["done", "step 3 val_loss 0.7 ", "saved run 3"])
def test_a_last_line_without_its_end_whose_values_are_whole_is_read(tmp_path: Path, last: str) -> None:
    statuses, said, _ = ended(tmp_path, LOG + last)
    assert (statuses, said) == ({"COMPLETE": 1}, [])


ERRORS = {
    "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB": "out of memory",
    "torch.cuda.OutOfMemoryError: none left": "OutOfMemoryError",
    "train.sh: line 3: 4711 Killed  python train.py": "Killed",
    "exited with signal 9": "signal 9",
    "terminate called: NCCL error in: ProcessGroupNCCL.cpp": "NCCL error",
    "ncclSystemError: System call failed": "ncclSystemError",
    "Segmentation fault (core dumped)": "Segmentation fault",
    "Bus error": "Bus error",
    "slurmstepd: error: *** JOB 1 ON n CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***": "CANCELLED",
    "KeyboardInterrupt": "KeyboardInterrupt",
    "Traceback (most recent call last):": "Traceback (most recent call last)",
}


@pytest.mark.parametrize("line", ERRORS)
def test_an_error_after_the_last_value_makes_the_run_incomplete(tmp_path: Path, line: str) -> None:
    log = f'{LOG}Traceback (most recent call last):\n  File "a.py", line 1, in f\n{line}\n'
    statuses, said, _ = ended(tmp_path / "ended", log)
    number = 3 if line.startswith("Traceback") else 5
    assert statuses == {"INCOMPLETE": 1}
    assert said == [
        (
            f"damaged_log: run.log:{number}: 1 x the run ends with {ERRORS[line]!r}; the run isn't COMPLETE: if it did "
            'end there as planned, say status = "COMPLETE" under [run]'
        )
    ]
    assert ended(tmp_path / "stated", log, STATED + TEXT)[:2] == ({"COMPLETE": 1}, [])


@pytest.mark.parametrize("line", ["Traceback (most recent call last):", "CUDA out of memory, trying again"])
def test_an_error_that_the_run_survives_changes_nothing(tmp_path: Path, line: str) -> None:
    assert ended(tmp_path, f"step 0 val_loss 2\n{line}\n{LOG}NCCL WARN no error\n")[:2] == ({"COMPLETE": 1}, [])


def test_each_run_of_a_file_has_its_own_end_and_its_own_remarks(tmp_path: Path) -> None:
    log = f"--- a ---\n{LOG}Killed\n--- b ---\n{LOG}bye\nbye\n--- c ---\n{LOG}step 4 val_loss 0.1"
    plan = planned(tmp_path, {"run.log": log}, TEXT.replace("[metrics]", "starts = '^---'\n[metrics]"))
    ((_, study),) = plan.studies.items()
    assert dict(study.statuses) == {"COMPLETE": 1, "INCOMPLETE": 2}
    assert [(item.line, item.path) for item in plan.quarantined] == [(4, "run.log"), (13, "run.log")]
    (skipped,) = [(text, n) for text, n in plan.sources[0].remarks if "no expression matches" in text]
    assert skipped[1] == 6

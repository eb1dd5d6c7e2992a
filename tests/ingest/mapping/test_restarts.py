"""A log whose steps or times begin again is one run only where that is how a restarted run is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from losslake_ingest.pipeline.reading import Request
from losslake_ingest.plan import IngestPlan, plan_ingest
from tests.ingest.offers import unpacked

MAPPING = 'collection.name = "c"\nrun = { dataset = "d", model = "m", optimizer = "o", batch_size = 64 }\n'
TIME = '[time]\nelapsed_s = "elapsed"\n'


def dry_run(folder: Path, log: str, lines: str = "") -> IngestPlan:
    files = {"a.csv": log.encode(), "losslake.toml": f"{MAPPING}{lines}".encode()}
    return plan_ingest(None, [unpacked(folder, files)], Request())


def values(plan: IngestPlan) -> list[tuple[int, float | None]]:
    assert not plan.quarantined
    ((_, study),) = plan.studies.items()
    return [(step, row["val/loss"]) for _, step, row in study.first_rows]


@pytest.mark.parametrize("between", ["", "step,val/loss\n"], ids=["rows", "a repeated header"])
def test_steps_that_begin_again_are_two_runs_or_one_that_started_over(tmp_path: Path, between: str) -> None:
    log = f"step,val/loss\n0,4\n1,3\n2,2\n{between}0,8\n1,7\n2,6\n"
    (refused,) = (plan := dry_run(tmp_path, log)).quarantined
    assert (refused.rule, refused.path) == ("values_disagree", "a.csv")
    assert "val/loss goes back from step 2 to step 0, where it began, with other values: if these are two runs" in str(
        refused
    )
    (missing,) = plan.missing
    assert values(dry_run(tmp_path, log, f"[metrics]\n{missing.add}")) == [(0, 8), (1, 7), (2, 6)]


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param("0,4\n1,3\n2,2\n1,2.5\n2,1\n", id="a restart from a checkpoint"),
        pytest.param("0,4\n1,3\n2,2\n0,4\n1,3\n2,2\n", id="the same rows twice"),
        pytest.param("3,1\n2,2\n1,3\n", id="the last step first"),
        pytest.param("2,2\n3,1\n1,3\n", id="evaluations that end in another order"),
        pytest.param("5,1\n6,2\n7,3\n8,3\n1,8\n2,7\n3,6\n", id="the later half first"),
    ],
)
def test_steps_that_go_back_otherwise_are_one_run(tmp_path: Path, rows: str) -> None:
    assert len(values(dry_run(tmp_path, f"step,val/loss\n{rows}"))) in (3, 5)  # of the first rows in a plan


@pytest.mark.parametrize(
    ("rows", "fall"),
    [
        pytest.param("1,10,4\n2,5,3\n3,20,2\n", "elapsed falls from 10 s at step 1 to 5 s at step 2", id="within"),
        pytest.param(
            "1,10,4\n2,20,3\n3,30,2\n3,1,2\n4,11,1\n", "elapsed falls from 20 s at step 2 to 1 s at step 3", id="from 0"
        ),
    ],
)
def test_a_time_that_falls_is_not_the_time_since_the_start(tmp_path: Path, rows: str, fall: str) -> None:
    log = f"step,elapsed,val/loss\n{rows}"
    (refused,) = (plan := dry_run(tmp_path, log, TIME)).quarantined
    assert refused.rule == "bad_fact"
    assert fall in refused.message
    (missing,) = plan.missing
    assert values(dry_run(tmp_path, log, f"[time]\n{missing.add}"))


def test_a_restart_takes_the_time_back_to_that_of_its_checkpoint(tmp_path: Path) -> None:
    log = "step,elapsed,val/loss\n1,10,4\n2,20,3\n3,30,2\n2,15,3.5\n3,25,2.5\n"
    assert values(dry_run(tmp_path, log, TIME)) == [(1, 4), (2, 3.5), (3, 2.5)]

"""System metrics of recorded runs."""

from __future__ import annotations

import importlib
import threading
import time
from pathlib import Path

import pytest

import losslake.record
from losslake.record.steps import StepBeside
from losslake.record.system import Sampler, installed_sources
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.plan import plan_ingest
from tests.losslake.record.runs import FACTS, curve, end, lines, place


def test_samples_belong_to_the_last_step_with_the_mean_the_largest_memory_and_the_total_energy(tmp_path: Path) -> None:
    readings = iter([(10, 3, 5), (20, 9, 6), (60, 6, 8), (1, 1, 9)])

    def source() -> dict[str, float]:
        percent, memory, energy = next(readings)
        return {"system/cpu_percent": percent, "system/process_memory_gb": memory, "system/gpu_0_energy_j": energy}

    run = losslake.record.start(**FACTS, folder=tmp_path)
    sampler = Sampler(run, 3600, [source])
    sampler.sample()  # before the first step
    run.log({"val/loss": 1.0}, step=7)
    sampler.sample()
    sampler.sample()
    run.rewind(3)
    run.log({"val/loss": 2.0}, step=3)
    sampler.sample()
    sampler.stop()
    run.finish()
    assert run.folder is not None
    assert curve(run.folder) == {
        "val/loss": {3: 2.0}, "system/cpu_percent": {3: 1.0}, "system/process_memory_gb": {3: 1.0},
        "system/gpu_0_energy_j": {3: 9.0},
    }  # fmt: skip
    first = next(run.folder.glob("0001/*.jsonl")).read_text()
    assert '"system/cpu_percent":40' in first.replace(" ", "")
    assert '"system/process_memory_gb":9' in first.replace(" ", "")
    assert end(run.folder)["status"] == "COMPLETE"


def test_samples_leave_the_count_of_calls_as_it_is(tmp_path: Path) -> None:
    with losslake.record.start(**FACTS, folder=tmp_path) as run:
        sampler = Sampler(run, 3600, [lambda: {"system/cpu_percent": 1.0}])
        for loss in (3.0, 2.0, 1.0):
            run.log({"val/loss": loss})
            sampler.sample()
        sampler.stop()
    assert curve(place(run)) == {"val/loss": {0: 3.0, 1: 2.0, 2: 1.0}, "system/cpu_percent": {0: 1.0, 1: 1.0, 2: 1.0}}
    assert all("_step" in line for _, _, line in lines(place(run)))


def test_a_sample_that_comes_after_a_rewind_is_none_itself(tmp_path: Path) -> None:
    with losslake.record.start(**FACTS, folder=tmp_path) as run:
        for step in (9, 3):
            run.rewind(step)
            run.log({"val/loss": 1.0}, step=step)
            run.log({"system/cpu_percent": 1.0}, step=StepBeside(9))
            run.log({"system/cpu_percent": 1.0}, step=StepBeside(step))
    assert end(place(run))["status"] == "COMPLETE"


def test_a_started_run_has_the_metrics_of_this_machine_and_a_lake_leaves_them_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = losslake.record.start(**FACTS, folder=tmp_path / "runs", system=0.1)
    run.log({"val/loss": 1.0}, step=1)
    assert run.folder is not None
    sampler = next(thread for thread in threading.enumerate() if thread.name == "losslake-system")
    deadline = time.monotonic() + 60
    while not any(b"system/" in path.read_bytes() for path in run.folder.glob("*/*.jsonl")):
        assert sampler.is_alive()
        assert time.monotonic() < deadline
        sampler.join(0.05)
    run.finish()
    names = {"system/cpu_percent", "system/process_cpu_percent", "system/process_memory_gb", "system/memory_percent"}
    assert names <= curve(run.folder).keys()
    assert not caplog.records
    planned = plan_ingest(None, [tmp_path / "runs"], Request())
    assert not planned.quarantined
    assert "system" not in str(planned)


def test_missing_packages_are_one_line_and_nothing_is_sampled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(importlib, "import_module", missing)
    assert installed_sources() == []
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        "no system metrics of the processor: No module named 'psutil'; pip install \"losslake[system]\""
    ]
    run = losslake.record.start(**FACTS, folder=tmp_path, system=True)
    run.log({"val/loss": 1.0}, step=1)
    run.finish()
    assert run.folder is not None
    assert curve(run.folder) == {"val/loss": {1: 1.0}}


@pytest.mark.parametrize("system", ["yes", -1, float("nan"), float("inf"), None])
def test_what_is_no_time_is_refused_before_anything_is_recorded(tmp_path: Path, system: object) -> None:
    with pytest.raises(ValueError, match="give True, or the seconds between samples"):
        losslake.record.start(**FACTS, folder=tmp_path, system=system)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())

"""`losslake fetch wandb:…`: the library's own uploads and requests, with a stand-in of its server."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import wandb

from losslake.lake.lake import Lake
from losslake_ingest.contracts.run_log import RunLog
from losslake_ingest.formats.record import FORMAT as RECORD
from losslake_ingest.formats.wandb import FORMAT as WANDB
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.run import ingest
from losslake_ingest.sources.open import open_source
from tests.cli.conftest import Run
from tests.cli.logs.wandb_service import KEY, ServedRun, WandbService, wandb_service
from tests.ingest.formats.wandb_files import offline_run
from tests.ingest.stored_rows import stored_rows

DEFINED = [
    {"name": "epoch"},
    {"name": "val/*", "step_metric": "epoch"},
    {"name": "train/loss", "step_metric": "trainer/global_step"},
]
AXES = {"train/loss": "trainer/global_step", "val/loss": "epoch", "grad": "_step"}
# Two updates between two calls of log, and evaluations in calls of their own: _step misplaces both.
ROWS: list[dict[str, Any]] = [
    row
    for n in range(1, 13)
    for row in (
        {"trainer/global_step": 2 * n, "train/loss": math.nan if n == 5 else 1 / n, "grad": 0.1 * n},
        *([{"epoch": n // 4, "val/loss": math.inf if n == 8 else 2 / n}] if n % 4 == 0 else []),
    )
]
CONFIG = {"lr": 0.1, "batch_size": 64, "dataset": "d", "optimizer": "adam", "net": {"depth": 3}, "by": "janeroe"}
MAPPING = """
[run]
model = "m"
[[axis]]
column = "epoch"
counts = "epochs"
epoch_size = 512
[[axis]]
column = "_step"
counts = "calls"
scale = 1
"""


class Shortened(ServedRun):
    """A run of which the server sends less than it says there is."""

    def between(self, low: int, high: int) -> list[str]:
        return super().between(low, high)[:-3]


@pytest.fixture(scope="module")
def synced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[WandbService, Path]]:
    folder = tmp_path_factory.mktemp("offline")
    rows = [{name: repr(value) if isinstance(value, float) else value for name, value in row.items()} for row in ROWS]
    data = offline_run(
        folder, rows, CONFIG, defined=DEFINED, project="proj", entity="ann", id="r1", name="one", group="g", tags=["t"]
    )
    with wandb_service() as service:
        service.sync(folder, "r1")
        (folder / "r1.wandb").write_bytes(data)
        yield service, folder / "r1.wandb"
        wandb.teardown()  # ends the process in which the library works


@pytest.fixture
def service(synced: tuple[WandbService, Path]) -> Iterator[WandbService]:
    service, _ = synced
    before = dict(service.runs)
    service.asked.clear()
    yield service
    service.runs = before


@pytest.fixture
def fetch(losslake: Run, service: WandbService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that fetches the runs of the project into tmp_path/runs."""
    for name, value in {**service.environment, "HOME": str(tmp_path), "WANDB_SILENT": "true"}.items():
        monkeypatch.setenv(name, value)
    given = ("fetch", "wandb:ann/proj", "--to", tmp_path / "runs", "--licence", "MIT")
    return lambda *options: losslake(*given, *options)


def read(log_format: Any, path: Path) -> RunLog:
    (run,) = log_format.read(open_source(path), LogMapping())
    assert isinstance(run, RunLog)
    return run


def measured(run: RunLog) -> Mapping[str, list[tuple[str, str]]]:
    """The values of each metric by its own axis."""
    series: dict[str, list[tuple[str, str]]] = {metric: [] for metric in AXES}
    for metric, axis in AXES.items():
        for rows in run.rows:
            if metric in rows.columns and axis in rows.columns:
                known = rows.known(metric) & rows.known(axis)
                pairs = zip(rows.columns[axis][known], rows.columns[metric][known], strict=True)
                series[metric] += [(repr(float(at)), repr(float(value))) for at, value in pairs]
    return series


@pytest.mark.parametrize("is_exported", [False, True])
def test_a_fetched_run_has_the_values_and_facts_of_its_offline_file(
    service: WandbService, synced: tuple[WandbService, Path], fetch: Run, tmp_path: Path, is_exported: bool
) -> None:
    service.copy("r1", "r1", is_exported=is_exported)
    done = fetch()
    assert done.returncode == 0, done.stderr
    assert "nothing is published" in done.stdout
    fetched, offline = read(RECORD, tmp_path / "runs" / "ann" / "proj" / "r1"), read(WANDB, synced[1])
    assert measured(fetched) == measured(offline)
    assert measured(fetched)["val/loss"] == [("1.0", "0.5"), ("2.0", "inf"), ("3.0", repr(2 / 12))]
    assert len(measured(fetched)["train/loss"]) == 12
    assert {**fetched.parameters, "by": "janeroe"} == offline.parameters
    assert fetched.fields["run_name"] == offline.fields["run_name"] == "one"
    assert "by" not in fetched.parameters  # it names the person
    assert fetched.attributes["run_path"] == "ann/proj/r1"
    assert fetched.attributes["tags"] == ["t"]
    assert "sec-mail" not in repr(fetched)


def test_metrics_are_placed_by_their_step_metric_and_never_by_calls_of_log(fetch: Run, tmp_path: Path) -> None:
    assert fetch().returncode == 0
    runs = tmp_path / "runs"
    (runs / "losslake.toml").write_text(MAPPING)
    lake = Lake.create(tmp_path / "lake")
    summary = ingest(lake, [runs])
    assert (summary.trials_ingested, len(summary.quarantined)) == (1, 0)
    rows = stored_rows(lake, "measurements")
    steps = {metric: [row["step"] for row in rows if row["metric"] == metric] for metric in ("val/loss", "train/loss")}
    assert steps == {"val/loss": [8, 16, 24], "train/loss": list(range(2, 26, 2))}
    (runs / "losslake.toml").write_text(MAPPING.replace('"epoch"', '"other"', 1))
    remarks = ingest(Lake.create(tmp_path / "other"), [runs]).sources[0].remarks
    assert [text for text, _ in remarks if text.startswith("column 'val/loss' left out: no [[axis]] applies to it")]


def test_a_history_that_ends_early_is_left_out(service: WandbService, fetch: Run, tmp_path: Path) -> None:
    lines = service.runs["r1"].lines
    service.runs = {"r1": Shortened(service.runs["r1"].facts, lines)}
    done = fetch()
    assert "left out     r1: its history came up to _step 11 of 14" in done.stdout
    assert not list(tmp_path.rglob("run.json"))


def test_the_key_is_neither_stored_nor_printed(service: WandbService, fetch: Run, tmp_path: Path) -> None:
    done = fetch()
    assert KEY not in done.stdout + done.stderr
    files = [path for path in (tmp_path / "runs").rglob("*") if path.is_file()]
    assert len(files) > 4
    assert not any(KEY.encode() in path.read_bytes() for path in files)


def test_a_cut_fetch_goes_on_with_the_runs_that_are_missing(service: WandbService, fetch: Run, tmp_path: Path) -> None:
    service.copy("r1", "r2", is_broken=True)
    service.copy("r1", "r3")
    place = tmp_path / "runs" / "ann" / "proj"
    cut = fetch()
    assert cut.returncode == 1
    assert "fetched      2 runs" in cut.stdout
    assert "left out     r2: wandb can't read the run ann/proj/r2" in cut.stdout
    assert "\x1b" not in cut.stdout + cut.stderr
    assert sorted(path.name for path in place.iterdir()) == ["r1", "r3"]
    (tmp_path / "runs.partial").mkdir()
    (tmp_path / "runs.partial" / "run.json").write_text("{}")
    service.runs["r2"].is_broken = False
    service.asked.clear()
    again = fetch("--quiet")
    assert again.stdout.splitlines()[0].startswith("fetched      1 run into")
    assert "unchanged    2 runs" in again.stdout
    assert service.asked.count("HistoryPage") == 1
    assert not (tmp_path / "runs.partial").exists()


def test_a_running_run_is_fetched_again_when_it_has_gone_on(service: WandbService, fetch: Run, tmp_path: Path) -> None:
    whole = service.runs["r1"].lines
    service.copy("r1", "r1", state="running", lines=whole[:5])
    fetch()
    place = tmp_path / "runs" / "ann" / "proj" / "r1"
    assert read(RECORD, place).status == "INCOMPLETE"
    service.copy("r1", "r1", state="finished", lines=whole, heartbeat="2026-11-30T11:00:00Z")
    assert "fetched      1 run into" in fetch().stdout
    run = read(RECORD, place)
    assert run.status == "COMPLETE"
    assert len(measured(run)["train/loss"]) == 12


def test_each_state_has_its_status(service: WandbService, fetch: Run, tmp_path: Path) -> None:
    for state in ("crashed", "failed", "killed", "preempted", "unheard-of"):
        service.copy("r1", state, state=state)
    assert fetch().returncode == 0
    ends = {path.parent.name: json.loads(path.read_bytes())["status"] for path in tmp_path.rglob("end.json")}
    assert ends.pop("r1") == "COMPLETE"
    assert set(ends.values()) == {"INCOMPLETE"}
    assert len(ends) == 5


def test_runs_are_chosen_by_name_and_number(service: WandbService, fetch: Run, tmp_path: Path) -> None:
    facts = service.runs["r1"].facts
    for name in ("a1", "a2", "a3"):
        service.copy("r1", name, facts=facts | {"displayName": f"adam {name}"})
    assert fetch("--runs", "adam *", "--limit", 2).returncode == 0
    assert sorted(path.name for path in (tmp_path / "runs" / "ann" / "proj").iterdir()) == ["a1", "a2"]


def line(**values: Any) -> str:
    return json.dumps({"_step": 0, "_runtime": 1.0} | values)


def test_hostile_answers_stay_in_their_folder_and_are_said(service: WandbService, fetch: Run, tmp_path: Path) -> None:
    config = json.dumps({"_wandb": {"value": {"m": [7, {"1": 3, "5": 99}, {"2": "*"}]}}, "a": {"value": {"b": "NaN"}}})
    large = json.dumps({f"k{n}": {"value": "x" * 1900} for n in range(700)})
    service.runs = {
        "../../up": ServedRun({"config": config}, [line(loss="NaN", other="Infinity", text="hi")]),
        "..": ServedRun({"config": config}, [line(loss=1.0)]),
        "large": ServedRun({"config": large}, [line(loss=1.0)]),
        "empty": ServedRun({"config": config}, [line(text="hi")]),
        "mixed": ServedRun({"config": "[]"}, [line(loss=1.0), line(_step=1, loss="seven"), line(_step=2, loss=2.0)]),
        "n\x1bm": ServedRun({"config": "{}"}, [line(**{"loss": 1.0, "step": 5, "elapsed_s": 7.0, "": 3.0})]),
    }
    done = fetch()
    assert done.returncode == 1
    left_out = [text for text in done.stdout.splitlines() if text.startswith("left out")]
    assert [text.split()[2] for text in left_out] == ["..:", "large:"]
    assert "empty        1 run without a number" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr
    place = tmp_path / "runs" / "ann" / "proj"
    assert sorted(path.name for path in place.iterdir()) == ["..%2F..%2Fup", "mixed", "n%5Cx1bm"]
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != ".cache") == ["runs"]
    (rows,) = read(RECORD, place / "..%2F..%2Fup").rows
    assert math.isnan(rows.columns["loss"][0])
    assert rows.columns["other"][0] == math.inf
    (rows,) = read(RECORD, place / "n%5Cx1bm").rows
    assert {name: values.tolist() for name, values in rows.columns.items()} == {
        "elapsed_s": [1.0],
        "_step": [0.0],
        "loss": [1.0],
        "logged/step": [5.0],
        "logged/elapsed_s": [7.0],
    }
    mixed = json.loads((place / "mixed" / "end.json").read_bytes())
    assert (mixed["n_dropped"], mixed["status"]) == (1, "INCOMPLETE")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("wandb:ann/proj",), "it is for the owner of ann/proj to give one"),
        (("wandb:ann", "--licence", "MIT"), "'wandb:ann' isn't a project of W&B: give wandb:ENTITY/PROJECT"),
        (("wandb:ann/../x", "--licence", "MIT"), "isn't a project of W&B"),
    ],
)
def test_a_bad_request_is_one_line(losslake: Run, options: tuple[str, ...], message: str) -> None:
    refused = losslake("fetch", *options)
    assert refused.returncode == 1
    assert message in refused.stderr
    assert len(refused.stderr.splitlines()) == 1


def test_without_the_library_the_extra_is_named(losslake: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    refused = losslake("fetch", "wandb:ann/proj", "--licence", "MIT")
    assert refused.stderr == 'losslake: losslake fetch wandb:… needs losslake[wandb]: pip install "losslake[wandb]"\n'

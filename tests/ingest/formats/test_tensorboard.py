from __future__ import annotations

import hashlib
import io
import math
from pathlib import Path

import numpy as np
import pytest
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.plugins.hparams.plugin_data_pb2 import SessionEndInfo, SessionStartInfo

from losslake_ingest.formats.format import Glimpse
from losslake_ingest.formats.tensorboard import FORMAT
from losslake_ingest.readers.event_files.file import NO_PARAMETER
from losslake_ingest.readers.event_files.folder import NAMED_LIKE_AN_AXIS, WRITTEN_TWICE
from tests.ingest.formats.reading import read, runs
from tests.ingest.formats.tensorboard_files import (
    FILE,
    SMALL,
    columns,
    event,
    event_file,
    fault,
    framed,
    hyperparameters,
    of_folder,
    session,
    simple,
    steps_and_values,
)


def test_every_scalar_of_tensorboardx_is_read_with_its_step_and_time(tmp_path: Path) -> None:
    import tensorboardX

    with tensorboardX.SummaryWriter(str(tmp_path / "run")) as writer:
        for step in range(50):
            writer.add_scalar("train/loss", 1 / (step + 1), step, walltime=1000.5 + step)
            if step % 10 == 0:
                writer.add_scalar("val/accuracy", step / 100, step, walltime=1000.75 + step)
    (run,) = of_folder(tmp_path)
    assert run.run == "run"
    assert columns(run) == {
        "train/loss": [
            [float(step) for step in range(50)],
            [1000.5 + step for step in range(50)],
            [float(np.float32(1 / (step + 1))) for step in range(50)],
        ],
        "val/accuracy": [
            [float(step) for step in range(0, 50, 10)],
            [1000.75 + step for step in range(0, 50, 10)],
            [float(np.float32(step / 100)) for step in range(0, 50, 10)],
        ],
    }
    (file,) = (tmp_path / "run").iterdir()
    assert run.files == {f"run/{file.name}": hashlib.sha256(file.read_bytes()).hexdigest()}
    assert run.remarks == {}


def test_hyperparameters_and_status_come_from_the_hparams_plugin(tmp_path: Path) -> None:
    import tensorboardX

    with tensorboardX.SummaryWriter(str(tmp_path / "sweep")) as writer:
        parameters = {"lr": 0.1, "batch_size": 128, "optimizer": "sgd", "nesterov": True}
        writer.add_hparams(parameters, {"val/accuracy": 0.75}, name="trial", global_step=3)
    (run,) = of_folder(tmp_path)
    assert run.run == "sweep/trial"
    assert dict(run.parameters) == {"lr": 0.1, "batch_size": 128, "optimizer": "sgd", "nesterov": True}
    assert isinstance(run.parameters["batch_size"], int)
    assert isinstance(run.parameters["nesterov"], bool)
    assert dict(run.fields) == dict(run.parameters)
    assert run.status == "success"
    assert steps_and_values(run, "val/accuracy") == [(3.0, 0.75)]


@pytest.mark.parametrize(
    ("status", "word"),
    [("STATUS_SUCCESS", "success"), ("STATUS_FAILURE", "failure"), ("STATUS_RUNNING", "running")],
)
def test_the_status_of_a_session_is_a_word(tmp_path: Path, status: str, word: str) -> None:
    start = session(session_start_info=SessionStartInfo(group_name="g7", monitor_url="http://internal/"))
    end = session(session_end_info=SessionEndInfo(status=status))
    data = event_file([event(1.0, 0, start), event(1.0, 0, simple("loss", 1)), event(2.0, 0, end)])
    (run,) = runs(FORMAT, tmp_path, {FILE: data})
    assert (run.run, run.status) == (".", word)
    assert dict(run.fields) == {"group_name": "g7"}
    assert run.private == ("addresses",)


def test_a_session_without_an_end_has_no_status_and_no_run_without_a_session_has_parameters(tmp_path: Path) -> None:
    start = hyperparameters(lr=0.5)
    started = event_file([event(1.0, 0, session(session_start_info=start)), event(1.0, 0, simple("loss", 1))])
    with_session, without = runs(FORMAT, tmp_path, {f"a/{FILE}": started, f"b/{FILE}": SMALL})
    assert (with_session.status, dict(with_session.parameters)) == (None, {"lr": 0.5})
    assert (without.status, dict(without.parameters)) == (None, {})


def test_hyperparameters_that_are_no_scalars_are_counted(tmp_path: Path) -> None:
    info = hyperparameters(lr=math.inf)
    info.hparams["layers"].list_value.values.add(number_value=3)
    info.hparams["nothing"].null_value = 0
    start = session(session_start_info=info)
    (run,) = runs(FORMAT, tmp_path, {FILE: event_file([event(1.0, 0, start, simple("loss", 1))])})
    assert dict(run.parameters) == {"lr": math.inf}
    assert run.remarks == {NO_PARAMETER: 2}


def test_runs_below_a_folder_with_hyperparameters_have_them_too(tmp_path: Path) -> None:
    start = hyperparameters(lr=0.5, units=16)
    own = hyperparameters(lr=0.25)
    files = {
        f"t1/{FILE}": event_file(
            [
                event(1.0, 0, session(session_start_info=start)),
                event(1.0, 0, session(session_end_info=SessionEndInfo(status="STATUS_SUCCESS"))),
            ]
        ),
        f"t1/train/{FILE}": SMALL,
        f"t1/validation/{FILE}": event_file(
            [event(1.0, 0, session(session_start_info=own)), event(1.0, 1, simple("a", 1))]
        ),
        f"t10/{FILE}": SMALL,
    }
    found = {run.run: run for run in runs(FORMAT, tmp_path, files)}
    assert list(found) == ["t1/train", "t1/validation", "t10"]
    assert dict(found["t1/train"].parameters) == {"lr": 0.5, "units": 16}
    assert found["t1/train"].status == "success"
    assert dict(found["t1/validation"].parameters) == {"lr": 0.25, "units": 16}
    assert found["t1/validation"].status is None
    assert dict(found["t10"].parameters) == {}


def test_later_files_of_a_folder_come_last_and_overlapping_steps_are_counted(tmp_path: Path) -> None:
    def part(first: int, last: int, value: float) -> bytes:
        return event_file([event(50.0 + step, step, simple("loss", value)) for step in range(first, last)])

    files = {
        "run/events.out.tfevents.1000.a": part(3, 6, 2.0),
        "run/events.out.tfevents.200.b": part(0, 4, 1.0),
    }
    (run,) = runs(FORMAT, tmp_path, files)
    assert steps_and_values(run, "loss") == [(0, 1), (1, 1), (2, 1), (3, 1), (3, 2), (4, 2), (5, 2)]
    assert run.remarks == {WRITTEN_TWICE: 1}
    assert sorted(run.files) == sorted(files)


def test_files_whose_names_have_no_time_are_ordered_by_their_first_event(tmp_path: Path) -> None:
    def part(started: float, step: int) -> bytes:
        data = io.BytesIO()
        data.write(event_file([event(started, step, simple("loss", step))])[len(event_file([])) :])
        return data.getvalue()

    (run,) = runs(FORMAT, tmp_path, {"b.tfevents": part(10.0, 1), "a.tfevents": part(20.0, 2)})
    assert steps_and_values(run, "loss") == [(1, 1), (2, 2)]
    assert run.started_at == 10.0


def test_every_folder_is_a_run_and_runs_come_in_order(tmp_path: Path) -> None:
    files = {f"{folder}{FILE}": SMALL for folder in ("b/", "a/sub/", "", "a/", "b/z/y/")}
    assert [run.run for run in runs(FORMAT, tmp_path, files)] == [".", "a", "a/sub", "b", "b/z/y"]


def test_steps_may_be_negative_or_huge_and_values_not_finite(tmp_path: Path) -> None:
    logged = [(-1, math.nan), (0, math.inf), (2**63 - 1, -math.inf), (-(2**63), -0.0), (2**56, 1.0), (2**55 - 1, 2.0)]
    events = [event(1.0, step, simple("loss", value)) for step, value in logged]
    (run,) = runs(FORMAT, tmp_path, {FILE: event_file(events)})
    assert repr(steps_and_values(run, "loss")) == repr([(float(step), value) for step, value in logged])


def test_a_run_starts_with_its_first_event(tmp_path: Path) -> None:
    (run,) = runs(FORMAT, tmp_path, {FILE: SMALL})
    assert run.started_at == 1.0


def test_a_tag_named_like_an_axis_is_left_out_and_counted(tmp_path: Path) -> None:
    events = [event(1.0, 0, simple(tag, 1)) for tag in ("step", "wall_time", "epoch")]
    (run,) = runs(FORMAT, tmp_path, {FILE: event_file(events)})
    assert list(columns(run)) == ["epoch"]
    assert run.remarks == {NAMED_LIKE_AN_AXIS: 2}


def test_a_tag_that_is_not_utf8_is_shown_with_escapes(tmp_path: Path) -> None:
    payload = event(1.0, 0, simple("lo?s", 1)).SerializeToString().replace(b"lo?s", b"lo\xffs")
    (run,) = runs(FORMAT, tmp_path, {FILE: framed([payload])})
    assert list(columns(run)) == ["lo\\xffs"]


@pytest.mark.parametrize("data", [b"", event_file([]), event_file([Event(wall_time=2.0, step=1)])])
def test_a_run_without_scalars_is_quarantined(tmp_path: Path, data: bytes) -> None:
    found = fault(read(FORMAT, tmp_path, {f"run/{FILE}": data}))
    assert (found.rule, found.path) == ("no_measurements", "run")


def test_file_without_scalars_does_not_affect_others_of_its_run(tmp_path: Path) -> None:
    files = {FILE: SMALL, f"{FILE}.profile-empty": event_file([]), "events.out.tfevents.101.b": b""}
    (run,) = runs(FORMAT, tmp_path, files)
    assert len(run.files) == 3
    assert run.remarks == {}


@pytest.mark.parametrize(
    ("path", "start", "sure"),
    [
        (f"run/{FILE}", SMALL[:4096], 0.95),
        (f"run/{FILE}", framed([])[len(event_file([])) :], 0.5),
        (f"run/{FILE}", b"step,loss\n1,2\n", 0.3),
        ("run/measurements.csv", b"step,loss\n1,2\n", 0.0),
        ("tfevents/readme", SMALL[:4096], 0.0),
    ],
)
def test_event_files_are_detected_by_name_and_first_record(path: str, start: bytes, sure: float) -> None:
    assert FORMAT.detect(Glimpse(path, start)) == sure

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.run_log import Damage, RunLog
from losslake_ingest.formats.format import Glimpse
from losslake_ingest.formats.llmc import FORMAT
from tests.ingest.formats.reading import cells, read, runs

LOG = b"s:0 tel:11.0092\ns:0 trl:11.0091 lr:0.000001 norm:15.37\ns:1 trl:10.9598 lr:0.000002 norm:nan\ns:1 tel:10.5\n"
QUICK = settings(suppress_health_check=list(HealthCheck))
LONG = settings(QUICK, max_examples=30_000)


def test_each_key_has_its_own_steps_and_values(tmp_path: Path) -> None:
    (run,) = runs(FORMAT, tmp_path, {"main.log": LOG})
    found = {name: (cells(rows, "s"), cells(rows, name)) for rows in run.rows for name in rows.columns if name != "s"}
    assert found["tel"] == ([0.0, 1.0], [11.0092, 10.5])
    assert found["trl"] == ([0.0, 1.0], [11.0091, 10.9598])
    assert found["lr"] == ([0.0, 1.0], [1e-06, 2e-06])


def test_other_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    (run,) = runs(FORMAT, tmp_path, {"main.log": b"import torch\n" + LOG})
    assert run.remarks == {"line that isn't 's:STEP key:value': skipped": 1}


def test_a_step_that_cant_be_read_and_a_last_line_without_its_end_are_damage(tmp_path: Path) -> None:
    (run,) = runs(FORMAT, tmp_path, {"main.log": LOG + b"s:x trl:9\ns:2 trl:10.9"})
    assert run.remarks == {"line with a step that can't be read: skipped": 1, "the last line is cut short: left out": 1}
    assert all(isinstance(remark, Damage) for remark in run.remarks)
    assert cells(run.rows[1], "trl")[-1] == 10.9598


def test_a_loss_of_hundreds_of_digits_is_read(tmp_path: Path) -> None:
    (run,) = runs(FORMAT, tmp_path, {"main.log": LOG + f"s:2 tel:{3.4e38:.6f}\ns:3 tel:{-1e308:.6f}\n".encode()})
    assert cells(run.rows[0], "tel")[-2:] == [3.4e38, -1e308]


def test_a_value_that_is_no_number_is_left_out_and_counted(tmp_path: Path) -> None:
    (run,) = runs(FORMAT, tmp_path, {"main.log": LOG + b"s:2 tel:none\ns:3 tel:1_0\n"})
    assert run.remarks == {"value that isn't a number: left out": 2}


def test_detection_goes_by_the_first_lines() -> None:
    assert FORMAT.detect(Glimpse("main.log", LOG)) >= 0.85
    assert FORMAT.detect(Glimpse("main.log", b"s:1 is a line")) == 0
    assert FORMAT.detect(Glimpse("main.csv", LOG)) == 0


pieces = st.sampled_from(
    [b"s:1", b" tel:", b"trl:1.5", b"\n", b"\r\n", b" ", b"s:", b"nan", b":", b"99999999999999999999"]
)
anything = st.lists(pieces | st.binary(max_size=5), max_size=40).map(b"".join)


def check(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    for item in read(FORMAT, tmp_path_factory.getbasetemp() / "llmc", {"main.log": data}):
        assert isinstance(item, (RunLog, Quarantined))


@QUICK
@given(anything)
def test_any_bytes_are_a_run_or_nothing(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    check(tmp_path_factory, data)


@pytest.mark.fuzz
@LONG
@given(anything)
def test_many_bytes_are_a_run_or_nothing(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    check(tmp_path_factory, data)


def test_endless_line_is_read_quickly(tmp_path: Path) -> None:
    long = b"s:1 trl:1 " + b"a:1 " * 2_000_000
    (run,) = runs(FORMAT, tmp_path, {"main.log": LOG + long})
    assert cells(run.rows[1], "trl") == [11.0091, 10.9598]

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.run_log import RunLog
from losslake_ingest.formats.format import Glimpse
from losslake_ingest.formats.wandb import FORMAT
from losslake_ingest.readers import protobuf
from losslake_ingest.readers.wandb_files.history import MEDIA
from losslake_ingest.readers.wandb_files.offline import OfflineRun
from losslake_ingest.readers.wandb_files.records import RecordLog
from tests.ingest.formats.reading import cells, read, runs
from tests.ingest.formats.wandb_files import exit_record, framed, history_record, offline_run, pb, run_record

CUT = "the file is cut short: everything before the cut was read"
NO_END = "the log has no record of the run's end"


def one(data: bytes) -> RunLog:
    return OfflineRun(data).run_log("run.wandb", "0" * 64)


@pytest.mark.slow  # starts the library's own service
def test_a_run_that_the_library_wrote_is_read(tmp_path: Path) -> None:
    rows = [{"train/loss": 1 / (at + 1), "nested": {"x": at}, "text": "hi", "yes": True} for at in range(50)]
    rows += [{"train/loss": "nan", "val/loss": "-inf"}]
    data = offline_run(tmp_path, rows, {"lr": 1e-05, "model": {"layers": 12}}, media=True, name="my run", group="g")
    (run,) = runs(FORMAT, tmp_path / "read", {"offline-run-1/run-x.wandb": data})
    (found,) = run.rows
    assert run.status == "finished"
    assert run.parameters == {"lr": 1e-05, "model.layers": 12}
    assert run.fields["run_name"] == "my run"
    assert run.fields["run_group"] == "g"
    assert run.fields["project"] == "p"
    assert run.fields["run"] == run.fields["run_id"]
    assert set(found.columns) == {"_step", "_runtime", "_timestamp", "train/loss", "val/loss", "nested.x", "after"}
    assert cells(found, "_step") == list(range(52))
    assert cells(found, "train/loss")[:50] == [row["train/loss"] for row in rows[:50]]
    last = cells(found, "train/loss")[50]
    assert last is not None
    assert math.isnan(last)
    assert cells(found, "val/loss")[50] == -math.inf
    assert cells(found, "nested.x")[:50] == list(range(50))
    assert cells(found, "after") == [None] * 51 + [1.5]
    assert run.started_at is not None
    elapsed = [stamp - run.started_at for stamp in found.columns["_timestamp"].tolist()]
    assert elapsed == pytest.approx(found.columns["_runtime"].tolist(), abs=2)
    assert run.remarks[MEDIA] == 2


@pytest.mark.slow
def test_person_and_machine_data_of_the_library_is_not_in_the_run(tmp_path: Path) -> None:
    config = {
        "email": "jane@sec-mail.org",
        "contact": "mail jane@sec-mail.org",
        "user": "sec-jane",
        "hostname": "sec-node",
        "entity": "sec-team",
        "data": "/home/sec-jane/data",
        "other": "C:\\Users\\sec-jane",
        "deep": {"output": "x=/scratch/sec-project/out", "api_key": "sec-key", "env.SEC_HOME": "sec-env", "lr": 2},
        "argv": ["--token", "sec-token"],
        "command": "python sec-script.py",
        "repo": "git@github.com:sec-team/sec-repo.git",
        "batch_size": 32,
        "max_tokens": 100,
        "pad_token": "<pad>",
    }
    environment = {
        "WANDB_ENTITY": "sec-team",
        "WANDB_USERNAME": "sec-jane",
        "WANDB_USER_EMAIL": "jane@sec-mail.org",
        "WANDB_HOST": "sec-host",
        "WANDB_NOTES": "sec-notes",
    }
    data = offline_run(tmp_path, [{"loss": 1.0}], config, environment=environment, name="jane@sec-mail.org")
    assert data.count(b"sec-") > 15
    (run,) = runs(FORMAT, tmp_path / "read", {"run-x.wandb": data})
    assert "sec-" not in repr(run)
    assert run.parameters == {"batch_size": 32, "max_tokens": 100, "pad_token": "<pad>", "deep.lr": 2}
    kinds = {"e-mail", "user name", "host name", "entity", "code and command line", "path", "secret", "git", "notes"}
    assert kinds <= set(run.private)


def test_the_exit_code_is_the_status(tmp_path: Path) -> None:
    begun = [run_record({"lr": 1}, run_id="x"), history_record(0, {"loss": 1.0})]
    assert one(framed([*begun, exit_record(0)])).status == "finished"
    assert one(framed([*begun, exit_record(1)])).status == "failed"
    assert one(framed([*begun, exit_record(-9)])).status == "failed"
    crashed = one(framed(begun))
    assert crashed.status == "no exit record"
    assert crashed.remarks == {NO_END: 1}


def test_last_config_value_is_used() -> None:
    change = pb().Record()
    change.config.update.add(key="lr", value_json="0.5")
    change.config.update.add(nested_key=["opt", "name"], value_json='"sgd"')
    change.config.remove.add(key="gone")
    data = framed([run_record({"lr": 1, "gone": 2}), change.SerializeToString(), history_record(0, {"a": 1.0})])
    assert one(data).parameters == {"lr": 0.5, "opt.name": "sgd"}


def test_typed_values_are_exact() -> None:
    values = {"float": 0.1, "int": -(2**53) + 1, "yes": True, "text": "x", "nan": math.nan}
    (rows,) = one(framed([history_record(7, values, is_typed=True)])).rows
    assert {name: cells(rows, name) for name in ("float", "int", "_step")} == {
        "float": [0.1],
        "int": [float(-(2**53) + 1)],
        "_step": [7],
    }
    assert "yes" not in rows.columns
    assert math.isnan(rows.columns["nan"][0])


def test_old_files_have_json_under_a_key_and_the_step_beside_it() -> None:
    record = pb().Record()
    record.history.step.num = 3
    record.history.item.add(key="m", value_json='{"a": 1.5, "b": {"_type": "histogram", "n": 1}}')
    record.history.item.add(key="long" * 50, value_json="2.5")
    (rows,) = one(framed([record.SerializeToString()])).rows
    assert {name: cells(rows, name) for name in rows.columns} == {"m.a": [1.5], "long" * 50: [2.5], "_step": [3]}


def test_file_cut_anywhere_keeps_every_complete_record(tmp_path: Path) -> None:
    records = [run_record({"lr": 1}, run_id="x"), *(history_record(at, {"loss": at / 8}) for at in range(4))]
    data = framed([*records, exit_record(0)])
    ends = [len(framed(records[: count + 1])) for count in range(len(records))]
    for end in range(7, len(data)):
        run = one(data[:end])
        whole = sum(end >= place for place in ends[1:])
        assert [cells(rows, "loss") for rows in run.rows] == ([[at / 8 for at in range(whole)]] if whole else [])
        assert run.status == "no exit record"
        assert run.remarks.get(CUT, 0) == (end not in (7, *ends))


def test_reading_continues_after_a_damaged_block() -> None:
    records = [history_record(at, {"loss": float(at), "other": 1.5}) for at in range(3000)]
    data = bytearray(framed([*records, exit_record(0)]))
    assert len(data) > 3 * 32768
    data[40000] ^= 1
    run = one(bytes(data))
    (rows,) = run.rows
    steps = cells(rows, "_step")
    assert 1500 < len(steps) < 3000
    assert steps == sorted(steps, key=lambda step: step or 0)
    assert steps[-1] == 2999
    assert cells(rows, "loss") == steps
    assert run.status == "finished"
    assert run.remarks == {"a damaged block: skipped": 1}


def test_a_file_without_history_is_quarantined(tmp_path: Path) -> None:
    files = {"a.wandb": framed([exit_record(0)]), "b.wandb": b"nonsense", "c.wandb": b""}
    found = read(FORMAT, tmp_path, files)
    assert [item.rule for item in found if isinstance(item, Quarantined)] == [
        "no_measurements",
        "unreadable_log",
        "empty_file",
    ]


def test_detection_goes_by_the_first_bytes() -> None:
    assert FORMAT.detect(Glimpse("a/run-x.wandb", framed([]))) == 1
    assert FORMAT.detect(Glimpse("a/run-x.wandb", b":W&B")) == 0


def test_records_of_any_size_are_put_together_again() -> None:
    random.seed(1)
    sizes = [0, 1, 32754, 32755, 32761, 32768, 100_000, *(random.randrange(70_000) for _ in range(20))]
    records = [random.randbytes(size) for size in sizes]
    log = RecordLog(framed(records))
    assert list(log) == records
    assert (log.damaged_blocks, log.is_cut) == (0, False)


values = st.one_of(
    st.none(),
    st.booleans(),
    st.floats(),
    st.integers(-(2**63), 2**63 - 1),
    st.text(max_size=200),
    st.lists(st.integers(), max_size=3),
)


@given(
    logged=st.lists(
        st.dictionaries(st.sampled_from(["loss", "a.b", "a.c", "é" * 80, "x/y"]), values, max_size=5),
        min_size=1,
        max_size=6,
    ),
    is_typed=st.booleans(),
)
def test_values_equal_those_of_the_library(logged: list[dict[str, Any]], is_typed: bool) -> None:
    data = framed(history_record(step, row, is_typed) for step, row in enumerate(logged))
    (rows,) = one(data).rows
    for name in ["loss", "a.b", "a.c", "é" * 80, "x/y"]:
        wanted = [_number(row.get(name)) for row in logged]
        found = cells(rows, name) if name in rows.columns else [None] * len(logged)
        assert repr(found) == repr(wanted)
    assert cells(rows, "_step") == list(range(len(logged)))


def _number(value: Any) -> float | None:
    if isinstance(value, str) and value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


@given(
    number=st.integers(-(2**63), 2**63 - 1),
    text=st.text(max_size=300),
    exit_code=st.integers(-(2**31), 2**31 - 1),
)
def test_wire_format_agrees_with_the_protobuf_library(number: int, text: str, exit_code: int) -> None:
    record = pb().Record(num=number, uuid=text)
    record.exit.exit_code = exit_code
    found = dict(protobuf.values(record.SerializeToString()))
    raw = found.get(1, 0)
    assert isinstance(raw, int)
    assert protobuf.signed(raw) == number
    assert found.get(19, b"") == text.encode()
    inner = found[18]
    assert isinstance(inner, bytes)
    code = dict(protobuf.values(inner)).get(1, 0)
    assert isinstance(code, int)
    assert protobuf.signed(code) == exit_code


def test_a_field_number_has_at_most_29_bits() -> None:
    assert list(protobuf.values(b"\xf8\xff\xff\xff\x0f\x01")) == [(2**29 - 1, 1)]
    for key in (b"\x00", b"\x80\x80\x80\x80\x10"):  # of the numbers 0 and 2**29
        with pytest.raises(protobuf.NotAMessage):
            list(protobuf.values(key + b"\x01"))


@given(st.binary(max_size=50))
@example(b"cd")
def test_any_bytes_are_fields_or_no_message(data: bytes) -> None:
    try:
        assert len(list(protobuf.values(data))) <= len(data)
    except protobuf.NotAMessage:
        # Groups are refused: protobuf deprecates them, and W&B writes none.
        if not any(byte & 7 in (3, 4) for byte in data):
            with pytest.raises(Exception, match=r"pars|rror"):
                pb().Record.FromString(data)

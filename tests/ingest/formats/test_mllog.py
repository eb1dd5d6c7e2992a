"""MLPerf's three dialects, and the traps of real submissions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Refusal, Rule
from losslake_ingest.contracts.run_log import Damage, RunLog
from losslake_ingest.formats.format import Glimpse
from losslake_ingest.formats.mllog import FORMAT
from losslake_ingest.mapping.mapping import LogMapping, parse_mapping
from losslake_ingest.mapping.place import PlacedRun, place
from losslake_ingest.pipeline.reading import with_defaults
from tests.ingest.formats.reading import cells, read, runs

DEFAULTS = parse_mapping(FORMAT.defaults.encode(), "defaults")
QUICK = settings(suppress_health_check=list(HealthCheck))
LONG = settings(QUICK, max_examples=14_000)


def line(key: str, value: object = None, time_ms: int = 1000, **metadata: object) -> str:
    document = {"namespace": "", "time_ms": time_ms, "key": key, "value": value, "metadata": {"lineno": 1, **metadata}}
    return f":::MLLOG {json.dumps(document)}"


START = [line("global_batch_size", 64), line("opt_name", "lars"), line("seed", 7), line("run_start", time_ms=5000)]
EVALUATIONS = [line("eval_accuracy", 0.5, 6000, epoch_num=1), line("eval_accuracy", 0.75, 7500, epoch_num=2)]
STOP = [line("run_stop", time_ms=8000, status="success")]


def one(folder: Path, *lines: str, end: str = "\n") -> RunLog:
    (run,) = runs(FORMAT, folder, {"result_0.txt": end.join([*lines, ""]).encode()}, DEFAULTS)
    return run


def quarantined(folder: Path, *lines: str, mapping: LogMapping = DEFAULTS) -> Quarantined:
    (reason,) = read(FORMAT, folder, {"result_0.txt": "\n".join([*lines, ""]).encode()}, mapping)
    assert isinstance(reason, Quarantined)
    return reason


def test_a_run_has_its_facts_its_evaluations_and_its_end(tmp_path: Path) -> None:
    run = one(tmp_path, *START, line("block_start", 1), *EVALUATIONS, line("eval_stop", 2), *STOP)
    assert run.fields == {"global_batch_size": 64, "opt_name": "lars", "seed": 7, "run_seconds": "3"}
    assert run.parameters == {"opt_name": "lars", "seed": 7, "run_seconds": "3"}
    assert (run.status, run.started_at) == ("success", 5.0)
    (rows,) = run.rows
    assert cells(rows, "eval_accuracy") == [0.5, 0.75]
    assert cells(rows, "epoch_num") == [1.0, 2.0]
    assert cells(rows, "time") == [6.0, 7.5]


@pytest.mark.parametrize(
    ("lines", "seconds"),
    [
        ([line("run_start", time_ms=1_760_000_000_001), line("run_stop", time_ms=1_760_000_007_161, status="success")],
         "7.160"),
        ([line("run_start", time_ms=5000), line("run_stop", time_ms=5000, status="success")], None),
        ([line("run_start", time_ms=9000), line("run_stop", time_ms=5000, status="success")], None),
        ([line("run_start", time_ms=5000), line("run_stop", time_ms=9000, status="aborted")], None),
        ([line("run_start", time_ms=5000)], None),
        ([line("run_stop", time_ms=9000, status="success")], None),
        ([line("run_start", time_ms=5000), line("run_start", time_ms=6000), *STOP], None),
        ([line("run_start", time_ms=5000), line("run_start", time_ms=5000), *STOP], "3"),
        ([line("run_start", time_ms=True), *STOP], None),
        ([":::MLL 1560873710.141025 run_start: {\"value\": null, \"metadata\": {}}",
          ":::MLL 1560873811.0000004 run_stop: {\"value\": null, \"metadata\": {\"status\": \"success\"}}"],
         "100.8589754"),
        ([":::MLPv0.5.0 ncf 1541635000.123456789 (/a.py:1) run_start",
          ":::MLPv0.5.0 ncf 1541635001 (/a.py:2) run_stop: {\"success\": true}"], "0.876543211"),
        ([f":::MLL {'1' * 5000} run_start: {{\"value\": null, \"metadata\": {{}}}}", *STOP], None),
    ],
)  # fmt: skip
def test_the_time_to_train_is_exact_and_only_of_runs_that_reached_the_target(
    tmp_path: Path, lines: list[str], seconds: str | None
) -> None:
    run = one(tmp_path, line("seed", 7), *lines)
    assert run.fields.get("run_seconds") == run.parameters.get("run_seconds") == seconds


def test_lines_without_a_time_are_counted(tmp_path: Path) -> None:
    untimed = [each.replace('"time_ms"', '"time_mr"') for each in (EVALUATIONS[0], START[-1])]
    run = one(tmp_path, *START[:-1], *untimed, EVALUATIONS[1], *STOP)
    assert (cells(run.rows[0], "eval_accuracy"), run.status) == ([0.5, 0.75], "success")
    assert run.remarks == {"MLPerf line without a time: the seconds to it aren't known": 2}
    assert "run_seconds" not in run.fields


def test_placeholders_of_scripts_are_no_organisation_and_no_system(tmp_path: Path) -> None:
    org, platform = "SUBMISSION_ORG_PLACEHOLDER", "16xSUBMISSION_PLATFORM_PLACEHOLDER"
    run = one(tmp_path, line("submission_org", org), line("submission_platform", platform), *START, *EVALUATIONS, *STOP)
    for stored in (run.fields, run.parameters):
        assert not {"submission_org", "submission_platform"} & stored.keys()
        assert stored["submission_org_as_written"] == org
        assert stored["submission_platform_as_written"] == platform
    named = one(tmp_path / "b", line("submission_org", "PLACEHOLDER Inc."), *START, *EVALUATIONS, *STOP)
    assert named.parameters["submission_org"] == "PLACEHOLDER Inc."


def test_the_dialect_of_v0_6(tmp_path: Path) -> None:
    text = [
        ':::MLL 0.0 submission_benchmark: {"value": "resnet", "metadata": {"lineno": 0, "file": "N/A"}}',
        ':::MLL 10.5 global_batch_size: {"value": 4096, "metadata": {"lineno": 608}}',
        ':::MLL 11.0 run_start: {"value": null, "metadata": {"lineno": 1}}',
        ':::MLL 12.25 eval_accuracy: {"value": "20.5", "metadata": {"epoch_num": 4}}',
        ':::MLL 13.0 run_stop: {"value": null, "metadata": {"status": "abort"}}',
    ]
    run = one(tmp_path, *text)
    assert (run.fields["global_batch_size"], run.status, run.started_at) == (4096, "abort", 11.0)
    assert (cells(run.rows[0], "eval_accuracy"), cells(run.rows[0], "time")) == ([20.5], [12.25])


def test_the_dialect_of_v0_5_never_takes_the_batch_of_one_worker_for_the_batch(tmp_path: Path) -> None:
    text = [
        ":::MLPv0.5.0 resnet 1541635000.5 (/root/main.py:10) input_batch_size: 128",
        ":::MLPv0.5.0 resnet 1541635001.0 (/root/main.py:11) run_start",
        ':::MLPv0.5.0 resnet 1541635002.0 (/root/main.py:12) eval_accuracy: {"epoch": 3, "value": 0.25}',
        ":::MLPv0.5.0 resnet 1541635002.0 (/root/main.py:12) eval_target: 0.749",
        ':::MLPv0.5.0 resnet 1541635003.0 (/root/main.py:13) run_stop: {"success": true}',
    ]
    run = one(tmp_path, *text)
    assert "global_batch_size" not in run.fields
    assert run.fields["input_batch_size"] == 128
    assert (cells(run.rows[0], "eval_accuracy"), cells(run.rows[0], "epoch_num")) == ([0.25], [3.0])
    assert run.status == "success"
    assert [(goal.column, goal.target) for goal in run.goals] == [("eval_accuracy", 0.749)]


def test_the_dialect_of_v0_5_states_the_iteration_or_the_epoch_of_an_evaluation(tmp_path: Path) -> None:
    text = [
        ":::MLPv0.5.0 ssd 1541635001.0 (/root/main.py:11) run_start",
        ':::MLPv0.5.0 ssd 1541635002.0 (/root/main.py:12) eval_accuracy: {"epoch": 32, "value": 0.15}',
        ':::MLPv0.5.0 ssd 1541635002.0 (/root/main.py:12) eval_iteration_accuracy : {"iteration": 3750, "value": 0.15}',
        ':::MLPv0.5.0 ssd 1541635003.0 (/root/main.py:13) run_stop: {"success": "true"}',
    ]
    run = one(tmp_path, *text)
    by_epoch, by_step = run.rows
    assert (cells(by_epoch, "eval_accuracy"), cells(by_epoch, "epoch_num")) == ([0.15], [32.0])
    assert (cells(by_step, "eval_iteration_accuracy"), cells(by_step, "step_num")) == ([0.15], [3750.0])
    assert (run.status, run.remarks) == ("success", {})


def test_statistics_in_other_shapes_leave_a_run_complete(tmp_path: Path) -> None:
    """As NVIDIA's logs of BERT since v3.1 end."""
    odd = line("tracked_stats", {"throughput": 2299.3, "epoch_num": 2398625}, step=[2, 3125])
    run = one(tmp_path, *START, *EVALUATIONS, odd, *STOP)
    assert run.remarks
    assert not any(isinstance(remark, Damage) for remark in run.remarks)
    evaluation = one(tmp_path / "b", *START, *EVALUATIONS, line("eval_accuracy", 0.5, epoch_num=[2]), *STOP)
    assert any(isinstance(remark, Damage) for remark in evaluation.remarks)


def test_values_of_a_key_are_numbered_from_1(tmp_path: Path) -> None:
    evaluations = [line("eval_accuracy", value, epoch_num=1) for value in (0.3, 0.5, 0.72)]
    text = [*START, evaluations[0], line("eval_loss", 2.0, epoch_num=1), *evaluations[1:], *STOP]
    numbers = {name: cells(rows, "nth") for rows in one(tmp_path, *text).rows for name in rows.columns}
    assert (numbers["eval_accuracy"], numbers["eval_loss"]) == ([1.0, 2.0, 3.0], [1.0])
    for lost in (line("eval_accuracy", "high", epoch_num=1), ":::MLLOG {cut"):
        (rows,) = one(tmp_path, *START, evaluations[0], lost, *evaluations[1:], *STOP).rows
        assert "nth" not in rows.columns


@pytest.mark.parametrize("name", ["result_0.txt", "result_240524191852605120794_1.txt", "result_5116-240510_9.txt"])
def test_a_published_result_is_known_by_its_name_where_much_precedes_its_first_line(name: str) -> None:
    assert FORMAT.detect(Glimpse(f"resnet/{name}", b"other output " * 300)) > 0
    assert FORMAT.detect(Glimpse("resnet/result_final.txt", b"other output")) == 0


def test_text_before_the_marker_and_carriage_returns_are_ignored(tmp_path: Path) -> None:
    plain = one(tmp_path / "a", *START, *EVALUATIONS, *STOP)
    odd = one(tmp_path / "b", *(f"0: worker-3 | {text}" for text in [*START, *EVALUATIONS, *STOP]), end="\r\n")
    assert cells(odd.rows[0], "eval_accuracy") == cells(plain.rows[0], "eval_accuracy")
    assert (odd.fields, odd.status) == (plain.fields, plain.status)


@pytest.mark.parametrize(
    ("value", "columns"),
    [
        (0.5, {"eval_accuracy": [0.5]}),
        ("0.5", {"eval_accuracy": [0.5]}),
        ([0.5], {"eval_accuracy": [0.5]}),
        ({"DICE": 0.9, "loss": 0.5}, {"eval_accuracy.DICE": [0.9], "eval_accuracy.loss": [0.5]}),
    ],
)
def test_a_value_is_a_number_a_text_a_list_or_a_dict(
    tmp_path: Path, value: object, columns: dict[str, list[float]]
) -> None:
    run = one(tmp_path, *START, line("eval_accuracy", value, epoch_num=1), *STOP)
    assert {name: cells(rows, name) for rows in run.rows for name in rows.columns if name in columns} == columns


@pytest.mark.parametrize("value", ["high", "1_0", [0.5, 0.6], True, {"a": {"b": "c"}}])
def test_a_value_that_is_no_number_is_left_out_and_counted(tmp_path: Path, value: object) -> None:
    run = one(tmp_path, *START, line("eval_accuracy", value, epoch_num=1), *EVALUATIONS, *STOP)
    assert list(run.remarks.values()) == [1]
    assert cells(run.rows[0], "eval_accuracy") == [0.5, 0.75]


def test_samples_and_epochs_are_both_kept_for_the_mapping_to_choose(tmp_path: Path) -> None:
    both = line("eval_accuracy", 3.5, epoch_num=12256, samples_count=12256)
    run = one(tmp_path, *START, both, line("eval_accuracy", 3.25, samples_count=24544), *STOP)
    assert cells(run.rows[0], "samples_count") == [12256.0, 24544.0]
    assert cells(run.rows[0], "epoch_num") == [12256.0, None]


PLACE = """
[collection]
name = "mine"
[run]
dataset = "laion"
model = "stable_diffusion"
"""


def placed(run: RunLog, mapping: str) -> PlacedRun:
    return place(run, with_defaults(parse_mapping((PLACE + mapping).encode(), "m"), FORMAT), "s", {})


def refusal(run: RunLog, mapping: str) -> Refusal:
    with pytest.raises(Refusal) as raised:
        placed(run, mapping)
    return raised.value


def test_implausible_epochs_are_quarantined_unless_the_mapping_has_their_unit(tmp_path: Path) -> None:
    run = one(tmp_path, *START, line("eval_accuracy", 3.5, epoch_num=122_560), *STOP)
    metric = "[metrics]\neval_accuracy = 'val/loss'\n[fields]\nepoch_examples = 9\n"
    assert refusal(run, metric).rule == Rule.STEP_UNKNOWN
    axis = "[[axis]]\ncolumn = 'epoch_num'\ncounts = 'examples'"
    assert placed(run, metric + axis).curve.steps.tolist() == [1915]
    other = "[[when]]\nif.opt_name = 'adam'\naxis = [{ column = 'epoch_num', counts = 'examples' }]"
    assert refusal(run, metric + other).rule == Rule.STEP_UNKNOWN
    assert placed(run, metric + other.replace("adam", "lars")).curve.steps.tolist() == [1915]


# Of MLPerf Training v5.0, Dell, 1xXE9712x4GB200, stable_diffusion, result_0.txt.
DIFFUSION = [
    line("eval_accuracy", 116.22637872841506, 6000, samples_count=1024000, metric="FID", file="infer_and_eval.py"),
    line("eval_accuracy", 0.134547621011734, 6200, samples_count=1024000, metric="CLIP", file="infer_and_eval.py"),
    line("eval_accuracy", 82.44332957816675, 7000, samples_count=1536000, metric="FID", file="infer_and_eval.py"),
    line("eval_accuracy", 0.17301474511623383, 7200, samples_count=1536000, metric="CLIP", file="infer_and_eval.py"),
]
BY_METRIC = """
[[when]]
if = { "metadata.metric" = "FID" }
metrics = { eval_accuracy = "val/fid" }
[[when]]
if = { "metadata.metric" = "CLIP" }
metrics = { eval_accuracy = "val/clip_score" }
"""


def test_a_field_of_the_entry_selects_the_metric(tmp_path: Path) -> None:
    run = one(tmp_path, *START, *DIFFUSION, *STOP)
    curve = placed(run, BY_METRIC).curve
    assert curve.steps.tolist() == [16000, 24000]
    assert {metric: values.tolist() for metric, values in curve.values.items()} == {
        "val/fid": [116.22637872841506, 82.44332957816675],
        "val/clip_score": [0.134547621011734, 0.17301474511623383],
    }
    assert not curve.missing


def test_two_metrics_under_one_key_are_refused_until_the_mapping_tells_them_apart(tmp_path: Path) -> None:
    reason = refusal(one(tmp_path, *START, *DIFFUSION, *STOP), "[metrics]\neval_accuracy = 'val/fid'")
    assert reason.rule == Rule.VALUES_DISAGREE
    for part in ("val/fid", "metadata.metric = 'FID'", '[[when]] if = { "metadata.metric" = "CLIP" }'):
        assert part in reason.message


def test_two_metrics_under_one_key_are_refused_at_different_steps_too(tmp_path: Path) -> None:
    apart = [
        line("eval_accuracy", value, step_num=step, samples_count=64 * step, metric=metric)
        for step, value, metric in [(1000, 150, "FID"), (1500, 0.1, "CLIP"), (2000, 100, "FID"), (2500, 0.2, "CLIP")]
    ]
    reason = refusal(one(tmp_path, *START, *apart, *STOP), "[metrics]\neval_accuracy = 'val/fid'")
    assert reason.rule == Rule.VALUES_DISAGREE
    assert "metadata.metric = 'FID' and with metadata.metric = 'CLIP'" in reason.message


def test_a_position_that_is_no_number_damages_the_log(tmp_path: Path) -> None:
    spoiled = line("eval_accuracy", 0.75, epoch_num="2x")
    run = one(tmp_path, *START, *EVALUATIONS, spoiled, *STOP)
    assert run.remarks == {Damage("epoch_num of eval_accuracy isn't a number: left out"): 1}
    assert all(isinstance(remark, Damage) for remark in run.remarks)


def test_a_value_without_a_position_is_remarked(tmp_path: Path) -> None:
    run = one(tmp_path, *START, *EVALUATIONS, line("eval_accuracy", 0.75), *STOP)
    assert run.remarks == {
        "value of eval_accuracy without epoch_num or samples_count or step or step_num: no part of its curve": 1
    }


def test_a_label_of_which_there_are_many_kinds_tells_no_entries_apart(tmp_path: Path) -> None:
    written = [line("eval_accuracy", 1 / n, samples_count=64 * n, path=f"step-{n}") for n in range(1, 30)]
    (rows,) = one(tmp_path, *START, *written, *STOP).rows
    assert rows.fields == {}
    assert cells(rows, "eval_accuracy") == [1 / n for n in range(1, 30)]


def test_two_equal_run_stops_are_one_and_two_different_ones_undecided(tmp_path: Path) -> None:
    assert one(tmp_path / "a", *START, *EVALUATIONS, *STOP, *STOP).status == "success"
    reason = quarantined(tmp_path / "b", *START, *EVALUATIONS, *STOP, line("run_stop", status="aborted"))
    assert reason.rule == Rule.STATUS_UNDECIDED


def test_a_log_without_run_stop_says_so(tmp_path: Path) -> None:
    assert one(tmp_path, *START, *EVALUATIONS).status == "no run_stop"
    assert DEFAULTS.status["no run_stop"] == "INCOMPLETE"


def test_two_batch_sizes_in_one_log_are_undecided(tmp_path: Path) -> None:
    assert quarantined(tmp_path, *START, line("global_batch_size", 128), *STOP).rule == Rule.FACTS_DISAGREE


def test_changing_value_is_not_a_field(tmp_path: Path) -> None:
    run = one(tmp_path, *START, line("seed", 8), *EVALUATIONS, *STOP)
    assert "seed" not in run.fields


def test_personal_data_is_dropped_and_its_kind_reported(tmp_path: Path) -> None:
    text = [
        line("submission_poc_email", "a@b.org"),
        line("note", "ask jane.doe@example.org"),
        line("submission_poc_name", "Jane"),
        line("stage_dir_prefix", "/scratch/job_17"),
        line("data_format", "dali/hdf5"),
    ]
    run = one(tmp_path, *START, *text, *EVALUATIONS, *STOP)
    assert "jane" not in repr(run).lower()
    assert "a@b.org" not in repr(run)
    assert "job_17" not in repr(run)
    assert run.parameters["data_format"] == "dali/hdf5"
    assert len(run.private) == 1


@pytest.mark.parametrize(
    ("text", "bad"),
    [
        (":::MLLOG", ":::]LLOG"),
        ('"value": 0.5', '"valuu": 0.5'),
        ('"value": 0.5', '"value": null'),
        ('"value": 0.5', '"value": 0.7, "value": 0.5'),
        ('"epoch_num": 1', '"epoch_num": 7, "epoch_num": 1'),
        ('"metadata": {"lineno": 1, "epoch_num": 1', '"metadeta": {"lineno": 1, "epoch_num": 1'),
    ],
)
def test_an_evaluation_whose_entry_is_damaged_is_damage(tmp_path: Path, text: str, bad: str) -> None:
    assert text in EVALUATIONS[0]
    run = one(tmp_path, *START, EVALUATIONS[0].replace(text, bad), EVALUATIONS[1], *STOP)
    assert cells(run.rows[0], "eval_accuracy") == [0.75]
    assert [type(remark) for remark in run.remarks] == [Damage]


def test_unreadable_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    bad = [':::MLLOG {"key": ', ":::MLL x", ':::MLLOG {"key": 3}', f":::MLLOG {'[' * 5000}"]
    run = one(tmp_path, *START, *bad, *EVALUATIONS, *STOP)
    assert run.remarks == {"MLPerf line that can't be read: skipped": 4}


def test_result_file_without_mlperf_lines_is_quarantined_and_other_text_ignored(tmp_path: Path) -> None:
    assert quarantined(tmp_path / "a", "nothing").rule == Rule.UNREADABLE_LOG
    assert read(FORMAT, tmp_path / "b", {"notes.txt": b"about :::MLLOG lines"}) == []


def test_detection_goes_by_the_marker_and_by_the_name() -> None:
    assert FORMAT.detect(Glimpse("a/result_3.txt", START[0].encode())) == 1.0
    assert FORMAT.detect(Glimpse("a/train.log", f"noise\n{START[0]}".encode())) == 1.0
    assert 0 < FORMAT.detect(Glimpse("a/result_3.txt", b"a long preamble")) < 1
    assert FORMAT.detect(Glimpse("SOURCE.txt", b"dialects: ':::MLL <epoch_s> key', ':::MLLOG {json}'")) == 0
    assert FORMAT.detect(Glimpse("a/b.csv", START[0].encode())) == 0


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=5,
)
keys = st.sampled_from(
    ["eval_accuracy", "tracked_stats", "run_stop", "run_start", "global_batch_size", "seed", "target_accuracy"]
)
metadata = st.dictionaries(st.sampled_from(["epoch_num", "samples_count", "step", "status"]), json_values, max_size=3)
entries = st.builds(
    lambda key, value, time, more: (
        f":::MLLOG {json.dumps({'key': key, 'value': value, 'time_ms': time, 'metadata': more})}"
    ),
    keys,
    json_values,
    json_values,
    metadata,
)
anything = st.lists(
    entries.map(str.encode) | st.binary(max_size=60) | st.binary(max_size=60).map(b":::MLL ".__add__), max_size=8
).map(b"\n".join)


def check(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    (item,) = read(FORMAT, tmp_path_factory.getbasetemp() / "mllog", {"result_0.txt": data}, DEFAULTS)
    if isinstance(item, Quarantined):
        assert "\n" not in item.message
    else:
        assert isinstance(item, RunLog)
        assert all(
            len(column) == len(rows.columns["time"])
            for rows in item.rows
            if "time" in rows.columns
            for column in rows.columns.values()
        )
        assert all(column.dtype == np.float64 for rows in item.rows for column in rows.columns.values())


@QUICK
@given(anything)
def test_any_bytes_are_a_run_or_a_reason(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    check(tmp_path_factory, data)


@pytest.mark.fuzz
@LONG
@given(anything)
def test_many_bytes_are_a_run_or_a_reason(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    check(tmp_path_factory, data)

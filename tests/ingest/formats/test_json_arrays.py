from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.run_log import RunLog, TextCell
from losslake_ingest.formats.format import Glimpse
from losslake_ingest.formats.json_arrays import FORMAT
from losslake_ingest.mapping.mapping import LogMapping, parse_mapping
from losslake_ingest.pipeline.reading import Request, with_defaults
from losslake_ingest.plan import plan_ingest
from losslake_ingest.readers.tables.cells import LARGEST_COLUMNS
from tests.ingest.formats.reading import cells, read, runs

LISTS = {"train_losses": [2.5, 1.5, math.nan], "test_losses": [2.75, None, 1e400], "lr": 0.1, "h": {"momentum": 0.9}}
HISTORY = [{"loss": 1.5, "step": 10, "epoch": 0.5}, {"eval_loss": 1.25, "step": 10}, {"loss": 0.5, "step": 20}]
MAPPING = """
collection.name = "c"
run = { dataset = "d", model = "m", optimizer = "o", batch_size = 10 }
"""


def mapping(text: str = "") -> LogMapping:
    return with_defaults(parse_mapping(text.encode(), "test"), FORMAT)


def planned(folder: Path, document: object, text: str = "") -> tuple[list[str], list[str]]:
    """The refusals and remarks of an ingest of one document."""
    (folder / "losslake.toml").write_text(MAPPING + text)
    (folder / "log.json").write_text(json.dumps(document))
    plan = plan_ingest(None, [folder], Request())
    return [f"{item.rule}: {item.message}" for item in plan.quarantined], [text for text, _ in plan.sources[0].remarks]


def test_a_list_per_metric_is_a_run_with_the_place_in_the_list(tmp_path: Path) -> None:
    (run,) = runs(FORMAT, tmp_path, {"a.json": json.dumps(LISTS).encode()}, mapping())
    (rows,) = run.rows
    assert cells(rows, "index") == [0, 1, 2]
    assert (cells(rows, "train_losses")[:2], cells(rows, "test_losses")) == ([2.5, 1.5], [2.75, None, math.inf])
    assert math.isnan(cells(rows, "train_losses")[2] or 0)
    assert run.fields == {"lr": 0.1, "h.momentum": 0.9}


def test_a_list_of_entries_is_a_run_with_a_row_for_each(tmp_path: Path) -> None:
    (run,) = runs(FORMAT, tmp_path, {"a.json": json.dumps(HISTORY, indent=1).encode()}, mapping())
    (rows,) = run.rows
    assert (cells(rows, "step"), cells(rows, "loss")) == ([10, 10, 20], [1.5, None, 0.5])
    assert cells(rows, "eval_loss") == [None, 1.25, None]


def test_entries_of_several_runs_are_told_apart_by_the_run_column(tmp_path: Path) -> None:
    entries = [{"name": name, "step": step, "loss": 0.5} for name in ("a", "b") for step in (1, 2)]
    found = runs(FORMAT, tmp_path, {"a.json": json.dumps(entries).encode()}, mapping('run.column = "name"'))
    assert [run.run for run in found] == ["a.json#a", "a.json#b"]


def test_the_place_in_a_list_is_a_step_only_where_the_mapping_says_what_it_counts(tmp_path: Path) -> None:
    history = {"loss": [2.5, 1.5], "val_loss": [2.0, 1.0]}
    sized = planned(tmp_path, history, "[fields]\nexamples_per_epoch = 50\n")
    assert "add to the mapping: epoch_offset = 1" in sized[0][0]
    stated = "[fields]\nepoch_offset = 1\nexamples_per_epoch = 50\n"
    assert planned(tmp_path, history, stated)[0] == []
    assert planned(tmp_path, history, '[[axis]]\ncolumn = "index"\nscale = 100\n')[0] == []


def test_metrics_of_several_lengths_are_refused_until_each_has_its_axis(tmp_path: Path) -> None:
    history = {"loss": [3.0, 2.5, 2.0, 1.5], "val_loss": [2.0, 1.0], "classes": [7, 8, 9]}
    (refusal,), _ = planned(tmp_path, history, '[[axis]]\ncolumn = "index"\n')
    assert refusal.startswith("step_unknown: loss has 4 values and val_loss has 2 values")
    assert refusal.endswith('column = "index", metrics = ["loss"]')
    axes = '[[axis]]\ncolumn = "index"\nmetrics = ["loss"]\n[[axis]]\ncolumn = "index"\nscale = 2\noffset = 1\n'
    assert planned(tmp_path, history, axes)[0] == []


def test_text_in_a_list_of_a_metric_is_refused_and_in_another_list_it_is_not(tmp_path: Path) -> None:
    axis = '[[axis]]\ncolumn = "index"\n'
    assert planned(tmp_path, {"loss": [1.5, "oops"], "note": ["a", "b"]}, axis)[0] == [
        "not_a_number: loss is 'oops', neither a number nor a word for a missing value"
    ]
    assert planned(tmp_path, {"loss": [1.5, "NaN", "-"], "note": ["a", "b", "c"]}, axis)[0] == []


def test_a_list_of_lists_has_no_numbers(tmp_path: Path) -> None:
    (run,) = runs(FORMAT, tmp_path, {"a.json": b'{"loss": [1.5, 2], "x": [[1], [2]], "empty": []}'}, mapping())
    assert dict(run.rows[0].texts) == {"x": TextCell("[1]", None)}
    assert run.remarks == {"an empty list left out: 'empty'": 1}


@pytest.mark.parametrize(
    ("data", "rule", "line"),
    [
        (b'{"loss": [1.5,\n 2.5', "unreadable_log", 2),
        (b'[{"loss": 1.5},\n {"loss": oops}]', "unreadable_log", 2),
        (b'{"loss": [1, 2], "x": ' + b"[" * 100_000, "unreadable_log", None),
        (b'{"loss": [' + b"1," * 2_200_000 + b"1]}", "file_too_large", None),
        (json.dumps({f"loss{each}": [1.5] for each in range(LARGEST_COLUMNS + 1)}).encode(), "unreadable_log", None),
        (b'{"losses": [1, [2]], "score": ["a"]}', None, None),
        (b'{"loss": [null, null]}', "no_measurements", None),
    ],
)
def test_a_bad_document_is_refused_with_its_line(
    tmp_path: Path, data: bytes, rule: str | None, line: int | None
) -> None:
    (item,) = read(FORMAT, tmp_path, {"a.json": data}, mapping())
    if rule is None:
        assert isinstance(item, RunLog)
    else:
        assert isinstance(item, Quarantined)
        assert (item.rule, item.line) == (rule, line)


@pytest.mark.parametrize(
    ("start", "is_log"),
    [
        (b'{"train_losses": [2.5, 1', True),
        (b'{"x": {"Accuracy": [NaN', True),
        (b'{"energy": [' + b"1.5, " * 20, True),
        (b'\xef\xbb\xbf [ {"loss": 1.5, "epoch": 1}', True),
        (b'{"loss": [1]}\n{"loss": [2]}\n', False),
        (b'{"betas": [0.9, 0.999]}', False),
        (b'{"loss": "mse", "layers": [1, 2]}', False),
        (b'[{"id": 1, "text": "x"}]', False),
        (b'["a", "b"]', False),
    ],
)
def test_detection_goes_by_names_and_lengths_of_lists(start: bytes, is_log: bool) -> None:
    assert (FORMAT.detect(Glimpse("a.json", start)) > 0) == is_log
    assert FORMAT.detect(Glimpse("a.txt", start)) == 0


def test_settings_beside_a_log_are_its_fields(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"losses": [1, 2], "batch_size": 10}')
    refusals, remarks = planned(tmp_path, {"loss": [2.5, 1.5]}, '[[axis]]\ncolumn = "index"\n')
    assert (refusals, [remark for remark in remarks if "config.json" in remark]) == ([], [])


pieces = st.sampled_from(
    [b'{"loss": ', b"[", b"]", b"}", b",", b'"x"', b":", b"1.5", b"NaN", b"null", b'"step"', b"\n"]
)
anything = st.lists(pieces | st.binary(max_size=5), max_size=40).map(b"".join)
values = st.recursive(
    st.floats() | st.integers() | st.text(max_size=4) | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=30,
)
documents = st.dictionaries(st.sampled_from(["loss", "val_loss", "step", "index", ""]), values, max_size=4)
QUICK = settings(suppress_health_check=list(HealthCheck))
LONG = settings(QUICK, max_examples=30_000)


def check(folder: Path, data: bytes) -> None:
    for item in read(FORMAT, folder / "json_arrays", {"a.json": data}, mapping()):
        assert isinstance(item, (RunLog, Quarantined))


@QUICK
@given(anything | documents.map(json.dumps).map(str.encode))
def test_any_bytes_are_runs_or_quarantined(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    check(tmp_path_factory.getbasetemp(), data)


@pytest.mark.fuzz
@LONG
@given(anything | documents.map(json.dumps).map(str.encode))
def test_many_bytes_are_runs_or_quarantined(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    check(tmp_path_factory.getbasetemp(), data)


GOLDEN = {
    "lm loss": {
        "start_step": 1,
        "values": {"1": 9.5, **{str(step): 9.0 - step / 8 for step in range(5, 45, 5)}, "45": "nan"},
    },
    "iteration-time": {"values": {str(step): "nan" for step in range(10, 101, 10)}},
    "few": {"1": 2.5, "2": 1.5},
}
KEYED = """
metrics = { "lm loss.values" = { metric = "train/loss", nan = "missing" }, "iteration-time.values" = "" }
[[axis]]
column = "key"
"""


def test_an_object_with_the_value_at_each_position_is_a_metric(tmp_path: Path) -> None:
    data = json.dumps(GOLDEN).encode()
    assert FORMAT.detect(Glimpse("golden.json", data)) > 0
    (run,) = runs(FORMAT, tmp_path, {"golden.json": data}, mapping())
    loss, times = run.rows
    assert cells(loss, "key") == [1, 5, 10, 15, 20, 25, 30, 35, 40, 45]
    assert cells(loss, "lm loss.values")[:3] == [9.5, 8.375, 7.75]
    assert math.isnan(cells(loss, "lm loss.values")[-1] or 0)
    assert cells(times, "key") == list(range(10, 101, 10))
    assert run.fields == {"lm loss.start_step": 1, "few.1": 2.5, "few.2": 1.5}


def test_positions_are_steps_only_where_the_mapping_says_so(tmp_path: Path) -> None:
    (refusal,), _ = planned(tmp_path, GOLDEN, 'metrics."lm loss.values" = "train/loss"\n')
    assert refusal.startswith("step_unknown")
    assert 'column = "key"' in refusal
    refusals, remarks = planned(tmp_path, GOLDEN, KEYED)
    assert refusals == []
    assert any(remark.startswith("NaN that says that there is no value") for remark in remarks)


@given(
    st.dictionaries(st.integers(0, 2**53), st.none() | st.floats() | st.sampled_from(["nan", "-inf"]), min_size=10),
    st.dictionaries(st.text(max_size=3), st.none() | st.integers() | st.text(max_size=3), max_size=12),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_objects_of_numbers_at_positions_are_read_as_they_are(
    tmp_path: Path, series: dict[int, object], other: dict[str, object]
) -> None:
    if sum(isinstance(value, float) for value in series.values()) == 0:
        return
    document = {"m": series, "other": {**other, "x": "text"}}
    (run,) = runs(
        FORMAT, tmp_path, {"a.json": json.dumps(document).encode()}, mapping('files.formats = ["json_arrays"]')
    )
    (rows,) = run.rows
    assert cells(rows, "key") == [float(key) for key in series]
    values = [None if value is None else float(str(value)) for value in series.values()]
    assert str(cells(rows, "m")) == str(values)

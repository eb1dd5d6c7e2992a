from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Rule, SourceBroken
from losslake_ingest.contracts.run_log import RunLog
from losslake_ingest.formats.mlflow import FORMAT
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.readers.mlflow_stores import files as mlflow_files
from losslake_ingest.readers.mlflow_stores.files import flat_yaml, is_of_file_store, place_of
from losslake_ingest.sources.open import open_source
from tests.ingest.formats.reading import cells, read, runs
from tests.ingest.offers import Files, tar_bytes, written

A, B = "a" * 32, "b" * 32
EXPERIMENT = b"experiment_id: '5'\nlifecycle_stage: active\nname: 'lr sweep'\n"
RUN = b"artifact_uri: file:///home/x\nrun_id: %s\nstart_time: 1700000000500\nstatus: 3\nlifecycle_stage: active\n"


def run_files(run_id: str = A, metrics: Files | None = None) -> Files:
    folder = f"mlruns/5/{run_id}"
    files = {f"{folder}/meta.yaml": RUN % run_id.encode(), f"{folder}/params/lr": b"0.1", f"{folder}/tags/note": b"hi"}
    files |= {f"{folder}/metrics/{name}": data for name, data in (metrics or {"loss": b"1000 0.5 1\n"}).items()}
    return files


def test_a_run_is_its_folder_in_the_experiment_that_holds_it(tmp_path: Path) -> None:
    (run,) = runs(FORMAT, tmp_path, run_files() | {"mlruns/5/meta.yaml": EXPERIMENT})
    assert run.run == f"mlruns/5/{A}"
    assert (run.fields["experiment"], run.fields["experiment_id"]) == ("lr sweep", "5")
    assert (run.status, run.started_at) == ("FINISHED", 1_700_000_000.5)
    assert sorted(run.files) == sorted([*run_files(), "mlruns/5/meta.yaml"])


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (f"mlruns/0/{A}/metrics/train/loss", (f"mlruns/0/{A}", "metrics", "train/loss")),
        (f"metrics/mlruns/0/{A}/metrics/params/loss", (f"metrics/mlruns/0/{A}", "metrics", "params/loss")),
        (f"0/{A}/params/metrics/x", (f"0/{A}", "params", "metrics/x")),
        ("0/own-id/tags/note", ("0/own-id", "tags", "note")),
        (f"0/{A}/meta.yaml", (f"0/{A}", "meta.yaml", "meta.yaml")),
        (f"0/{A}/metrics/meta.yaml", (f"0/{A}", "metrics", "meta.yaml")),
        (f"0/{A}/artifacts/metrics/loss", None),
        (f"0/{A}/artifacts/{B}/metrics/loss", None),
        ("0/models/m-1/metrics/loss", None),
        ("0/traces/tr-1/tags/x", None),
        ("metrics/loss", None),
        (f"0/{A}/other", None),
    ],
)
def test_kind_of_a_file_is_its_place_below_the_run_folder(path: str, place: tuple[str, str, str] | None) -> None:
    assert place_of(path) == place


def test_mlflow_system_tags_are_not_read_unless_reported() -> None:
    assert not is_of_file_store(f"0/{A}/tags/mlflow.log-model.history")
    assert is_of_file_store(f"0/{A}/tags/mlflow.user")
    assert is_of_file_store(f"0/{A}/tags/mlflow.runName")


@pytest.mark.parametrize(
    ("lines", "values", "steps", "remark"),
    [
        (b"1 0.5 1\n1 0.25 x\n3 0.125 3\n", [0.5, 0.125], [1, 3], "line of a metric file left out"),
        (b"1 0.5 1\n2 0.25 17", [0.5], [1], "last line of a metric file left out"),
        (b"1 0.5\n2 0.25\n", [0.5, 0.25], [None, None], "value without a step"),
        (b"1 0.5 1 mnist 0af3\n", [0.5], [1], "name of a value"),
        (b"1 0x10 1\n1 1_0 2\n1 1 0x10\n1 2 3 4\n\n1 7 5\n", [7], [5], "line of a metric file left out"),
        (b"1 0.5 1\r\n2 -inf 2\r\n", [0.5, -math.inf], [1, 2], None),
        (b"1 0.5 1\n" * 1000 + b"\n1 2 9\r\n", [0.5] * 1000 + [2], [1] * 1000 + [9], "line of a metric file left out"),
        (b"1 0.5 1\n" * 1000 + b"1 0x10 1\n", [0.5] * 1000, [1] * 1000, "line of a metric file left out"),
        (b"1 0.5 1\n" * 1000 + b"1 2 3\r4 5 6\n", [0.5] * 1000, [1] * 1000, "line of a metric file left out"),
        (b"1 0.5 1\n" * 1000 + b"1 2 3", [0.5] * 1000, [1] * 1000, "last line of a metric file left out"),
    ],
)
def test_unusual_lines_are_parsed_or_dropped_and_counted(
    tmp_path: Path, lines: bytes, values: list[float], steps: list[float | None], remark: str | None
) -> None:
    (run,) = runs(FORMAT, tmp_path, run_files(A, {"loss": lines}))
    (rows,) = run.rows
    assert cells(rows, "loss") == values
    assert cells(rows, "step") == steps
    assert [sentence.startswith(str(remark)) for sentence in run.remarks] == ([True] if remark else [])


stamps = st.integers(0, 2**45)
written_steps = st.integers(-(2**60), 2**60)
histories = st.dictionaries(
    st.sampled_from(["loss", "val/loss", "accuracy"]),
    st.lists(st.tuples(stamps, st.floats(), written_steps), min_size=1, max_size=5),
    min_size=1,
)


@settings(suppress_health_check=list(HealthCheck))
@given(history=histories, times=st.sampled_from([1, 100]))
def test_every_value_is_the_float_that_mlflow_reads(
    tmp_path_factory: pytest.TempPathFactory, history: dict[str, list[tuple[int, float, int]]], times: int
) -> None:
    from mlflow.store.tracking.file_store import FileStore

    lines = {name: "".join(f"{t} {v} {s}\n" for t, v, s in rows) * times for name, rows in history.items()}
    found = runs(
        FORMAT, tmp_path_factory.mktemp("store"), run_files(A, {name: text.encode() for name, text in lines.items()})
    )
    assert [list(rows.columns)[-1] for rows in found[0].rows] == sorted(history)
    for rows, name in zip(found[0].rows, sorted(history), strict=True):
        metrics = [FileStore._get_metric_from_line("", name, line, "") for line in lines[name].splitlines()]
        assert repr(cells(rows, name)) == repr([metric.value for metric in metrics])
        assert cells(rows, "step") == [float(metric.step) for metric in metrics]
        assert cells(rows, "timestamp") == [metric.timestamp / 1000 for metric in metrics]


def test_a_metric_file_cut_short_anywhere_keeps_its_whole_lines(tmp_path: Path) -> None:
    whole = b"".join(b"170000000%04d %r %d\n" % (step, 1 / (step + 1), step) for step in range(4))
    for end in range(1, len(whole)):
        found = read(FORMAT, tmp_path, run_files(A, {"loss": whole[:end]}))
        lines = whole[:end].count(b"\n")
        if not lines:
            assert isinstance(found[0], Quarantined)
            assert (found[0].rule, found[0].path) == (Rule.UNREADABLE_LOG, f"mlruns/5/{A}/metrics/loss")
            continue
        assert isinstance(found[0], RunLog)
        assert cells(found[0].rows[0], "loss") == [1 / (step + 1) for step in range(lines)]


def test_cut_meta_yaml_affects_no_other_run(tmp_path: Path) -> None:
    meta = RUN % A.encode()
    read(FORMAT, tmp_path, run_files() | run_files(B))
    for end in range(len(meta)):
        found = read(FORMAT, tmp_path, {f"mlruns/5/{A}/meta.yaml": meta[:end]})
        assert f"mlruns/5/{B}" in [item.run for item in found if isinstance(item, RunLog)]
        assert all(isinstance(item, RunLog | Quarantined) for item in found)


@pytest.mark.parametrize(
    ("changed", "rule", "path"),
    [
        ({f"mlruns/5/{A}/meta.yaml": b"run_id: [\n"}, Rule.UNREADABLE_LOG, f"mlruns/5/{A}/meta.yaml"),
        ({f"mlruns/5/{A}/meta.yaml": b"- a\n"}, Rule.UNREADABLE_LOG, f"mlruns/5/{A}/meta.yaml"),
        ({f"mlruns/5/{A}/meta.yaml": b"run_id: \xff\n"}, Rule.UNREADABLE_LOG, f"mlruns/5/{A}/meta.yaml"),
        ({f"mlruns/5/{A}/meta.yaml": b"a: b\n"}, Rule.MISSING_FILE, f"mlruns/5/{A}/meta.yaml"),
        ({f"mlruns/5/{A}/metrics/loss": b"what\n"}, Rule.UNREADABLE_LOG, f"mlruns/5/{A}/metrics/loss"),
        ({f"mlruns/5/{A}/metrics/loss": b""}, Rule.NO_MEASUREMENTS, f"mlruns/5/{A}/meta.yaml"),
    ],
)
def test_folder_without_a_valid_run_is_quarantined(tmp_path: Path, changed: Files, rule: Rule, path: str) -> None:
    first, *_ = read(FORMAT, tmp_path, run_files() | changed)
    assert isinstance(first, Quarantined)
    assert (first.rule, first.path) == (rule, path)
    assert "\n" not in first.message


def test_a_deleted_run_and_the_runs_of_a_deleted_experiment_are_left_out(tmp_path: Path) -> None:
    deleted = (RUN % A.encode()).replace(b"active", b"deleted")
    files = run_files() | run_files(B) | {f"mlruns/5/{A}/meta.yaml": deleted}
    (run,) = runs(FORMAT, tmp_path, files)
    assert (run.run, run.remarks) == (f"mlruns/5/{B}", {"deleted run before this one: left out": 1})
    assert not runs(FORMAT, tmp_path, {"mlruns/5/meta.yaml": EXPERIMENT.replace(b"active", b"deleted")})


def test_a_param_or_tag_of_more_than_64_kib_is_left_out_and_counted(tmp_path: Path) -> None:
    folder = f"mlruns/5/{A}"
    files = run_files() | {f"{folder}/params/fits": b"x" * 2**16, f"{folder}/params/long": b"x" * (2**16 + 1)}
    (run,) = runs(FORMAT, tmp_path, files | {f"{folder}/tags/mlflow.runName": b"x" * 2**17})
    assert run.parameters["fits"] == "x" * 2**16
    assert "long" not in run.parameters
    assert run.remarks == {"param or tag of more than 64 KiB: left out": 2}


@pytest.mark.parametrize(
    ("name", "size", "is_read"),
    [("metrics/loss", 2**15, True), ("metrics/loss", 2**15 + 1, False), ("params/long", 2**16 + 1, True)],
)
def test_a_run_is_refused_beyond_the_size_of_a_file_without_texts_that_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, size: int, is_read: bool
) -> None:
    line = b"1 0.5 1\n"
    # Of the limit, each file takes 500 bytes more than it has.
    monkeypatch.setattr(mlflow_files, "LARGEST_FILE", 2 * 500 + len(line) + 2**15)
    files = {f"mlruns/5/{A}/meta.yaml": RUN % A.encode(), f"mlruns/5/{A}/metrics/a": line}
    found = read(FORMAT, tmp_path, files | {f"mlruns/5/{A}/{name}": (line * size)[:size]})
    refused = [item.rule for item in found if isinstance(item, Quarantined)]
    assert refused == ([] if is_read else [Rule.FILE_TOO_LARGE])


def test_a_metric_that_is_named_like_an_axis_is_left_out(tmp_path: Path) -> None:
    (run,) = runs(FORMAT, tmp_path, run_files(A, {"step": b"1 2 3\n", "loss": b"1 2 3\n"}))
    assert [list(rows.columns) for rows in run.rows] == [["step", "timestamp", "loss"]]
    assert run.remarks == {"metric with the name of an axis: left out": 1}


def test_many_runs_are_yielded_early_with_their_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mlflow_files, "LARGEST_PENDING", 3000)
    ids = [f"{number:032x}" for number in range(20)]
    files = {"mlruns/5/meta.yaml": EXPERIMENT}
    for run_id in ids:
        files |= run_files(run_id)
    found = runs(FORMAT, tmp_path / "logs", files)
    assert [run.fields["run_id"] for run in found] == ids
    assert {run.fields["experiment"] for run in found} == {"lr sweep"}
    scattered = written(tmp_path / "scattered.tar", tar_bytes(dict(reversed(files.items()))))
    assert len([item for item in FORMAT.read(open_source(scattered), LogMapping()) if isinstance(item, RunLog)]) == 20


def test_an_archive_cut_short_gives_the_runs_that_are_whole(tmp_path: Path) -> None:
    data = tar_bytes(run_files() | run_files(B))
    source = open_source(written(tmp_path / "cut.tar", data[: len(data) // 2 + 100]))
    found: list[object] = []
    with pytest.raises(SourceBroken, match=f"cut short after mlruns/5/{B}/meta.yaml"):
        found.extend(FORMAT.read(source, LogMapping()))
    whole, refused = found
    assert isinstance(whole, RunLog)
    assert isinstance(refused, Quarantined)
    assert (whole.run, refused.path) == (f"mlruns/5/{A}", f"mlruns/5/{B}")
    assert "the source ends" in refused.message


@pytest.mark.parametrize("text", [b"- " * 8000 + b"x", b"[" * 16_000, b"{a: " * 4000, b"? " * 8000, b"a: " * 9000])
def test_nested_yaml_is_refused_or_left_out(text: bytes) -> None:
    try:
        assert flat_yaml(text) == {}
    except ValueError as error:
        assert "\n" not in str(error)  # noqa: PT017


def test_yaml_tags_and_aliases_do_nothing() -> None:
    text = b"a: !!python/object/apply:os.system ['x']\nb: &x 1\nc: *x\nd: ~\ne: 'null'\nf: {g: 1}\nh: 0x1\n"
    assert flat_yaml(text) == {"a": None, "b": "1", "c": None, "d": None, "e": "null", "f": None, "h": "0x1"}


piece = st.sampled_from(
    [b"1 0.5 1\n", b"1 nan 2\n", b"run_id: a\n", b"\n", b"\r", b" ", b"1e5", b"status: 3\n", b"\xff"]
)
contents = st.lists(piece | st.binary(max_size=4), max_size=6).map(b"".join)
names = st.sampled_from(["meta.yaml", "metrics/loss", "metrics/a/b", "params/lr", "tags/mlflow.user", "tags/x", "x.db"])
offers = st.dictionaries(st.tuples(st.sampled_from([A, B, "own"]), names), contents, max_size=6)


def check_any_files(folder: Path, offered: dict[tuple[str, str], bytes]) -> None:
    for item in read(FORMAT, folder, {f"mlruns/5/{run}/{name}": data for (run, name), data in offered.items()}):
        assert isinstance(item, RunLog | Quarantined)
        assert str(item).encode()


@settings(suppress_health_check=list(HealthCheck))
@given(offered=offers)
def test_any_files_end_in_runs_or_reasons(
    tmp_path_factory: pytest.TempPathFactory, offered: dict[tuple[str, str], bytes]
) -> None:
    check_any_files(tmp_path_factory.mktemp("store"), offered)


@pytest.mark.fuzz
@settings(max_examples=15_000, suppress_health_check=list(HealthCheck))
@given(offered=offers)
def test_many_files_end_in_runs_or_reasons(
    tmp_path_factory: pytest.TempPathFactory, offered: dict[tuple[str, str], bytes]
) -> None:
    check_any_files(tmp_path_factory.mktemp("store"), offered)


def test_dropped_values_are_those_that_mlflow_refuses() -> None:
    from mlflow.exceptions import MlflowException
    from mlflow.store.tracking.file_store import FileStore

    with pytest.raises(MlflowException):
        FileStore._get_metric_from_line("", "loss", "1 2 3 4", "")

from __future__ import annotations

import hashlib
import io
import json
import math
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import losslake.record
from losslake.record.numbers import json_number
from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.run_log import Damage, RunLog
from losslake_ingest.formats import record
from losslake_ingest.formats.format import Glimpse
from losslake_ingest.formats.record import FORMAT
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.plan import IngestPlan, plan_ingest
from losslake_ingest.sources.open import open_source
from tests.ingest.formats.reading import read, runs
from tests.ingest.offers import Files
from tests.losslake.record.runs import curve

FACTS: dict[str, Any] = {
    "format": "losslake-record/1",
    "collection": "mine",
    "dataset": "mnist",
    "model": "cnn",
    "optimizer": "sgd",
    "batch_size": 64,
    "licence": "CC0-1.0",
    "started_at": 1.7e9,
    "parameters": {"lr": 0.1},
}
Segments = dict[str, bytes]


def line(step: int, **metrics: float | str) -> bytes:
    known = {"step": step, "elapsed_s": step / 8, **{f"val/{name}": value for name, value in metrics.items()}}
    return json.dumps(known).encode() + b"\n"


def files(segments: Segments, end: Any = "COMPLETE", run: str = "runs/a", **facts: Any) -> Files:
    """The files of a run. end: its status, or the whole end.json, or None."""
    found = {f"{run}/run.json": json.dumps({**FACTS, **facts}, indent=1).encode()}
    found |= {f"{run}/{name}": data for name, data in segments.items()}
    if isinstance(end, str):
        digests = {name: {"bytes": len(x), "sha256": hashlib.sha256(x).hexdigest()} for name, x in segments.items()}
        end = {"status": end, "ended_at": 1.0, "n_dropped": 0, "segments": digests}
    return found if end is None else {**found, f"{run}/end.json": json.dumps(end).encode()}


def plan(folder: Path, given: Files) -> IngestPlan:
    for name, data in given.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return plan_ingest(None, [folder], Request())


def statuses(planned: IngestPlan) -> list[dict[str, int]]:
    return [dict(study.statuses) for study in planned.studies.values()]


def measured(run: RunLog) -> dict[str, dict[int, float]]:
    """The measurements of a run by metric and step; each step once."""
    found: dict[str, dict[int, float]] = {}
    for rows in run.rows:
        for name in rows.columns.keys() - {"step", "elapsed_s"}:
            known = rows.known(name)
            for step, value in zip(
                rows.columns["step"][known].tolist(), rows.columns[name][known].tolist(), strict=True
            ):
                assert int(step) not in found.setdefault(name, {})
                found[name][int(step)] = value
    return {name: values for name, values in found.items() if values}


metrics = st.dictionaries(st.sampled_from(["loss", "accuracy", "x y"]), st.floats(), min_size=1, max_size=3)
attempt = st.tuples(
    st.integers(0, 12), st.lists(st.lists(st.tuples(st.integers(0, 12), metrics), max_size=6), max_size=3)
)


def written(attempts: list[tuple[int, list[list[tuple[int, dict[str, float]]]]]], cut: int) -> Segments:
    """Segments of attempts; the last one is cut short by some bytes."""
    segments: Segments = {}
    for number, (from_step, parts) in enumerate(attempts, 1):
        folder = "0001" if number == 1 else f"{number:04d}-from-{from_step}"
        for at, part in enumerate(parts, 1):
            text = b"".join(
                line(step, **{name: value if math.isfinite(value) else repr(json_number(value))[1:-1]
                              for name, value in values.items()})
                for step, values in part
            )  # fmt: skip
            segments[f"{folder}/{at:06d}.jsonl"] = text
    if segments and cut:
        last = max(segments)
        segments[last] = segments[last][: -min(cut, len(segments[last]))]
    return segments


@settings(suppress_health_check=list(HealthCheck))
@given(st.lists(attempt, min_size=1, max_size=4), st.integers(0, 60), st.booleans())
def test_curve_is_that_of_a_plain_reader(
    tmp_path_factory: pytest.TempPathFactory, attempts: Any, cut: int, is_ended: bool
) -> None:
    folder = tmp_path_factory.mktemp("record", numbered=True)
    segments = written(attempts, cut)
    (run,) = runs(FORMAT, folder, files(segments, "COMPLETE" if is_ended else None))
    assert repr(sorted(measured(run).items())) == repr(sorted(sorted_curve(folder / "runs" / "a").items()))
    assert run.status == ("COMPLETE" if is_ended else "no end.json")
    assert not [remark for remark in run.remarks if isinstance(remark, Damage)]


def sorted_curve(run: Path) -> dict[str, dict[int, float]]:
    """The plain reader's curve, in the order in which `measured` finds its steps."""
    (log,) = [item for item in FORMAT.read(open_source(run), LogMapping()) if isinstance(item, RunLog)]
    order = {name: list(values) for name, values in measured(log).items()}
    plain = curve(run)
    assert {name: sorted(steps) for name, steps in order.items()} == {name: sorted(plain[name]) for name in plain}
    return {name: {step: plain[name][step] for step in steps} for name, steps in order.items()}


def test_recorded_runs_are_ingested_with_no_mapping(tmp_path: Path) -> None:
    for batch_size, status in ((64, "COMPLETE"), (64, "INFEASIBLE"), (128, None)):
        run = losslake.record.start(
            workload="my/own/mnist/cnn/sgd", batch_size=batch_size, batch_unit="tokens", parameters={"lr": 0.1},
            licence="CC-BY-4.0", goals=[{"metric": "val/loss", "target": 0.5}], folder=tmp_path,
        )  # fmt: skip
        for step in range(1, 4):
            run.log({"val/loss": batch_size / step}, step=step)
        run.finish(status) if status else run._stop()
    planned = plan_ingest(None, [tmp_path], Request())
    assert not planned.quarantined
    assert sorted(map(str, planned.studies)) == ["my/own/mnist/cnn/sgd/128", "my/own/mnist/cnn/sgd/64"]
    # Runs that begin in the same millisecond come in any order.
    by_batch_size = {study.batch_size: dict(each.statuses) for study, each in planned.studies.items()}
    assert by_batch_size == {64: {"COMPLETE": 1, "INFEASIBLE": 1}, 128: {"INCOMPLETE": 1}}


def test_facts_goals_times_and_parameters_are_those_of_run_json(tmp_path: Path) -> None:
    goals = [
        {"metric": "val/loss", "target": 0.5, "comparator": "inclusive", "source": "me"},
        {"metric": "val/accuracy", "target": 0.9},
        {"metric": "val/loss", "target": "NaN"},
        {"metric": "val/loss", "target": 1e400},
        {"metric": "loss", "target": 1},
        5,
    ]
    given = files({"0001/000001.jsonl": line(1, loss=0.1 + 0.2) + line(2, loss="NaN")}, goals=goals, notes="a note")
    (run,) = runs(FORMAT, tmp_path, given)
    (rows,) = run.rows
    assert rows.columns["elapsed_s"].tolist() == [1 / 8, 2 / 8]
    assert (rows.columns["val/loss"][0], math.isnan(rows.columns["val/loss"][1])) == (0.1 + 0.2, True)
    assert (run.parameters, run.started_at, run.fields["notes"]) == ({"lr": 0.1}, 1.7e9, "a note")
    assert [(goal.target, goal.comparator, goal.source) for goal in run.goals] == [(0.5, "inclusive", "me")]
    assert run.remarks == {
        "a goal of a metric that isn't measured: left out": 1,
        "a goal of run.json that isn't a metric with a target: left out": 4,
    }
    assert run.files.keys() == given.keys()


SEGMENTS = {
    "0001/000001.jsonl": line(1, loss=1.0),
    "0001/000002.jsonl": line(2, loss=2.0),
    "0002-from-2/000001.jsonl": line(2, loss=3.0),
}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda given: given.pop("runs/a/0001/000002.jsonl"), "a segment is missing"),
        (lambda given: given.pop("runs/a/0002-from-2/000001.jsonl"), "a segment is missing"),
        (lambda given: given.update({"runs/a/0001/000001.jsonl": line(1, loss=9.0)}), "isn't as it was when the run"),
        (lambda given: given.update({"runs/a/0003-from-3/000001.jsonl": line(3, loss=1.0)}), "end doesn't name"),
        (lambda given: given.update({"runs/a/0001/000002.jsonl": b"\xff\xfe\n"}), "can't be read"),
        (lambda given: given.update({"runs/a/0002-from-1/000001.jsonl": line(9, loss=1.0)}), "can't be read"),
    ],
)
def test_run_that_is_not_as_it_ended_is_incomplete(
    tmp_path: Path, change: Callable[[Files], object], says: str
) -> None:
    given = dict(files(SEGMENTS))
    change(given)
    planned = plan(tmp_path, given)
    assert statuses(planned) == [{"INCOMPLETE": 1}]
    assert says in " ".join(item.message for item in planned.quarantined)


def test_segment_before_another_is_missed_without_an_end(tmp_path: Path) -> None:
    given = dict(files(SEGMENTS, None))
    del given["runs/a/0001/000001.jsonl"]
    (run,) = runs(FORMAT, tmp_path, given)
    assert run.remarks["a segment is missing"] == 1


def test_dropped_measurements_are_stated_with_their_steps(tmp_path: Path) -> None:
    gap = {"reason": "the queue was full", "n": 5, "first_step": 1000, "last_step": 2000}
    digests = {name: {"sha256": hashlib.sha256(data).hexdigest()} for name, data in SEGMENTS.items()}
    end = {"status": "COMPLETE", "n_dropped": 7, "gaps": [gap, 5, {"n": -1}], "segments": digests}
    planned = plan(tmp_path, files(SEGMENTS, end))
    assert statuses(planned) == [{"INCOMPLETE": 1}]
    assert sorted(item.message.partition("; the run")[0] for item in planned.quarantined) == [
        "2 x measurements that weren't recorded",
        "5 x measurements that weren't recorded (the queue was full, steps 1,000 to 2,000)",
    ]


def test_infeasible_is_kept_and_an_unknown_status_refused(tmp_path: Path) -> None:
    given = {**files(SEGMENTS, "INFEASIBLE"), **files(SEGMENTS, "DONE", run="runs/b")}
    planned = plan(tmp_path, given)
    assert statuses(planned) == [{"INFEASIBLE": 1}]
    assert [(item.rule, item.path) for item in planned.quarantined] == [("unknown_status", "runs/b")]


@pytest.mark.parametrize("version", ["2", "99", "0", "1.5", "", "x" * 20])
def test_other_version_is_refused_with_one_line(tmp_path: Path, version: str) -> None:
    (item,) = read(FORMAT, tmp_path, files(SEGMENTS, format=f"losslake-record/{version}"))
    assert isinstance(item, Quarantined)
    assert item.path == "runs/a/run.json"
    assert item.message.endswith("reads 1 to 1: install a newer losslake")


def test_metrics_of_other_names_need_a_line_of_the_mapping(tmp_path: Path) -> None:
    segment = b'{"step":1,"elapsed_s":0.5,"my loss":1.0}\n'
    planned = plan(tmp_path, files({"0001/000001.jsonl": segment}))
    (item,) = planned.quarantined
    assert item.rule == "missing_fact"
    assert item.message.startswith("none of the columns (my loss) is known as a metric: add to the mapping: ")
    assert '"my loss" = "split/quantity"   # under [metrics]' in item.message
    (tmp_path / "losslake.toml").write_text('metrics."my loss" = "val/loss"')
    assert statuses(plan(tmp_path, {})) == [{"COMPLETE": 1}]


@pytest.mark.parametrize(
    ("facts", "rule"),
    [
        ({"batch_size": "sixty"}, "bad_fact"),
        ({"batch_size": True}, "bad_fact"),
        ({"batch_size": -1}, "bad_fact"),
        ({"batch_size": None}, "missing_fact"),
        ({"batch_size": [64]}, "missing_fact"),
        ({"dataset": "../x"}, "bad_name"),
        ({"model": "a/b"}, "bad_name"),
        ({"optimizer": ""}, "bad_name"),
        ({"collection": "a//b"}, "bad_name"),
        ({"dataset": "x" * 201}, "bad_name"),
        ({"model": "\ud800"}, "bad_name"),
        ({"parameters": [1]}, None),
        ({"parameters": {"a": {"b": 1}, "c": "x", "d": 10**400}}, None),
        ({"goals": {"a": 1}, "licence": 5, "started_at": "now"}, None),
        ({"notes": {"a": 1}}, None),
    ],
)
def test_hostile_facts_are_refused_or_left_out(tmp_path: Path, facts: dict[str, Any], rule: str | None) -> None:
    planned = plan(tmp_path, files(SEGMENTS, **facts))
    assert [item.rule for item in planned.quarantined] == ([rule] if rule else [])
    assert len(planned.studies) == (0 if rule else 1)


@pytest.mark.parametrize(
    ("document", "rule"),
    [
        (b'{"format": "losslake-record/1", "x": "' + b"x" * (1 << 20) + b'"}', "file_too_large"),
        (b'{"format": "losslake-record/1", "x": ' + b"[" * 100_000, "unreadable_log"),
        (b'{"format": "losslake-record/1", "x', "unreadable_log"),
        (b'{"format": "losslake-record/1", "model": "a", "model": "b"}', "values_disagree"),
    ],
)
def test_hostile_run_json_is_quarantined_once(tmp_path: Path, document: bytes, rule: str) -> None:
    items = read(FORMAT, tmp_path, {**files(SEGMENTS), "runs/a/run.json": document})
    assert [(item.path, item.rule) for item in items if isinstance(item, Quarantined)] == [("runs/a/run.json", rule)]
    assert len(items) == 1


def test_end_json_that_cannot_be_read_leaves_the_run_incomplete(tmp_path: Path) -> None:
    planned = plan(tmp_path, {**files(SEGMENTS), "runs/a/end.json": b'{"status": 5}'})
    assert statuses(planned) == [{"INCOMPLETE": 1}]
    assert [item.path for item in planned.quarantined] == ["runs/a/end.json"]


def test_segments_without_a_run_are_refused_and_other_tools_files_left_alone(tmp_path: Path) -> None:
    given = {"x/0001/000001.jsonl": line(1, loss=1.0), "y/run.json": b'{"status": "COMPLETED"}', "y/end.json": b"{}"}
    (item,) = read(FORMAT, tmp_path, given)
    assert isinstance(item, Quarantined)
    assert (item.path, item.rule) == ("x/0001/000001.jsonl", "missing_file")


def test_collection_has_one_licence(tmp_path: Path) -> None:
    planned = plan(tmp_path, {**files(SEGMENTS), **files(SEGMENTS, run="runs/b", licence="MIT", batch_size=8)})
    (item,) = planned.quarantined
    assert (item.path, item.rule) == ("runs/b/run.json", "facts_disagree")
    assert "its licence is 'MIT', and runs/a/run.json of the same collection has 'CC0-1.0'" in item.message


def test_file_twice_in_an_archive_is_used_once(tmp_path: Path) -> None:
    path = tmp_path / "runs.tar"
    with tarfile.open(path, "w") as archive:
        for name, data in [*files(SEGMENTS).items(), *files({"0001/000001.jsonl": line(1, loss=7.0)}).items()]:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    items = list(FORMAT.read(open_source(path), LogMapping()))
    (run,) = [item for item in items if isinstance(item, RunLog)]
    assert {item.rule for item in items if isinstance(item, Quarantined)} == {"duplicate_file"}
    assert measured(run) == {"val/loss": {1: 1.0, 2: 3.0}}
    assert run.remarks["a segment can't be read: left out"] == 1


def test_runs_are_held_only_until_they_are_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "LARGEST_PENDING", 4)
    given = {name: data for run in "abc" for name, data in files(SEGMENTS, run=run).items()}
    logs = runs(FORMAT, tmp_path, given)
    assert [(log.run, measured(log)) for log in logs] == [(run, {"val/loss": {1: 1.0, 2: 3.0}}) for run in "abc"]


def test_detection_goes_by_the_first_key_and_by_place() -> None:
    (first, data), *_ = files({}).items()
    assert FORMAT.detect(Glimpse(first, data)) >= 0.85
    assert FORMAT.detect(Glimpse("run.json", b'{"status": "COMPLETED"}')) == 0
    assert FORMAT.detect(Glimpse("a/0002-from-5/000001.jsonl", line(5, loss=1.0))) >= 0.85
    assert FORMAT.detect(Glimpse("a/b/000001.jsonl", line(5, loss=1.0))) == 0
    assert FORMAT.detect(Glimpse("a/0001/000001.jsonl", b'{"loss": 1}')) == 0


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = [
    *FACTS,
    "batch_unit",
    "goals",
    "notes",
    "steps",
    "status",
    "segments",
    "n_dropped",
    "gaps",
    "assumed_rewinds",
    "began_again",
    "left_out",
    "other_counters",
    "attributes",
]
documents = st.dictionaries(st.sampled_from(KEYS[1:]), anything, max_size=6)
QUICK = settings(suppress_health_check=list(HealthCheck))


def check(folder: Path, facts: Any, end: Any, segment: bytes) -> None:
    given = files({"0001/000001.jsonl": segment}, {"end": end} if end is None else end)
    given = {**given, "runs/a/run.json": json.dumps({**FACTS, **facts}).encode()}
    for item in read(FORMAT, folder / "record", given):
        assert isinstance(item, RunLog | Quarantined)
    plan_ingest(None, [folder / "record"], Request())


@QUICK
@given(documents, documents, st.binary(max_size=40) | st.builds(line, st.integers(), x=st.floats()))
def test_any_documents_are_runs_or_quarantined(
    tmp_path_factory: pytest.TempPathFactory, facts: Any, end: Any, segment: bytes
) -> None:
    check(tmp_path_factory.mktemp("any"), facts, end, segment)


@pytest.mark.fuzz
@settings(QUICK, max_examples=3_000)
@given(documents, documents, st.binary(max_size=40) | st.builds(line, st.integers(), x=st.floats()))
def test_many_documents_are_runs_or_quarantined(
    tmp_path_factory: pytest.TempPathFactory, facts: Any, end: Any, segment: bytes
) -> None:
    check(tmp_path_factory.mktemp("any"), facts, end, segment)


def test_segment_cut_at_every_byte_keeps_its_whole_lines(tmp_path: Path) -> None:
    data = line(1, loss=1.0) + line(2, loss=2.0)
    for cut in range(len(data) + 1):
        (run,) = runs(FORMAT, tmp_path / str(cut), files({"0001/000001.jsonl": data[:cut]}, None))
        assert len(measured(run).get("val/loss", {})) == data[:cut].count(b"\n")


@pytest.mark.parametrize("began_again", [2, None], ids=["today", "before there was began_again"])
def test_a_run_whose_step_began_again_in_each_epoch_is_refused(tmp_path: Path, began_again: int | None) -> None:
    rows = b"".join(b'{"step":%d,"elapsed_s":%d,"val/loss":0.5}\n' % (step, step) for step in range(100))
    segments = {"0001/000001.jsonl": rows, "0002-from-0/000001.jsonl": rows, "0003-from-0/000001.jsonl": rows}
    stated = {"assumed_rewinds": 2, **({} if began_again is None else {"began_again": began_again})}
    digests = {name: {"bytes": len(x), "sha256": hashlib.sha256(x).hexdigest()} for name, x in segments.items()}
    ended = {"status": "COMPLETE", "ended_at": 1.0, "n_dropped": 0, "segments": digests}
    (refused,) = read(FORMAT, tmp_path, files(segments, ended | stated))
    assert isinstance(refused, Quarantined)
    assert refused.rule == "step_doubtful"
    assert "step goes back to 0, where the run began, and run.rewind() wasn't called: log the number" in refused.message
    announced = read(FORMAT, tmp_path, files(segments, ended))
    assert [isinstance(item, RunLog) for item in announced] == [True]


@pytest.mark.parametrize(
    ("facts", "rule", "says"),
    [
        ({"batch_schedule": [[0, 8], [2, 16]]}, "facts_disagree", "run.json has batch_size and batch_schedule"),
        ({"batch_size": None, "batch_schedule": [[1, 8]]}, "bad_fact", "batch_schedule of run.json can't be read"),
        ({"batch_size": None, "batch_schedule": "0:8"}, "bad_fact", "batch_schedule of run.json can't be read"),
    ],
)
def test_a_batch_schedule_that_cant_be_read_is_refused(
    tmp_path: Path, facts: dict[str, Any], rule: str, says: str
) -> None:
    (item,) = read(FORMAT, tmp_path, files({"0001/000001.jsonl": line(1, loss=0.5)}, **facts))
    assert isinstance(item, Quarantined)
    assert (item.rule, item.message[: len(says)]) == (rule, says)

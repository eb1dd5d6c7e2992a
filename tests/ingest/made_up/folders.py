"""Made-up logs of benchmarks: MLPerf's three dialects, AlgoPerf's trial folders, and the archive of batch_science."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from tests.ingest.made_up.logs import METRIC_LINES, METRICS, RUN, Content, MadeUp, Rows, Unusual, Values, curves, whole
from tests.ingest.made_up.texts import csv_log, json_object, plain, points_of, spoiled_csv, table_of
from tests.ingest.offers import Files

Line = tuple[str, object, Mapping[str, object]]


def _lines(rows: Rows) -> Iterator[Line]:
    """The entries of a log: its facts, its evaluations by samples, its end."""
    yield "global_batch_size", 10, {}
    yield "seed", 7, {}
    yield "run_start", None, {}
    for step, logged in rows:
        for name, value in logged.items():
            yield f"eval_{name}", value, {"samples_count": 10 * step}
    yield "run_stop", None, {"status": "success"}


def _mllog(runs: Sequence[Rows]) -> Files:
    """Every second log in the dialect of v0.6, as mlperf_logging.mllog and its predecessor write them."""
    files = {}
    for number, rows in enumerate(runs):
        text = "a line of the job\n"
        for at, (key, value, metadata) in enumerate(_lines(rows)):
            place = {"file": "train.py", "lineno": at, **metadata}
            document: dict[str, Any] = {"value": value, "metadata": place}
            if number % 2:
                text += f":::MLL {1000 + at}.5 {key}: {json.dumps(document)}\n"
            else:
                stamp = {"namespace": "", "time_ms": 1000 * at, "event_type": "POINT_IN_TIME", "key": key}
                text += f":::MLLOG {json.dumps(stamp | document)}\n"
        files[f"run{number}/result_0.txt"] = text.encode()
    return files


def _read_mllog(data: bytes) -> tuple[Mapping[str, object], Values]:
    entries: list[tuple[str, dict[str, Any]]] = []
    times: dict[str, Decimal] = {}
    head, *lines, end = data.decode().split("\n")
    for line in lines:
        old = re.fullmatch(r":::MLL ([0-9.]+) ([\w.-]+): (.*)", line)
        new = re.fullmatch(r":::MLLOG (.*)", line)
        if old:
            entries.append((old[2], json_object(old[3])))
            times.setdefault(old[2], Decimal(old[1]))
        elif new:
            entry = json_object(new[1])
            entries.append((entry["key"], entry))
            times.setdefault(entry["key"], Decimal(str(entry["time_ms"])) / 1000)
        else:
            raise Unusual(line)
    if end or ":::" in head or [key for key, _ in entries].count("run_stop") != 1:
        raise Unusual("no end")
    facts: dict[str, object] = {}
    points = []
    for key, entry in entries:
        place = entry["metadata"]
        if key.startswith("eval_") and "samples_count" in place:
            points.append((key.removeprefix("eval_"), whole(str(place["samples_count"] / 10)), plain(entry["value"])))
        elif key == "run_stop":
            if place["status"] != "success":
                raise Unusual("status")
        elif entry["value"] is not None and not key.endswith(("_start", "_stop")):
            facts[key] = entry["value"]
    facts["batch_size"] = facts.pop("global_batch_size")
    if "run_start" in times and times["run_stop"] > times["run_start"]:
        facts["run_seconds"] = f"{times['run_stop'] - times['run_start']:f}"
    return facts, curves(points)


def _spoiled_mllog(data: bytes) -> Iterator[bytes]:
    lines = data.decode().split("\n")
    for key in ("global_batch_size", "eval_m"):
        at = next(at for at, line in enumerate(lines) if key in line)
        for bad in (r'"value": "oops"', r'"value": null', r'"value": [1, 2]'):
            yield "\n".join([*lines[:at], re.sub(r'"value": [^,]*', bad, lines[at]), *lines[at + 1 :]]).encode()
    for bad in ('"oops"', "null"):
        yield re.sub(rb'"samples_count": \d+', f'"samples_count": {bad}'.encode(), data, count=1)


MLLOG = MadeUp(
    "mllog",
    RUN.replace("10", '"{global_batch_size}"') + '[metrics]\n"eval_*" = "val/*"\n',
    _mllog,
    lambda files: {path: _read_mllog(data) for path, data in files.items()},
    _spoiled_mllog,
    (".txt",),
    encodings=("utf-16", "utf-16-le", "utf-32", "cp037"),
)

STEP = b"step\r\n"
HPARAMS = {"lr": 0.5, "beta1": 0.9, "schedule": "cosine"}


def _trials(runs: Sequence[Rows]) -> Files:
    """As AlgoPerf's harness writes them; the first half of the runs has only measurements.csv."""
    files = {}
    for number, rows in enumerate(runs):
        folder = f"study/{number}/mnist_jax/trial_1"
        table = csv_log(rows).replace(STEP, b"global_step\r\n")
        files[f"{folder}/measurements.csv"] = table
        if 2 * number >= len(runs):
            files[f"{folder}/eval_measurements.csv"] = table
        files[f"{folder}/hparams.json"] = json.dumps(HPARAMS).encode()
        files[f"{folder}/meta_data_0.json"] = json.dumps({"workload.step_hint": 5, "gpu.count": 8}).encode()
        files[f"{folder}/flags_0.json"] = json.dumps({"workload": "mnist", "data_dir": "/data"}).encode()
    return files


def _read_trials(files: Files) -> Content:
    found: Content = {}
    for folder in dict.fromkeys(path.rpartition("/")[0] for path in files):
        members = {path.rpartition("/")[2]: data for path, data in files.items() if path.startswith(f"{folder}/")}
        points = [
            point
            for name in ("measurements.csv", "eval_measurements.csv")
            if name in members
            for point in points_of(table_of(members[name]), "global_step")
        ]
        if json_object(members["flags_0.json"].decode())["workload"] != "mnist":
            raise Unusual("workload")
        json_object(members["meta_data_0.json"].decode())
        facts = {"batch_size": 10.0, **json_object(members["hparams.json"].decode())}
        found[folder] = (facts, curves(points))
    return found


def _spoiled_trial(data: bytes) -> Iterator[bytes]:
    return spoiled_csv(data) if STEP in data else iter((b'{"lr": oops}', b"[]", b'"oops"'))


ALGOPERF = MadeUp(
    "algoperf",
    RUN + METRIC_LINES,
    _trials,
    _read_trials,
    _spoiled_trial,
    (".csv", ".json"),
)


def _archive(runs: Sequence[Rows]) -> Files:
    folder = "root/mnist/cnn/sgd/10"
    study = {
        "batch_size": 10,
        "dataset": "mnist",
        "model": "cnn",
        "optimizer": "sgd",
        "early_stopping": False,
        "train_steps": 20,
        "parameter_configs": {},
    }
    files = {f"{folder}/study.json": json.dumps(study).encode()}
    for number, rows in enumerate(runs):
        table = csv_log(rows)
        for name in METRICS:
            table = table.replace(name.encode(), f"val/{name}".encode())
        trial = {"trial_id": number, "status": "COMPLETE", "steps": 20, "parameters": {"lr": 0.5, "decay": "linear"}}
        files[f"{folder}/{number}/metadata.json"] = json.dumps(trial).encode()
        files[f"{folder}/{number}/measurements.csv"] = table
    return files


def _read_archive(files: Files) -> Content:
    found: Content = {}
    study = next(json_object(data.decode()) for path, data in files.items() if path.endswith("/study.json"))
    if not {"batch_size", "dataset", "model", "optimizer", "train_steps"} <= study.keys():
        raise Unusual("study.json")
    for path, data in files.items():
        if path.endswith("/measurements.csv"):
            header, lines = table_of(data.removesuffix(b"\n") + b"\n")
            columns = [name.removeprefix("val/") for name in header]
            steps = [whole(line[header.index("step")]) for line in lines]
            if steps != sorted(set(steps)) or not all(name.startswith("val/m") or name == "step" for name in header):
                raise Unusual("steps")
            trial = json_object(files[f"{path.rpartition('/')[0]}/metadata.json"].decode())
            facts = {"batch_size": study["batch_size"], **trial["parameters"]}
            found[path] = (facts, curves(points_of((columns, lines), "step")))
    return found


def _spoiled_archive(data: bytes) -> Iterator[bytes]:
    if not data.startswith(b"{"):
        yield from spoiled_csv(data)
        return
    for name in json_object(data.decode()):
        yield json.dumps(json_object(data.decode()) | {name: "oops"}).encode()


BATCH_SCIENCE = MadeUp(
    "batch_science",
    "",
    _archive,
    _read_archive,
    _spoiled_archive,
    (".csv", ".json"),
    restarts=False,
)
FOLDERS = (MLLOG, ALGOPERF, BATCH_SCIENCE)

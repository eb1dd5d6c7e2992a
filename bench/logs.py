"""Synthetic logs in every format, each with the same kind of curve: a loss that falls, with noise in its digits."""

from __future__ import annotations

import json
import sqlite3
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter
from wandb.proto import wandb_internal_pb2 as wandb_messages

MAPPING = """
[collection]
name = "bench"
[run]
dataset = "synthetic"
model = "none"
optimizer = "sgd"
batch_size = 64
[metrics]
train_loss = "train/loss"
"train/loss" = "train/loss"
"train/accuracy" = "train/accuracy"
eval_accuracy = "val/accuracy"
loss = "train/loss"
val_loss = "val/loss"
val_accuracy = "val/accuracy"
"*" = ""
[fields]
epoch_examples = 64000
[text]
lines = ['step: (?P<step>\\d+) train_loss: (?P<train_loss>\\S+) val_loss: (?P<val_loss>\\S+)']
[files]
formats = ["FORMAT"]
"""
# What the counters of loggers count, which LossLake asks for.
COUNTERS = "".join(f'[[axis]]\ncolumn = "{column}"\ncounts = "updates"\n' for column in ("_step", "Step", "step"))
OF_LOGGERS = ("dvclive", "sacred", "trackio", "wandb")
TAGS = ("train/loss", "train/accuracy", "learning_rate", "grad_norm", "val/loss", "val/accuracy")
NAMES = ("train/loss", "train/accuracy", "val/loss", "val/accuracy")


def curve(seed: int, rows: int) -> npt.NDArray[np.float64]:
    """Rows by the four NAMES."""
    noise: npt.NDArray[np.float64] = np.random.default_rng(seed).normal(1.0, 0.01, (rows, 4))
    noise *= np.array([3.0, 0.9, 3.2, 0.85]) / (1 + np.arange(rows)[:, None] / 500.0)
    return noise


def mllog(folder: Path, runs: int, rows: int) -> None:
    for run in range(runs):
        facts: list[tuple[str, object, object]] = [
            ("global_batch_size", 64, {}),
            ("opt_name", "sgd", {}),
            ("run_start", None, {}),
        ]
        entries: list[tuple[str, object, object]] = [
            ("eval_accuracy", value, {"epoch_num": at + 1}) for at, value in enumerate(curve(run, rows)[:, 1])
        ]
        lines = [
            ":::MLLOG "
            + json.dumps({"namespace": "", "time_ms": 1_600_000_000_000 + at, "key": k, "value": v, "metadata": m})
            for at, (k, v, m) in enumerate([*facts, *entries, ("run_stop", None, {"status": "success"})])
        ]
        _write(folder / f"system_{run}/result_0.txt", "\n".join(lines))


def algoperf(folder: Path, runs: int, rows: int) -> None:
    for run in range(runs):
        metrics = "train/loss,train/accuracy,validation/loss,validation/accuracy"
        header = f"global_step,{metrics},score,accumulated_submission_time"
        lines = [f"{at * 10},{a!r},{b!r},{c!r},{d!r},{at}.5,{at}.5" for at, (a, b, c, d) in _rows(run, rows)]
        trial = folder / f"amos/study_0/wmt_jax/trial_{run + 1}"
        _write(trial / "measurements.csv", "\n".join([header, *lines, ""]))
        _write(trial / "eval_measurements.csv", "\n".join([header, *lines[::10], ""]))
        _write(trial / "hparams.json", '{"learning_rate": 0.1}')


def sacred(folder: Path, runs: int, rows: int) -> None:
    times = [f"2026-01-01T00:00:{at % 60:02}.{at % 1_000_000:06}" for at in range(rows)]
    for run in range(runs):
        columns = dict(zip(NAMES, curve(run, rows).T.tolist(), strict=True))
        metrics = {n: {"steps": [*range(rows)], "timestamps": times, "values": v} for n, v in columns.items()}
        _write(folder / f"runs/{run + 1}/metrics.json", json.dumps(metrics, indent=2))
        _write(folder / f"runs/{run + 1}/run.json", json.dumps({"start_time": times[0], "status": "COMPLETED"}))


def tensorboard(folder: Path, runs: int, rows: int) -> None:
    for run in range(runs):
        path = folder / f"run_{run}/events.out.tfevents.1700000000.host"
        path.parent.mkdir(parents=True)
        with path.open("wb") as file:
            writer = RecordWriter(file)
            writer.write(Event(wall_time=1.7e9, file_version="brain.Event:2").SerializeToString())
            for at in range(rows * len(TAGS)):
                value = Summary.Value(tag=TAGS[at % len(TAGS)], simple_value=1 / (1 + at + run))
                event = Event(wall_time=1.7e9 + at / 7, step=10 * (at // len(TAGS)), summary=Summary(value=[value]))
                writer.write(event.SerializeToString())


def dvclive(folder: Path, runs: int, rows: int) -> None:
    for run in range(runs):
        for name, values in zip(NAMES, curve(run, rows).T.tolist(), strict=True):
            lines = [f"{at}\t{value!r}" for at, value in enumerate(values)]
            path = folder / f"run_{run}/plots/metrics/{name}.tsv"
            _write(path, "\n".join([f"step\t{name.rpartition('/')[2]}", *lines, ""]))


def hf_trainer(folder: Path, runs: int, rows: int) -> None:
    for run in range(runs):
        history: list[dict[str, float]] = []
        for at, (a, _, c, d) in _rows(run, rows):
            history.append({"epoch": at / 100, "loss": a, "learning_rate": 1e-4, "grad_norm": 1.5, "step": at})
            history.append({"epoch": at / 100, "eval_loss": c, "eval_accuracy": d, "eval_runtime": 3.5, "step": at})
        state = {"global_step": rows, "max_steps": rows, "train_batch_size": 64, "log_history": history}
        _write(folder / f"run_{run}/trainer_state.json", json.dumps(state, indent=2))


def mlflow_files(folder: Path, runs: int, rows: int) -> None:
    _write(folder / "mlruns/1/meta.yaml", "experiment_id: '1'\nname: bench\nlifecycle_stage: active\n")
    for run in range(runs):
        place = folder / f"mlruns/1/{run:032x}"
        meta = f"run_id: {run:032x}\nrun_uuid: {run:032x}\nexperiment_id: '1'\nstatus: 3\nstart_time: 1700000000000\n"
        _write(place / "meta.yaml", meta + "lifecycle_stage: active\n")
        values = curve(run, rows)
        for column, name in enumerate(NAMES):
            lines = [f"{1_700_000_000_000 + at} {value!r} {at}" for at, value in enumerate(values[:, column].tolist())]
            _write(place / f"metrics/{name}", "\n".join([*lines, ""]))


_MLFLOW_TABLES = """
CREATE TABLE experiments (experiment_id INTEGER PRIMARY KEY, name TEXT, lifecycle_stage TEXT);
CREATE TABLE runs (run_uuid TEXT PRIMARY KEY, name TEXT, status TEXT, start_time BIGINT, experiment_id INTEGER,
  lifecycle_stage TEXT, user_id TEXT, source_name TEXT, entry_point_name TEXT, source_version TEXT, artifact_uri TEXT);
CREATE TABLE metrics (key TEXT, value DOUBLE, timestamp BIGINT, run_uuid TEXT, step BIGINT, is_nan BOOLEAN,
  PRIMARY KEY (key, timestamp, step, run_uuid, value, is_nan));
CREATE TABLE params (key TEXT, value TEXT, run_uuid TEXT, PRIMARY KEY (key, run_uuid));
CREATE TABLE tags (key TEXT, value TEXT, run_uuid TEXT, PRIMARY KEY (key, run_uuid));
INSERT INTO experiments VALUES (1, 'bench', 'active');
"""


def mlflow_sqlite(folder: Path, runs: int, rows: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(folder / "mlflow.db") as database:
        database.executescript(_MLFLOW_TABLES)
        for run in range(runs):
            facts = (f"{run:032x}", "r", "FINISHED", 1_700_000_000_000, 1, "active", "", "", "", "", "")
            database.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", facts)
            database.executemany("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, 0)", _metric_rows(run, rows))


def _metric_rows(run: int, rows: int) -> Iterator[tuple[str, float, int, str, int]]:
    values = curve(run, rows).tolist()
    for column, name in enumerate(NAMES):
        for at, row in enumerate(values):
            yield name, row[column], 1_700_000_000_000 + at, f"{run:032x}", at


def trackio(folder: Path, runs: int, rows: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(folder / "trackio.db") as database:
        columns = "run_id TEXT, timestamp TEXT, run_name TEXT, step INTEGER, metrics TEXT"
        database.execute(f"CREATE TABLE metrics (id INTEGER PRIMARY KEY, {columns})")
        database.execute("CREATE TABLE configs (run_id TEXT, config TEXT, created_at TEXT)")
        for run in range(runs):
            calls = ((at, json.dumps(dict(zip(NAMES, row, strict=True))).encode()) for at, row in _rows(run, rows))
            values = ((f"r{run:03}", "2026-01-01T00:00:00+00:00", f"r{run}", at, text) for at, text in calls)
            database.executemany(
                "INSERT INTO metrics (run_id, timestamp, run_name, step, metrics) VALUES (?, ?, ?, ?, ?)", values
            )


def wandb_panels(folder: Path, runs: int, rows: int) -> None:
    for column, name in enumerate(NAMES):
        values = np.stack([curve(run, rows)[:, column] for run in range(runs)], axis=1).tolist()
        bounds = [f'"run{run} - {name}","run{run} - {name}__MIN","run{run} - {name}__MAX"' for run in range(runs)]
        lines = [f'"{at}",' + ",".join(f'"{v!r}","{v!r}","{v!r}"' for v in row) for at, row in enumerate(values)]
        _write(folder / f"{name.replace('/', '_')}.csv", "\n".join([",".join(['"Step"', *bounds]), *lines, ""]))


def wandb_offline(folder: Path, runs: int, rows: int) -> None:
    for run in range(runs):
        records = []
        for at, row in _rows(run, rows):
            record = wandb_messages.Record()
            record.history.step.num = at
            pairs = [("_step", at), ("_runtime", at / 2), ("_timestamp", 1.7e9 + at), *zip(NAMES, row, strict=True)]
            for key, value in pairs:
                item = record.history.item.add()
                item.key, item.value_json = key, json.dumps(value)
            records.append(record.SerializeToString())
        _write(folder / f"offline-run-{run}/run-{run}.wandb", _leveldb(records))


def _leveldb(records: list[bytes]) -> bytes:
    """Return records in LevelDB's log format, with W&B's file header."""
    data = bytearray(b":W&B" + struct.pack("<HB", 0xBEE1, 0))
    for record in records:
        kind_of_next, rest = {(True, True): 1, (True, False): 2, (False, False): 3, (False, True): 4}, record
        is_first = True
        while rest or is_first:
            room = 32768 - len(data) % 32768
            if room < 7:
                data += bytes(room)
                room = 32768
            piece, rest = rest[: room - 7], rest[room - 7 :]
            kind = kind_of_next[is_first, not rest]
            data += struct.pack("<IHB", zlib.crc32(bytes([kind]) + piece), len(piece), kind) + piece
            is_first = False
    return bytes(data)


def csv(folder: Path, runs: int, rows: int) -> None:
    for run in range(runs):
        lines = [f"{at},{a!r},{b!r},{c!r},{d!r}" for at, (a, b, c, d) in _rows(run, rows)]
        _write(folder / f"run_{run}/metrics.csv", "\n".join([f"step,{','.join(NAMES)}", *lines, ""]))


def json_arrays(folder: Path, runs: int, rows: int) -> None:
    for run in range(runs):
        lists = dict(zip(NAMES, curve(run, rows).T.tolist(), strict=True))
        _write(folder / f"run_{run}/log.json", json.dumps({"step": [*range(rows)], **lists}))


def jsonl(folder: Path, runs: int, rows: int) -> None:
    for run in range(runs):
        lines = [json.dumps({"step": at, **dict(zip(NAMES, row, strict=True))}) for at, row in _rows(run, rows)]
        _write(folder / f"run_{run}/log.jsonl", "\n".join([*lines, ""]))


def llmc(folder: Path, runs: int, rows: int) -> None:
    for run in range(runs):
        lines = [f"s:{at} trl:{row[0]:.4f} lr:0.000600 norm:0.24" for at, row in _rows(run, rows)]
        _write(folder / f"run_{run}/main.log", "\n".join(["s:0 tel:11.0092", *lines, ""]))


def text(folder: Path, runs: int, rows: int) -> None:
    for run in range(runs):
        lines = [
            f"2026-01-01 00:00:00,000 INFO step: {at} train_loss: {a:.6f} val_loss: {b:.6f} time: 123.45ms"
            for at, (a, _, b, _) in _rows(run, rows)
        ]
        _write(folder / f"run_{run}.log", "\n".join([*lines, ""]))


def _rows(seed: int, rows: int) -> Iterator[tuple[int, list[float]]]:
    yield from enumerate(curve(seed, rows).tolist())


def _write(path: Path, data: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)


WRITERS: dict[str, tuple[Callable[[Path, int, int], None], int, int]] = {
    "algoperf": (algoperf, 40, 4_000),
    "csv": (csv, 40, 10_000),
    "dvclive": (dvclive, 40, 5_000),
    "hf_trainer": (hf_trainer, 20, 4_000),
    "json_arrays": (json_arrays, 40, 10_000),
    "jsonl": (jsonl, 40, 5_000),
    "llmc": (llmc, 20, 20_000),
    "mlflow, files": (mlflow_files, 40, 5_000),
    "mlflow, SQLite": (mlflow_sqlite, 20, 5_000),
    "mllog": (mllog, 40, 3_000),
    "sacred": (sacred, 20, 5_000),
    "tensorboard": (tensorboard, 20, 10_000),
    "text": (text, 20, 50_000),
    "trackio": (trackio, 20, 5_000),
    "wandb, panels": (wandb_panels, 20, 5_000),
    "wandb, offline": (wandb_offline, 20, 3_000),
}
"""By name: the writer, how many runs, how many rows each."""

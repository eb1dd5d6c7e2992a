"""Made-up logs in binary files and stores: TensorBoard, MLflow, W&B's offline runs and Parquet."""

from __future__ import annotations

import io
import json
import math
import sqlite3
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from fsspec.implementations.memory import MemoryFileSystem
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.util import tensor_util

from losslake_ingest.readers.event_files.records import masked
from tests.ingest.formats.tensorboard_files import event, event_file, simple, tensor
from tests.ingest.formats.wandb_files import exit_record, framed, history_record, pb, run_record
from tests.ingest.made_up.logs import METRIC_LINES, METRICS, RUN, Content, MadeUp, Rows, Unusual, Values, curves, whole
from tests.ingest.made_up.texts import BATCH_SIZE, EMPTY
from tests.ingest.offers import Files
from tests.ingest.readers.mlflow_stores.test_sql import SCHEMA

Point = tuple[str, int, float]
AXIS = '[[axis]]\ncolumn = "{}"\ncounts = "steps"\n'
LARGEST = 3.4028234663852886e38


def _float32(value: float) -> float:
    return value if not math.isfinite(value) else float(max(-LARGEST, min(LARGEST, value)))


def _event_files(runs: Sequence[Rows]) -> Files:
    """An event for each step, half of the runs as TensorFlow 1 and half as TensorFlow 2 writes scalars."""
    files = {}
    for number, rows in enumerate(runs):
        events = []
        for at, (step, logged) in enumerate(rows):
            pairs = [(name, _float32(value)) for name, value in logged.items()]
            protos = [(name, tensor_util.make_tensor_proto(value, dtype="float32")) for name, value in pairs]
            values = [simple(*pair) for pair in pairs] if number % 2 else [tensor(*pair) for pair in protos]
            events.append(event(100.0 + at, step, *values))
        files[f"run{number}/events.out.tfevents.100.host"] = event_file(events)
    return files


def _read_events(data: bytes) -> Iterator[Point]:
    at = 0
    while at < len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        body = data[at + 12 : at + 12 + size]
        checks = struct.unpack_from("<I", data, at + 8) + struct.unpack_from("<I", data, at + 12 + size)
        if checks != (masked(_crc32c(data[at : at + 8])), masked(_crc32c(body))):
            raise Unusual("checksum")
        one = Event.FromString(body)
        for value in one.summary.value:
            has_tensor = value.HasField("tensor")
            number = tensor_util.make_ndarray(value.tensor).item() if has_tensor else value.simple_value
            yield value.tag, one.step, number
        at += size + 16


def _crc32c(data: bytes) -> int:
    """Return the Castagnoli checksum, bit by bit."""
    crc = 0xFFFF_FFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F6_3B78 if crc & 1 else 0)
    return crc ^ 0xFFFF_FFFF


def _spoiled_events(_data: bytes) -> Iterator[bytes]:
    good = event(1.0, 1, simple("m0", 1.0))
    text = event(2.0, 2, tensor("m0", tensor_util.make_tensor_proto("oops"), None))
    yield event_file([good, text])
    yield event_file([good, event(2.0, -5, simple("m0", 0.5))])


TENSORBOARD = MadeUp(
    "tensorboard",
    RUN + METRIC_LINES + AXIS.format("step"),
    _event_files,
    lambda files: {path.rpartition("/")[0]: (BATCH_SIZE, curves(_read_events(data))) for path, data in files.items()},
    _spoiled_events,
    ("tfevents.100.host",),
)

META = "artifact_uri: file:///x\nrun_id: {}\nstart_time: 1700000000500\nstatus: 3\nlifecycle_stage: active\n"


def _mlruns(runs: Sequence[Rows]) -> Files:
    """As mlflow.store.tracking.file_store writes them."""
    files = {}
    for number, rows in enumerate(runs):
        folder = f"mlruns/5/{number:032x}"
        files[f"{folder}/meta.yaml"] = META.format(f"{number:032x}").encode()
        files[f"{folder}/params/lr"] = b"0.5"
        lines: dict[str, str] = {}
        for at, (step, logged) in enumerate(rows):
            for name, value in logged.items():
                lines[name] = lines.get(name, "") + f"{1_700_000_000_000 + at} {value} {step}\n"
        files |= {f"{folder}/metrics/{name}": text.encode() for name, text in lines.items()}
    return files


def _read_mlruns(files: Files) -> Content:
    found: Content = {}
    for folder in dict.fromkeys("/".join(path.split("/")[:3]) for path in files):
        points: list[Point] = []
        for path, data in files.items():
            if path.startswith(f"{folder}/metrics/"):
                *lines, end = data.decode().split("\n")
                if end:
                    raise Unusual("no newline at the end")
                for line in lines:
                    stamp, value, step = line.split(" ")
                    if "_" in line or not stamp.isdigit() or value in EMPTY:
                        raise Unusual(line)
                    points.append((path.rpartition("/")[2], int(step), float(value)))
        meta = dict(line.split(": ") for line in files[f"{folder}/meta.yaml"].decode().splitlines())
        if (meta["status"], meta["lifecycle_stage"], len(meta["run_id"])) != ("3", "active", 32):
            raise Unusual("meta.yaml")
        lr = files[f"{folder}/params/lr"].decode()
        found[folder] = ({"batch_size": 10.0, "lr": _parameter(lr)}, curves(points))
    return found


def _parameter(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return text


def _spoiled_mlruns(data: bytes) -> Iterator[bytes]:
    if b"artifact_uri" in data:
        yield from (data.replace(name, b"oops") for name in (b"run_id", b"status", b"active", b": 3"))
    elif b"\n" in data:
        lines = data.decode().split("\n")
        for at in range(3):
            cells = lines[0].split(" ")
            cells[at] = "oops"
            yield "\n".join([" ".join(cells), *lines[1:]]).encode()


MLFLOW_FILES = MadeUp(
    "mlflow files",
    RUN + METRIC_LINES,
    _mlruns,
    _read_mlruns,
    _spoiled_mlruns,
    ("meta.yaml", "metrics/m0", "metrics/m1", "metrics/m2", "metrics/m3"),
)


def _database(runs: Sequence[Rows]) -> Files:
    """The tables as MLflow makes them; of NaN and infinities, what it writes in their place."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SCHEMA)
        connection.execute("INSERT INTO experiments VALUES (1, 'sweep', 'active')")
        for number, rows in enumerate(runs):
            run = f"r{number:03}"
            connection.execute(
                "INSERT INTO runs VALUES (?, '', '', '', '', '', 'FINISHED', 1000, 1, 'active', '')", (run,)
            )
            connection.execute("INSERT INTO params VALUES ('lr', '0.5', ?)", (run,))
            for at, (step, logged) in enumerate(rows):
                for name, value in logged.items():
                    stored = 0.0 if math.isnan(value) else max(-INFINITE, min(INFINITE, value))
                    row = (name, stored, 1000 + at, run, step, math.isnan(value))
                    connection.execute("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", row)
        return {"mlflow.db": connection.serialize()}


INFINITE = 1.7976931348623157e308


def _read_database(files: Files) -> Content:
    found: Content = {}
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(files["mlflow.db"])
        if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
            raise Unusual("integrity_check")
        for run, status, stage in connection.execute("SELECT run_uuid, status, lifecycle_stage FROM runs").fetchall():
            if (status, stage) != ("FINISHED", "active"):
                raise Unusual(status)
            params = connection.execute("SELECT key, value FROM params WHERE run_uuid = ?", (run,)).fetchall()
            logged = connection.execute(
                "SELECT key, step, value, is_nan, timestamp FROM metrics WHERE run_uuid = ? ORDER BY timestamp", (run,)
            ).fetchall()
            if any(not all(isinstance(cell, (int, float)) for cell in row[1:]) for row in logged):
                raise Unusual("a cell isn't a number")
            points = [
                (key, step, math.nan if is_nan else value if abs(value) < INFINITE else math.copysign(math.inf, value))
                for key, step, value, is_nan, _ in logged
            ]
            facts: dict[str, object] = {"batch_size": 10.0, **{key: _parameter(value) for key, value in params}}
            found[f"mlflow.db#{run}"] = (facts, curves(points))
    return found


def _spoiled_database(data: bytes) -> Iterator[bytes]:
    for column in ("value", "timestamp", "step", "is_nan", "key"):
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.deserialize(data)
            connection.execute(f"UPDATE metrics SET {column} = 'oops' WHERE rowid = 3")
            connection.commit()
            yield connection.serialize()


MLFLOW_SQL = MadeUp(
    "mlflow sql",
    RUN + METRIC_LINES,
    _database,
    _read_database,
    _spoiled_database,
    (".db",),
)


def _offline(runs: Sequence[Rows]) -> Files:
    """W&B's own messages in its framing."""
    files = {}
    for number, rows in enumerate(runs):
        records = [run_record({"lr": 0.5}, run_id=f"id{number}")]
        records += [history_record(step, logged, is_typed=bool(number % 2)) for step, logged in rows]
        files[f"run-{number}.wandb"] = framed([*records, exit_record(0)])
    return files


def _records(data: bytes) -> Iterator[bytes]:
    if data[:7] != b":W&B\xe1\xbe\x00":
        raise Unusual("header")
    at = 7
    while at < len(data):
        checksum, size, kind = struct.unpack_from("<IHB", data, at)
        body = data[at + 6 : at + 7 + size]
        if kind != 1 or len(body) != size + 1 or zlib.crc32(body) != checksum:
            raise Unusual("record")
        yield body[1:]
        at += 7 + size


def _read_offline(data: bytes) -> tuple[Mapping[str, object], Values]:
    facts: dict[str, object] = {"batch_size": 10.0}
    points: list[Point] = []
    ends = []
    for raw in _records(data):
        record = pb().Record.FromString(raw)
        if record.HasField("exit"):
            ends.append(record.exit.exit_code)
        facts |= {update.key: json.loads(update.value_json) for update in record.run.config.update}
        for item in record.history.item:
            typed = item.number if item.HasField("number") else None
            value = json.loads(item.value_json) if item.value_json else typed
            if value is not None:
                points.append((item.nested_key[0], record.history.step.num, value))
    if ends != [0]:
        raise Unusual("end")
    return facts, curves(points)


def _spoiled_offline(_data: bytes) -> Iterator[bytes]:
    for column in ("m0", "m1", "_step"):
        rows = [history_record(step, {"m0": 0.5, "m1": step / 7}) for step in range(4)]
        record = pb().Record.FromString(rows[2])
        for item in record.history.item:
            if item.nested_key[0] == column:
                item.value_json = '"oops"'
        rows[2] = record.SerializeToString()
        yield framed([run_record({"lr": 0.5}), *rows, exit_record(0)])


WANDB_OFFLINE = MadeUp(
    "wandb offline",
    RUN + METRIC_LINES + AXIS.format("_step"),
    _offline,
    lambda files: {path: _read_offline(data) for path, data in files.items()},
    _spoiled_offline,
    (".wandb",),
)


def _parquet(runs: Sequence[Rows]) -> Files:
    """As W&B's history artifacts have them."""
    files = {}
    for number, rows in enumerate(runs):
        columns: dict[str, list[float | None]] = {"_step": [step for step, _ in rows]}
        columns |= {name: [logged.get(name) for _, logged in rows] for name in METRICS}
        files[f"history{number}.parquet"] = _parquet_file(pa.table(columns))
    return files


def _parquet_file(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


def _read_parquet(files: Files) -> Content:
    found: Content = {}
    memory = MemoryFileSystem()
    with duckdb.connect(":memory:") as connection:
        connection.register_filesystem(memory)
        for path, data in files.items():
            memory.pipe("/x.parquet", data)
            cursor = connection.execute("SELECT * FROM read_parquet('memory://x.parquet')")
            names = [column[0] for column in cursor.description]
            points = [
                (name, whole(str(row[names.index("_step")])), value)
                for row in cursor.fetchall()
                for name, value in zip(names, row, strict=True)
                if value is not None and name.startswith("m")
            ]
            found[path] = (BATCH_SIZE, curves(points))
    return found


def _spoiled_parquet(data: bytes) -> Iterator[bytes]:
    table = pq.read_table(io.BytesIO(data))
    for at, name in enumerate(table.column_names):
        cells = [None if cell is None else str(cell) for cell in table[name].to_pylist()]
        cells[1] = "oops"
        yield _parquet_file(table.set_column(at, name, pa.array(cells)))


WANDB_PARQUET = MadeUp(
    "wandb parquet",
    RUN + METRIC_LINES + AXIS.format("_step"),
    _parquet,
    _read_parquet,
    _spoiled_parquet,
    (".parquet",),
)
STORES = (TENSORBOARD, MLFLOW_FILES, MLFLOW_SQL, WANDB_OFFLINE, WANDB_PARQUET)

"""Made-up logs of formats with JSON documents: Sacred's files, and Trackio's in a database."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing

from tests.ingest.formats.trackio_files import database
from tests.ingest.made_up.logs import METRIC_LINES, METRICS, RUN, Content, MadeUp, Rows, Unusual, curves, whole
from tests.ingest.made_up.texts import EMPTY, json_object, plain
from tests.ingest.offers import Files

CONFIG = {"batch_size": 10, "lr": 0.5, "opt": {"name": "adam"}}
STATE = {"experiment": {"name": "mnist"}, "start_time": "2026-01-01T00:00:00.000001", "status": "COMPLETED"}


def _sacred(runs: Sequence[Rows]) -> Files:
    """As sacred.observers.FileStorageObserver writes them."""
    files = {}
    for number, rows in enumerate(runs, 1):
        series = {}
        for name in METRICS:
            points = [(step, logged[name]) for step, logged in rows if name in logged]
            times = [f"2026-01-01T00:00:{at:02}.250000" for at in range(len(points))]
            series[name] = {"steps": [p[0] for p in points], "timestamps": times, "values": [p[1] for p in points]}
        for name, document in {"metrics": series, "config": CONFIG, "run": STATE}.items():
            files[f"runs/{number}/{name}.json"] = json.dumps(document, sort_keys=True, indent=2).encode()
    return files


def _read_sacred(files: Files) -> Content:
    found: Content = {}
    for path, data in files.items():
        folder, _, name = path.rpartition("/")
        if name != "metrics.json":
            continue
        points = []
        for metric, series in json_object(data.decode("utf-8-sig")).items():
            if len({*map(len, series.values())}) != 1 or series.keys() != {"steps", "timestamps", "values"}:
                raise Unusual(metric)
            for step, value in zip(series["steps"], series["values"], strict=True):
                if value is not None and value not in EMPTY:
                    points.append((metric, whole(str(plain(step))), plain(value)))
        config = json_object(files[f"{folder}/config.json"].decode())
        if json_object(files[f"{folder}/run.json"].decode())["status"] != "COMPLETED":
            raise Unusual("status")
        facts: dict[str, object] = {"batch_size": plain(config["batch_size"])}
        for key, value in config.items():
            facts |= {f"{key}.{k}": v for k, v in value.items()} if isinstance(value, dict) else {key: value}
        found[path] = (facts, curves(points))
    return found


def _spoiled_sacred(data: bytes) -> Iterator[bytes]:
    document = json_object(data.decode())
    for name, value in document.items():
        if isinstance(value, Mapping) and "steps" in value:
            for key, cells in value.items():
                yield json.dumps(document | {name: {**value, key: ["oops", *cells[1:]]}}).encode()
                yield json.dumps(document | {name: {**value, key: cells[1:]}}).encode()
    yield from (b"[]", b'"oops"', b'{"lr": oops}')


SACRED = MadeUp(
    "sacred",
    RUN.replace("10", '"{batch_size}"') + METRIC_LINES,
    _sacred,
    _read_sacred,
    _spoiled_sacred,
    (".json",),
)


def _trackio(runs: Sequence[Rows]) -> Files:
    return {"trackio/p.db": database({f"r{number:03}": rows for number, rows in enumerate(runs)}, CONFIG)}


def _read_trackio(files: Files) -> Content:
    found: dict[str, list[tuple[str, int, float]]] = {}
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(files["trackio/p.db"])
        if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
            raise Unusual("integrity_check")
        for run, step, text in connection.execute("SELECT run_id, step, metrics FROM metrics ORDER BY id").fetchall():
            for name, value in json_object(text.decode()).items():
                if value not in EMPTY:
                    number = float(value) if value in ("NaN", "Infinity", "-Infinity") else plain(value)
                    found.setdefault(run, []).append((name, whole(str(plain(step))), number))
        configs = dict(connection.execute("SELECT run_id, config FROM configs").fetchall())
    facts = {run: json_object(text.decode()) for run, text in configs.items()}
    return {
        f"trackio/p.db#{run}": (
            {
                "batch_size": plain(facts[run]["batch_size"]),
                "lr": facts[run]["lr"],
                "opt.name": facts[run]["opt"]["name"],
            },
            curves(points),
        )
        for run, points in found.items()
    }


def _spoiled_trackio(data: bytes) -> Iterator[bytes]:
    for change in ("step = 'oops'", "metrics = 'oops'", "metrics = X'00'", 'metrics = \'{"m0": "oops"}\''):
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.deserialize(data)
            connection.execute(f"UPDATE metrics SET {change} WHERE rowid = 3")
            connection.commit()
            yield connection.serialize()


TRACKIO = MadeUp(
    "trackio",
    RUN.replace("10", '"{batch_size}"') + METRIC_LINES,
    _trackio,
    _read_trackio,
    _spoiled_trackio,
    (".db",),
)
DOCUMENTS = (SACRED, TRACKIO)

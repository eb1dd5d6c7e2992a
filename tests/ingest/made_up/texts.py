"""Made-up logs of formats that are text with a line or a document for each evaluation."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.ingest.formats.test_hf_trainer import trainer_state
from tests.ingest.formats.wandb_files import panel
from tests.ingest.made_up.logs import METRIC_LINES, METRICS, RUN, Content, MadeUp, Rows, Unusual, Values, curves, whole
from tests.ingest.offers import Files

EMPTY = ("", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "None", "null", "NULL", "-")
BATCH_SIZE: Mapping[str, object] = {"batch_size": 10.0}
NUMBER = re.compile(
    r"[ \t]*[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|nan|inf|infinity)[ \t]*", re.ASCII | re.IGNORECASE
)
Table = tuple[list[str], list[list[str]]]


def _number(text: str) -> float:
    if not NUMBER.fullmatch(text):
        raise Unusual(text)
    return float(text)


def table_of(data: bytes) -> Table:
    """Return the header and the rows of a CSV, of which every line is whole."""
    text = data.decode("utf-8-sig")
    if not text.endswith("\n"):
        raise Unusual("no newline at the end")
    header, *lines = csv.reader(io.StringIO(text), strict=True)
    if any(len(line) != len(header) for line in lines) or len(set(header)) < len(header) or "" in header:
        raise Unusual("rows")
    return header, [line for line in lines if line != header]


def points_of(table: Table, axis: str) -> Iterator[tuple[str, int, float]]:
    header, lines = table
    at = header.index(axis)
    for line in lines:
        for column, cell in zip(header, line, strict=True):
            if cell.strip() not in EMPTY and column.startswith("m"):
                if line[at].strip() in EMPTY:
                    raise Unusual("no step")
                yield column, whole(str(_number(line[at]))), _number(cell)


def csv_log(rows: Rows) -> bytes:
    """As lightning.fabric.loggers.csv_logs writes metrics.csv; a restart writes the header again."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, [*METRICS, "step"])
    last = 10**9
    for step, logged in rows:
        if step < last:
            writer.writeheader()
        writer.writerow({**logged, "step": step})
        last = step
    return buffer.getvalue().encode()


def spoiled_csv(data: bytes) -> Iterator[bytes]:
    lines = data.decode().split("\n")
    for at in range(lines[0].count(",") + 1):
        cells = (lines[2] or lines[1]).rstrip("\r").split(",")
        cells[at] = "oops"
        yield "\n".join([*lines[:2], ",".join(cells), *lines[3:]]).encode()


CSV = MadeUp(
    "csv",
    RUN + METRIC_LINES,
    lambda runs: {f"run{number}/metrics.csv": csv_log(rows) for number, rows in enumerate(runs)},
    lambda files: {path: (BATCH_SIZE, curves(points_of(table_of(data), "step"))) for path, data in files.items()},
    spoiled_csv,
    (".csv",),
)


def _long_log(rows: Rows) -> bytes:
    """As pandas.melt makes one of a wide table, without what is missing."""
    points = [(step, name, value) for step, logged in rows for name, value in logged.items()]
    return "".join(["step,metric,value\n", *(f"{step},{name},{value!r}\n" for step, name, value in points)]).encode()


def _read_long(data: bytes) -> Iterator[tuple[str, int, float]]:
    header, lines = table_of(data)
    at = {name: header.index(name) for name in ("step", "metric", "value")}
    for line in lines:
        name, text = line[at["metric"]].strip(), line[at["value"]]
        if not name or name in EMPTY:
            raise Unusual("no metric")
        if text.strip() not in EMPTY:
            yield name, whole(str(_number(line[at["step"]]))), _number(text)


LONG = MadeUp(
    "long csv",
    RUN + METRIC_LINES,
    lambda runs: {f"run{number}/log.csv": _long_log(rows) for number, rows in enumerate(runs)},
    lambda files: {path: (BATCH_SIZE, curves(_read_long(data))) for path, data in files.items()},
    spoiled_csv,
    (".csv",),
)


def _live(runs: Sequence[Rows]) -> Files:
    """As dvclive.plots.metric.Metric.dump writes them."""
    return {
        f"run{number}/plots/metrics/{name}.tsv": "".join(
            [f"step\t{name}\n", *(f"{step}\t{logged[name]!r}\n" for step, logged in rows if name in logged)]
        ).encode()
        for number, rows in enumerate(runs)
        for name in METRICS
    }


def _read_live(files: Files) -> Content:
    found: dict[str, list[tuple[str, int, float]]] = {}
    for path, data in files.items():
        run, name = path.removesuffix(".tsv").split("/plots/metrics/")
        header, *lines = (line.split("\t") for line in data.decode("utf-8-sig").split("\n"))
        if header != ["step", name] or lines.pop() != [""]:
            raise Unusual("header or end")
        found.setdefault(run, [])
        for step, value in lines:
            if value.strip() not in EMPTY:
                found[run].append((name, whole(str(_number(step))), _number(value)))
    return {run: (BATCH_SIZE, curves(points)) for run, points in found.items()}


def _spoiled_live(data: bytes) -> Iterator[bytes]:
    yield from (cells.replace(b",", b"\t") for cells in spoiled_csv(data.replace(b"\t", b",")))


DVCLIVE = MadeUp("dvclive", RUN + METRIC_LINES, _live, _read_live, _spoiled_live, (".tsv",))


def json_object(line: str) -> dict[str, Any]:
    value = json.loads(line)
    if not isinstance(value, dict):
        raise Unusual(line)
    return value


def _read_objects(data: bytes, axis: str) -> Iterator[tuple[str, int, float]]:
    *lines, end = data.decode("utf-8-sig").split("\n")
    if end:
        raise Unusual("no newline at the end")
    for line in filter(None, lines):
        logged = json_object(line)
        for column, value in logged.items():
            if value is not None and column.startswith("m"):
                yield column, whole(str(plain(logged[axis]))), plain(value)


def plain(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Unusual(str(value))
    return value


def _json_lines(runs: Sequence[Rows], axis: str, name: str) -> Files:
    return {
        f"run{number}/{name}": "".join(json.dumps({axis: step, **logged}) + "\n" for step, logged in rows).encode()
        for number, rows in enumerate(runs)
    }


def _spoiled_objects(data: bytes) -> Iterator[bytes]:
    lines = data.decode().split("\n")
    for name in json_object(lines[1]):
        yield "\n".join([lines[0], json.dumps(json_object(lines[1]) | {name: "oops"}), *lines[2:]]).encode()


JSONL = MadeUp(
    "jsonl",
    RUN + METRIC_LINES,
    lambda runs: _json_lines(runs, "step", "log.jsonl"),
    lambda files: {path: (BATCH_SIZE, curves(_read_objects(data, "step"))) for path, data in files.items()},
    _spoiled_objects,
    (".jsonl",),
)
WANDB_HISTORY = MadeUp(
    "wandb history",
    RUN + METRIC_LINES + '[[axis]]\ncolumn = "_step"\ncounts = "steps"\n',
    lambda runs: _json_lines(runs, "_step", "wandb-history.jsonl"),
    lambda files: {path: (BATCH_SIZE, curves(_read_objects(data, "_step"))) for path, data in files.items()},
    _spoiled_objects,
    (".jsonl",),
)


def _arrays(rows: Rows) -> bytes:
    """A list per metric, with null where a step has none, and the list of steps."""
    lists: dict[str, list[float | None]] = {name: [logged.get(name) for _, logged in rows] for name in METRICS}
    return json.dumps({"step": [step for step, _ in rows], **lists, "batch_size": 10}).encode()


def _read_arrays(data: bytes) -> tuple[Mapping[str, object], Values]:
    document = json_object(data.decode("utf-8-sig"))
    steps = document["step"]
    points = []
    for name, values in document.items():
        if isinstance(values, list) and len(values) != len(steps):
            raise Unusual(name)
        if name.startswith("m"):
            found = [(at, value) for at, value in enumerate(values) if value is not None and value not in EMPTY]
            points += [(name, whole(str(plain(steps[at]))), plain(value)) for at, value in found]
    return {"batch_size": plain(document["batch_size"])}, curves(points)


def _spoiled_arrays(data: bytes) -> Iterator[bytes]:
    document = json_object(data.decode())
    for name, values in document.items():
        yield json.dumps(document | {name: ["oops", *values[1:]] if isinstance(values, list) else "oops"}).encode()
    for bad in ({}, [document["m0"]], [1.5], document | {"m0": document["m0"][1:]}):
        yield json.dumps(bad).encode()


JSON_ARRAYS = MadeUp(
    "json_arrays",
    RUN.replace("10", '"{batch_size}"') + METRIC_LINES,
    lambda runs: {f"run{number}/log.json": _arrays(rows) for number, rows in enumerate(runs)},
    lambda files: {path: _read_arrays(data) for path, data in files.items()},
    _spoiled_arrays,
    (".json",),
)


def _entries(rows: Rows) -> bytes:
    """As the Trainer's `log_history`, written alone."""
    return json.dumps([{**logged, "step": step} for step, logged in rows], indent=1).encode()


def _read_entries(data: bytes) -> Iterator[tuple[str, int, float]]:
    for entry in json.loads(data.decode("utf-8-sig")):
        for column, value in entry.items():
            if column.startswith("m") and value is not None and value not in EMPTY:
                yield column, whole(str(plain(entry["step"]))), plain(value)


def _spoiled_entries(data: bytes) -> Iterator[bytes]:
    first, second, *others = json.loads(data)
    for name in second:
        yield json.dumps([first, second | {name: "oops"}, *others]).encode()
    yield json.dumps([first, "oops", *others]).encode()


JSON_ENTRIES = MadeUp(
    "json entries",
    RUN + METRIC_LINES,
    lambda runs: {f"run{number}/log.json": _entries(rows) for number, rows in enumerate(runs)},
    lambda files: {path: (BATCH_SIZE, curves(_read_entries(data))) for path, data in files.items()},
    _spoiled_entries,
    (".json",),
)


def _trainer_states(runs: Sequence[Rows]) -> Files:
    """As the Trainer itself writes them."""
    files = {}
    for number, rows in enumerate(runs):
        history = [{**logged, "epoch": step / 100, "step": step} for step, logged in rows]
        state = trainer_state()(log_history=history, global_step=5, max_steps=5, train_batch_size=10)
        text = json.dumps(state.__dict__, indent=2, sort_keys=True) + "\n"
        files[f"run{number}/trainer_state.json"] = text.encode()
    return files


def _read_state(data: bytes) -> tuple[Mapping[str, object], Values]:
    state = json_object(data.decode())
    if not state["global_step"] >= state["max_steps"] > 0:
        raise Unusual("not at its end")
    points = (
        (column, whole(str(plain(entry["step"]))), plain(value))
        for entry in state["log_history"]
        for column, value in entry.items()
        if column.startswith("m") and value is not None
    )
    return {"batch_size": plain(state["train_batch_size"])}, curves(points)


def _spoiled_state(data: bytes) -> Iterator[bytes]:
    for name in json.loads(data)["log_history"][1]:
        state = json.loads(data)
        state["log_history"][1][name] = "oops"
        yield json.dumps(state, indent=2, sort_keys=True).encode() + b"\n"


HF_TRAINER = MadeUp(
    "hf_trainer",
    RUN.replace("10", '"{train_batch_size}"') + METRIC_LINES,
    _trainer_states,
    lambda files: {path.rpartition("/")[0]: _read_state(data) for path, data in files.items()},
    _spoiled_state,
    ("trainer_state.json",),
)


LLMC_METRICS = {"tel": "m0", "trl": "m1", "eval": "m2", "m3": "m3"}
LLMC_KEYS = {name: key for key, name in LLMC_METRICS.items()}


def _llmc(rows: Rows) -> bytes:
    """As llmc/logger.h writes them: losses on lines of their own."""
    points = ((step, LLMC_KEYS[name], value) for step, logged in rows for name, value in logged.items())
    return "".join(f"s:{step} {key}:{value:.6f}\n" for step, key, value in points).encode()


def _read_llmc(data: bytes) -> Iterator[tuple[str, int, float]]:
    *lines, end = data.decode().split("\n")
    for line in lines:
        step, pair = line.split(" ")
        column, text = pair.split(":")
        if end or not re.fullmatch(r"s:\d+", step):
            raise Unusual(line)
        yield LLMC_METRICS.get(column, column), int(step[2:]), _number(text)


def _spoiled_llmc(data: bytes) -> Iterator[bytes]:
    lines = data.decode().split("\n")
    step, value = lines[1].split(" ")
    for line in (f"s:oops {value}", f"{step} {value.partition(':')[0]}:oops", f"{step} oops"):
        yield "\n".join([lines[0], line, *lines[2:]]).encode()


LLMC = MadeUp(
    "llmc",
    RUN + METRIC_LINES + "".join(f'{key} = "val/{name}"\n' for key, name in LLMC_METRICS.items()),
    lambda runs: {f"run{number}/main.log": _llmc(rows) for number, rows in enumerate(runs)},
    lambda files: {path: (BATCH_SIZE, curves(_read_llmc(data))) for path, data in files.items()},
    _spoiled_llmc,
    (".log",),
)


def _printed(rows: Rows) -> bytes:
    """As a loop prints them, with what it has of the metrics."""
    lines = (f"step {step}:" + "".join(f" {k}={v!r}" for k, v in sorted(logged.items())) for step, logged in rows)
    return "".join(f"{line}\n" for line in lines).encode()


def _read_printed(data: bytes) -> Iterator[tuple[str, int, float]]:
    *lines, end = data.decode().split("\n")
    for line in lines:
        word, step, *pairs = line.split(" ")
        if end or word != "step" or not re.fullmatch(r"\d+:", step):
            raise Unusual(line)
        for name, text in (pair.split("=") for pair in pairs):
            if name not in METRICS:
                raise Unusual(line)
            yield name, int(step[:-1]), _number(text)


def _spoiled_print(data: bytes) -> Iterator[bytes]:
    lines = data.decode().split("\n")
    _, step, *pairs = lines[-2].split(" ")
    yield "\n".join([*lines[:-2], " ".join(["step oops:", *pairs]), ""]).encode()
    for at, pair in enumerate(pairs):
        spoiled = [*pairs[:at], f"{pair.partition('=')[0]}=oops", *pairs[at + 1 :]]
        yield "\n".join([*lines[:-2], " ".join(["step", step, *spoiled]), ""]).encode()


PRINTED = r"^step (?P<step>\d+):" + "".join(f"(?: {name}=(?P<{name}>\\S+))?" for name in METRICS) + "$"
TEXT = MadeUp(
    "text",
    RUN + f"text.lines = ['{PRINTED}']\n" + METRIC_LINES,
    lambda runs: {f"run{number}/train.log": _printed(rows) for number, rows in enumerate(runs)},
    lambda files: {path: (BATCH_SIZE, curves(_read_printed(data))) for path, data in files.items()},
    _spoiled_print,
    (".log",),
)


def _panels(runs: Sequence[Rows]) -> Files:
    """A panel for each metric, all runs in each, over the union of their steps."""
    files = {}
    for metric in METRICS:
        steps = sorted({step for rows in runs for step, logged in rows if metric in logged})
        columns = {
            f"run{number} - {metric}": [dict(rows).get(step, {}).get(metric) for step in steps]
            for number, rows in enumerate(runs)
        }
        files[f"panels/{metric}.csv"] = panel("Step", steps, columns)
    return files


def _read_panels(files: Files) -> Content:
    found: dict[str, list[tuple[str, int, float]]] = {}
    for data in files.values():
        header, *lines = csv.reader(io.StringIO(data.decode("utf-8-sig")), strict=True)
        if header[0] != "Step":
            continue  # An axis of which the mapping doesn't know what it counts.
        if any(len(line) != len(header) for line in lines) or not data.rstrip(b"\n").endswith(b'"'):
            raise Unusual("rows")
        for line in lines:
            for name, cell in zip(header[1:], line[1:], strict=True):
                run, metric = name.split(" - ")
                is_bound = metric.endswith(("__MIN", "__MAX")) and name[:-5] in header
                if cell and not is_bound:
                    found.setdefault(f"panels#{run}", []).append((metric, whole(line[0]), _number(cell)))
    return {run: (BATCH_SIZE, curves(points)) for run, points in found.items()}


def _spoiled_panel(data: bytes) -> Iterator[bytes]:
    lines = data.decode().split("\n")
    for at, name in enumerate(lines[0].split(",")):
        cells = lines[2].split(",")
        cells[at] = '"oops"'
        if not name.endswith(('__MIN"', '__MAX"')):
            yield "\n".join([*lines[:2], ",".join(cells), *lines[3:]]).encode()


WANDB_PANELS = MadeUp(
    "wandb panels",
    RUN + METRIC_LINES + '[[axis]]\ncolumn = "Step"\ncounts = "steps"\n',
    _panels,
    _read_panels,
    _spoiled_panel,
    (".csv",),
    restarts=False,
)
TEXTS = (CSV, LONG, DVCLIVE, JSONL, JSON_ARRAYS, JSON_ENTRIES, HF_TRAINER, LLMC, TEXT, WANDB_HISTORY, WANDB_PANELS)

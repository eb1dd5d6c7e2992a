"""Files as W&B writes them: `.wandb` from its own messages, panel exports from plain values, offline runs by itself."""

from __future__ import annotations

import importlib
import json
import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any


@cache
def pb() -> Any:
    """The messages of W&B. Their names are chosen at run time, by the version of protobuf."""
    return importlib.import_module("wandb.proto.wandb_internal_pb2")


SCRIPT = """
import json, sys, wandb
plan = json.loads(sys.argv[1])
run = wandb.init(config=plan["config"], settings=wandb.Settings(x_disable_stats=True), **plan["init"])
for metric in plan["defined"]:
    run.define_metric(**metric)
for row in plan["rows"]:
    run.log({name: float(value) if isinstance(value, str) and name != "text" else value for name, value in row.items()})
if plan["media"]:
    run.log({"media": wandb.Histogram([1.0, 2.0]), "table": wandb.Table(columns=["a"], data=[[1]]), "after": 1.5})
run.finish(plan["exit_code"])
"""


def offline_run(
    folder: Path,
    rows: Sequence[Mapping[str, Any]],
    config: Mapping[str, Any] | None = None,
    exit_code: int = 0,
    media: bool = False,
    environment: dict[str, str] | None = None,
    defined: Sequence[Mapping[str, Any]] = (),
    **init: Any,
) -> bytes:
    """The `.wandb` file that the real library writes offline for these rows. defined: calls of define_metric."""
    plan = {
        "rows": rows,
        "config": config or {},
        "exit_code": exit_code,
        "media": media,
        "defined": defined,
        "init": {"project": "p"} | init,
    }
    quiet = {"WANDB_MODE": "offline", "WANDB_SILENT": "true", "WANDB_DIR": str(folder), "HOME": str(folder)}
    subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(plan)],
        env=os.environ | quiet | (environment or {}),
        cwd=folder,
        check=True,
        timeout=120,
    )
    (file,) = folder.glob("wandb/offline-run-*/*.wandb")
    return file.read_bytes()


def framed(records: Iterable[bytes]) -> bytes:
    """Records in LevelDB's framing as W&B writes it."""
    data = bytearray(b":W&B\xe1\xbe\x00")
    for record in records:
        left, is_first = record, True
        while is_first or left:
            space = 32768 - len(data) % 32768
            if space < 7:
                data += bytes(space)
                continue
            piece, left = left[: space - 7], left[space - 7 :]
            kind = (1 if not left else 2) if is_first else (4 if not left else 3)
            body = bytes([kind]) + piece
            data += struct.pack("<IH", zlib.crc32(body), len(piece)) + body
            is_first = False
    return bytes(data)


def history_record(step: int, values: Mapping[str, Any], is_typed: bool = False) -> bytes:
    """One `log()` as a record; names with `.` are nested."""
    record = pb().Record()
    record.history.step.num = step
    for name, value in {**values, "_step": step}.items():
        item = record.history.item.add()
        item.nested_key.extend(name.split("."))
        if is_typed and isinstance(value, bool):
            item.boolean = value
        elif is_typed and isinstance(value, int):
            item.integer = value
        elif is_typed and isinstance(value, float):
            item.number = value
        elif is_typed and isinstance(value, str):
            item.text = value
        else:
            item.value_json = json.dumps(value)
    data: bytes = record.SerializeToString()
    return data


def exit_record(code: int) -> bytes:
    """The record of a run's end."""
    record = pb().Record()
    record.exit.exit_code = code
    data: bytes = record.SerializeToString()
    return data


def run_record(config: Mapping[str, Any], **names: str) -> bytes:
    """The record of a run's beginning."""
    record = pb().Record()
    for name, value in names.items():
        setattr(record.run, name, value)
    record.run.start_time.seconds = 1_700_000_000
    record.run.start_time.nanos = 250_000_000
    for key, value in config.items():
        record.run.config.update.add(key=key, value_json=json.dumps(value))
    data: bytes = record.SerializeToString()
    return data


def panel(axis: str, x: Sequence[Any], columns: Mapping[str, Sequence[Any]], bounds: bool = True) -> bytes:
    """A panel export: every cell quoted, None as an empty cell, no line end after the last line."""
    names = [name + end for name in columns for end in (("", "__MIN", "__MAX") if bounds else ("",))]
    lines = [[axis, *names]]
    for at, value in enumerate(x):
        cells = [column[at] for column in columns.values() for _ in range(3 if bounds else 1)]
        lines.append(["" if cell is None else str(cell) for cell in (value, *cells)])
    return "\n".join(",".join('"' + cell.replace('"', '""') + '"' for cell in line) for line in lines).encode()

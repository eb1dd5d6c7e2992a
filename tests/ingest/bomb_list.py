"""The bombs that an ingest is tried with: each format has some, and so has each way to pack an archive."""

from __future__ import annotations

import struct

from tests.ingest.bombs import (
    CSV_STEPS,
    DEEP,
    GOOD_ALGOPERF,
    GOOD_EVENTS,
    GOOD_LLMC,
    GOOD_MLLOG,
    GOOD_STATE,
    GOOD_WANDB,
    JSON_STEPS,
    MB,
    STUDY_STEPS,
    VERSION,
    Bomb,
    Files,
    Text,
    counted,
    events,
    filled,
    framed,
    good_study,
    history,
    many_members,
    message,
    mlflow,
    one,
    parquet,
    scalar_event,
    stray_members,
    study_with,
    wandb_file,
)
from tests.ingest.document_bombs import DOCUMENT_BOMBS

A_CSV, A_JSON, A_LLMC = "{}/run.csv", "{}/run.jsonl", "{}/main.log"
A_HISTORY, A_STATE, A_MLLOG = "{}/wandb-history.jsonl", "{}/trainer_state.json", "{}/result_1.txt"
GOOD_HISTORY = b'{"_step": 0, "loss": 1.5}\n{"_step": 10, "loss": 0.5}\n'
EVENT_250 = 250 * MB


def csv_file(text: Text) -> Files:
    """A bomb among CSVs."""
    yield from one("bomb/run.csv", text, A_CSV, CSV_STEPS)


def json_lines(text: Text) -> Files:
    """A bomb among JSON lines."""
    yield from one("bomb/run.jsonl", text, A_JSON, JSON_STEPS)


def tfevents(payload: bytes, n: int = 1) -> Text:
    """An event file with a record so many times."""
    return Text(framed(payload), n, VERSION, b"")


BOMBS = [
    Bomb("25 MB of blank lines", lambda: study_with(filled(b"\n", 25, STUDY_STEPS)), "tar.bz2", 3),
    Bomb("100 MB of blank lines", lambda: study_with(filled(b"\n", 100, STUDY_STEPS)), "tar.gz", 3),
    Bomb("8 x 100 MB of blank lines", lambda: study_with(filled(b"\n", 100, STUDY_STEPS), 8), "tar.xz", 3),
    Bomb("8 x 100 MB of lines of commas", lambda: study_with(filled(b",\n", 100, STUDY_STEPS), 8), "tar.zst", 3),
    Bomb("8 x 60 MB of blank CRLF lines", lambda: study_with(filled(b"\r\n", 60, STUDY_STEPS), 8), "zip", 3),
    Bomb("a million columns", lambda: study_with(filled(b"val/m,", 6, b"step,", b"val/z\n")), "tar.zst", 3),
    Bomb("a cell of 250 MB", lambda: study_with(filled(b"5", 250, b"step,val/loss\n0,0.")), "zip", 3),
    Bomb("8 cells of 120 MB", lambda: study_with(filled(b"5", 120, b"step,val/loss\n0,0."), 8), "tar.bz2", 3),
    Bomb("100 MB of quotes", lambda: study_with(filled(b'"', 100, STUDY_STEPS)), "tar.bz2", 3),
    Bomb("100 MB of carriage returns", lambda: study_with(filled(b"\r", 100, STUDY_STEPS)), "tar.bz2", 3),
    Bomb(
        "8 x 60 MB of empty cells",
        lambda: study_with(
            counted(
                600_000,
                b"%d" + b"," * 99 + b"\n",
                ",".join(["step", *(f"val/c{i}" for i in range(99))]).encode() + b"\n",
            ),
            8,
        ),
        "tar.zst",
        3,
        True,
    ),
    Bomb(
        "8 x 80 MB of short rows",
        lambda: study_with(counted(8_000_000, b"%d,1\n", b"step,val/loss\n"), 8),
        "tar.gz",
        3,
        True,
    ),
    Bomb("study.json of 250 MB", lambda: study_with(study=filled(b"[", 250)), "tar.bz2", 3),
    Bomb("8 metadata.json of 250 MB", lambda: study_with(None, 8, metadata=filled(b'"",', 250, b"[")), "tar.zst", 3),
    Bomb(
        "metadata.json of 1 MB of lists",
        lambda: study_with(None, 300, metadata=filled(b"[],", 1, b"[", b"0]")),
        "tar.zst",
        3,
    ),
    Bomb("nesting of depth 100,000", lambda: study_with(metadata=Text(DEEP)), "tar.xz", 3),
    Bomb("300,000 bad trials", lambda: many_members(300_000, b"step,val/loss\nx,y\n"), "tar.zst", 3),
    Bomb("300,000 tiny trials", lambda: many_members(300_000, b"step,val/loss\n1,2\n"), "tar.gz", 3, True),
    Bomb("1,000,000 stray files", lambda: stray_members(1_000_000), "tar.zst", 3),
    Bomb("300,000 stray files", lambda: stray_members(300_000), "zip", 3),
    Bomb("csv: 100 MB of blank lines", lambda: csv_file(filled(b"\n", 100, CSV_STEPS)), "tar.bz2", 2, True),
    Bomb("csv: 250 MB of lines of a comma", lambda: csv_file(filled(b",\n", 250, CSV_STEPS)), "tar.zst", 2, True),
    Bomb("csv: a million columns", lambda: csv_file(filled(b"m,", 2, b"step,", b"z\n")), "tar.zst", 2),
    Bomb("csv: a cell of 250 MB", lambda: csv_file(filled(b"5", 250, b"step,loss\n0,0.")), "zip", 2),
    Bomb(
        "csv: cells of 1 MB",
        lambda: csv_file(filled(b"5" * (MB - 2) + b"\n0,", 120, b"step,loss\n0,")),
        "tar.gz",
        2,
        True,
    ),
    Bomb(
        "csv: 120 MB of short rows", lambda: csv_file(counted(12_000_000, b"%d,1\n", b"step,loss\n")), "tar.gz", 2, True
    ),
    Bomb(
        "csv: 120 MB of different words",
        lambda: csv_file(counted(8_000_000, b"%d,a%dz\n".replace(b"%d,", b"1,"), b"step,loss\n")),
        "tar.gz",
        2,
        True,
    ),
    Bomb(
        "csv: 2 million runs",
        lambda: csv_file(counted(2_000_000, b"%d,1,0.5\n", b"run,step,loss\n")),
        "tar.gz",
        2,
        True,
    ),
    Bomb("csv: 100 MB of headers", lambda: csv_file(filled(b"step,loss\n", 100)), "tar.gz", 2),
    Bomb("csv: 100 MB of quotes", lambda: csv_file(filled(b'"', 100, CSV_STEPS)), "tar.gz", 2),
    Bomb(
        "csv: 10,000 columns of empty cells",
        lambda: csv_file(
            filled(
                b"1" + b"," * 9999 + b"\n",
                100,
                ",".join(["step", "loss", *(f"c{i}" for i in range(9998))]).encode() + b"\n",
            )
        ),
        "tar.bz2",
        2,
        True,
    ),
    Bomb(
        "jsonl: a line of 250 MB",
        lambda: json_lines(filled(b"5", 250, b'{"step": 0, "loss": 0.', b"}\n")),
        "tar.bz2",
        2,
    ),
    Bomb(
        "jsonl: a line of 16 MB of lists",
        lambda: json_lines(filled(b"[],", 16, b'{"step": 0, "loss": 0.5, "x": [', b"0]}\n")),
        "tar.gz",
        2,
        True,
    ),
    Bomb(
        "jsonl: depth 100,000",
        lambda: json_lines(Text(b'{"a":' * 100_000, 1, JSON_STEPS, b"1" + b"}" * 100_000)),
        "tar.gz",
        2,
        True,
    ),
    Bomb("jsonl: 250 MB of empty objects", lambda: json_lines(filled(b"{}\n", 250, JSON_STEPS)), "tar.zst", 2, True),
    Bomb("jsonl: 120 MB of blank lines", lambda: json_lines(filled(b"\n", 120, JSON_STEPS)), "tar.xz", 2, True),
    Bomb(
        "jsonl: a key for each line", lambda: json_lines(counted(5_000_000, b'{"k%d":1}\n', JSON_STEPS)), "tar.zst", 2
    ),
    Bomb(
        "jsonl: 120 MB of short rows",
        lambda: json_lines(counted(8_000_000, b'{"step":%d}\n', JSON_STEPS)),
        "tar.zst",
        2,
        True,
    ),
    *DOCUMENT_BOMBS,
    Bomb("tensorboard: a record of 250 MB", lambda: events(tfevents(bytes(EVENT_250))), "tar.zst", 2),
    Bomb("tensorboard: a tag of 120 MB", lambda: events(tfevents(scalar_event(1, "x" * 120 * MB))), "tar.gz", 2),
    Bomb(
        "tensorboard: an event of 20 million values",
        lambda: events(tfevents(b"\x09" + bytes(8) + message(5, b"\x0a\0" * 20_000_000))),
        "tar.gz",
        2,
    ),
    Bomb("tensorboard: 120 MB of empty records", lambda: events(tfevents(b"", 7_500_000)), "tar.xz", 2),
    Bomb(
        "tensorboard: 120 MB of scalars", lambda: events(tfevents(scalar_event(1, "loss"), 3_000_000)), "zip", 2, True
    ),
    Bomb(
        "tensorboard: 250 MB of scalars", lambda: events(tfevents(scalar_event(1, "loss"), 6_200_000)), "zip", 2, True
    ),
    Bomb(
        "tensorboard: 8 x 120 MB of scalars",
        lambda: (
            each
            for n in range(8)
            for each in one(
                f"b{n}/events.out.tfevents.1",
                tfevents(scalar_event(1, "loss"), 3_000_000),
                "{}/events.out.tfevents.1",
                GOOD_EVENTS,
            )
        ),
        "zip",
        2,
        True,
    ),
    Bomb("tensorboard: a huge length", lambda: events(Text(struct.pack("<Q", 1 << 60) + framed(b"")[8:])), "tar.xz", 2),
    Bomb(
        "wandb: a record of 120 MB",
        lambda: one("bomb/run.wandb", Text(wandb_file(message(2, bytes(120 * MB)))), "{}/run.wandb", GOOD_WANDB),
        "tar.zst",
        2,
    ),
    Bomb(
        "wandb: a value of 60 MB of lists",
        lambda: one(
            "bomb/run.wandb",
            Text(wandb_file(history(0), history(1, b"x", b"[" + b"[]," * 20_000_000 + b"0]"))),
            "{}/run.wandb",
            GOOD_WANDB,
        ),
        "tar.gz",
        2,
        True,
    ),
    Bomb(
        "wandb: a history line of 250 MB",
        lambda: one(
            "bomb/wandb-history.jsonl", filled(b"5", 250, b'{"_step": 0, "loss": 0.', b"}\n"), A_HISTORY, GOOD_HISTORY
        ),
        "tar.bz2",
        2,
    ),
    Bomb(
        "wandb: a history line of 120 MB of lists",
        lambda: one(
            "bomb/wandb-history.jsonl",
            filled(b"[],", 120, b'{"_step": 0, "loss": [', b"0]}\n"),
            A_HISTORY,
            GOOD_HISTORY,
        ),
        "tar.zst",
        2,
    ),
    Bomb(
        "wandb: 120 MB of history",
        lambda: one(
            "bomb/wandb-history.jsonl", counted(5_000_000, b'{"_step":%d,"loss":1}\n'), A_HISTORY, GOOD_HISTORY
        ),
        "tar.gz",
        2,
        True,
    ),
    Bomb(
        "wandb: 250 MB of empty objects",
        lambda: one("bomb/wandb-history.jsonl", filled(b"{}\n", 250, GOOD_HISTORY), A_HISTORY, GOOD_HISTORY),
        "tar.gz",
        2,
        True,
    ),
    Bomb(
        "wandb: Parquet of 100 million zeros",
        lambda: one("bomb/history.parquet", Text(parquet(10_000_000, 10)), A_HISTORY, GOOD_HISTORY),
        "tar.zst",
        2,
    ),
    Bomb(
        "wandb: a panel of 50,000 columns",
        lambda: one(
            "bomb/panel.csv",
            filled(
                b'"1"' + b"," * 49_998 + b"\n",
                100,
                b'"Step",' + b",".join(b'"r%d - loss"' % n for n in range(49_998)) + b"\n",
            ),
            A_HISTORY,
            GOOD_HISTORY,
        ),
        "tar.zst",
        2,
    ),
    Bomb(
        "mlflow: 20 params of 250 MB",
        lambda: mlflow(lambda folder: ((f"{folder}/params/p{n}", filled(b"x", 250)) for n in range(20))),
        "tar.bz2",
        2,
        True,
    ),
    Bomb(
        "mlflow: 8 metrics of 120 MB",
        lambda: mlflow(lambda folder: ((f"{folder}/metrics/m{n}", filled(b"1 1 1\n", 120)) for n in range(8))),
        "tar.zst",
        1,
        True,
    ),
    Bomb(
        "mlflow: a metric of 120 MB of blank lines",
        lambda: mlflow(lambda folder: iter([(f"{folder}/metrics/m", filled(b"\n", 120))])),
        "tar.gz",
        1,
        True,
    ),
    Bomb(
        "mlflow: meta.yaml of 250 MB",
        lambda: mlflow(lambda _: iter([("mlruns/2/meta.yaml", filled(b"- [", 250))])),
        "tar.zst",
        2,
    ),
    Bomb(
        "mlflow: 300,000 params",
        lambda: mlflow(lambda folder: ((f"{folder}/params/p{n}", Text(b"1")) for n in range(300_000))),
        "tar.gz",
        1,
        True,
    ),
    Bomb(
        "mlflow: SQLite of 250 MB of zeros",
        lambda: mlflow(lambda _: iter([("mlflow.db", filled(b"\0", 250, b"SQLite format 3\0"))])),
        "tar.gz",
        2,
    ),
    Bomb(
        "llmc: 120 MB of lines",
        lambda: one("bomb/main.log", counted(8_000_000, b"s:%d trl:1\n", GOOD_LLMC), A_LLMC, GOOD_LLMC),
        "tar.gz",
        2,
        True,
    ),
    Bomb(
        "llmc: 250 MB of short lines",
        lambda: one("bomb/main.log", filled(b"s:1 a:1 b:1 c:1 d:1\n", 250, GOOD_LLMC), A_LLMC, GOOD_LLMC),
        "tar.zst",
        2,
        True,
    ),
    Bomb(
        "llmc: 250 MB of blank lines",
        lambda: one("bomb/main.log", filled(b"\n", 250, GOOD_LLMC), A_LLMC, GOOD_LLMC),
        "tar.xz",
        2,
        True,
    ),
    Bomb(
        "mllog: a line of 250 MB",
        lambda: one("bomb/result_1.txt", filled(b"5", 250, GOOD_MLLOG + b":::MLLOG {"), A_MLLOG, GOOD_MLLOG),
        "tar.bz2",
        2,
        True,
    ),
    Bomb(
        "mllog: 120 MB of markers",
        lambda: one("bomb/result_1.txt", filled(b":::MLLOG {}\n", 120, GOOD_MLLOG), A_MLLOG, GOOD_MLLOG),
        "tar.zst",
        2,
        True,
    ),
    Bomb(
        "mllog: 120 MB of evaluations",
        lambda: one(
            "bomb/result_1.txt",
            filled(b':::MLLOG {"key":"eval_a","value":1,"metadata":{"step":1}}\n', 120, GOOD_MLLOG),
            A_MLLOG,
            GOOD_MLLOG,
        ),
        "tar.zst",
        2,
        True,
    ),
    Bomb(
        "mllog: depth 100,000",
        lambda: one("bomb/result_1.txt", Text(b":::MLLOG " + DEEP + b"\n", 100, GOOD_MLLOG), A_MLLOG, GOOD_MLLOG),
        "tar.zst",
        2,
        True,
    ),
    Bomb(
        "hf_trainer: 60 MB of lists",
        lambda: one("bomb/trainer_state.json", filled(b"[],", 60, b'{"log_history": [', b"{}]}"), A_STATE, GOOD_STATE),
        "tar.zst",
        2,
    ),
    Bomb(
        "hf_trainer: 250 MB",
        lambda: one("bomb/trainer_state.json", filled(b"1,", 250, b'{"log_history": [', b"{}]}"), A_STATE, GOOD_STATE),
        "tar.gz",
        2,
    ),
    Bomb(
        "hf_trainer: depth 100,000",
        lambda: one("bomb/trainer_state.json", Text(DEEP, 1, b'{"log_history": '), A_STATE, GOOD_STATE),
        "zip",
        2,
    ),
    Bomb(
        "algoperf: 100 MB of blank lines",
        lambda: one(
            "bomb/mnist_jax/trial_1/measurements.csv",
            filled(b"\n", 100, GOOD_ALGOPERF),
            "{}/mnist_jax/trial_1/measurements.csv",
            GOOD_ALGOPERF,
        ),
        "tar.bz2",
        2,
        True,
    ),
    Bomb(
        "algoperf: 20 JSON files of 250 MB",
        lambda: (
            each
            for n in range(20)
            for each in one(
                f"bomb/mnist_jax/trial_1/hparams{n}.json",
                filled(b"[", 250),
                "{}/mnist_jax/trial_1/measurements.csv",
                GOOD_ALGOPERF,
            )
            if n == 0 or "hparams" in each[0]
        ),
        "tar.bz2",
        2,
    ),
    Bomb(
        "2 GB of zeros after the end",
        lambda: iter([*good_study(), ("zeros.bin", filled(b"\0", 2000))]),
        "tar.bz2",
        3,
        True,
    ),
    Bomb("2 GB of zeros in gzip", lambda: iter([*good_study(), ("zeros.bin", filled(b"\0", 2000))]), "tar.gz", 3, True),
    Bomb(
        "2 GB of zeros in zstandard",
        lambda: iter([*good_study(), ("zeros.bin", filled(b"\0", 2000))]),
        "tar.zst",
        3,
        True,
    ),
]

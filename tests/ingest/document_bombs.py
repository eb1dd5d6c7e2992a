"""Bombs of logs that are one document, and of text logs."""

from __future__ import annotations

from tests.ingest.bombs import (
    DEEP,
    GOOD_ARRAYS,
    GOOD_SACRED,
    GOOD_TEXT,
    TEXT_MAPPING,
    Bomb,
    Files,
    Text,
    counted,
    filled,
    one,
)
from tests.ingest.formats.trackio_files import database

GOOD_TRACKIO = database({"good": [(0, {"loss": 1.5}), (10, {"loss": 0.5})]})
GOOD_LIVE = b"step\tloss\n0\t1.5\n10\t0.5\n"


def arrays(text: Text) -> Files:
    """A bomb among JSON documents."""
    yield from one("bomb/log.json", text, "{}/log.json", GOOD_ARRAYS)


def sacred(text: Text) -> Files:
    """A bomb among Sacred's runs."""
    yield from one("bomb/metrics.json", text, "{}/metrics.json", GOOD_SACRED)


def trackio(text: Text) -> Files:
    """A bomb among Trackio's databases."""
    yield from one("bomb/trackio/p.db", text, "{}/trackio/p.db", GOOD_TRACKIO)


def text_log(text: Text) -> Files:
    """A bomb among text logs."""
    yield from one("bomb/train.log", text, "{}/train.log", GOOD_TEXT)


DOCUMENT_BOMBS = [
    Bomb(
        "json_arrays: 20 MB of numbers",
        lambda: arrays(filled(b"5.25,", 10, b'{"step": [', b'1], "loss": [1]}')),
        "tar.gz",
        2,
        True,
    ),
    Bomb("json_arrays: 120 MB of numbers", lambda: arrays(filled(b"5,", 120, b'{"loss": [', b"1]}")), "tar.bz2", 2),
    Bomb("json_arrays: a number of 120 MB", lambda: arrays(filled(b"5", 120, b'{"loss": [', b"]}")), "tar.zst", 2),
    Bomb("json_arrays: 120 MB of blanks", lambda: arrays(filled(b" ", 120, b'{"loss": [', b"1]}")), "tar.gz", 2, True),
    Bomb("json_arrays: depth 100,000", lambda: arrays(Text(DEEP, 1, b'{"loss": [1, ')), "tar.xz", 2),
    Bomb(
        "json_arrays: a million lists",
        lambda: arrays(counted(1_000_000, b',"l%d":[1]', b'{"loss": [1]', b"}")),
        "zip",
        2,
    ),
    Bomb(
        "json_arrays: 60 MB of entries",
        lambda: arrays(counted(500_000, b',{"step":%d,"loss":1}', b'[{"step":0,"loss":1}', b"]")),
        "tar.zst",
        2,
        True,
    ),
    Bomb(
        "json_arrays: a key for each entry",
        lambda: arrays(counted(300_000, b',{"k%d":1}', b'[{"step":0,"loss":1}', b"]")),
        "tar.bz2",
        2,
    ),
    Bomb(
        "text: a line of 250 MB",
        lambda: text_log(filled(b"5", 250, GOOD_TEXT + b"step 1 loss ")),
        "tar.bz2",
        2,
        True,
        TEXT_MAPPING,
    ),
    Bomb(
        "text: 120 MB of blank lines", lambda: text_log(filled(b"\n", 120, GOOD_TEXT)), "tar.xz", 2, True, TEXT_MAPPING
    ),
    Bomb(
        "text: 120 MB of carriage returns",
        lambda: text_log(filled(b"\r", 120, GOOD_TEXT)),
        "tar.gz",
        2,
        True,
        TEXT_MAPPING,
    ),
    Bomb(
        "text: 120 MB of colours",
        lambda: text_log(filled(b"\x1b[1m", 120, GOOD_TEXT)),
        "tar.zst",
        2,
        True,
        TEXT_MAPPING,
    ),
    Bomb(
        "text: 120 MB of matches",
        lambda: text_log(counted(5_000_000, b"step %d loss 1.5\n")),
        "tar.gz",
        2,
        True,
        TEXT_MAPPING,
    ),
    Bomb("text: UTF-16 of 120 MB", lambda: text_log(filled(b"\n\0", 120, b"\xff\xfe")), "zip", 2, True, TEXT_MAPPING),
    Bomb(
        "sacred: 60 MB of values",
        lambda: sacred(filled(b"5.25,", 60, b'{"loss": {"steps": [1], "timestamps": [""], "values": [', b"1]}}")),
        "tar.gz",
        2,
    ),
    Bomb(
        "sacred: 200,000 metrics",
        lambda: sacred(
            counted(200_000, b',"m%d":{"steps":[1],"timestamps":[""],"values":[1]}', GOOD_SACRED[:-1], b"}"),
        ),
        "tar.zst",
        2,
        True,
    ),
    Bomb(
        "sacred: config.json of 250 MB",
        lambda: (
            each
            for path in ("metrics.json", "config.json")
            for each in one(
                f"bomb/{path}",
                Text(GOOD_SACRED) if path[0] == "m" else filled(b"[", 250),
                "{}/metrics.json",
                GOOD_SACRED,
            )
            if path[0] == "m" or "config" in each[0]
        ),
        "tar.bz2",
        2,
        True,
    ),
    Bomb(
        "trackio: SQLite of 250 MB of zeros",
        lambda: trackio(filled(b"\0", 250, b"SQLite format 3\0")),
        "tar.gz",
        2,
    ),
    Bomb(
        "trackio: 80,000 calls of 100 values",
        lambda: trackio(Text(database({"r": [(at, {f"m{n}": 1 for n in range(100)}) for at in range(80_000)]}))),
        "tar.zst",
        2,
        True,
    ),
    Bomb(
        "trackio: a name for each call",
        lambda: trackio(Text(database({"r": [(at, {f"m{at}": 1}) for at in range(200_000)]}))),
        "tar.zst",
        2,
        True,
    ),
    Bomb(
        "dvclive: 100,000 metrics",
        lambda: (
            each
            for n in range(100_000)
            for each in one(
                f"bomb/plots/metrics/m{n}.tsv", Text(b"step\tm%d\n1\t1\n" % n), "{}/plots/metrics/loss.tsv", GOOD_LIVE
            )
            if n == 0 or "bomb" in each[0]
        ),
        "tar.gz",
        2,
        True,
    ),
]

"""Archives that are small on disk and ask for all memory: for every format, with a good log of it beside the bomb."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

import google_crc32c
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from tests.ingest.offers import TrialOffer, study_files

MB = 1_000_000
MAPPING = """
[collection]
name = "bombs"
[run]
dataset = "mnist"
model = "cnn"
optimizer = "sgd"
[fields]
batch_size = 8
[metrics]
loss = "train/loss"
tel = "val/loss"
eval_accuracy = "val/accuracy"
[[axis]]
column = "step"
counts = "steps"
[[axis]]
column = "global_step"
counts = "steps"
[[axis]]
column = "_step"
counts = "steps"
[[axis]]
column = "s"
counts = "steps"
[[axis]]
column = "samples_count"
counts = "examples"
"""
TEXT_MAPPING = f"{MAPPING}[text]\nlines = ['step (?P<step>\\d+) loss (?P<loss>\\S+)']\n"
STUDY_STEPS = b"step,val/classification_error\n0,0.9\n10,0.5\n"
CSV_STEPS = b"step,loss\n0,1.5\n10,0.5\n"
JSON_STEPS = b'{"step": 0, "loss": 1.5}\n{"step": 10, "loss": 0.5}\n'


@dataclass(frozen=True)
class Text:
    """A file's content: a start, a part repeated many times, an end."""

    part: bytes
    times: int = 1
    start: bytes = b""
    end: bytes = b""

    @property
    def size(self) -> int:
        return len(self.start) + len(self.part) * self.times + len(self.end)

    def pieces(self) -> Iterator[bytes]:
        """The content in pieces of about a megabyte."""
        yield self.start
        at_once = max(1, MB // max(1, len(self.part)))
        block = self.part * at_once
        for _ in range(self.times // at_once):
            yield block
        yield self.part * (self.times % at_once)
        yield self.end


def filled(part: bytes, megabytes: int, start: bytes = b"", end: bytes = b"") -> Text:
    """A file of so many megabytes."""
    return Text(part, megabytes * MB // len(part), start, end)


def counted(n: int, line: bytes, start: bytes = b"", end: bytes = b"") -> Text:
    """A text with so many lines, numbered."""
    return Text(start + b"".join(line % number for number in range(n)) + end)


Files = Iterator[tuple[str, Text]]


@dataclass(frozen=True)
class Bomb:
    """A bomb. good: the trials beside it, which have to be stored. kind: how it is packed. mapping: as TOML."""

    name: str
    files: Callable[[], Files]
    kind: str = "tar.bz2"
    good: int = 1
    may_be_stored: bool = False
    mapping: str = MAPPING

    def write(self, folder: Path) -> Path:
        """The archive, with its mapping beside it."""
        (folder / "losslake.toml").write_text(self.mapping)
        path = folder / f"bomb.{self.kind}"
        _PACKERS[self.kind.rpartition(".")[2]](path, self.files())
        return path


class _Stream(io.RawIOBase):
    """A content as a file to be read."""

    def __init__(self, text: Text) -> None:
        self._pieces = text.pieces()
        self._rest = memoryview(b"")

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        parts, missing = [], size
        while missing:
            if not self._rest:
                piece = next(self._pieces, None)
                if piece is None:
                    break
                self._rest = memoryview(piece)
            parts.append(self._rest[:missing])
            self._rest = self._rest[missing:]
            missing -= len(parts[-1])
        return b"".join(parts)


def _pack_tar(opened: Callable[[Path], Any], path: Path, files: Files) -> None:
    with opened(path) as stream, tarfile.open(fileobj=stream, mode="w|", format=tarfile.GNU_FORMAT) as archive:
        for name, text in files:
            entry = tarfile.TarInfo(name)
            entry.size = text.size
            archive.addfile(entry, _Stream(text))


def _pack_zip(path: Path, files: Files) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, text in files:
            with archive.open(name, "w") as entry:
                for piece in text.pieces():
                    entry.write(piece)


@contextmanager
def _zstandard(path: Path) -> Iterator[IO[bytes]]:
    with path.open("wb") as file, zstandard.ZstdCompressor(1).stream_writer(file) as stream:
        yield stream


_PACKERS: Mapping[str, Callable[[Path, Files], None]] = {
    "bz2": partial(_pack_tar, partial(bz2.open, mode="wb", compresslevel=1)),
    "gz": partial(_pack_tar, partial(gzip.open, mode="wb", compresslevel=1)),
    "xz": partial(_pack_tar, partial(lzma.open, mode="wb", preset=0)),
    "zst": partial(_pack_tar, _zstandard),
    "zip": _pack_zip,
}


def good_study() -> Files:
    """A good study of three trials."""
    files = study_files({1: TrialOffer(), 2: TrialOffer(), 3: TrialOffer()}, workload="good/cifar10/cnn/sgd")
    yield from ((path, Text(data)) for path, data in files.items())


def one(path: str, text: Text, good_path: str, good: bytes) -> Files:
    """A file, and a good one before and after it."""
    yield good_path.format("a"), Text(good)
    yield path, text
    yield good_path.format("z"), Text(good)


def study_with(curve: Text | None = None, n_bombs: int = 1, **documents: Text) -> Files:
    """A good study, and one with a bomb for one of its files."""
    yield from good_study()
    texts = {path: Text(data) for path, data in study_files({1: TrialOffer()}, workload="bomb/mnist/cnn/sgd").items()}
    for path in texts:
        name = path.rpartition("/")[2]
        if name == "measurements.csv" and curve is not None:
            texts[path] = curve
        texts[path] = documents.get(name.partition(".")[0], texts[path])
    for number in range(1, n_bombs + 1):
        metadata = Text(json.dumps({"trial_id": number, "status": "COMPLETE", "steps": 20, "parameters": {}}).encode())
        for path, text in texts.items():
            if number == 1 or "/1/" in path:
                is_metadata = path.endswith("metadata.json") and "metadata" not in documents
                yield path.replace("/1/", f"/{number}/"), metadata if is_metadata else text


def many_members(n: int, text: bytes) -> Files:
    """Very many tiny trials."""
    yield from study_with()
    for number in range(10, 10 + n):
        folder = f"bomb/mnist/cnn/sgd/8/{number}"
        facts = {"trial_id": number, "status": "COMPLETE", "steps": 20, "parameters": {}}
        yield f"{folder}/metadata.json", Text(json.dumps(facts).encode())
        yield f"{folder}/measurements.csv", Text(text)


def stray_members(n: int) -> Files:
    """Very many files that break a rule each."""
    yield from good_study()
    for number in range(n):
        yield f"bomb/{number}/metadata.json", Text(b"{}")


def framed(payload: bytes) -> bytes:
    """A record of an event file."""

    def masked(data: bytes) -> int:
        sum_of: int = google_crc32c.value(data)
        return (((sum_of >> 15) | (sum_of << 17)) + 0xA282EAD8) & 0xFFFF_FFFF

    head = struct.pack("<Q", len(payload))
    return head + struct.pack("<I", masked(head)) + payload + struct.pack("<I", masked(payload))


def varint(value: int) -> bytes:
    """A number as protocol buffers write it."""
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def message(number: int, data: bytes) -> bytes:
    """A field of bytes."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def scalar_event(step: int, *tags: str) -> bytes:
    """An event with a scalar for each tag."""
    values = b"".join(message(1, message(1, tag.encode()) + b"\x15" + struct.pack("<f", 0.5)) for tag in tags)
    return b"\x09" + struct.pack("<d", 1.0 + step) + b"\x10" + varint(step) + message(5, values)


VERSION = framed(b"\x09" + struct.pack("<d", 1.0) + message(3, b"brain.Event:2"))
GOOD_EVENTS = VERSION + framed(scalar_event(0, "loss")) + framed(scalar_event(10, "loss"))


def events(text: Text) -> Files:
    """A bomb among event files."""
    yield from one("bomb/events.out.tfevents.1", text, "{}/events.out.tfevents.1", GOOD_EVENTS)


def wandb_file(*records: bytes) -> bytes:
    """A file of an offline run."""
    data = bytearray(b":W&B\xe1\xbe\x00")
    for record in records:
        at, is_first = 0, True
        while is_first or at < len(record):
            room = (1 << 15) - len(data) % (1 << 15)
            if room < 7:
                data += bytes(room)
                continue
            piece = record[at : at + room - 7]
            at += len(piece)
            kind = (1 if is_first else 4) if at == len(record) else 2 if is_first else 3
            body = bytes([kind]) + piece
            data += struct.pack("<IH", zlib.crc32(body), len(piece)) + body
            is_first = False
    return bytes(data)


def history(step: int, name: bytes = b"loss", value: bytes = b"0.5") -> bytes:
    """A record of a row."""
    return message(
        2,
        message(1, message(2, b"_step") + message(16, b"%d" % step))
        + message(1, message(2, name) + message(16, value)),
    )


GOOD_WANDB = wandb_file(history(0), history(10), message(18, b"\x08\x00"))


def parquet(n_rows: int, n_columns: int) -> bytes:
    """A history of zeros, which takes next to no space."""
    buffer = io.BytesIO()
    names = ["_step", *(f"c{at}" for at in range(n_columns - 1))]
    schema = pa.schema([(name, pa.int64()) for name in names])
    with pq.ParquetWriter(buffer, schema) as writer:
        at_once = max(1, min(n_rows, 8 * MB // n_columns))
        column = pa.array([0] * at_once, pa.int64())
        for _ in range(n_rows // at_once):
            writer.write_table(pa.table([column] * n_columns, schema=schema))
    return buffer.getvalue()


RUN_ID = "0123456789abcdef0123456789abcd{:02d}"
META = (
    "artifact_uri: x\nexperiment_id: '1'\nlifecycle_stage: active\nrun_id: {}\nstatus: 3\nstart_time: 1\nend_time: 2\n"
)


def mlflow(bomb: Callable[[str], Files]) -> Files:
    """A file store with a good run and a bomb."""
    for number in (1, 2):
        run = RUN_ID.format(number)
        folder = f"mlruns/1/{run}"
        yield f"{folder}/meta.yaml", Text(META.format(run).encode())
        yield f"{folder}/metrics/loss", Text(b"1 1.5 0\n2 0.5 10\n")
        if number == 2:
            yield from bomb(folder)


GOOD_LLMC = b"s:0 tel:11.0\ns:0 trl:10.9\ns:10 trl:9.5\n"
GOOD_MLLOG = b"".join(
    b':::MLLOG {"namespace": "", "time_ms": %d, "key": "%s", "value": %s, "metadata": {%s}}\n' % row
    for row in [
        (1, b"global_batch_size", b"8", b""), (2, b"run_start", b"null", b""),
        (3, b"eval_accuracy", b"0.5", b'"samples_count": 80'), (4, b"run_stop", b"null", b'"status": "success"'),
    ]
)  # fmt: skip
STATE = b'{"global_step": 10, "max_steps": 10, "train_batch_size": 8, "log_history": [%s]}'
GOOD_STATE = STATE % b'{"step": 0, "loss": 1.5}, {"step": 10, "loss": 0.5}'
GOOD_ARRAYS = b'{"step": [0, 10], "loss": [1.5, 0.5]}'
GOOD_SACRED = b'{"loss": {"steps": [0, 10], "timestamps": ["", ""], "values": [1.5, 0.5]}}'
GOOD_TEXT = b"step 0 loss 1.5\nstep 10 loss 0.5\n"
DEEP = b"[" * 100_000
GOOD_ALGOPERF = b"global_step,loss,score\n0,1.5,1\n10,0.5,2\n"


def overlapping_zip(names: list[str], part: bytes, times: int) -> bytes:
    """A zip whose entries share nearly all of their bytes: each quotes the header of the next one, and all end alike.

    Source: D. Fifield, "A better zip bomb", WOOT 2019. Checksums are those of nothing.
    """
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    kernel = b"".join(packer.compress(part * 1000) for _ in range(times // 1000)) + packer.flush()
    packed, size = len(kernel), len(part) * (times // 1000) * 1000
    entries: list[tuple[bytes, bytes, int, int]] = []
    for name in (name.encode() for name in reversed(names)):
        header = struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, 8, 0, 33, 0, packed, size, len(name), 0) + name
        entries.insert(0, (name, header, packed, size))
        packed, size = packed + 5 + len(header), size + len(header)
    data, directory = b"", b""
    for name, header, packed, size in entries:
        data += struct.pack("<BHH", 0, len(header), len(header) ^ 0xFFFF) if data else b""
        fields = (b"PK\1\2", 20, 20, 0, 8, 0, 33, 0, packed, size, len(name), 0, 0, 0, 0, 0, len(data))
        directory += struct.pack("<4s6H3I5H2I", *fields) + name
        data += header
    data += kernel
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, len(names), len(names), len(directory), len(data), 0)
    return data + directory + end

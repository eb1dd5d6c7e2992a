"""Event files for tests, written by TensorBoard's own writer, and read by its own loader."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.plugins.hparams import plugin_data_pb2
from tensorboard.summary.writer.record_writer import RecordWriter
from tensorboard.util import tensor_util

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.run_log import RunLog
from losslake_ingest.formats.tensorboard import FORMAT
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.readers.event_files.events import parse_event
from losslake_ingest.readers.event_files.file import EventFile, in_order
from losslake_ingest.readers.event_files.records import Break, Data, records
from losslake_ingest.sources.open import open_source
from tests.ingest.formats.reading import cells

Curves = dict[str, list[tuple[float, int, float]]]


def framed(payloads: Iterable[bytes]) -> bytes:
    """An event file of these records, with the event that every writer begins with."""
    buffer = io.BytesIO()
    writer = RecordWriter(buffer)
    writer.write(Event(wall_time=1.0, file_version="brain.Event:2").SerializeToString())
    for payload in payloads:
        writer.write(payload)
    return buffer.getvalue()


def event_file(events: Iterable[Any]) -> bytes:
    """An event file of these events."""
    return framed(event.SerializeToString() for event in events)


def event(wall_time: float, step: int, *values: Any) -> Any:
    """An event with a summary of these values."""
    return Event(wall_time=wall_time, step=step, summary=Summary(value=values))


def simple(tag: str, number: float) -> Any:
    """A scalar as TensorFlow 1 and PyTorch write it."""
    return Summary.Value(tag=tag, simple_value=number)


def tensor(tag: str, proto: Any, plugin: str | None = "scalars", content: bytes = b"") -> Any:
    """A value as TensorFlow 2 writes it."""
    value = Summary.Value(tag=tag, tensor=proto)
    if plugin is not None:
        value.metadata.plugin_data.plugin_name = plugin
        value.metadata.plugin_data.content = content
    return value


def session(**parts: Any) -> Any:
    """A value of the HParams plugin."""
    content = plugin_data_pb2.HParamsPluginData(**parts).SerializeToString()
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="hparams", content=content))
    return Summary.Value(tag="_hparams_/" + next(iter(parts)), metadata=metadata, tensor=TensorProto())


def hyperparameters(**numbers: float) -> Any:
    """The beginning of a session with these hyperparameters."""
    info = plugin_data_pb2.SessionStartInfo()
    for name, number in numbers.items():
        info.hparams[name].number_value = number
    return info


def by_tensorboard(data: bytes) -> Curves:
    """The scalars of an event file as TensorBoard's own loader reads them."""
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    handle, name = tempfile.mkstemp()
    try:
        os.write(handle, data)
        os.close(handle)
        loaded = list(EventFileLoader(name).Load())
    finally:
        Path(name).unlink()
    curves: Curves = {}
    plugins: dict[str, str] = {}
    for one in loaded:
        for value in one.summary.value:
            plugin = plugins.setdefault(value.tag, value.metadata.plugin_data.plugin_name)
            if plugin != "scalars" or not value.HasField("tensor"):
                continue
            array = tensor_util.make_ndarray(value.tensor)
            if array.size == 1:
                curves.setdefault(value.tag, []).append((one.wall_time, one.step, float(array.item())))
    return curves


def by_careful_parser(data: bytes) -> Curves:
    """The numbers of an event file with right checksums, read event by event."""
    curves: Curves = {}
    for portion in records(Data(data)):
        if isinstance(portion, Break):
            break
        for start, end in zip(portion.starts.tolist(), portion.ends.tolist(), strict=True):
            one = parse_event(data, start, end)
            for value in one.values:
                if value.number is not None:
                    tag = value.tag.decode()
                    curves.setdefault(tag, []).append((one.wall_time, one.step, value.number))
    return curves


def curves_of(file: EventFile) -> Curves:
    """What our reader found in an event file."""
    curves: Curves = {}
    for tag in {*file.scalars, *file.bare}:
        points = in_order([*file.scalars.get(tag, []), *file.bare.get(tag, [])])
        curves[tag.decode()] = points[["wall_time", "step", "value"]].tolist()
    return curves


def shown(curves: Curves) -> dict[str, Sequence[str]]:
    """Curves in a form in which NaN equals NaN and -0.0 isn't 0.0."""
    return {tag: [repr(row) for row in rows] for tag, rows in sorted(curves.items())}


FILE = "events.out.tfevents.100.host"
SMALL = event_file(
    [
        event(10.0 + step, step, simple("train/loss", 2.0 / (1 + step)), simple("lr", 0.1))
        if step % 2
        else event(10.0 + step, step, simple("train/loss", 2.0 / (1 + step)))
        for step in range(6)
    ]
)


def of_folder(folder: Path) -> list[RunLog]:
    """The runs of a folder, of which nothing is quarantined."""
    found = list(FORMAT.read(open_source(folder), LogMapping()))
    assert not [item for item in found if isinstance(item, Quarantined)]
    return [item for item in found if isinstance(item, RunLog)]


def columns(run: RunLog) -> dict[str, list[list[float | None]]]:
    """By tag: step, wall time and value of every point."""
    table = {}
    for rows in run.rows:
        step, wall_time, tag = rows.columns
        assert (step, wall_time) == ("step", "wall_time")
        table[tag] = [cells(rows, name) for name in rows.columns]
    return table


def steps_and_values(run: RunLog, tag: str) -> list[tuple[float | None, float | None]]:
    """The points of a tag without their times."""
    steps, _, values = columns(run)[tag]
    return list(zip(steps, values, strict=True))


def fault(found: list[object]) -> Quarantined:
    """The only thing found, which is quarantined in one line."""
    (only,) = found
    assert isinstance(only, Quarantined)
    assert "\n" not in str(only)
    return only

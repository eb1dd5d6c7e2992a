from __future__ import annotations

import struct
from collections import defaultdict
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.types_pb2 import DataType
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.util import tensor_util

from losslake_ingest.formats.tensorboard import FORMAT
from losslake_ingest.readers.event_files.file import NO_SCALAR, EventFile, read_event_file
from losslake_ingest.readers.event_files.layouts import read_alike
from losslake_ingest.readers.event_files.records import Data, Records, checksums, records
from tests.conformance.corpora import SAMPLE_AND_WHOLE, corpus
from tests.ingest.formats.reading import runs
from tests.ingest.formats.tensorboard_files import (
    FILE,
    by_tensorboard,
    columns,
    curves_of,
    event,
    event_file,
    framed,
    of_folder,
    shown,
    simple,
    tensor,
)

NUMBERS: dict[str, Any] = {
    "float content": TensorProto(dtype=DataType.DT_FLOAT, tensor_content=struct.pack("<f", 1.5)),
    "float list": TensorProto(dtype=DataType.DT_FLOAT, float_val=[1.5]),
    "double content": TensorProto(dtype=DataType.DT_DOUBLE, tensor_content=struct.pack("<d", 0.1)),
    "double list": TensorProto(dtype=DataType.DT_DOUBLE, double_val=[0.1]),
    "half content": TensorProto(dtype=DataType.DT_HALF, tensor_content=struct.pack("<e", -0.25)),
    "half list": TensorProto(dtype=DataType.DT_HALF, half_val=[int(np.float16(-0.25).view(np.uint16))]),
    "int32 content": TensorProto(dtype=DataType.DT_INT32, tensor_content=struct.pack("<i", -7)),
    "int32 list": TensorProto(dtype=DataType.DT_INT32, int_val=[-7]),
    "int64 content": TensorProto(dtype=DataType.DT_INT64, tensor_content=struct.pack("<q", -(2**40))),
    "int64 list": TensorProto(dtype=DataType.DT_INT64, int64_val=[-(2**40)]),
    "uint8 list": TensorProto(dtype=DataType.DT_UINT8, int_val=[200]),
    "uint64 list": TensorProto(dtype=DataType.DT_UINT64, uint64_val=[2**63]),
    "bool list": TensorProto(dtype=DataType.DT_BOOL, bool_val=[True]),
    "bfloat16 content": TensorProto(dtype=DataType.DT_BFLOAT16, tensor_content=b"\xc0\x3f"),
    "vector of one": tensor_util.make_tensor_proto([2.5], dtype=DataType.DT_FLOAT, shape=(1,)),
    "matrix of one": tensor_util.make_tensor_proto([[2.5]], dtype=DataType.DT_FLOAT, shape=(1, 1)),
}
EXPECTED = {
    "float": 1.5,
    "double": 0.1,
    "half": -0.25,
    "int32": -7,
    "int64": -(2**40),
    "uint8": 200,
    "uint64": 2.0**63,
    "bool": 1,
    "bfloat16": 1.5,
    "vector": 2.5,
    "matrix": 2.5,
}


@pytest.mark.parametrize("form", NUMBERS)
def test_a_tensor_of_one_number_is_a_scalar_in_every_form(tmp_path: Path, form: str) -> None:
    writer = EventFileWriter(str(tmp_path / "run"))
    for step in range(3):
        writer.add_event(event(5.0 + step, step, tensor("accuracy", NUMBERS[form])))
    writer.close()
    (run,) = of_folder(tmp_path)
    assert columns(run) == {"accuracy": [[0, 1, 2], [5.0, 6.0, 7.0], [EXPECTED[form.split()[0]]] * 3]}


def test_metadata_may_come_with_the_first_value_of_a_tag_only(tmp_path: Path) -> None:
    one = NUMBERS["float content"]
    first = event_file(
        [
            event(1.0, 0, tensor("loss", one)),
            event(1.0, 0, tensor("mask", one, "images")),
            event(1.0, 1, tensor("loss", one, None)),
            event(1.0, 1, tensor("mask", one, None)),
            event(1.0, 1, tensor("unnamed", one, None)),
        ]
    )
    restarted = event_file([event(2.0, 2, tensor("loss", one, None)), event(2.0, 2, tensor("mask", one, None))])
    (run,) = runs(FORMAT, tmp_path, {FILE: first, "events.out.tfevents.200.host": restarted})
    assert {tag: table[0] for tag, table in columns(run).items()} == {"loss": [0, 1, 2], "unnamed": [1]}
    assert run.remarks == {NO_SCALAR: 3}


def test_values_that_are_not_scalars_are_dropped_and_counted(tmp_path: Path) -> None:
    import tensorboardX

    with tensorboardX.SummaryWriter(str(tmp_path / "run")) as writer:
        writer.add_scalar("loss", 0.5, 1)
        writer.add_text("note", "hello", 1)
        writer.add_histogram("weights", np.arange(1000.0), 1)
        writer.add_image("picture", np.zeros((3, 4, 4), np.uint8), 1)
    (run,) = of_folder(tmp_path)
    assert list(columns(run)) == ["loss"]
    assert run.remarks == {NO_SCALAR: 3}


def test_tensors_of_several_numbers_and_of_text_are_no_scalars(tmp_path: Path) -> None:
    several = tensor_util.make_tensor_proto([1.0, 2.0])
    words = tensor_util.make_tensor_proto("words")
    claims_one = TensorProto(dtype=DataType.DT_FLOAT, tensor_content=bytes(8))
    claims_two = TensorProto(dtype=DataType.DT_FLOAT, float_val=[1.0])
    claims_two.tensor_shape.dim.add(size=2)
    events = [event(1.0, 0, tensor("x", proto)) for proto in (several, words, claims_one, claims_two, TensorProto())]
    (run,) = runs(FORMAT, tmp_path, {FILE: event_file([*events, event(1.0, 0, simple("loss", 1))])})
    assert list(columns(run)) == ["loss"]
    assert run.remarks == {NO_SCALAR: 5}


@given(st.lists(st.integers(0, 5000), min_size=1, max_size=6), st.integers(0, 2**32))
def test_checksums_are_those_of_tensorboard(lengths: list[int], seed: int) -> None:
    data = np.random.default_rng(seed).integers(0, 256, sum(lengths), np.uint8)
    ends = np.cumsum(lengths)
    starts = ends - np.array(lengths)
    found = checksums(data.tobytes(), starts, ends).tolist()
    assert found == [masked_crc32c(data[start:end].tobytes()) for start, end in zip(starts, ends, strict=True)]


tags = st.sampled_from(["a", "ab", "loss", "train/loss", "train/accuracy_top_5", "layers.0/weight/norm", "läng" * 20])
steps = st.one_of(st.integers(0, 300), st.sampled_from([0, -1, 2**31, 2**55, 2**56, 2**63 - 1, -(2**63)]))
times = st.one_of(st.floats(1e9, 2e9), st.sampled_from([0.0, -1.0, 1e300]))
floats = st.floats(width=32)
plugins = st.sampled_from(["scalars", "scalars", "scalars", "images", None])


@st.composite
def values(draw: st.DrawFn) -> Any:
    tag, kind = draw(tags), draw(st.integers(0, 8))
    if kind <= 3:
        return simple(tag, draw(floats))
    if kind == 4:
        return Summary.Value(
            tag=tag + "/histogram", histo=HistogramProto(min=0, max=1, num=1, bucket_limit=[1.0], bucket=[1.0])
        )
    dtype = draw(st.sampled_from([np.float32, np.float64, np.float16, np.int32, np.int64]))
    number = np.array(draw(st.integers(-9, 9)), dtype)
    proto = tensor_util.make_tensor_proto(number)
    if kind >= 7:
        proto = TensorProto(dtype=proto.dtype, tensor_content=number.tobytes())
    return tensor(tag + "/tensor", proto, "scalars")


logs = st.lists(
    st.tuples(times, steps, st.lists(values(), min_size=1, max_size=3), st.integers(1, 4)), min_size=1, max_size=12
)


def written(log: list[tuple[float, int, list[Any], int]]) -> list[bytes]:
    """The events of a log, each with some followers that differ in step and time alone."""
    return [
        event(wall_time + later, min(step + 50 * later, 2**63 - 1), *parts).SerializeToString()
        for wall_time, step, parts, times_written in log
        for later in range(times_written)
    ]


@given(logs)
@settings(suppress_health_check=list(HealthCheck))
def test_scalars_are_those_that_tensorboards_own_loader_reads(log: list[tuple[float, int, list[Any], int]]) -> None:
    data = framed(written(log))
    assert shown(curves_of(read_event_file(data))) == shown(by_tensorboard(data))


@given(logs, st.data())
@settings(suppress_health_check=list(HealthCheck))
def test_reading_many_events_at_once_agrees_with_reading_each(
    log: list[tuple[float, int, list[Any], int]], data: st.DataObject
) -> None:
    payloads = written(log)
    for row in data.draw(st.lists(st.integers(0, len(payloads) - 1), max_size=4)):
        spoiled = bytearray(payloads[row])
        spoiled[data.draw(st.integers(0, len(spoiled) - 1))] ^= data.draw(st.integers(1, 255))
        payloads[row] = bytes(spoiled)
    whole = read_event_file(framed(payloads))
    each = [read_event_file(framed([payload])) for payload in payloads]
    assert points_by_tag([whole]) == points_by_tag(each)


def points_by_tag(files: list[EventFile]) -> dict[bytes, list[str]]:
    """What was read of each tag, whatever the order; one event may have values of one tag with and without a plugin."""
    found: dict[bytes, list[str]] = defaultdict(list)
    for file in files:
        for tag, parts in chain(file.scalars.items(), file.bare.items()):
            for points in parts:
                found[tag] += map(repr, points[["wall_time", "step", "value"]].tolist())
    return {tag: sorted(rows) for tag, rows in found.items()}


def test_events_that_differ_in_time_step_and_value_alone_are_all_read_at_once() -> None:
    one = NUMBERS["float content"]
    payloads = [
        event(1e9 + step, step, *parts).SerializeToString()
        for step in (0, 1, 127, 128, 300, 70_000, 2**35)
        for parts in ([simple("a", step)], [simple("loss", step), simple("lr", 1)], [tensor("loss", one)])
    ]
    data = framed(payloads)
    (portion,) = records(Data(data))
    assert isinstance(portion, Records)
    found, left, wrong = read_alike(Data(data), portion.starts, portion.ends)
    assert left.tolist() == [0]
    assert wrong.tolist() == []
    assert len(found) == 4


@pytest.mark.parametrize("part", SAMPLE_AND_WHOLE)
def test_real_event_files_read_as_tensorboard_reads_them(part: str) -> None:
    files = sorted(corpus("algoperf", part).rglob("*tfevents*"))
    assert files
    for file in files:
        data = file.read_bytes()
        assert shown(curves_of(read_event_file(data))) == shown(by_tensorboard(data))

"""Parser of event messages, field by field: slow, careful, and the only definition of their fields.

Messages: tensorboard/compat/proto/{event,summary,tensor,tensor_shape,types}.proto. Those of the HParams plugin are in
the metadata of a summary value: tensorboard/plugins/hparams/plugin_data.proto and google/protobuf/struct.proto.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field
from itertools import islice

from losslake_ingest.contracts.run_log import Scalar
from losslake_ingest.contracts.study import LARGEST_EXACT_INTEGER
from losslake_ingest.readers import protobuf
from losslake_ingest.readers.protobuf import BYTES, FIXED32, FIXED64, VARINT, NotAMessage, fields, places, varint

HPARAMS = b"hparams"

_MOST_VALUES = 100_000  # of one event
_EVENT_WALL_TIME, _EVENT_STEP, _EVENT_SUMMARY = 1, 2, 5
_OTHER_EVENTS = {3: BYTES, 4: BYTES, 6: BYTES, 7: BYTES, 8: BYTES, 9: BYTES}
_VALUE_TAG, _VALUE_SIMPLE, _VALUE_TENSOR, _VALUE_METADATA = 1, 2, 8, 9
_OTHER_VALUES = (3, 4, 5, 6)
_TENSOR_DTYPE, _TENSOR_SHAPE, _TENSOR_CONTENT = 1, 2, 4
_BFLOAT16, _HALF = 14, 19
# By dtype: the struct code of a number in tensor_content (little-endian).
_CODES = {1: "f", 2: "d", 3: "i", 4: "B", 5: "h", 6: "b", 9: "q", 10: "?", 14: "H", 17: "H", 19: "e", 22: "I", 23: "Q"}
# By dtype: the field with its numbers, if they are a repeated field.
_LISTS = {1: 5, 2: 6, 3: 7, 4: 7, 5: 7, 6: 7, 9: 10, 10: 11, _BFLOAT16: 13, 17: 7, _HALF: 13, 22: 16, 23: 17}
_FLOATS = {1: (FIXED32, "<f"), 2: (FIXED64, "<d")}
_UNSIGNED = (22, 23)
_STATUSES = {1: "success", 2: "failure", 3: "running"}


@dataclass(slots=True)
class Value:
    """A value of a summary. number: None unless it is a single number.

    at, code: the offset and struct code of the number; code is empty if it isn't stored with a fixed size. plugin: the
    plugin that the metadata name, if any.
    """

    tag: bytes = b""
    number: float | None = None
    at: int = 0
    code: str = ""
    is_tensor: bool = False
    plugin: bytes | None = None
    content: bytes = b""


@dataclass(slots=True)
class Event:
    """An event: wall time, step, and the values of its summary. rest: the offset of the summary.

    is_plain: the event consists of wall time, an optional step and one summary, in this order.
    """

    wall_time: float = 0.0
    step: int = 0
    rest: int = 0
    is_plain: bool = False
    values: list[Value] = field(default_factory=list)


@dataclass
class Session:
    """The data of an HParams session. unread: hyperparameters that are neither number, text nor flag."""

    parameters: dict[str, Scalar] = field(default_factory=dict)
    group: str | None = None
    status: str | None = None
    has_addresses: bool = False
    unread: int = 0
    is_known: bool = False

    def read(self, content: bytes) -> None:
        """Add an HParamsPluginData message. Raises NotAMessage."""
        for number, kind, start, stop in fields(content, 0, len(content)):
            if number == 3 and kind == BYTES:
                self._start(content, start, stop)
                self.is_known = True
            elif number == 4 and kind == BYTES:
                for place in places(content, start, stop, 1, VARINT):
                    self.status = _STATUSES.get(varint(content, *place)[0])

    def _start(self, data: bytes, start: int, stop: int) -> None:
        for number, kind, begin, end in fields(data, start, stop):
            if kind == BYTES and number == 1:
                self._parameter(data, begin, end)
            elif kind == BYTES and number in (2, 3):
                self.has_addresses |= end > begin
            elif kind == BYTES and number == 4:
                self.group = text(data[begin:end]) or None

    def _parameter(self, data: bytes, start: int, stop: int) -> None:
        name, value = "", None
        for number, kind, begin, end in fields(data, start, stop):
            if number == 1 and kind == BYTES:
                name = text(data[begin:end])
            elif number == 2 and kind == BYTES:
                value = _scalar(data, begin, end)
        if value is None or not name:
            self.unread += 1
        else:
            self.parameters[name] = value


def parse_event(data: bytes, start: int, stop: int) -> Event:
    """Parse the event in data[start:stop]. Raises NotAMessage."""
    event = Event()
    numbers = []
    at = start
    for number, kind, begin, end in fields(data, start, stop):
        numbers.append(number)
        if number == _EVENT_WALL_TIME and kind == FIXED64:
            (event.wall_time,) = struct.unpack_from("<d", data, begin)
        elif number == _EVENT_STEP and kind == VARINT:
            event.step = protobuf.signed(varint(data, begin, end)[0])
        elif number == _EVENT_SUMMARY and kind == BYTES:
            event.rest = at
            value_places = islice(places(data, begin, end, 1, BYTES), _MOST_VALUES + 1)
            event.values += [_value(data, *place) for place in value_places]
            if len(event.values) > _MOST_VALUES:
                raise NotAMessage
        elif _OTHER_EVENTS.get(number) == kind:
            event.values.clear()
        at = end
    event.is_plain = numbers in ([1, 2, 5], [1, 5])
    return event


def _value(data: bytes, at: int, end: int) -> Value:
    value = Value()
    for number, kind, start, stop in fields(data, at, end):
        if number == _VALUE_TAG and kind == BYTES:
            value.tag = data[start:stop]
        elif number == _VALUE_SIMPLE and kind == FIXED32:
            (value.number,) = struct.unpack_from("<f", data, start)
            value.at, value.code, value.is_tensor = start, "<f", False
        elif number == _VALUE_TENSOR and kind == BYTES:
            value.number, value.at, value.code = _tensor(data, start, stop)
            value.is_tensor = True
        elif number in _OTHER_VALUES and kind == BYTES:
            value.number, value.code, value.is_tensor = None, "", False
        elif number == _VALUE_METADATA and kind == BYTES:
            _metadata(data, start, stop, value)
    return value


def _metadata(data: bytes, start: int, stop: int, value: Value) -> None:
    for place in places(data, start, stop, 1, BYTES):
        for number, kind, begin, end in fields(data, *place):
            if number == 1 and kind == BYTES:
                value.plugin = data[begin:end] or None
            elif number == 2 and kind == BYTES:
                value.content = data[begin:end]


def _tensor(data: bytes, start: int, stop: int) -> tuple[float | None, int, str]:
    """Return a tensor's single number with its offset and struct code; None for any other tensor."""
    parts = list(fields(data, start, stop))
    dtype, elements = 0, 1
    content = b""
    content_at = 0
    for number, kind, begin, end in parts:
        if number == _TENSOR_DTYPE and kind == VARINT:
            dtype = varint(data, begin, end)[0]
        elif number == _TENSOR_SHAPE and kind == BYTES:
            elements *= _elements(data, begin, end)
        elif number == _TENSOR_CONTENT and kind == BYTES:
            content, content_at = data[begin:end], begin
    if dtype not in _CODES or elements != 1:
        return None, 0, ""
    if content:
        return _from_content(dtype, content, content_at)
    return _from_list(data, dtype, [part for part in parts if part[0] == _LISTS[dtype]])


def _elements(data: bytes, at: int, end: int) -> int:
    """Return the number of elements of a shape, where 2 stands for any larger number; 0 if unknown."""
    product = 1
    for number, kind, start, stop in fields(data, at, end):
        if number == 2 and kind == BYTES:
            sizes = [varint(data, *place)[0] for place in places(data, start, stop, 1, VARINT)]
            product = min(product * sizes[-1], 2) if sizes else 0
        elif number == 3 and kind == VARINT and varint(data, start, stop)[0]:
            product = 0
    return product


def _from_content(dtype: int, content: bytes, at: int) -> tuple[float | None, int, str]:
    code = f"<{_CODES[dtype]}"
    if len(content) != struct.calcsize(code):
        return None, 0, ""
    if dtype == _BFLOAT16:
        return _bfloat16(content), 0, ""
    return float(struct.unpack(code, content)[0]), at, "" if code == "<?" else code


def _from_list(data: bytes, dtype: int, parts: list[protobuf.Field]) -> tuple[float | None, int, str]:
    """Return the single number of a repeated field, packed or not."""
    wanted, code = _FLOATS.get(dtype, (VARINT, ""))
    offsets = []
    for _, kind, at, stop in parts:
        while at < stop and kind in (wanted, BYTES):
            offsets.append(at)
            at = at + struct.calcsize(code) if code else varint(data, at, stop)[1]
            if at > stop:
                raise NotAMessage
    if len(offsets) != 1:
        return None, 0, ""
    if code:
        return float(struct.unpack_from(code, data, offsets[0])[0]), offsets[0], code
    number = varint(data, offsets[0], len(data))[0]
    if dtype in (_HALF, _BFLOAT16):
        raw = struct.pack("<H", number & 0xFFFF)
        return float(struct.unpack("<e", raw)[0]) if dtype == _HALF else _bfloat16(raw), 0, ""
    return float(number if dtype in _UNSIGNED else protobuf.signed(number)), 0, ""


def _bfloat16(raw: bytes) -> float:
    """Convert the upper two bytes of a float32 to a number."""
    number: float = struct.unpack("<f", bytes(2) + raw)[0]
    return number


def text(data: bytes) -> str:
    """Decode UTF-8; invalid bytes become escapes."""
    return data.decode("utf-8", "backslashreplace")


def _scalar(data: bytes, start: int, stop: int) -> Scalar | None:
    """Parse a number, text or flag. The message has no integers: whole numbers are returned as int."""
    value: Scalar | None = None
    for part, kind, begin, end in fields(data, start, stop):
        if part == 2 and kind == FIXED64:
            number: float = struct.unpack_from("<d", data, begin)[0]
            whole = math.isfinite(number) and number.is_integer() and abs(number) < LARGEST_EXACT_INTEGER
            value = int(number) if whole else number
        elif part == 3 and kind == BYTES:
            value = text(data[begin:end])
        elif part == 4 and kind == VARINT:
            value = varint(data, begin, end)[0] != 0
        else:
            value = None
    return value

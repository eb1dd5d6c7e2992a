"""The messages of an event file, parsed field by field: slow, careful, and the only place that knows them.

Messages: tensorboard/compat/proto/{event,summary,tensor,tensor_shape,types}.proto. Those of the HParams plugin lie in
the metadata of a summary value: tensorboard/plugins/hparams/plugin_data.proto and google/protobuf/struct.proto.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field

from losslake_ingest.protobuf import BYTES, FIXED32, FIXED64, VARINT, Field, NotAMessage, chosen, fields, signed, varint
from losslake_ingest.run_log import Scalar
from losslake_ingest.study import LARGEST_EXACT_INTEGER

HPARAMS = b"hparams"

_EVENT_WALL_TIME, _EVENT_STEP, _EVENT_SUMMARY = 1, 2, 5
_OTHER_EVENTS = {3: BYTES, 4: BYTES, 6: BYTES, 7: BYTES, 8: BYTES, 9: BYTES}
_VALUE_TAG, _VALUE_SIMPLE, _VALUE_TENSOR, _VALUE_METADATA = 1, 2, 8, 9
_OTHER_VALUES = (3, 4, 5, 6)
_TENSOR_DTYPE, _TENSOR_SHAPE, _TENSOR_CONTENT = 1, 2, 4
_BFLOAT16, _HALF = 14, 19
# By dtype: how tensor_content holds a number.
_CONTENT = {
    1: "<f",
    2: "<d",
    3: "<i",
    4: "<B",
    5: "<h",
    6: "<b",
    9: "<q",
    10: "<?",
    _BFLOAT16: "<H",
    17: "<H",
    _HALF: "<e",
    22: "<I",
    23: "<Q",
}
# By dtype: the field that holds its numbers one by one.
_LISTS = {1: 5, 2: 6, 3: 7, 4: 7, 5: 7, 6: 7, 9: 10, 10: 11, _BFLOAT16: 13, 17: 7, _HALF: 13, 22: 16, 23: 17}
_FLOATS = {1: (FIXED32, "<f"), 2: (FIXED64, "<d")}
_UNSIGNED = (22, 23)
_STATUSES = {1: "success", 2: "failure", 3: "running"}


@dataclass(slots=True)
class Value:
    """A value of a summary. number: None unless it is one number.

    at, code: where in the file that number lies in a fixed form, and which (as struct has it); code is empty where it
    has another form. plugin: the plugin that the metadata name, None without metadata that name one.
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
    """An event: when, at which step, and the values of its summary; rest is where its summary begins.

    is_plain: it consists of wall time, step (or none) and one summary, in this order.
    """

    wall_time: float = 0.0
    step: int = 0
    rest: int = 0
    is_plain: bool = False
    values: list[Value] = field(default_factory=list)


@dataclass
class Session:
    """What is known of a session. unread: hyperparameters that are neither a number, a text nor a flag."""

    parameters: dict[str, Scalar] = field(default_factory=dict)
    group: str | None = None
    status: str | None = None
    has_addresses: bool = False
    unread: int = 0
    is_known: bool = False

    def read(self, content: bytes) -> None:
        """Take in an HParamsPluginData message; raises NotAMessage."""
        for number, kind, start, stop in fields(content, 0, len(content)):
            if number == 3 and kind == BYTES:
                self._start(content, start, stop)
                self.is_known = True
            elif number == 4 and kind == BYTES:
                for part in chosen(content, start, stop, 1, VARINT):
                    self.status = _STATUSES.get(varint(content, part.start, part.stop)[0])

    def _start(self, data: bytes, start: int, stop: int) -> None:
        for part in fields(data, start, stop):
            if part.kind == BYTES and part.number == 1:
                self._parameter(data, part)
            elif part.kind == BYTES and part.number in (2, 3):
                self.has_addresses |= part.stop > part.start
            elif part.kind == BYTES and part.number == 4:
                self.group = text(data[part.start : part.stop]) or None

    def _parameter(self, data: bytes, entry: Field) -> None:
        name, value = "", None
        for number, kind, start, stop in fields(data, entry.start, entry.stop):
            if number == 1 and kind == BYTES:
                name = text(data[start:stop])
            elif number == 2 and kind == BYTES:
                value = _scalar(data, start, stop)
        if value is None or not name:
            self.unread += 1
        else:
            self.parameters[name] = value


def parse_event(data: bytes, start: int, stop: int) -> Event:
    """The event in data[start:stop]; raises NotAMessage."""
    event = Event()
    numbers = []
    at = start
    for part in fields(data, start, stop):
        number, kind = part.number, part.kind
        numbers.append(number)
        if number == _EVENT_WALL_TIME and kind == FIXED64:
            (event.wall_time,) = struct.unpack_from("<d", data, part.start)
        elif number == _EVENT_STEP and kind == VARINT:
            event.step = signed(varint(data, part.start, part.stop)[0])
        elif number == _EVENT_SUMMARY and kind == BYTES:
            event.rest = at
            values = chosen(data, part.start, part.stop, 1, BYTES)
            event.values += [_value(data, value) for value in values]
        elif _OTHER_EVENTS.get(number) == kind:
            event.values.clear()
        at = part.stop
    event.is_plain = numbers in ([1, 2, 5], [1, 5])
    return event


def _value(data: bytes, whole: Field) -> Value:
    value = Value()
    for number, kind, start, stop in fields(data, whole.start, whole.stop):
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
    for part in chosen(data, start, stop, 1, BYTES):
        for number, kind, begin, end in fields(data, part.start, part.stop):
            if number == 1 and kind == BYTES:
                value.plugin = data[begin:end] or None
            elif number == 2 and kind == BYTES:
                value.content = data[begin:end]


def _tensor(data: bytes, start: int, stop: int) -> tuple[float | None, int, str]:
    """The number of a tensor that holds one, where it lies, and in which form; None for any other tensor."""
    parts = list(fields(data, start, stop))
    dtype, elements = 0, 1
    for part in parts:
        if part.number == _TENSOR_DTYPE and part.kind == VARINT:
            dtype = varint(data, part.start, part.stop)[0]
        elif part.number == _TENSOR_SHAPE and part.kind == BYTES:
            elements *= _elements(data, part)
    if dtype not in _CONTENT or elements != 1:
        return None, 0, ""
    content = [part for part in parts if part.number == _TENSOR_CONTENT and part.kind == BYTES]
    if content and content[-1].stop > content[-1].start:
        return _from_content(data, dtype, content[-1])
    return _from_list(data, dtype, [part for part in parts if part.number == _LISTS[dtype]])


def _elements(data: bytes, shape: Field) -> int:
    """How many elements a shape has; 0 if it doesn't say."""
    product = 1
    for number, kind, start, stop in fields(data, shape.start, shape.stop):
        if number == 2 and kind == BYTES:
            sizes = [varint(data, part.start, part.stop)[0] for part in chosen(data, start, stop, 1, VARINT)]
            product = min(product * sizes[-1], 2) if sizes else 0
        elif number == 3 and kind == VARINT and varint(data, start, stop)[0]:
            product = 0
    return product


def _from_content(data: bytes, dtype: int, content: Field) -> tuple[float | None, int, str]:
    code, raw = _CONTENT[dtype], data[content.start : content.stop]
    if len(raw) != struct.calcsize(code):
        return None, 0, ""
    if dtype == _BFLOAT16:
        return _bfloat16(raw), 0, ""
    return float(struct.unpack(code, raw)[0]), content.start, "" if code == "<?" else code


def _from_list(data: bytes, dtype: int, parts: list[Field]) -> tuple[float | None, int, str]:
    """The only number of a repeated field, packed or not."""
    kind, code = _FLOATS.get(dtype, (VARINT, ""))
    places = []
    for part in parts:
        at = part.start
        while at < part.stop and part.kind in (kind, BYTES):
            places.append(at)
            at = at + struct.calcsize(code) if code else varint(data, at, part.stop)[1]
            if at > part.stop:
                raise NotAMessage
    if len(places) != 1:
        return None, 0, ""
    if code:
        return float(struct.unpack_from(code, data, places[0])[0]), places[0], code
    number = varint(data, places[0], len(data))[0]
    if dtype in (_HALF, _BFLOAT16):
        raw = struct.pack("<H", number & 0xFFFF)
        return float(struct.unpack("<e", raw)[0]) if dtype == _HALF else _bfloat16(raw), 0, ""
    return float(number if dtype in _UNSIGNED else signed(number)), 0, ""


def _bfloat16(raw: bytes) -> float:
    """The number of which these are the upper two bytes."""
    number: float = struct.unpack("<f", bytes(2) + raw)[0]
    return number


def text(data: bytes) -> str:
    """Text as it was meant to be UTF-8; what isn't is shown as escapes."""
    return data.decode("utf-8", "backslashreplace")


def _scalar(data: bytes, start: int, stop: int) -> Scalar | None:
    """A number, text or flag. The message has no integers: a whole number is given back as one."""
    value: Scalar | None = None
    for part in fields(data, start, stop):
        if part.number == 2 and part.kind == FIXED64:
            number: float = struct.unpack_from("<d", data, part.start)[0]
            whole = math.isfinite(number) and number.is_integer() and abs(number) < LARGEST_EXACT_INTEGER
            value = int(number) if whole else number
        elif part.number == 3 and part.kind == BYTES:
            value = text(data[part.start : part.stop])
        elif part.number == 4 and part.kind == VARINT:
            value = varint(data, part.start, part.stop)[0] != 0
        else:
            value = None
    return value

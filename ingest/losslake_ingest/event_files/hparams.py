"""What TensorBoard's HParams plugin says of a session: its hyperparameters, its group, and how it ended.

Messages: tensorboard/plugins/hparams/plugin_data.proto and google/protobuf/struct.proto; they lie in the metadata of a
summary value, as content of the plugin `hparams`.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field

from losslake_ingest.event_files.wire import BYTES, FIXED64, VARINT, Field, fields, varint
from losslake_ingest.run_log import Scalar
from losslake_ingest.study import LARGEST_EXACT_INTEGER

PLUGIN = b"hparams"
_STATUSES = {1: "success", 2: "failure", 3: "running"}


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
                self._end(content, start, stop)

    def _start(self, data: bytes, start: int, stop: int) -> None:
        for part in fields(data, start, stop):
            if part.kind != BYTES:
                continue
            if part.number == 1:
                self._parameter(data, part)
            elif part.number in (2, 3):
                self.has_addresses |= part.stop > part.start
            elif part.number == 4:
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

    def _end(self, data: bytes, start: int, stop: int) -> None:
        for part in fields(data, start, stop):
            if part.number == 1 and part.kind == VARINT:
                self.status = _STATUSES.get(varint(data, part.start, part.stop)[0])


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

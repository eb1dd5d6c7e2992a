"""Reader of `.wandb` files, which the library writes during training (the only file of offline runs).

The records are `wandb_internal.Record` messages; the numbers below are those of its .proto file. For records about
people, machines and code, only the kind of private data is noted.
Source: https://github.com/wandb/wandb/blob/main/wandb/proto/wandb_internal.proto.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import orjson

from losslake_ingest.contracts.run_log import Damage, RunLog
from losslake_ingest.readers import private
from losslake_ingest.readers.private import without_words
from losslake_ingest.readers.protobuf import BYTES, NotAMessage, fields, signed, values
from losslake_ingest.readers.safe_parsing import read_json
from losslake_ingest.readers.wandb_files.config import Config
from losslake_ingest.readers.wandb_files.history import MEDIA, MOST_COLUMNS, HistoryRow, HistoryTable
from losslake_ingest.readers.wandb_files.records import RecordLog

# Record
_HISTORY, _OUTPUT, _CONFIG, _OUTPUT_RAW, _RUN, _EXIT, _ENVIRONMENT = 2, 4, 5, 13, 17, 18, 26
# RunRecord
_RUN_NAMES = {1: "run_id", 3: "project", 6: "run_group", 7: "job_type", 8: "run_name", 12: "sweep_id"}
_RUN_CONFIG, _START_TIME = 4, 17
_RUN_PRIVATE = {2: private.ENTITY, 9: private.NOTES, 13: private.HOST, 21: private.GIT}
# EnvironmentRecord
_ENVIRONMENT_PRIVATE = {
    **dict.fromkeys((5, 6, 7, 8, 14), private.CODE),
    **dict.fromkeys((9, 15), private.GIT),
    **dict.fromkeys((1, 2, 4, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30), private.ENVIRONMENT),
    10: private.EMAIL,
    11: private.PATHS,
    12: private.HOST,
    13: private.USER,
}
_IDENTIFYING = (private.ENTITY, private.HOST, private.USER, private.EMAIL)
_MOST_WORDS, _LONGEST_WORD = 20, 200
# ConfigRecord, ConfigItem, HistoryRecord, HistoryItem, HistoryStep, Timestamp, RunExitRecord
_UPDATE, _REMOVE = 1, 2
_KEY, _NESTED_KEY, _VALUE_JSON = 1, 2, 16
_ITEM, _STEP = 1, 2
_BOOLEAN, _INTEGER, _NUMBER, _TEXT, _JSON = 4, 5, 6, 7, 8
_EXIT_CODE, _NOT_COMPLETE = 1, 3
_ITEM_TAG = 0x0A
_NAME_TAGS = b"\x0a\x12"
_VALUE_JSON_TAG = b"\x82\x01"
_BATCH_BYTES = 1 << 20

# A row of plain items. Their delimiters are control bytes, which such names and values can't contain.
_PLAIN_ITEM = rb"\n[\0-\x7f][\n\x12]([\0-\x7f])([ -~]{1,120})\x82\x01([\0-\x7f])([-+.0-9A-Za-z]{1,120})"
_PLAIN_ITEMS = re.compile(_PLAIN_ITEM)
_PLAIN_ROW = re.compile(rb"(?:%b)+(?:\x12[\0-\x0b][\0-\xff]{0,11})?" % _PLAIN_ITEM)


class OfflineRun:
    """The run in a `.wandb` file."""

    def __init__(self, data: bytes) -> None:
        self._remarks: Counter[str] = Counter()
        self._private: set[str] = set()
        self._config = Config(self._private, self._remarks)
        self._names = Config(self._private, self._remarks)
        self._table = HistoryTable(self._private, self._remarks)
        self._words: dict[str, str] = {}
        self._status: str | None = None
        self._started_at: float | None = None
        self._rows: list[HistoryRow] = []
        self._pending = 0
        self._handlers: dict[int, Callable[[bytes], None]] = {
            _HISTORY: self._read_history,
            _CONFIG: self._read_config,
            _RUN: self._read_run,
            _EXIT: self._read_exit,
            _ENVIRONMENT: self._read_environment,
            _OUTPUT: self._note_output,
            _OUTPUT_RAW: self._note_output,
        }
        self._read(data)

    def run_log(self, path: str, sha256: str) -> RunLog:
        """Return the run. Its rows are empty if no history was readable."""
        parameters, kinds = without_words(self._config.fields, self._words)
        names, name_kinds = without_words(self._names.fields, self._words)
        if "run_id" in names:
            names["run"] = names["run_id"]
        return RunLog(
            path,
            {path: sha256},
            self._table.rows(),
            {**parameters, **names},
            parameters,
            self._status or "no exit record",
            self._started_at,
            private=sorted(kinds | name_kinds | self._private),
            remarks=dict(+self._remarks),
        )

    def _read(self, data: bytes) -> None:
        records = RecordLog(data)
        for record in records:
            try:
                for number, kind, start, stop in fields(record, 0, len(record)):
                    handler = self._handlers.get(number)
                    if handler is not None and kind == BYTES:
                        handler(record[start:stop])
            except NotAMessage:
                self._remarks[Damage("a record that isn't a protocol buffer: left out")] += 1
        self._table.add(self._rows)
        self._remarks[Damage("a damaged block: skipped")] += records.damaged_blocks
        self._remarks["a record of more than 4 MiB: left out"] += records.too_long
        self._remarks[Damage("the file is cut short: everything before the cut was read")] += records.is_cut
        self._remarks["the log has no record of the run's end"] += self._status is None

    def _read_history(self, message: bytes) -> None:
        self._rows.append(_history_row(message, self._remarks))
        self._pending += len(message)
        if self._pending > _BATCH_BYTES:
            self._table.add(self._rows)
            self._rows, self._pending = [], 0

    def _read_config(self, message: bytes) -> None:
        for number, item in values(message):
            if isinstance(item, bytes):
                name, value = _item(item)
                if number == _UPDATE:
                    self._config.set(name, value)
                elif number == _REMOVE:
                    self._config.drop(name)

    def _read_run(self, message: bytes) -> None:
        for number, value in values(message):
            if number in _RUN_PRIVATE and value:
                self._note(_RUN_PRIVATE[number], value)
            elif not isinstance(value, bytes):
                continue
            elif number in _RUN_NAMES:
                self._names.set_name(_RUN_NAMES[number], value.decode("utf-8", "replace"))
            elif number == _RUN_CONFIG:
                self._read_config(value)
            elif number == _START_TIME and self._started_at is None:
                seconds, nanos = _integer(value, 1), _integer(value, 2)
                self._started_at = None if seconds is None or nanos is None else seconds + nanos / 1e9

    def _read_exit(self, message: bytes) -> None:
        exit_record = dict(values(message))
        if not exit_record.get(_NOT_COMPLETE):
            self._status = "failed" if exit_record.get(_EXIT_CODE) else "finished"

    def _read_environment(self, message: bytes) -> None:
        for number, value in values(message):
            if value and number in _ENVIRONMENT_PRIVATE:
                self._note(_ENVIRONMENT_PRIVATE[number], value)

    def _note(self, kind: str, value: int | bytes) -> None:
        """Note a kind of private data. Names of people and machines are removed from all other fields."""
        self._private.add(kind)
        if kind in _IDENTIFYING and isinstance(value, bytes) and len(self._words) < _MOST_WORDS:
            self._words[value[:_LONGEST_WORD].decode("utf-8", "replace")] = kind

    def _note_output(self, _message: bytes) -> None:
        self._private.add(private.CONSOLE)


@lru_cache(MOST_COLUMNS)
def _name(raw: bytes) -> str:
    """Decode the name of a column, cached: a run repeats few names many times."""
    return raw.decode("utf-8", "replace")


def _history_row(message: bytes, remarks: Counter[str]) -> HistoryRow:
    """Return the values of one `log()` by name."""
    plain = _plain_row(message)
    if plain is not None:
        return plain
    names: list[bytes] = []
    texts: list[bytes] = []
    other_items: dict[str, Any] = {}
    step: int | None = None
    at, end = 0, len(message)
    while at < end:
        place = _short_item(message, at, end)
        if place:
            names.append(message[at + 4 : place])
            at += 2 + message[at + 1]
            texts.append(message[place + 3 : at])
            continue
        number, kind, start, at = next(fields(message, at, end))
        if kind == BYTES and number == _STEP:
            step = _integer(message[start:at], 1)
        elif kind == BYTES and number == _ITEM:
            name, value = _item(message[start:at])
            other_items[name] = value
    row = _parsed(names, texts) | other_items
    if step is not None and "_step" not in row:
        row["_step"] = step
    return _without_media(row, remarks) if b"_type" in message else row


def _plain_row(message: bytes) -> HistoryRow | None:
    """Parse a row of plain numbers and words with its step by one regular expression; None for other rows."""
    if not _PLAIN_ROW.fullmatch(message):
        return None
    name_sizes, names, sizes, texts = zip(*_PLAIN_ITEMS.findall(message), strict=True)
    if b"".join(name_sizes) != bytes(map(len, names)) or b"".join(sizes) != bytes(map(len, texts)):
        return None
    row = _parsed(names, texts)
    return row if "_step" in row else None


def _short_item(message: bytes, at: int, end: int) -> int:
    """Return the offset of the value of a short item (one name, one JSON text, below 128 bytes), else 0."""
    if at + 7 > end or message[at] != _ITEM_TAG or message[at + 1] >= 0x80 or message[at + 3] >= 0x80:
        return 0
    place = at + 4 + message[at + 3]
    following = at + 2 + message[at + 1]
    is_short = (
        place + 3 <= following <= end
        and message[place : place + 2] == _VALUE_JSON_TAG
        and place + 3 + message[place + 2] == following
        and message[at + 2] in _NAME_TAGS
    )
    return place if is_short else 0


def _integer(message: bytes, number: int) -> int | None:
    """Return the int64 in a field of a message; 0 if absent, None if it isn't an integer."""
    value = dict(values(message)).get(number, 0)
    return signed(value) if isinstance(value, int) else None


def _parsed(names: Sequence[bytes], texts: Sequence[bytes]) -> HistoryRow:
    """Return the values by name, parsed together if possible."""
    try:
        row = orjson.loads(b"[%b]" % b",".join(texts))
    except orjson.JSONDecodeError:
        row = []
    return dict(zip(map(_name, names), row if len(row) == len(names) else map(read_json, texts), strict=True))


def _item(message: bytes) -> tuple[str, Any]:
    """Return the name and value of a ConfigItem or HistoryItem; binary values take precedence over text."""
    nested: list[str] = []
    name = ""
    text: bytes | None = None
    typed: Any = None
    for number, value in values(message):
        if isinstance(value, int):
            if number == _BOOLEAN:
                typed = bool(value)
            elif number == _INTEGER:
                typed = (value >> 1) ^ -(value & 1)  # a zigzag number
        elif number == _KEY:
            name = value.decode("utf-8", "replace")
        elif number == _NESTED_KEY:
            nested.append(value.decode("utf-8", "replace"))
        elif number == _NUMBER:
            if len(value) != 8:
                raise NotAMessage
            (typed,) = struct.unpack("<d", value)
        elif number == _TEXT:
            typed = value.decode("utf-8", "replace")
        elif number in (_JSON, _VALUE_JSON):
            text = value
    if typed is None and text is not None:
        typed = read_json(text)
    return ".".join(nested) or name, typed


def _without_media(row: HistoryRow, remarks: Counter[str]) -> HistoryRow:
    """Return the row without the leaves of media objects, which have an item named `…._type`."""
    media = tuple(f"{name.removesuffix('._type')}." for name in row if name.endswith("._type"))
    if not media:
        return row
    remarks[MEDIA] += len(media)
    return {name: value for name, value in row.items() if not name.startswith(media)}

"""The configuration of a W&B run as flat fields, from config.yaml or JSON, without private data.

config.yaml holds `key: {value: …}` for each key (older versions add `desc`). It is read without aliases and tags, and
numbers follow YAML 1.2 (and of W&B's writer), so that `1e-05` is one.
Sources: https://docs.wandb.ai/guides/track/config; https://yaml.org/spec/1.2.2/#103-core-schema.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import orjson
import yaml

from losslake_ingest.contracts.run_log import Scalar
from losslake_ingest.readers.private import LONGEST_TEXT, private_key, private_text
from losslake_ingest.readers.safe_parsing import clean_text, read_yaml

LARGEST_CONFIG = 2**18
MOST_FIELDS = 10_000
DEEPEST = 32
_LONGEST_KEY = 300
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_WORDS: dict[str, Scalar | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}


@dataclass
class Config:
    """Flat fields of a run's configuration, the kinds of private data that were dropped, and remarks."""

    private: set[str] = field(default_factory=set)
    remarks: Counter[str] = field(default_factory=Counter)
    _by_key: dict[str, dict[str, Scalar]] = field(default_factory=dict)
    _size: int = 0

    @property
    def fields(self) -> dict[str, Scalar]:
        """All fields by flat name; later values override earlier ones."""
        return {name: value for fields in self._by_key.values() for name, value in fields.items()}

    def set(self, key: str, value: object) -> None:
        """Set a key to a JSON value. Objects are flattened with `.`; short lists become JSON text."""
        self.drop(key)
        fields: dict[str, Scalar] = {}
        for name, leaf in self._leaves(key, value, 0):
            self._add_leaf(fields, name, leaf)
        self._size += len(fields)
        self._by_key[key] = fields

    def drop(self, key: str) -> None:
        """Remove a key."""
        self._size -= len(self._by_key.pop(key, ()))

    def set_name(self, name: str, text: str) -> None:
        """Add a name from W&B, such as the run's, unless it is private."""
        kind = private_text(text)
        if kind:
            self.private.add(kind)
        elif text and len(text) <= LONGEST_TEXT:
            self._by_key[name] = {name: clean_text(text)}

    def _leaves(self, key: str, value: object, depth: int) -> Iterator[tuple[str, object]]:
        if not isinstance(value, dict):
            yield key, value
        elif depth == DEEPEST or len(key) > _LONGEST_KEY:
            self.remarks["a value of the config is nested too deeply: left out"] += 1
        else:
            for name, inner in value.items():
                yield from self._leaves(f"{key}.{name}", inner, depth + 1)

    def _add_leaf(self, fields: dict[str, Scalar], key: str, value: object) -> None:
        if value is None:
            return
        if isinstance(value, list):
            if not all(isinstance(item, str | int | float) for item in value):
                self.remarks["a list of objects or lists in the config: left out"] += 1
                return
            items = [clean_text(item) if isinstance(item, str) else item for item in value]
            value = orjson.dumps(items).decode()
        kind = private_key(key, isinstance(value, str)) or private_text(key)
        if kind is None and isinstance(value, str):
            kind = private_text(value)
        if kind:
            self.private.add(kind)
        elif isinstance(value, str) and len(value) > LONGEST_TEXT:
            self.remarks[f"a text of the config is longer than {LONGEST_TEXT} characters: left out"] += 1
        elif len(key) > _LONGEST_KEY or self._size + len(fields) >= MOST_FIELDS:
            self.remarks["a key of the config is too long, or there are too many: left out"] += 1
        elif isinstance(value, str | int | float):
            fields[clean_text(key)] = clean_text(value) if isinstance(value, str) else value


def read_config_yaml(data: bytes) -> Config:
    """Parse a config.yaml. Raises ValueError with the reason if it can't be used."""
    if len(data) > LARGEST_CONFIG:
        raise ValueError(f"it has more than {LARGEST_CONFIG:,} bytes")
    try:
        document = read_yaml(data, _scalar, DEEPEST)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        raise ValueError("it isn't YAML" + (f" (line {line + 1})" if line is not None else "")) from None
    config = Config()
    for key, entry in document.items() if isinstance(document, dict) else ():
        if isinstance(entry, dict) and "value" in entry:
            config.set(key, entry["value"])
        elif key not in ("wandb_version", "_wandb"):
            config.remarks["a key of config.yaml has no `value`: left out"] += 1
    return config


def _scalar(event: yaml.Event) -> Scalar | None:
    if isinstance(event, yaml.AliasEvent):
        raise ValueError("it has an alias (`*name`), which W&B never writes")
    if not isinstance(event, yaml.ScalarEvent):
        raise ValueError(f"it is nested more than {DEEPEST} levels deep")
    text = str(event.value)
    if not event.implicit[0]:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text

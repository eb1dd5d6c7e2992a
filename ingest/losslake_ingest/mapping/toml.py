"""TOML keys and values, of the lines that a mapping lacks, and the names of fields and columns in `names.toml`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from losslake_ingest.contracts.run_log import Scalar
from losslake_schema.package_files import read_toml


def toml_key(text: str) -> str:
    """Return a TOML key, quoted if needed."""
    return text if re.fullmatch(r"[A-Za-z0-9_-]+", text) else toml_string(text)


def toml_value(value: Scalar) -> str:
    """Return a value as TOML."""
    return toml_string(value) if isinstance(value, str) else str(value).lower()


def toml_string(text: str) -> str:
    """Return a text as a TOML basic string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else _escaped(ord(c)) for c in escaped) + '"'


def _escaped(code: int) -> str:
    """Return an escape; TOML has none for half a surrogate pair."""
    return "?" if 0xD800 <= code <= 0xDFFF else f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def names_of(section: str) -> Mapping[str, Sequence[str]]:
    """Return the names in a section of `names.toml`, or of the words that the recorder has, by what they mean."""
    words: Mapping[str, Mapping[str, Sequence[str]]] = read_toml("losslake.record", "data/words.toml")
    return words[section] if section in ("splits", "quantities") else _names()[section]


def _names() -> Mapping[str, Mapping[str, Sequence[str]]]:
    return read_toml("losslake_ingest.mapping", "names.toml")

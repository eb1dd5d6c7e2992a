"""TOML keys and values, of the lines that a mapping lacks, and the names of fields and columns in `names.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources

from losslake_ingest.contracts.run_log import Scalar


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
    """Return the names in a section of `names.toml`, by what they mean."""
    file = resources.files("losslake_ingest.mapping").joinpath("names.toml")
    names: Mapping[str, Sequence[str]] = tomllib.loads(file.read_text("utf-8"))[section]
    return names

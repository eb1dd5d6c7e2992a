"""Keys that a JSON object has twice, with different values: a parser keeps the last of them without a word.

What such an object means is open (RFC 8259, section 4), so nothing of it is stored.
"""

from __future__ import annotations

import json
from typing import Any

from losslake_ingest.contracts.rules import shown


class RepeatedKey(ValueError):
    """A JSON object has a key twice, with different values."""


def surely_distinct(text: bytes, n_keys: int) -> bool:
    """Return True if a JSON text can't repeat a key, as all its objects together have n_keys different ones.

    Fast, but False as well where a string contains what looks like the end of a key.
    """
    if text.count(b":") == n_keys:
        return True
    return text.count(b'":') == n_keys and not (b" :" in text or b"\t:" in text or b"\n:" in text or b"\r:" in text)


def check_repeats(text: bytes, parsed: Any) -> None:
    """Raise RepeatedKey if a JSON text, which has been parsed, repeats a key with another value."""
    try:
        if not surely_distinct(text, _n_keys(parsed)):
            json.loads(text.decode("utf-8", "replace"), object_pairs_hook=distinct_pairs)
    except RecursionError:
        raise RepeatedKey("the JSON is nested too deeply") from None


def distinct_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of some pairs, as json's `object_pairs_hook`. Raises RepeatedKey."""
    found = dict(pairs)
    if len(found) < len(pairs):
        for name, value in pairs:
            if repr(found[name]) != repr(value):
                raise RepeatedKey(f"{shown(name)} is twice in one JSON object, with different values")
    return found


def _n_keys(parsed: Any) -> int:
    """Return the number of keys in all objects of a document."""
    n_keys = 0
    values = parsed
    if type(parsed) is dict:
        n_keys, values = len(parsed), parsed.values()
    elif type(parsed) is not list:
        return 0
    for value in values:
        if type(value) is dict or type(value) is list:
            n_keys += _n_keys(value)
    return n_keys

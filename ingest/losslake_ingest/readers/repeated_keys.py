"""Keys that a JSON object has twice, with different values: parsers silently keep the last one.

What such an object means is open (RFC 8259, section 4), so nothing of it is stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from losslake_ingest.contracts.rules import Refusal, Rule, shown


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


def check_lines(block: bytes, numbers: Iterable[int], lines: Sequence[bytes], values: Sequence[Any]) -> None:
    """Raise Refusal, with the line, if an object in a block of lines repeats a key with another value.

    numbers, values: of each line. Only objects are checked.
    """
    if surely_distinct(block, sum(len(value) for value in values if type(value) is dict)):
        return
    for number, line, value in zip(numbers, lines, values, strict=True):
        if type(value) is dict:
            try:
                check_repeats(line, value)
            except RepeatedKey as error:
                raise Refusal(Rule.VALUES_DISAGREE, f"{error}: it is unclear which one counts", number) from None


def nested_twin(name: str, line: int | None = None) -> Refusal:
    """Return the refusal of a key `a.b` beside another value of `b` in an object `a`."""
    message = f"{shown(name)} is there twice, as a key and nested, and differs"
    return Refusal(Rule.VALUES_DISAGREE, message, line)


def distinct_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of some pairs, as json's `object_pairs_hook`. Raises RepeatedKey."""
    document = dict(pairs)
    if len(document) < len(pairs):
        for name, value in pairs:
            if repr(document[name]) != repr(value):
                raise RepeatedKey(f"{shown(name)} is there twice, with different values")
    return document


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

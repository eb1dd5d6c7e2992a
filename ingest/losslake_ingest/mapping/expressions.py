"""The section `[text]` of a mapping: regular expressions for the lines of a text log, matched by RE2 in linear time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import AfterValidator, Field

MOST_EXPRESSIONS = 50
LONGEST_EXPRESSION = 1_000


def _compiled(expression: str) -> str:
    """Return the expression. Raises ValueError if RE2 can't compile it."""
    try:
        pc.match_substring_regex(pa.array([b""], pa.binary()), expression)
    except pa.ArrowInvalid as error:
        raise ValueError(f"[text] {expression!r}: {error}") from None
    return expression


def _checked(expression: str) -> str:
    """Return the expression. Raises ValueError if RE2 can't compile it, or it has no named group."""
    try:
        groups = find_groups(pa.array([b""], pa.binary()), expression).type
    except pa.ArrowInvalid as error:
        why = str(error).replace("(?m)", "").replace("unnamed groups", "an unnamed group: write (?:…) or (?P<name>…)")
        raise ValueError(f"[text] {expression!r}: {why}") from None
    if not groups.num_fields:
        raise ValueError(f"[text] {expression!r}: no named group: write (?P<name>…) around each value")
    names = [group.name for group in groups]
    if len(set(names)) < len(names):
        raise ValueError(f"[text] {expression!r}: two groups have one name")
    return expression


_Expression = Annotated[str, Field(strict=True, max_length=LONGEST_EXPRESSION), AfterValidator(_checked)]
_Line = Annotated[str, Field(strict=True, max_length=LONGEST_EXPRESSION), AfterValidator(_compiled)]
_Expressions = Annotated[list[_Expression], Field(max_length=MOST_EXPRESSIONS)]


def find_groups(lines: pa.Array, expression: str) -> pa.StructArray:
    """Match each line (bytes); return where each named group is, as offset and length, null where it doesn't match.

    Raises pa.ArrowInvalid for a wrong expression.
    """
    return pc.extract_regex_span(lines, f"(?m){expression}")


@dataclass(frozen=True)
class TextLines:
    """The expressions for a text log.

    lines: of lines with values; each named group is a column. constants: each named group is a field of the run.
    carried: columns that a line without them takes from the line before that has them. starts: of the first line of
    each run, in a file with several.
    """

    lines: _Expressions = field(default_factory=list)
    constants: _Expressions = field(default_factory=list)
    carried: list[str] = field(default_factory=list)
    starts: _Line | None = None

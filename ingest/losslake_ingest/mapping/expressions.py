"""The section `[text]` of a mapping: regular expressions for the lines of a text log, matched by RE2 in linear time."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Annotated, Literal

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import AfterValidator, Field

MOST_EXPRESSIONS = 50
LONGEST_EXPRESSION = 1_000
_TOKEN = re.compile(
    r"\(\?P<(?P<name>\w+)>|(?P<flags>\(\?[a-zA-Z]+\))|(?P<open>\((?:\?:)?)|(?P<close>\))|(?P<times>[*+?]\??|\{[0-9,]+\}\??)"
    r"|(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])|(?P<letter>[A-Za-z_])|(?P<between>\\[^A-Za-z0-9]|\\[stbW]|[^\w\\.])|(?P<any>\\?.)",
    re.DOTALL,
)
_SET_BETWEEN = re.compile(r"\[(?:\\[^A-Za-z0-9]|\\[stW]|[^\w\\^])*\]")


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


def words_before(expression: str) -> dict[str, str]:
    """Return the word directly before each named group, as an expression: `Epochs?` for `Epochs? *(?P<epoch>…)`.

    Groups without one are left out, as after `.*`.
    """
    words: dict[str, str] = {}
    word, last = "", ""
    for token in _TOKEN.finditer(expression):
        kind, text = token.lastgroup or "", token[0]
        if kind == "letter":
            word = word + text if last in ("letter", "times of letter") else text
        elif kind == "times":
            kind = f"times of {last}"
            word = word + text if last == "letter" else "" if last in ("any", "close") else word
        elif kind == "name":
            words |= {token["name"]: word} if len(re.findall("[A-Za-z]", word)) > 1 else {}
            word = ""
        elif kind == "any" and text.isdigit() and last == "letter":
            word, kind = word + text, "letter"
        elif (kind == "any" and text != ".") or (kind == "set" and not _SET_BETWEEN.fullmatch(text)):
            word = ""
        last = kind
    return words


def letters_after(expression: str) -> dict[str, str]:
    """Return the letter directly after each named group, where one stands there."""
    letters: dict[str, str] = {}
    opened: list[str] = []
    closed = ""
    for token in _TOKEN.finditer(expression):
        if closed and token.lastgroup == "letter":
            letters[closed] = token[0]
        closed = opened.pop() if token.lastgroup == "close" and opened else ""
        if token.lastgroup in ("name", "open"):
            opened.append(token["name"] or "")
    return letters


@dataclass(frozen=True)
class TextLines:
    """The expressions for a text log.

    lines: of lines with values; each named group is a column. constants: each named group is a field of the run.
    carried: columns that a line without them takes from the nearest line that has them. carried_from: where that line
    stands; without it, the log has to show it. starts: of the first line of each run, in a file with several.
    """

    lines: _Expressions = field(default_factory=list)
    constants: _Expressions = field(default_factory=list)
    carried: list[str] = field(default_factory=list)
    carried_from: Literal["above", "below"] | None = None
    starts: _Line | None = None

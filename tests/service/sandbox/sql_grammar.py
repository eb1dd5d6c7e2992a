"""Statements from a grammar, and statements that are spoiled, for tests of admission."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from hypothesis import strategies as st

_SYMBOL = re.compile(r"<([a-z_]+)([?*]?)>")
_TOKEN = re.compile(r"\s+|\w+|'[^']*'|\"[^\"]*\"|.", re.DOTALL)
# Expressions end where the statement is as deep as that.
_DEEPEST = 7
# What is put into good statements.
_NOISE = [
    "''", '""', "'", '"', "(", ")", "()", "[", "]", "{", "}", ",", ";", ".", "..", ":", "::", "*", "$", "$$", "?", "--",
    "/*", "\\", "\n", "\x01", "\u200b", "\u202e", "é", "𝄞", "FROM", "FROM ''", "SELECT", "AS", "NULL", "DEFAULT",
    "COLUMNS(*)", "EXCLUDE", "IN", "PIVOT", "LATERAL", "WITH", "current_user", "@", "#1", "->", ":=", "=>", "1", "-0",
]  # fmt: skip


@cache
def _grammar() -> dict[str, list[str]]:
    """Return the alternatives of each symbol of sql.grammar."""
    alternatives: dict[str, list[str]] = {}
    symbol = ""
    for line in Path(__file__).with_name("sql.grammar").read_text("utf-8").splitlines():
        if line.startswith("  "):
            alternatives[symbol].append(line.strip().replace("\\n", "\n").replace("\\r", "\r"))
        elif not line.startswith("#"):
            symbol = line
            alternatives[symbol] = []
    return alternatives


@cache
def _depths() -> dict[str, int]:
    """Return how deep the flattest alternative of each symbol is."""
    depths: dict[str, int] = {}
    while len(depths) < len(_grammar()):
        known = {
            symbol: 1 + min(found)
            for symbol, alternatives in _grammar().items()
            if (found := [depth for each in alternatives if (depth := _depth_of(each, depths)) is not None])
        }
        assert known != depths, set(_grammar()) - set(depths)
        depths = known
    return depths


def _depth_of(alternative: str, depths: dict[str, int]) -> int | None:
    """Return the depth of an alternative, None if that of a symbol isn't known."""
    needed = [symbol for symbol, times in _SYMBOL.findall(alternative) if times != "?"]
    return max((depths[symbol] for symbol in needed), default=0) if depths.keys() >= set(needed) else None


@cache
def _choices(symbol: str, room: int) -> st.SearchStrategy[str]:
    """Return the alternatives of a symbol that are at most so deep, or else its flattest ones."""
    alternatives = _grammar()[symbol]
    deep = {each: _depth_of(each, _depths()) or 0 for each in alternatives}
    return st.sampled_from([each for each in alternatives if deep[each] <= max(room, min(deep.values()))])


@st.composite
def _texts(draw: st.DrawFn, symbol: str, room: int) -> str:
    """Draw a text of a symbol."""

    def replaced(match: re.Match[str]) -> str:
        inner, times = match.groups()
        if times == "?" and (room <= 0 or draw(st.booleans())):
            return ""
        count = draw(st.integers(1, 3)) if times == "*" and room > 0 else 1
        return ", ".join(draw(_texts(inner, room - 1)) for _ in range(count))

    return _SYMBOL.sub(replaced, draw(_choices(symbol, room)))


@st.composite
def _spoiled(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> str:
    """Draw a text in which some parts were left out, exchanged, repeated, or replaced by others."""
    parts = _TOKEN.findall(draw(texts))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(parts)))
        other = draw(st.integers(0, len(parts)))
        first, last = min(at, other), max(at, other)
        match draw(st.sampled_from(["leave out", "repeat", "insert", "replace", "move"])):
            case "leave out":
                del parts[at : at + 1]
            case "repeat":
                parts[last:last] = parts[first:last]
            case "insert":
                parts.insert(at, draw(st.sampled_from(_NOISE)))
            case "replace":
                parts[at : at + 1] = [draw(st.sampled_from(_NOISE))]
            case "move":
                parts[at:at] = parts[other : other + 1]
        parts = parts[:500]
    return "".join(parts)


good_statements = st.integers(1, _DEEPEST).flatmap(lambda room: _texts("statement", room))
statements = st.one_of(good_statements, good_statements, _spoiled(good_statements))

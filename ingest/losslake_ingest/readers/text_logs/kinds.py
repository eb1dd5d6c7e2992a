"""Kinds of lines in an unknown log, by the numbers that they name, and an expression for each kind.

A line is a sequence of named numbers with texts between them. Lines of one kind name the same numbers by the same
words; where the texts between differ, their expression takes any text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from losslake_ingest.mapping.expressions import LONGEST_EXPRESSION
from losslake_ingest.mapping.metrics import guess_metric
from losslake_ingest.readers.text_logs import named_numbers
from losslake_ingest.readers.text_logs.named_numbers import GROUPED, STEP_NAMES, TIME_UNIT, Number, head_of, literal

_MOST_STRICT = 3
_MOST_HEADS = 1_000


@dataclass
class Kind:
    """A kind of lines: their numbers, the places of the lines in the log, and what stands before the first number."""

    is_grouped: bool
    numbers: list[Sequence[Number]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of its numbers."""
        return frozenset(number.name for number in self.numbers[0])

    @property
    def has_metric(self) -> bool:
        """Return True if one may be the value of a metric."""
        return any(number.is_metric for number in self.numbers[0])

    @property
    def steps(self) -> frozenset[str]:
        """The names of steps."""
        return self.names & STEP_NAMES

    def expressions(self) -> Iterator[str]:
        """Yield expressions for its lines: for all, from their beginning on, and for those with the same texts."""
        yield self._expression(self.numbers)
        heads = {head_of(head) for head in self.heads[:_MOST_HEADS]}
        if len(heads) <= _MOST_STRICT:
            expression = self._expression(self.numbers)
            after = expression[expression.index(self.numbers[0][0].tail) :]
            yield from (f"^{head}{after}" for head in sorted(heads))
        by_gaps: dict[tuple[str, ...], list[Sequence[Number]]] = {}
        for numbers in self.numbers:
            by_gaps.setdefault(tuple(number.gap for number in numbers), []).append(numbers)
        if len(by_gaps) > 1:
            for same in sorted(by_gaps.values(), key=len, reverse=True)[:_MOST_STRICT]:
                yield self._expression(same)

    def up_to(self, number: Number) -> str:
        """Return an expression for the beginnings of lines up to a number with the same text."""
        before = self._expression(self.numbers).partition(f"(?P<{number.name}>")[0]
        return rf"{re.sub(r'[(][?]P<[a-z_0-9]+>', '(?:', before)}{literal(number.text)}\b"

    def _expression(self, lines: Sequence[Sequence[Number]]) -> str:
        expression = self._joined(lines, is_any=False)
        return expression if len(expression) <= LONGEST_EXPRESSION else self._joined(lines, is_any=True)

    def _joined(self, lines: Sequence[Sequence[Number]], is_any: bool) -> str:
        parts: list[str] = []
        comma = "," if self.is_grouped else ""
        unit = ""
        for same in zip(*lines, strict=True):
            number, gaps = same[0], {each.gap for each in same}
            gap, word = number.gap, r"\b" if re.match(r"\w", number.tail) else ""
            if not parts:
                gap = word + gap if len(gaps) == 1 else word
            elif len(gaps) > 1 or is_any:
                gap = (".*?" if unit else rf"{',?' * self.is_grouped}[^-+.{comma}\w].*?") + word
            figure = rf"[-+.{comma}\w]+?"
            if number.name in STEP_NAMES and all(each.text.replace(",", "").isdigit() for each in same):
                figure = r"\d+(?:,\d{3})*" if self.is_grouped else r"\d+"
            parts.append(f"{literal(unit)}{gap}{number.tail}(?P<{number.name}>{figure})")
            unit = number.unit
        closed = literal(unit) or (r"(?:,?[^-+.,\w]|,?$)" if self.is_grouped else r"(?:[^-+.\w]|\.?$|\.\s)")
        return "".join(parts) + closed


def kinds_of(lines: Sequence[str]) -> list[Kind]:
    """Return the kinds of lines that name numbers, the most frequent first."""
    is_grouped = any(GROUPED.search(line, named_numbers.message_start(line)) for line in lines)
    parsed = [named_numbers.numbers_of(line) for line in lines]
    units: dict[str, set[str]] = {}
    for number in (each for numbers in parsed for each in numbers):
        units.setdefault(number.name, set()).add(number.unit)
    # `0.9s` and `850ms` in one column would be mixed.
    mixed = frozenset(name for name, each in units.items() if len(each) > 1 and any(map(TIME_UNIT.fullmatch, each)))
    kinds: dict[tuple[tuple[str, str, str], ...], Kind] = {}
    for at, numbers in enumerate(parsed):
        if any(number.name in mixed for number in numbers):
            numbers = named_numbers.numbers_of(lines[at], mixed)
        if numbers:
            key = tuple((number.name, number.tail, number.unit) for number in numbers)
            kind = kinds.setdefault(key, Kind(is_grouped))
            kind.numbers.append(numbers)
            kind.lines.append(at)
            kind.heads.append(lines[at][: numbers[0].start])
    by_frequency = sorted(kinds.values(), key=lambda kind: -len(kind.lines))
    _tell_apart(by_frequency)
    return by_frequency


def _tell_apart(kinds: Sequence[Kind]) -> None:
    """Give a quantity without a split another name in each kind of lines that has it in another place.

    `loss: 0.5` may be of training where `Accuracy: 60%, loss: 0.6` is of a test.
    """
    taken: dict[str, tuple[tuple[str, ...], str]] = {}
    for kind in kinds:
        names = [number.name for number in kind.numbers[0]]
        new = {}
        for at, number in enumerate(kind.numbers[0]):
            place, name = (tuple(names[:at]), number.tail), number.name
            if number.is_metric and guess_metric(name.removesuffix("_percent")) is None:
                with_word = [f"{number.word}_{name}"] if number.word else []
                free = [each for each in (*with_word, *(f"{name}_{n}" for n in range(2, 9))) if each not in names]
                new[name] = next((each for each in (name, *free) if taken.setdefault(each, place) == place), name)
        kind.numbers = [[replace(each, name=new.get(each.name, each.name)) for each in line] for line in kind.numbers]


class Reading:
    """The numbers that expressions read from the lines of a log, compared with those that the lines name."""

    def __init__(self, lines: Sequence[str], kinds: Sequence[Kind]) -> None:
        """Take the lines and their kinds."""
        self._bytes = pa.array([line.encode() for line in lines], pa.binary())
        self._named: dict[int, dict[str, str]] = {}
        for kind in kinds:
            for at, numbers in zip(kind.lines, kind.numbers, strict=True):
                self._named[at] = {number.name: number.text for number in numbers}
        self._read: dict[int, set[str]] = {}

    def add(self, expression: str) -> bool:
        """Read the lines with one more expression. Return False, and read none, if it takes another number for one."""
        matches = pc.extract_regex(self._bytes, f"(?m){expression}")
        rows = matches.is_valid().to_numpy(zero_copy_only=False).nonzero()[0]
        values = matches.take(pa.array(rows)).to_pylist()
        for at, groups in zip(rows.tolist(), values, strict=True):
            named = self._named.get(at, {})
            if any(named.get(name) != text.decode("utf-8", "replace") for name, text in groups.items()):
                return False
        for at, groups in zip(rows.tolist(), values, strict=True):
            self._read.setdefault(at, set()).update(groups)
        return True

    def is_read(self, kind: Kind) -> bool:
        """Return True if all numbers of all lines of a kind are read."""
        return all(kind.names <= self._read.get(at, set()) for at in kind.lines)

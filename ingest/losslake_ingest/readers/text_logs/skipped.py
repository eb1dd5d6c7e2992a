"""Lines that no expression matches, by content: values that are lost with them, or the error that ended the run.

A line names a step if it has the word that stands before the axis in an expression, and a number after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from losslake_ingest.contracts.rules import shown
from losslake_ingest.contracts.run_log import CUT_ADVICE, Damage
from losslake_ingest.mapping.expressions import TextLines, words_before
from losslake_ingest.readers.text_logs.numbers import read_numbers
from losslake_schema.reached import Flags, Floats, Integers

_STEP = r"(?:^|[^A-Za-z0-9_]){}[^\w\n+.-]{{0,8}}(?P<step>[0-9][0-9,]*(?:\.[0-9]+)?(?: ?[kKMBGT])?)(?:[^\w.]|\.?$)"
_VALUE = r"(?:^|[^A-Za-z0-9_])(?:{})[^\w\n.-]{{0,8}}[-+]?(?:\.?[0-9]|nan|inf)"
# How a log ends if an error stopped the run.
_ERROR = (
    r"Traceback \(most recent call last\)|[Oo]ut of memory|OutOfMemoryError|\bKilled\b|SIGKILL|\b[Ss]ignal:? 9\b"
    r"|NCCL error|nccl(?:System|Internal|Remote|UnhandledCuda)Error|[Ss]egmentation fault|Bus error|\bCANCELLED\b"
    r"|DUE TO TIME LIMIT|KeyboardInterrupt"
)
CUT = "the last line has no line end"
_LONGEST_SHOWN = 200
_ENDED = 'if it did end there as planned, say status = "COMPLETE" under [run]'
_LOST = 'extend the expression, or give the line one of its own, whose groups have NAME = "" under [metrics]'


class Named(NamedTuple):
    """Lines that name a step, as an expression does: numbers of the lines, their steps, and their texts.

    has_metric: flags of those that also name a metric of the expression.
    """

    lines: Integers
    steps: Floats
    has_metric: Flags
    texts: pa.Array

    def between(self, first: int, stop: int) -> Named:
        """Return those of some lines."""
        at = slice(*np.searchsorted(self.lines, (first, stop)).tolist())
        return Named(self.lines[at], self.steps[at], self.has_metric[at], self.texts[at])

    def shown(self, at: int) -> str:
        """Return a line as a message shows it."""
        return f"line {self.lines[at]:,}, {shown(_text(self.texts[at]))},"


@dataclass
class _Words:
    """The words of an expression as expressions: of its axis, and of its metrics, if it has both. columns: its groups.

    blocks: the lines that name the axis, block by block.
    """

    axis: str
    step: str
    value: str | None
    columns: frozenset[str]
    blocks: list[Named] = field(default_factory=list)

    def named(self) -> Named | None:
        """Return all lines that name the axis, None if there are none."""
        if len(self.blocks) > 1:
            lines, steps, flags, texts = zip(*self.blocks, strict=True)
            arrays = np.concatenate(lines), np.concatenate(steps), np.concatenate(flags)
            self.blocks = [Named(*arrays, pa.concat_arrays(texts))]
        return self.blocks[0] if self.blocks else None


class SkippedLines:
    """The lines of a log that no expression matches: those that name a step, or an error."""

    def __init__(self, text: TextLines, axes: frozenset[str]) -> None:
        """Take the expressions of a mapping."""
        self._words = [words for line in text.lines for words in _words_of(line, axes)]
        self._any = "|".join([_ERROR, *dict.fromkeys(words.step.replace("?P<step>", "?:") for words in self._words)])
        self._errors: list[tuple[Integers, pa.Array]] = []

    def add(self, numbers: Integers, lines: pa.Array) -> None:
        """Add lines, with their numbers in the file."""
        hits = _flags(pc.match_substring_regex(lines, f"(?m){self._any}"))
        if not hits.any():
            return
        numbers, lines = numbers[hits], lines.filter(pa.array(hits))
        errors = _flags(pc.match_substring_regex(lines, _ERROR))
        if errors.any():
            self._errors.append((numbers[errors], lines.filter(pa.array(errors))))
        for words in self._words:
            named_steps = pc.struct_field(pc.extract_regex(lines, f"(?m){words.step}"), "step")
            rows = _flags(named_steps.is_valid())
            if rows.any():
                texts = named_steps.filter(pa.array(rows)).cast(pa.large_binary()).cast(pa.large_string())
                steps, _, _ = read_numbers(texts, is_grouped=True)
                named = lines.filter(pa.array(rows))
                has_metric = np.zeros(len(steps), np.bool_)
                if words.value is not None:
                    has_metric = _flags(pc.match_substring_regex(named, f"(?m){words.value}"))
                words.blocks.append(Named(numbers[rows], steps, has_metric, named))

    def naming(self, between: tuple[int, int], axis: str) -> Sequence[Named]:
        """Return the lines between two that name an axis, by each expression."""
        lines = [words.named() for words in self._words if words.axis == axis]
        return [each.between(*between) for each in lines if each is not None]

    def lost(
        self, between: tuple[int, int], rows: Sequence[tuple[frozenset[str], Floats]], cut: int
    ) -> Iterator[Damage]:
        """Yield a remark for each expression whose rows are lost: lines that name a step without values, and a metric.

        rows: of each table, its columns and the values of its axes. cut: the last line, if it has no line end: its
        metric may be cut off.
        """
        for words in self._words:
            named = words.named()
            if named is None:
                continue
            named = named.between(*between)
            is_lost = named.has_metric | (named.lines == cut)
            for columns, steps in rows:
                if columns & words.columns or not words.columns:
                    is_lost &= ~np.isin(named.steps, steps)
            if is_lost.any():
                at = int(is_lost.argmax())
                step = f"{words.axis} {named.steps[at]:g}"
                if named.lines[at] == cut:
                    yield Damage(f"{CUT}, which names {step}: skipped", cut, CUT_ADVICE)
                else:
                    what = f"a line that names {words.axis} and a value, as {step}, is skipped"
                    yield Damage(f"{what}, since no expression matches it", int(named.lines[at]), _LOST)

    def error_after(self, last: int, stop: int) -> Damage | None:
        """Return a remark on the error in which a run ended, None if it didn't. last: the line of its last value."""
        errors: dict[str, int] = {}
        for numbers, lines in self._errors:
            for at in np.flatnonzero((numbers > last) & (numbers < stop))[:_LONGEST_SHOWN].tolist():
                error = re.search(_ERROR, _text(lines[at]))
                if error is not None:
                    errors.setdefault(error[0], int(numbers[at]))
        cause = next((error for error in errors if not error.startswith("Traceback")), next(iter(errors), None))
        return Damage(f"the run ends with {shown(cause)}", errors[cause], _ENDED) if cause is not None else None


def _words_of(expression: str, axes: frozenset[str]) -> Iterator[_Words]:
    """Yield the words of an expression for each of its axes."""
    words = words_before(expression)
    flags = "(?i)" if "(?i)" in expression else ""
    metrics = [word for name, word in words.items() if name not in axes]
    value = flags + _VALUE.format("|".join(metrics)) if metrics else None
    for name in words.keys() & axes:
        yield _Words(name, flags + _STEP.format(words[name]), value, frozenset(words) - axes)


def _flags(array: pa.Array) -> Flags:
    flags: Flags = array.to_numpy(zero_copy_only=False)
    return flags


def _text(line: pa.BinaryScalar) -> str:
    text: bytes = line.as_py()
    return text[:_LONGEST_SHOWN].decode("utf-8", "replace").rstrip()

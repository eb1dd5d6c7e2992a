"""Match the lines of a log with an expression, and take the texts of its groups. Refuse a group that cuts a number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from losslake_ingest.contracts.rules import Refusal, Rule, shown
from losslake_ingest.contracts.run_log import check_size
from losslake_ingest.mapping.expressions import find_groups, letters_after
from losslake_ingest.readers.text_logs.numbers import LETTERS
from losslake_schema.reached import Flags, Integers

AT, END = "at", "end"
_BLANKS = " \t\n"
_LONGEST_REST = 8  # bytes of a number, before and after a group, that a message shows
_MINUS = np.isin(np.arange(256), list(b"\0 \t\n=:([{,\"'"))  # what stands before the sign of a number
_IN_WORDS = np.array([chr(code).isalnum() and code < 128 for code in range(256)])
_UNITS = np.isin(np.arange(256), list(LETTERS.encode()))
_BEFORE = np.isin(np.arange(256), list(b"0123456789.-"))  # of a number that a text may be a part of
_AFTER = np.isin(np.arange(256), list(b"0123456789.,eE")) | _UNITS
_COLON = np.arange(256) == ord(":")  # of a time

Bytes = npt.NDArray[np.uint8]
Places = tuple[Integers, Integers]
"""Begin and end of a group in the bytes of a block, line by line; -1 for both where it isn't in the match."""


class Block:
    """Lines of a log. data: their bytes between two margins, so that bytes beside a text can be looked at.

    starts: where each line begins in data. is_cut: the log ends with these lines, and the last one has no line end.
    """

    def __init__(self, lines: pa.Array, is_cut: bool) -> None:
        """Take binary lines that follow each other in their buffer."""
        _, offsets, data = lines.buffers()
        bounds = np.frombuffer(offsets, np.int32)[lines.offset : lines.offset + len(lines) + 1]
        self.lines, self.is_cut = lines, is_cut
        self.data = np.pad(np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]], _LONGEST_REST)
        self.starts: Integers = bounds[:-1].astype(np.int64) - bounds[0] + _LONGEST_REST


@dataclass
class Matches:
    """The matches of one expression: lines, from 1, and the texts of its groups, block by block.

    elapsed: the group with a time. is_cut: a text at the end of the log was left out, since its line has no end.
    """

    expression: str
    elapsed: str | None
    lines: list[Integers] = field(default_factory=list)
    texts: list[pa.StructArray] = field(default_factory=list)
    n_rows: int = 0
    is_cut: bool = False

    def add(self, first: int, block: Block) -> Integers:
        """Add the matches in a block; return the places of their lines in it.

        first: the number of its first line. Raises Refusal if there are too many, or a group is a part of a number.
        """
        matches = find_groups(block.lines, self.expression)
        all_rows = np.flatnonzero(matches.is_valid().to_numpy(zero_copy_only=False))
        if not len(all_rows):
            return all_rows
        groups, rows = _places(matches, block, all_rows), all_rows
        if block.is_cut and rows[-1] == len(block.lines) - 1:
            self._leave_out_cut(groups, len(block.data) - _LONGEST_REST)
        if {AT, END} <= groups.keys():
            at, end = (_texts(block.data, groups[name]) for name in (AT, END))
            ended = pc.equal(at, end).to_numpy(zero_copy_only=False)
            rows = rows[ended]
            groups = {name: (starts[ended], stops[ended]) for name, (starts, stops) in groups.items()}
        self.n_rows += len(rows)
        check_size(self.n_rows, len(groups))
        self._check_whole(block.data, groups, rows + first)
        self.lines.append(rows + first)
        texts = [_texts(block.data, places) for places in groups.values()]
        self.texts.append(pa.StructArray.from_arrays(texts, list(groups)))
        return all_rows

    def _leave_out_cut(self, groups: dict[str, Places], end: int) -> None:
        """Leave out the texts that end where the log does: they may go on."""
        for starts, stops in groups.values():
            if stops[-1] == end:
                starts[-1] = stops[-1] = -1
                self.is_cut = True

    def _check_whole(self, data: Bytes, groups: dict[str, Places], lines: Integers) -> None:
        """Raise Refusal if a group begins or ends within a number, such as `[0-9.]+` in 1.5e-4 or 1.5k.

        It may if another group has the rest, as in `(?P<epoch>[0-9]+)[.](?P<batch>[0-9]+)`, or if the expression names
        the unit, as in `(?P<tokens>[0-9]+)M`.
        """
        for name, (starts, stops) in groups.items():
            others = [places for other, places in groups.items() if other != name]
            is_time, has_unit = name == self.elapsed, self._letters.get(name, " ") in LETTERS
            for is_start, beside in ((True, data[starts - 1]), (False, data[stops])):
                may_go_on = (_BEFORE if is_start else _AFTER) | (_COLON & is_time)
                cut = np.flatnonzero(may_go_on[beside] & (stops > starts))
                if not len(cut):
                    continue
                if is_start:
                    digits = _digit_before(data, starts[cut], is_time)
                else:
                    digits = _digit_after(data, stops[cut], is_time, has_unit)
                cut, digits = cut[digits >= 0], digits[digits >= 0]
                for first, last in others:
                    is_shared = (digits >= first[cut]) & (digits < last[cut])
                    cut, digits = cut[~is_shared], digits[~is_shared]
                if len(cut):
                    raise _cut(data, name, (int(starts[cut[0]]), int(stops[cut[0]])), int(lines[cut[0]]), is_start)

    @cached_property
    def _letters(self) -> dict[str, str]:
        return letters_after(self.expression)

    def between(self, first: int, stop: int) -> Matches:
        """Return the matches in some of the lines, as one block."""
        if len(self.lines) > 1:
            self.lines = [np.concatenate(self.lines)]
            self.texts = [pa.concat_arrays(self.texts)]
        if not self.n_rows:
            return self
        start, end = np.searchsorted(self.lines[0], (first, stop)).tolist()
        return replace(self, lines=[self.lines[0][start:end]], texts=[self.texts[0][start:end]], n_rows=end - start)

    def columns(self) -> Iterator[tuple[str, pa.Array]]:
        """Yield the name and the stripped texts of each group."""
        for at, group in enumerate(self.texts[0].type):
            texts = pa.concat_arrays([part.field(at) for part in self.texts]).cast(pa.large_binary())
            yield group.name, pc.ascii_trim(texts.cast(pa.large_string(), safe=False), characters=_BLANKS)


def _places(matches: pa.StructArray, block: Block, rows: Integers) -> dict[str, Places]:
    """Return where each group is in the bytes of a block."""
    matched = matches.take(pa.array(rows))
    places = {}
    for group, spans in zip(matched.type, matched.flatten(), strict=True):
        is_there = spans.is_valid().to_numpy(zero_copy_only=False)
        pairs = spans.values.to_numpy(zero_copy_only=False).reshape(-1, 2)
        offsets, lengths = (np.where(is_there, pairs[:, at], 0).astype(np.int64) for at in (0, 1))
        starts = np.where(is_there, block.starts[rows] + offsets, -1)
        places[group.name] = starts, starts + lengths
    return places


def _texts(data: Bytes, places: Places) -> pa.Array:
    """Return the texts at some places; an empty one where there is none."""
    starts, stops = places
    lengths = stops - starts
    ends = np.cumsum(lengths)
    at = np.repeat(starts - (ends - lengths), lengths) + np.arange(int(ends[-1]) if len(ends) else 0)
    offsets = np.concatenate(([0], ends)).astype(np.int32)
    return pa.Array.from_buffers(pa.binary(), len(starts), [None, pa.py_buffer(offsets), pa.py_buffer(data[at])])


def _digit_before(data: Bytes, starts: Integers, is_time: bool) -> Integers:
    """Return where the number begins to the left of the texts, -1 where it doesn't: a digit, `1.` or the sign."""
    one, two = data[starts - 1], data[starts - 2]
    digit, point = _is_digit(one), ((one == ord(".")) | (is_time & (one == ord(":")))) & _is_digit(two)
    minus = (one == ord("-")) & _MINUS[two]
    place = np.where(digit | minus, starts - 1, np.where(point, starts - 2, -1))
    return np.where(_is_digit(data[starts]) | ((data[starts] == ord(".")) & _is_digit(data[starts + 1])), place, -1)


def _digit_after(data: Bytes, stops: Integers, is_time: bool, has_unit: bool) -> Integers:
    """Return where the number goes on after the texts, -1 where it doesn't: a digit, `.5`, `e-4`, `,000` or a unit.

    is_time: as well in `:30`. has_unit: a unit is no part of it.
    """
    near = [data[stops + at] for at in range(5)]
    digit = [_is_digit(each) for each in near]
    point = (near[0] == ord(".")) & digit[1]
    grouped = (near[0] == ord(",")) & digit[1] & digit[2] & digit[3] & ~digit[4]
    exponent = (near[0] | 32) == ord("e")
    signed = exponent & ((near[1] == ord("-")) | (near[1] == ord("+"))) & digit[2]
    minutes = is_time & (near[0] == ord(":")) & digit[1] & digit[2]
    unit = ~np.bool_(has_unit) & _UNITS[near[0]] & ~_IN_WORDS[near[1]]
    next_one = point | grouped | (exponent & digit[1]) | minutes
    place = np.where(digit[0] | unit, stops, np.where(next_one, stops + 1, np.where(signed, stops + 2, -1)))
    return np.where(_is_digit(data[stops - 1]), place, -1)


def _is_digit(data: Bytes) -> Flags:
    return (data >= ord("0")) & (data <= ord("9"))


def _cut(data: Bytes, name: str, place: tuple[int, int], line: int, is_start: bool) -> Refusal:
    start, stop = place
    text = bytes(data[start:stop]).decode("utf-8", "replace")
    if is_start:
        rest = bytes(data[start - _LONGEST_REST : start]).decode("utf-8", "replace")
        rest = rest[len(rest.rstrip("0123456789.,-:")) :] or rest
        what = f"and the number begins with {shown(rest)}"
    else:
        rest = bytes(data[stop : stop + _LONGEST_REST]).decode("utf-8", "replace")
        rest = rest[: len(rest) - len(rest.lstrip("0123456789.,eE+-:"))].rstrip(".,eE+-:") or rest[:1]
        what = f"and the number goes on with {shown(rest)}"
    advice = "extend its expression in [text], or put a named group around the rest"
    return Refusal(Rule.NOT_A_NUMBER, f"{name} is {shown(text)}, {what}: {advice}", line)

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

AXES = {
    "steps": ("step", "_step", "global_step", "iteration", "iter", "it", "itr", "update", "num_updates", "steps"),
    "examples": ("samples", "samples_count", "examples", "tokens", "num_tokens", "samples_seen", "tokens_seen"),
    "epochs": ("epoch", "epochs", "epoch_num"),
}
STEP_NAMES = frozenset(name for names in AXES.values() for name in names)
_SPLITS = frozenset(("train", "training", "val", "valid", "validation", "eval", "test"))
_PLAIN = r"[0-9]+(?:\.[0-9]*)?(?:e[-+]?[0-9]+)?"
_NUMBER = re.compile(
    r"(?<![\w.@])(?:(?P<time>(?P<days>[0-9]+ days?,? )?[0-9]+(?::[0-9]{2})+(?:\.[0-9]+)?(?![\w.]))"
    r"|(?P<number>[-+]?(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+(?![0-9.,])|(?:"
    + _PLAIN
    + r"|\.[0-9]+)(?-i:[kKMBGT])?(?![A-Za-z])"
    r"|" + _PLAIN + r"|(?:nan|inf)(?!o|[a-z]{3}))(?![0-9]|\.[0-9]))(?P<unit>%|[A-Za-z]*(?:/[A-Za-z]+)?))",
    re.IGNORECASE,
)
_TIME = re.compile(r"(?:[nuµm]?s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|\w*/\w+)", re.IGNORECASE)
_GROUPED = re.compile(r"(?<![\w.,])[1-9][0-9]{0,2}(?:,[0-9]{3})+(?![\w.,])")
_PREFIX = re.compile(r"(?:\b(?:DEBUG|INFO|WARNING|WARN|ERROR)\b|\b[IWE][0-9]{4}\b|[\w/-]+\.py:[0-9]+|[^A-Za-z])*")
"""The prefix of a message: timestamp, log level, source file and line."""
_WORD = re.compile(r"[A-Za-z_][\w@/.-]*", re.ASCII)
_ADJACENT = re.compile(r"(?:[\s:=(\[|,#\"']|->|=>)*")
_SPECIAL = re.compile(r"[\\.^$*+?{}\[\]|()]")
_BAR = re.compile(r"\|[^|\w]*\|")
_FIGURE = r"[-+.,:/%\w]+?"
_MOST_STRICT = 3


@dataclass(frozen=True)
class Number:
    """A named number of a line. gap: an expression for what stands before the words that name it, and tail for those.

    text: of the number; unit: what follows it at once. word: the one before those that name it, if it names nothing.
    """

    name: str
    gap: str
    tail: str
    text: str
    unit: str
    word: str

    @property
    def is_metric(self) -> bool:
        """Return True if it may be the value of a metric."""
        return may_be_metric(self.name) and not (self.unit and _TIME.fullmatch(self.unit))


@dataclass
class Kind:
    """A kind of lines: their numbers, and the places of the lines in the log."""

    is_grouped: bool
    numbers: list[Sequence[Number]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

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
        """Yield one expression for all of its lines, then those for lines with the same texts between the numbers."""
        yield self._expression(self.numbers)
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
    is_grouped = any(_GROUPED.search(line, message_start(line)) for line in lines)
    parsed = [_numbers(line, frozenset()) for line in lines]
    units: dict[str, set[str]] = {}
    for number in (each for numbers in parsed for each in numbers):
        units.setdefault(number.name, set()).add(number.unit)
    # `0.9s` and `850ms` in one column would be mixed.
    mixed = frozenset(name for name, each in units.items() if len(each) > 1 and any(map(_TIME.fullmatch, each)))
    kinds: dict[tuple[tuple[str, str, str], ...], Kind] = {}
    for at, numbers in enumerate(parsed):
        if any(number.name in mixed for number in numbers):
            numbers = _numbers(lines[at], mixed)
        if numbers:
            key = tuple((number.name, number.tail, number.unit) for number in numbers)
            kind = kinds.setdefault(key, Kind(is_grouped))
            kind.numbers.append(numbers)
            kind.lines.append(at)
    found = sorted(kinds.values(), key=lambda kind: -len(kind.lines))
    _tell_apart(found)
    return found


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
    """What expressions read from the lines of a log, beside what the lines name."""

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
        found = pc.extract_regex(self._bytes, f"(?m){expression}")
        rows = found.is_valid().to_numpy(zero_copy_only=False).nonzero()[0]
        values = found.take(pa.array(rows)).to_pylist()
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


def may_be_metric(name: str) -> bool:
    """Return True for the name of a metric, or of any quantity of a split, or without its split: `val_f1`, `loss`."""
    name = name.removesuffix("_percent")
    words = name.split("_")
    return (len(words) > 1 and not _SPLITS.isdisjoint(words)) or guess_metric(f"train_{name}") is not None


def column(text: str) -> str:
    """Return the name of a column for a word or a header."""
    return re.sub(r"\W+", "_", text.lower()).strip("_")


def message_start(line: str) -> int:
    """Return where a line begins after what loggers print before it."""
    prefix = _PREFIX.match(line)
    return len(prefix[0].rstrip("0123456789.")) if prefix else 0  # `1s` is a number with its unit


def literal(text: str) -> str:
    """Return an expression for a text, without single quotes."""
    return _SPECIAL.sub(r"\\\g<0>", text).replace("'", ".")


def _numbers(line: str, unnamed: frozenset[str]) -> list[Number]:
    """Return the named numbers of a line. unnamed: names that name none.

    A quantity without a split has the one before it, if the line has no other. A number between a name and `/` has no
    name, and the percentage behind it has that.
    """
    numbers: list[Number] = []
    end = message_start(line)
    gap, splits = "", list[str]()
    fraction, fraction_tail = "", ""
    for token in _NUMBER.finditer(line, end):
        between, unit = line[end : token.start()], token["unit"] or ""
        end = token.end()
        words = list(_WORD.finditer(between))
        is_named = bool(words) and not token["time"] and bool(_ADJACENT.fullmatch(between, words[-1].end()))
        first = words[-1] if is_named else None
        name = column(first[0]) if first else ""
        split_words = [word for word in words if word[0].lower() in _SPLITS and not (word is first and name in _SPLITS)]
        splits += [word[0].lower() for word in split_words]
        if name and (split_words or len(set(splits)) == 1) and _is_split(name, splits[-1]):
            name, first = f"{splits[-1]}_{name}", split_words[-1] if split_words else first
        at = first.start() if first else 0
        before, tail = _gap(between[:at]), _gap(between[at:])
        if fraction and not name and (between == "/" or not words):
            tail = fraction_tail + tail
            if unit != "%":
                fraction_tail = tail + _figure(token)
                continue
            name = fraction
        else:
            gap += fraction_tail
        fraction = fraction_tail = ""
        if name and name not in STEP_NAMES and line.startswith("/", end):
            fraction, fraction_tail, gap = name, tail + _figure(token), gap + before
            continue
        name += "_percent" if name and unit == "%" else ""
        if not name or name[0].isdigit() or name in unnamed or any(name == each.name for each in numbers):
            gap += before + tail + _figure(token)
            continue
        if not numbers:  # what stands before the words of the first number says little
            gap = ""
            before = "" if name in STEP_NAMES or not words else _gap(between[min(words[0].start(), at) : at])
        word = next((column(each[0]) for each in reversed(words) if each.start() < at), "")
        numbers.append(Number(name, gap + before, tail, token["number"], unit, word))
        gap = ""
    return numbers


def _figure(token: re.Match[str]) -> str:
    """Return an expression for a number without a name."""
    return rf"[0-9]+ days?,? {_FIGURE}" if token["days"] else _FIGURE


def _is_split(name: str, split: str) -> bool:
    """Return True if a quantity lacks the name of a split, and is a metric with it."""
    return not _SPLITS & set(name.split("_")) and guess_metric(f"{split}_{name}") is not None


def _gap(text: str) -> str:
    """Return an expression for a text between numbers; any blanks, as numbers are padded, and any bar of progress."""
    escaped = r"\|[^|]*\|".join(_SPECIAL.sub(r"\\\g<0>", part) for part in _BAR.split(text))
    return re.sub(r"\s+", lambda blanks: r"\s*" if "\t" in blanks[0] else " *", escaped).replace("'", ".")

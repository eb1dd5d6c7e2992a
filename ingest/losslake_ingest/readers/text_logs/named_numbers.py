"""The named numbers of a line: of `epoch 3 | val loss 0.5 (12s)` epoch and val_loss, with the texts between them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

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
    r"|" + _PLAIN + r"|(?:nan|inf)(?!o|[a-z]{3}))(?![0-9]|\.[0-9]))(?P<unit> ?%|[A-Za-z]*(?:/[A-Za-z]+)?))",
    re.IGNORECASE,
)
TIME_UNIT = re.compile(r"(?:[nuµm]?s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|\w*/\w+)", re.IGNORECASE)
GROUPED = re.compile(r"(?<![\w.,])[1-9][0-9]{0,2}(?:,[0-9]{3})+(?![\w.,])")
_PREFIX = re.compile(r"(?:\b(?:DEBUG|INFO|WARNING|WARN|ERROR)\b|\b[IWE][0-9]{4}\b|[\w/-]+\.py:[0-9]+|[^A-Za-z])*")
"""The prefix of a message: timestamp, log level, source file and line."""
_WORD = re.compile(r"[A-Za-z_][\w@/.-]*", re.ASCII)
_ADJACENT = re.compile(r"(?:[\s:=(\[|,#\"']|->|=>|\b(?:is|was)\b)*")
_VERBS = ("is", "was")
_SPECIAL = re.compile(r"[\\.^$*+?{}\[\]|()]")
_BAR = re.compile(r"\|[^|\w]*\|")
FIGURE = r"[-+.,:/%\w]+?"


@dataclass(frozen=True)
class Number:
    """A named number of a line. gap: an expression for what stands before the words that name it, and tail for those.

    text: of the number; unit: what follows it at once. word: the one before those that name it, if it names nothing.
    start: where the words begin in the line.
    """

    name: str
    gap: str
    tail: str
    text: str
    unit: str
    word: str
    start: int

    @property
    def is_metric(self) -> bool:
        """Return True if it may be the value of a metric."""
        return may_be_metric(self.name) and not (self.unit and TIME_UNIT.fullmatch(self.unit))


def numbers_of(line: str, unnamed: frozenset[str] = frozenset()) -> list[Number]:
    """Return the named numbers of a line. unnamed: names that name none."""
    return _Line(line, unnamed).numbers


class _Line:
    """The numbers of a line from left to right, with an expression for what stands since the last one with a name.

    A quantity without a split has the one before it, if the line has no other. A number between a name and `/` has no
    name, and the percentage behind it has that.
    """

    def __init__(self, line: str, unnamed: frozenset[str]) -> None:
        self._line, self._unnamed = line, unnamed
        self.numbers: list[Number] = []
        self._gap = ""
        self._splits: list[str] = []
        self._fraction: tuple[str, str, int] | None = None  # its name, an expression since its words, their start
        start = message_start(line)
        for token in _NUMBER.finditer(line, start):
            self._add(token, start)
            start = token.end()

    def _add(self, token: re.Match[str], start: int) -> None:
        """Add a number. start: where the text before it begins."""
        between, unit = self._line[start : token.start()], token["unit"] or ""
        words = [word for word in _WORD.finditer(between) if word[0] not in _VERBS]
        name, at = self._name(token, between, words)
        before, tail, start = gap_of(between[:at]), gap_of(between[at:]), start + at
        if self._fraction is not None:
            of_fraction, since, first = self._fraction
            self._fraction = None
            if name or (words and between != "/"):
                self._gap += since
            elif unit.endswith("%"):
                name, tail, start = of_fraction, since + tail, first
            else:
                self._fraction = of_fraction, since + tail + figure_of(token), first
                return
        if name and name not in STEP_NAMES and self._line.startswith("/", token.end()):
            self._fraction = name, tail + figure_of(token), start
            self._gap += before
            return
        name += "_percent" if name and unit.endswith("%") else ""
        word = next((column(each[0]) for each in reversed(words) if each.start() < at), "")
        name = self._told_apart(name, word)
        if not name:
            self._gap += before + tail + figure_of(token)
            return
        if not self.numbers:  # what stands before the words of the first number says little
            self._gap = ""
            before = "" if name in STEP_NAMES or not words else gap_of(between[min(words[0].start(), at) : at])
        self.numbers.append(Number(name, self._gap + before, tail, token["number"], unit, word, start))
        self._gap = ""

    def _name(self, token: re.Match[str], between: str, words: list[re.Match[str]]) -> tuple[str, int]:
        """Return the name of a number by the words before it, with its split, and where they begin; none without."""
        is_named = bool(words) and not token["time"] and bool(_ADJACENT.fullmatch(between, words[-1].end()))
        name = column(words[-1][0]) if is_named else ""
        splits = [word for word in (words[:-1] if name in _SPLITS else words) if word[0].lower() in _SPLITS]
        self._splits += [word[0].lower() for word in splits]
        if not name:
            return "", 0
        if (splits or len(set(self._splits)) == 1) and not _SPLITS & set(name.split("_")):
            with_split = f"{self._splits[-1]}_{name}"
            if guess_metric(with_split):
                return with_split, (splits or words)[-1].start()
        return name, words[-1].start()

    def _told_apart(self, name: str, word: str) -> str:
        """Return a name that no number before has; `D loss: 1, G loss: 2` are d_loss and g_loss. None: empty."""
        if word and any(name == each.name for each in self.numbers):
            self.numbers = [
                replace(each, name=f"{each.word}_{name}") if each.name == name and each.word else each
                for each in self.numbers
            ]
            name = f"{word}_{name}"
        is_free = not any(name == each.name for each in self.numbers)
        return name if is_free and not name[:1].isdigit() and name not in self._unnamed else ""


def head_of(text: str) -> str:
    """Return an expression for the beginning of a line."""
    parts, end = [], 0
    for token in _NUMBER.finditer(text):
        parts += [gap_of(text[end : token.start()]), figure_of(token)]
        end = token.end()
    return "".join([*parts, gap_of(text[end:])])


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


def figure_of(token: re.Match[str]) -> str:
    """Return an expression for a number without a name."""
    return rf"[0-9]+ days?,? {FIGURE}" if token["days"] else FIGURE


def gap_of(text: str) -> str:
    """Return an expression for a text between numbers; any blanks, as numbers are padded, and any bar of progress."""
    escaped = r"\|[^|]*\|".join(_SPECIAL.sub(r"\\\g<0>", part) for part in _BAR.split(text))
    return re.sub(r"\s+", lambda blanks: r"\s*" if "\t" in blanks[0] else " *", escaped).replace("'", ".")

"""Expressions proposed for the lines of an unknown text log: numbers after words, on lines that name a step.

They say which numbers a line has, never what the run is.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from losslake_ingest.contracts.rules import Refusal
from losslake_ingest.mapping.expressions import LONGEST_EXPRESSION, TextLines, find_groups
from losslake_ingest.mapping.mapping import LogMapping, bundled_mappings, load_mapping
from losslake_ingest.mapping.metrics import guess_metric
from losslake_ingest.readers.text_logs.lines import lines_of, read_text
from losslake_ingest.sources.member import Member, Source

AXES = {
    "steps": ("step", "_step", "global_step", "iteration", "iter", "it", "itr", "update", "num_updates", "steps"),
    "examples": ("samples", "samples_count", "examples", "tokens", "num_tokens", "samples_seen", "tokens_seen"),
    "epochs": ("epoch", "epochs", "epoch_num"),
}
_STEP_NAMES = frozenset(name for names in AXES.values() for name in names)
_SPLITS = frozenset(("train", "training", "val", "valid", "validation", "eval", "test"))
_LOGS = (".log", ".out", ".err", ".txt")
_SAMPLE = 1 << 20
_MOST_LINES = 20_000
_LONGEST_LINE = 400
_MOST_PROPOSED = 4
_MOST_FILES = 20
_NUMBER = re.compile(
    r"(?<![\w.@])[-+]?(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+(?![0-9.,])|[0-9]+(?:\.[0-9]*)?(?:e[-+]?[0-9]+)?"
    r"|(?:nan|inf)(?!o|[a-z]{3}))(?![0-9.])",
    re.IGNORECASE,
)
_GROUPED = re.compile(r"(?<![\w.,])[1-9][0-9]{0,2}(?:,[0-9]{3})+(?![\w.,])")
_PREFIX = re.compile(r"(?:\b(?:DEBUG|INFO|WARNING|WARN|ERROR)\b|\b[IWE][0-9]{4}\b|[\w/-]+\.py:[0-9]+|[^A-Za-z])*")
"""The prefix of a message: timestamp, log level, source file and line."""
_WORD = re.compile(r"[A-Za-z_][\w@/.-]*", re.ASCII)
_WORD_BEGINS = re.compile(r"\b\w")
_NAME = re.compile(r"[a-z_]\w*", re.ASCII)
_SEPARATORS = (re.compile(r"\s*\|\s*"), re.compile(r"\t|\s{2,}"), re.compile(r"\s+"))
_ADJACENT = re.compile(r"[\s:=(\[|,#\"']*")
_SPECIAL = re.compile(r"[\\.^$*+?{}\[\]|()]")
_BAR = re.compile(r"\|[^|\w]*\|")


def is_text(start: bytes) -> bool:
    """Return True if the first bytes of a file are those of a text."""
    return b"\0" not in start or start[:2] in (b"\xff\xfe", b"\xfe\xff")


def advice(source: Source) -> str:
    """Return the end of a sentence that says how the first text log of a source can be read; nothing without one."""
    log = None
    for path, data in _texts(source):
        line = _line_to_add(data)
        if line is not None:
            return f"; {path} is text: {line}, or let 'losslake map --init' write it"
        log = log or (path if path.endswith(_LOGS) else None)
    return f"; {log} is text: write expressions for its lines under [text] in losslake.toml" if log else ""


def proposed_line(data: bytes) -> str:
    """Return what to do about a text log that no expression fits."""
    return _line_to_add(data) or "add expressions with named groups, or exclude the file by [files] exclude"


def _line_to_add(data: bytes) -> str | None:
    text = proposed(data)
    name = _bundled(data, text)
    if name is not None:
        return f'its lines are those of {name}: put extends = "{name}" first in losslake.toml'
    return f"add to losslake.toml, under [text]: {toml_expressions('lines', text.lines)}" if text.lines else None


def proposed_mapping(source: Source) -> tuple[str, LogMapping]:
    """Return lines of a mapping for the text logs of a source, and the mapping that they make, if any."""
    for _, data in _texts(source):
        text = proposed(data)
        name = _bundled(data, text)
        if name is not None:
            return f'extends = "{name}"\n', replace(load_mapping(bundled_mappings()[name]), extends=name)
        if text.lines:
            carried = f"carried = {text.carried}\n".replace("'", '"') if text.carried else ""
            return f"[text]\n{toml_expressions('lines', text.lines, True)}\n{carried}", LogMapping(text=text)
    return "", LogMapping()


def toml_expressions(key: str, expressions: Sequence[str], is_long: bool = False) -> str:
    """Return a TOML array, on lines of their own if it is long; proposed expressions have no single quote."""
    if is_long:
        return "\n".join([f"{key} = [", *(f"    '{expression}'," for expression in expressions), "]"])
    return f"{key} = [{', '.join(f'{chr(39)}{expression}{chr(39)}' for expression in expressions)}]"


def _texts(source: Source) -> Iterator[tuple[str, bytes]]:
    """Yield the paths and first bytes of the first text files of a source."""
    n_texts = 0
    for member in source.members(lambda path: not path.endswith((".toml", ".md", ".py", ".json")), _SAMPLE):
        if isinstance(member, Member) and is_text(member.data[:4096]):
            yield member.path, member.data
            n_texts += 1
        if n_texts == _MOST_FILES:
            return


def _bundled(data: bytes, text: TextLines) -> str | None:
    """Return the bundled mapping of a program, without facts of its runs, that reads a log.

    text: the expressions proposed for the log. Those of the mapping match lines of each kind that names a metric with
    its split.
    """
    sample = lines_of(data[:_SAMPLE])
    lines = pa.array(sample.split(b"\n")[:_MOST_LINES], pa.binary())
    found = [find_groups(lines, line) for line in text.lines]
    kinds = [groups.is_valid() for groups in found if any(guess_metric(group.name) for group in groups.type)]
    for name, path in bundled_mappings().items():
        mapping = load_mapping(path)
        if not mapping.text.lines or mapping.collection.name is not None:
            continue
        try:
            if not read_text(sample, replace(mapping.text, constants=[]), frozenset()):
                continue
        except Refusal:
            continue
        read = functools.reduce(pc.or_, [find_groups(lines, line).is_valid() for line in mapping.text.lines])
        if all(pc.any(pc.and_(read, kind)).as_py() for kind in kinds):
            return name
    return None


def proposed(data: bytes) -> TextLines:
    """Return expressions for the most frequent kinds of lines with a step and a number that may be a metric.

    Lines of metrics without a step take it from the line above, and so do all where no line has both. A log without
    any may be a table, the names of which are in its header; otherwise the lines of metrics are proposed as they are.
    """
    lines = lines_of(data[:_SAMPLE]).decode("utf-8", "replace").split("\n", _MOST_LINES)[:_MOST_LINES]
    lines = [line for line in lines if len(line) <= _LONGEST_LINE]
    counts, names = _kinds(lines)
    common = [one for one, _ in counts.most_common()]
    stepped = [one for one in common if names[one] & _STEP_NAMES]
    metrics = [one for one in common if any(map(_may_be_metric, names[one]))]
    with_both = [one for one in stepped if one in metrics]
    without_step = [one for one in metrics if one not in stepped and (counts[one] > 1 or not with_both)]
    if with_both:
        taken = frozenset[str]().union(*(names[one] for one in with_both))
        without_step = [one for one in without_step if not names[one] & taken]
        chosen = [*with_both, *without_step]
    elif stepped and metrics:
        chosen = [stepped[0], *without_step]
    else:
        chosen = [one for one in stepped if len(names[one]) > 1]
    if not chosen:
        names |= (table := _of_table(lines))
        repeated = [one for one in metrics if counts[one] > 1]  # the author has to say where the step is
        chosen = [*table] or repeated
    kept: list[str] = []
    for one in chosen:
        if not any(names[one] <= names[other] for other in kept):
            kept.append(one)
    kept = kept[:_MOST_PROPOSED]
    steps = {name for one in kept for name in names[one]} & _STEP_NAMES
    return TextLines(kept, carried=[] if set(kept).isdisjoint(without_step) else sorted(steps))


def _kinds(lines: Sequence[str]) -> tuple[Counter[str], dict[str, frozenset[str]]]:
    """Return how often each expression was made of a line, and the names of its groups."""
    is_grouped = any(_GROUPED.search(line, _message(line)) for line in lines)
    counts: Counter[str] = Counter()
    names: dict[str, frozenset[str]] = {}
    for line in lines:
        expression, groups = _expression(line, is_grouped)
        if expression and len(expression) <= LONGEST_EXPRESSION:
            counts[expression] += 1
            names[expression] = frozenset(groups)
    return counts, names


def _may_be_metric(name: str) -> bool:
    """Return True for the name of a metric, or that of a quantity without its split: `val_loss`, `loss`."""
    return guess_metric(name) is not None or guess_metric(f"train_{name}") is not None


def _of_table(lines: Sequence[str]) -> dict[str, frozenset[str]]:
    """Return an expression for the rows of a table whose header names a step first (`epoch | loss`), with its names."""
    for at, line in enumerate(lines):
        for separator in _SEPARATORS:
            texts = separator.split(line.strip(" \t|"))
            if _column(texts[0]) not in _STEP_NAMES:
                continue
            cells = [*map(_column, texts)]
            if len(set(cells)) < max(2, len(cells)) or not all(map(_NAME.match, cells)):
                continue
            rows = [separator.split(row.strip(" \t|")) for row in lines[at + 1 : at + 4]]
            if any(len(row) == len(cells) and row[0].strip().isdigit() for row in rows):
                between = r"\s*\|\s*" if "|" in line else r"\s+"
                groups = [rf"(?P<{cells[0]}>\d+)", *(rf"(?P<{cell}>[^|\s]+)" for cell in cells[1:])]
                return {rf"^[\s|]*{between.join(groups)}[\s|]*$": frozenset(cells)}
    return {}


def _column(text: str) -> str:
    """Return the name of a column for a word or a header."""
    return re.sub(r"\W+", "_", text.lower()).strip("_")


def _expression(line: str, is_grouped: bool) -> tuple[str, list[str]]:
    """Return an expression for the named numbers of a line, and their names; none if it has none.

    is_grouped: the log has numbers such as 1,000.
    """
    comma = "," if is_grouped else ""
    step = r"\d+(?:,\d{3})*" if is_grouped else r"\d+"
    parts: list[str] = []
    names: list[str] = []
    start = end = _message(line)
    split, fraction = "", ""
    for number in _NUMBER.finditer(line, end):
        between = line[end : number.start()]
        words = list(_WORD.finditer(between))
        split = next((w[0].lower() for w in reversed(words) if w[0].lower() in _SPLITS), split)
        group = None
        if words and _ADJACENT.fullmatch(between, words[-1].end()):
            group = _column(words[-1][0])
            if split and not _SPLITS & set(group.split("_")) and guess_metric(f"{split}_{group}"):
                group = f"{split}_{group}"
        elif fraction and line.startswith("%", number.end()):
            group = fraction
        # The fraction of an epoch is no name for its step; 91/100 (91%) is named at its percentage.
        is_fraction = group not in _STEP_NAMES and line.startswith("/", number.end())
        fraction = group or "" if is_fraction else fraction if between == "/" or not words else ""
        group = None if is_fraction else group
        if group:
            group += "_percent" if line.startswith("%", number.end()) else ""
            group = group if group not in names else None
        if names or group:
            if not names:
                between = between[words[-1 if group in _STEP_NAMES else 0].start() if words else 0 :]
                start = number.start() - len(between)
            figure = step if number[0].replace(",", "").isdigit() and group in _STEP_NAMES else rf"[-+.{comma}\w]+?"
            parts.append(_literal(between) + (f"(?P<{group}>{figure})" if group else figure))
        names += [group] if group else []
        end = number.end()
    tail = re.match(r"[A-Za-z%]*", line[end:])
    closed = _literal(tail[0]) if tail and tail[0] else ""
    closed = closed or (r"(?:,?[^-+.,\w]|,?$)" if is_grouped else r"(?:[^-+.\w]|$)")
    begin = r"\b" if _WORD_BEGINS.match(line, start) else ""
    return begin + "".join(parts) + closed if names else "", names


def _message(line: str) -> int:
    """Return where a line begins after what loggers print before it."""
    prefix = _PREFIX.match(line)
    return prefix.end() if prefix else 0


def _literal(text: str) -> str:
    """Return an expression for a text between numbers; any blanks, as numbers are padded, and any bar of progress."""
    escaped = r"\|[^|]*\|".join(_SPECIAL.sub(r"\\\g<0>", part) for part in _BAR.split(text))
    return re.sub(r"\s+", lambda blanks: r"\s*" if "\t" in blanks[0] else " *", escaped).replace("'", ".")

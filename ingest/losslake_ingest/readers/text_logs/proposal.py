"""Expressions proposed for the lines of an unknown text log: numbers after words, on lines that name a step.

They say which numbers a line has, never what the run is.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from losslake_ingest.contracts.rules import Refusal, shown
from losslake_ingest.mapping.expressions import LONGEST_EXPRESSION, TextLines, find_groups
from losslake_ingest.mapping.mapping import LogMapping, bundled_mappings, load_mapping
from losslake_ingest.mapping.metrics import guess_metric
from losslake_ingest.readers.text_logs.kinds import Kind, Reading, kinds_of
from losslake_ingest.readers.text_logs.lines import lines_of, read_text
from losslake_ingest.readers.text_logs.named_numbers import STEP_NAMES, column
from losslake_ingest.readers.text_logs.ranks import first_rank, of_rank
from losslake_ingest.readers.text_logs.starts import proposed_starts
from losslake_ingest.sources.member import Member, Source

_LOGS = (".log", ".out", ".err", ".txt")
_SAMPLE = 1 << 20
_MOST_LINES = 20_000
_LONGEST_LINE = 400
_MOST_PROPOSED = 8
_MOST_FILES = 20
_MOST_TRIED = 50  # kinds of lines
_NAME = re.compile(r"[a-z_]\w*", re.ASCII)
_SEPARATORS = (re.compile(r"\s*\|\s*"), re.compile(r"\t|\s{2,}"), re.compile(r"\s+"))
_QUANTITY = re.compile(r"(?:loss|acc|accuracy|err|error|perplexity|ppl|bleu|wer|f1|auc)(?![a-z])", re.IGNORECASE)


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
        text, unread = _proposed(data)
        name = _bundled(data, text)
        if name is not None:
            return f'extends = "{name}"\n', replace(load_mapping(bundled_mappings()[name]), extends=name)
        if text.lines:
            asks = bool(text.carried) and _asks_for_direction(data, text)
            # Either direction will do for the columns.
            mapping = LogMapping(text=replace(text, carried_from="above" if asks else None))
            return f"{_section(text, unread, asks)}\n", mapping
    return "", LogMapping()


def _section(text: TextLines, unread: Sequence[str], asks_for_direction: bool) -> str:
    """Return the section [text] of a mapping, with a line to complete where the log leaves something open."""
    lines = ["[text]", toml_expressions("lines", text.lines, True)]
    if text.carried:
        lines.append(f"carried = {text.carried}".replace("'", '"'))
    if asks_for_direction:
        lines.append('# carried_from = "above"   # or "below": where the line of a step stands, beside its values')
    if text.starts is not None:
        lines.append(f"starts = '{text.starts}'   # a run begins here, since its steps begin again: a guess")
    lines += [f"# No expression reads a line like this: {shown(line)}" for line in unread[:_MOST_PROPOSED]]
    return "\n".join(lines)


def _asks_for_direction(data: bytes, text: TextLines) -> bool:
    try:
        return any(run.refusal is not None for run in read_text(data[:_SAMPLE], text, STEP_NAMES))
    except Refusal:
        return True


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
    matches = [find_groups(lines, line) for line in text.lines]
    kinds = [groups.is_valid() for groups in matches if any(guess_metric(group.name) for group in groups.type)]
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


def how_to_read_apart(data: bytes) -> str:
    """Return how a mapping can separate the runs in a log, as far as the log shows it; else nothing."""
    starts = proposed(data).starts
    return f"add to the mapping: starts = '{starts}'   # under [text]" if starts else ""


def proposed(data: bytes) -> TextLines:
    """Return expressions that are proposed for a log."""
    return _proposed(data)[0]


def _proposed(data: bytes) -> tuple[TextLines, list[str]]:
    """Return expressions for the most frequent kinds of lines with a step and a number that may be a metric.

    Lines of metrics without a step take it from a line beside, and so do all where no line has both. A log without
    any may be a table, the names of which are in its header; otherwise the lines of metrics are proposed as they are.
    Of several ranks only the lines of the first are proposed. Also return a line of each kind that has no expression.
    """
    sample = data[:_SAMPLE] if len(data) < _SAMPLE else data[: data.rfind(b"\n", 0, _SAMPLE) + 1] or data[:_SAMPLE]
    text = lines_of(sample).decode("utf-8", "replace")
    lines = [line for line in text.split("\n", _MOST_LINES)[:_MOST_LINES] if len(line) <= _LONGEST_LINE]
    rank = first_rank(lines)
    lines = [line.removeprefix(rank) for line in lines if line.startswith(rank)]
    kinds = kinds_of(lines)
    stepped = [kind for kind in kinds if kind.steps]
    metrics = [kind for kind in kinds if kind.has_metric]
    with_both = [kind for kind in stepped if kind.has_metric]
    without_step = [kind for kind in metrics if not kind.steps and (len(kind.lines) > 1 or not with_both)]
    if with_both:
        taken = frozenset[str]().union(*(kind.names for kind in with_both))
        chosen = [*with_both, *(kind for kind in without_step if not kind.names <= taken)]
    elif stepped and metrics:
        chosen = [stepped[0], *without_step]
    else:
        chosen = [kind for kind in stepped if len(kind.names) > 1]
    if not chosen:
        table = _of_table(lines)
        if table is not None:
            return TextLines([of_rank(rank, table)]), []
        chosen = [kind for kind in metrics if len(kind.lines) > 1]  # the author has to say where the step is
    kept: list[str] = []
    used: list[Kind] = []
    reading = Reading(lines, kinds)
    for kind in chosen[:_MOST_TRIED]:
        for expression in kind.expressions() if not reading.is_read(kind) else ():
            is_short = len(of_rank(rank, expression)) <= LONGEST_EXPRESSION
            if is_short and len(kept) < _MOST_PROPOSED and reading.add(expression):
                kept.append(of_rank(rank, expression))
                used.append(kind)
            if reading.is_read(kind):
                break
    steps = sorted({name for kind in used for name in kind.steps})
    is_carried = any(not kind.steps for kind in used)
    starts = proposed_starts(lines, used)
    starts = of_rank(rank, starts) if starts else None
    text_lines = TextLines(kept, carried=steps if is_carried else [], starts=starts)
    others = (kind for kind in kinds if kind not in chosen and _QUANTITY.search(lines[kind.lines[0]]))
    return text_lines, [lines[kind.lines[0]] for kind in (*chosen, *others) if not reading.is_read(kind)]


def _of_table(lines: Sequence[str]) -> str | None:
    """Return an expression for the rows of a table whose header names a step first (`epoch | loss`)."""
    for at, line in enumerate(lines):
        for separator in _SEPARATORS:
            texts = separator.split(line.strip(" \t|"))
            if column(texts[0]) not in STEP_NAMES:
                continue
            cells = [*map(column, texts)]
            if len(set(cells)) < max(2, len(cells)) or not all(map(_NAME.match, cells)):
                continue
            rows = [separator.split(row.strip(" \t|")) for row in lines[at + 1 : at + 4]]
            if any(len(row) == len(cells) and row[0].strip().isdigit() for row in rows):
                between = r"\s*\|\s*" if "|" in line else r"\s+"
                groups = [rf"(?P<{cells[0]}>\d+)", *(rf"(?P<{cell}>[^|\s]+)" for cell in cells[1:])]
                return rf"^[\s|]*{between.join(groups)}[\s|]*$"
    return None

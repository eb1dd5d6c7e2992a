"""Expressions proposed for the lines of an unknown text log: numbers after words, on lines that name a step.

They say which numbers a line has, never what the run is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from losslake_ingest.contracts.rules import Refusal
from losslake_ingest.mapping.expressions import LONGEST_EXPRESSION, TextLines
from losslake_ingest.mapping.mapping import LogMapping, bundled_mappings, load_mapping
from losslake_ingest.mapping.metrics import guess_metric
from losslake_ingest.readers.text_logs.lines import lines_of, read_text
from losslake_ingest.sources.member import Member, Source

AXES = {
    "steps": ("step", "_step", "global_step", "iteration", "iter", "update", "num_updates"),
    "examples": ("samples", "samples_count", "examples", "tokens", "num_tokens", "samples_seen", "tokens_seen"),
    "epochs": ("epoch", "epochs", "epoch_num"),
}
_STEP_NAMES = frozenset(name for names in AXES.values() for name in names)
_SPLITS = frozenset(("train", "training", "val", "valid", "validation", "eval", "test"))
_SAMPLE = 1 << 20
_MOST_LINES = 20_000
_LONGEST_LINE = 400
_MOST_PROPOSED = 3
_MOST_FILES = 20
_NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:[0-9]+(?:\.[0-9]*)?(?:e[-+]?[0-9]+)?|(?:nan|inf)(?![a-z]{3}))(?![0-9.])", re.IGNORECASE
)
_WORD = re.compile(r"[A-Za-z_][\w@/.-]*", re.ASCII)
_ADJACENT = re.compile(r"[\s:=(\[|,#\"']*")
_SPECIAL = re.compile(r"[\\.^$*+?{}\[\]|()]")
_FIGURE = r"[-+.\w]+?"


def is_text(start: bytes) -> bool:
    """Return True if the first bytes of a file are those of a text."""
    return b"\0" not in start or start[:2] in (b"\xff\xfe", b"\xfe\xff")


def advice(source: Source) -> str:
    """Return the end of a sentence that proposes an expression for the first text log of a source; else nothing."""
    for path, data in _texts(source):
        if proposed(data).lines:
            return f"; {path} is text: {proposed_line(data)}, or let 'losslake map --init' write it"
    return ""


def proposed_line(data: bytes) -> str:
    """Return what to do about a text log that no expression fits."""
    name = _bundled(data)
    if name is not None:
        return f'its lines are those of {name}: put extends = "{name}" first in losslake.toml'
    lines = proposed(data).lines
    if not lines:
        return "add expressions with named groups, or exclude the file by [files] exclude"
    return f"add to losslake.toml, under [text]: {toml_expressions('lines', lines)}"


def proposed_mapping(source: Source) -> tuple[str, LogMapping]:
    """Return lines of a mapping for the text logs of a source, and the mapping that they make, if any."""
    for _, data in _texts(source):
        name = _bundled(data)
        if name is not None:
            return f'extends = "{name}"\n', replace(load_mapping(bundled_mappings()[name]), extends=name)
        text = proposed(data)
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


def _bundled(data: bytes) -> str | None:
    """Return the bundled mapping of a program, without facts of its runs, whose expressions match lines of a log."""
    for name, path in bundled_mappings().items():
        mapping = load_mapping(path)
        if not mapping.text.lines or mapping.collection.name is not None:
            continue
        try:
            if read_text(data[:_SAMPLE], replace(mapping.text, constants=[]), frozenset()).runs:
                return name
        except Refusal:
            continue
    return None


def proposed(data: bytes) -> TextLines:
    """Return expressions for the most frequent kinds of lines with a step, first those with a known metric.

    If a step stands on lines of its own only, the other lines take it from there.
    """
    counts: Counter[str] = Counter()
    names: dict[str, frozenset[str]] = {}
    for line in lines_of(data[:_SAMPLE]).decode("utf-8", "replace").split("\n", _MOST_LINES)[:_MOST_LINES]:
        expression, groups = _expression(line) if len(line) <= _LONGEST_LINE else ("", [])
        if expression and len(expression) <= LONGEST_EXPRESSION:
            counts[expression] += 1
            names[expression] = frozenset(groups)
    metrics = {one for one in counts if any(guess_metric(name) for name in names[one])}
    stepped = [one for one, _ in counts.most_common() if not names[one].isdisjoint(_STEP_NAMES)]
    known = [one for one in stepped if one in metrics]
    chosen = known or [one for one in stepped if len(names[one]) > 1]
    carried: list[str] = []
    if not known and stepped and metrics:
        carried = sorted(names[stepped[0]] & _STEP_NAMES)
        chosen = [stepped[0], *(one for one, _ in counts.most_common() if one in metrics)]
    covered: list[frozenset[str]] = []
    lines = []
    for one in chosen:
        if not any(names[one] <= other for other in covered):
            covered.append(names[one])
            lines.append(one)
    return TextLines(lines[:_MOST_PROPOSED], carried=carried)


def _expression(line: str) -> tuple[str, list[str]]:
    """Return an expression for the named numbers of a line, and their names; none if it has none."""
    parts: list[str] = []
    names: list[str] = []
    split, end = "", 0
    for number in _NUMBER.finditer(line):
        between = line[end : number.start()]
        words = list(_WORD.finditer(between))
        split = next((w[0].lower() for w in reversed(words) if w[0].lower() in _SPLITS), split)
        group = None
        if words and _ADJACENT.fullmatch(between, words[-1].end()):
            group = re.sub(r"\W+", "_", words[-1][0].lower()).strip("_")
            if split and not _SPLITS & set(group.split("_")) and guess_metric(f"{split}_{group}"):
                group = f"{split}_{group}"
            group += "_percent" if line.startswith("%", number.end()) else ""
            group = group if group and group not in names else None
        if names or group:
            if not names:
                between = between[words[-1 if group in _STEP_NAMES else 0].start() :]
            figure = r"\d+" if number[0].isdigit() and group in _STEP_NAMES else _FIGURE
            parts.append(_literal(between) + (f"(?P<{group}>{figure})" if group else figure))
        names += [group] if group else []
        end = number.end()
    tail = re.match(r"[A-Za-z%]*", line[end:])
    closed = _literal(tail[0]) if tail and tail[0] else ""
    return "".join(parts) + (closed or r"(?:[^-+.\w]|$)") if names else "", names


def _literal(text: str) -> str:
    """Return an expression for a text between numbers; any blanks, as numbers are padded."""
    return re.sub(r"\s+", " *", _SPECIAL.sub(r"\\\g<0>", text)).replace("'", ".")

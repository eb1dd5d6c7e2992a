"""Rows of a run, from the lines that the expressions match; a line without its step takes it from one beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from losslake_ingest.contracts.rules import MissingField, Refusal, Rule
from losslake_ingest.contracts.run_log import LoggedRows, TextCell, check_size
from losslake_ingest.mapping.expressions import TextLines
from losslake_ingest.readers.text_logs.matches import AT, END, Matches
from losslake_ingest.readers.text_logs.numbers import may_have_thousands, read_numbers
from losslake_ingest.readers.text_logs.skipped import Named
from losslake_schema.reached import Flags, Floats, Integers


@dataclass
class Table:
    """The values of one expression, by line. texts: the first text that is no number in a column.

    thousands: columns whose numbers are all like `1.000`.
    """

    lines: Integers
    columns: dict[str, tuple[Floats, Flags]]
    texts: dict[str, TextCell]
    thousands: frozenset[str]

    def steps(self, axes: frozenset[str]) -> Floats:
        """Return the values of its axes."""
        return np.concatenate([np.zeros(0), *(values for name, (values, _) in self.columns.items() if name in axes)])


def table_of(matches: Matches, axes: frozenset[str], elapsed: str | None) -> Table:
    """Return the numbers of the columns. In an axis other than epochs, `1,000` is a number."""
    table = Table(np.concatenate(matches.lines), {}, {}, frozenset())
    for name, texts in matches.columns():
        if name in (AT, END):
            continue
        values, missing, wrong = read_numbers(texts, name in axes and "epoch" not in name, name == elapsed)
        if wrong.any():
            row = int(wrong.argmax())
            text = texts[row].cast("large_binary").as_py().decode("utf-8", "replace")
            table.texts[name] = TextCell(text, int(table.lines[row]))
        elif missing.all():
            table.texts[name] = TextCell("", int(table.lines[0]))
        elif name in axes and may_have_thousands(texts):
            table.thousands |= {name}
        table.columns[name] = values, missing
    return table


def rows_of(
    tables: Sequence[Table], text: TextLines, axes: frozenset[str], skipped: Callable[[str], Sequence[Named]]
) -> list[LoggedRows]:
    """Return the rows of a run, with those of expressions that have the same axes in one.

    skipped: returns the lines that name a column and that no expression matches. Raises Refusal.
    """
    for name in text.carried:
        _carry(name, tables, text.carried_from, skipped(name))
    by_axes: dict[frozenset[str], list[Table]] = {}
    for table in tables:
        by_axes.setdefault(axes & set(table.columns), []).append(table)
    return [_merged(group) for group in by_axes.values()]


def _carry(name: str, tables: Sequence[Table], stated: str | None, skipped: Sequence[Named]) -> None:
    """Add a column to the tables that lack it: its value in the nearest line above or below, as stated or shown."""
    takers = [table for table in tables if name not in table.columns]
    givers = [(table.lines, *table.columns[name]) for table in tables if name in table.columns]
    if not takers or not givers:
        return
    lines, values, missing = (_joined(parts) for parts in zip(*givers, strict=True))
    if len(givers) > 1 or missing.any():
        order = np.argsort(lines, kind="stable")
        order = order[~missing[order]]
        lines, values = lines[order], values[order]
    wanted = _joined([table.lines for table in takers])
    wanted = np.unique(wanted) if len(takers) > 1 else wanted
    is_above = (stated or _direction(name, lines, values, wanted)) == "above"
    for named in skipped:
        _check_skipped(name, (lines, values), wanted, is_above, named)
    for table in takers:
        at = _nearest(lines, table.lines, is_above)
        has_step = (at >= 0) & (at < len(lines))
        carried = np.full(len(at), np.nan)
        carried[has_step] = values[at[has_step]]
        table.columns[name] = carried, ~has_step


def _joined(parts: Sequence[Any]) -> Any:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _nearest(lines: Integers, wanted: Integers, is_above: bool) -> Integers:
    """Return for each line the place of the nearest one above or below, or of itself; -1 or the length without one."""
    if is_above:
        return np.searchsorted(lines, wanted, "right") - 1
    return np.searchsorted(lines, wanted, "left")


def _direction(name: str, lines: Integers, values: Floats, wanted: Integers) -> str:
    """Return where the lines with a column stand, from those at both ends of a run. Raises Refusal if they don't show.

    Values before the first such line, and none after the last, belong to the line below, if each of them has values.
    """
    if not len(lines):
        return "above"
    wanted = wanted[lines[_nearest(lines, wanted, is_above=True)] != wanted]  # without those of lines that have both
    if not len(wanted):
        return "above"
    before, after = wanted[0] < lines[0], wanted[-1] > lines[-1]
    if after and not before:
        return "above"
    gaps = np.flatnonzero(values[1:] != values[:-1])
    has_values = np.searchsorted(wanted, lines[gaps + 1]) > np.searchsorted(wanted, lines[gaps])
    if before and not after and has_values.all():
        return "below"
    first, last = f"line {lines[0]:,}", f"line {lines[-1]:,}"
    if before and after:
        shows = f"line {wanted[0]:,} has values before the first {name} ({first}), line {wanted[-1]:,} after the last"
        shows += f" ({last})"
    elif before:
        gap = int(gaps[~has_values][0])
        shows = f"line {wanted[0]:,} has values before the first {name} ({first}), and none are between line"
        shows += f" {lines[gap]:,} and line {lines[gap + 1]:,}"
    else:
        shows = f"the values stand between the first {name} ({first}) and the last ({last})"
    what = f"it isn't known whether the {name} of a line without it stands above or below it: {shows}"
    add = 'carried_from = "above"   # or "below", under [text]'
    message = f"{what}: add to the mapping: {add}"
    raise Refusal(Rule.STEP_UNKNOWN, message, int(wanted[0]), (MissingField(what.partition(": ")[0], add),))


def _check_skipped(
    name: str, givers: tuple[Integers, Floats], wanted: Integers, is_above: bool, skipped: Named
) -> None:
    """Raise Refusal if a line that no expression matches names another value of a column than the one carried."""
    at, near = (_nearest(lines, wanted, is_above) for lines in (givers[0], skipped.lines))
    is_named = (near >= 0) & (near < len(skipped.lines))
    wanted, at, near = wanted[is_named], at[is_named], near[is_named]
    giver = np.concatenate(([-1], givers[0], [np.iinfo(np.int64).max]))[at + 1]
    carried = np.concatenate(([np.nan], givers[1], [np.nan]))[at + 1]
    line, step = skipped.lines[near], skipped.steps[near]
    wrong = np.flatnonzero(((line > giver) if is_above else (line < giver)) & (carried != step))
    if len(wrong):
        row = int(wrong[0])
        value = f"{name} {carried[row]:g}" if np.isfinite(carried[row]) else f"no {name}"
        what = f"{skipped.shown(int(near[row]))} names {name} {step[row]:g}, and no expression matches it"
        advice = (
            f"extend the expression of {name} in [text] lines so that it matches, or give the line one of its own, "
            f"with a group of another name than {name}"
        )
        message = f"{what}, so that the values in line {wanted[row]:,} would have {value}: {advice}"
        raise Refusal(Rule.STEP_UNKNOWN, message, int(line[row]))


def _merged(tables: Sequence[Table]) -> LoggedRows:
    """Return the rows of tables with the same axes in the order of their lines. Raises Refusal if they are too many."""
    lines = np.concatenate([table.lines for table in tables])
    names = dict.fromkeys(name for table in tables for name in table.columns)
    check_size(len(lines), len(names))
    order = np.argsort(lines, kind="stable")
    columns: dict[str, tuple[Floats, Flags | None]] = {}
    for name in names:
        empty = [(np.full(len(table.lines), np.nan), np.ones(len(table.lines), np.bool_)) for table in tables]
        parts = [table.columns.get(name, none) for table, none in zip(tables, empty, strict=True)]
        columns[name] = tuple(np.concatenate([part[at] for part in parts])[order] for at in (0, 1))  # type: ignore[assignment]
    cells = [cell for table in tables for cell in table.texts.items() if cell[1].text]
    texts = dict(sorted(cells, key=lambda item: -(item[1].line or 0)))
    for name, (_, missing) in columns.items():
        if missing is not None and missing.all() and name not in texts:
            texts[name] = TextCell("", int(lines[order[0]]))
    doubtful = [name for name in names if all(name in each.thousands for each in tables if name in each.columns)]
    written, thousands = lines[order], frozenset(doubtful)
    return replace(LoggedRows.of(columns), texts=texts, thousands=thousands, line_of=lambda row: int(written[row]))

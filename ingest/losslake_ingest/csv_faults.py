"""Reading a faulty CSV line by line, to say what is wrong with it and where."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass

from losslake_ingest.rules import Rule
from losslake_schema.names import natural_number

_LONGEST_QUOTE = 40


@dataclass(frozen=True)
class Fault:
    """Why a trial's CSV can't be stored, and at which line (from 1)."""

    rule: Rule
    message: str
    line: int | None = None


def diagnose(data: bytes, columns: Sequence[str]) -> Fault:
    """The first fault of a CSV file that could not be stored, whose header holds these columns."""
    previous: int | None = None
    at_step = columns.index("step")
    for number, line in enumerate(data.split(b"\n")[1:], start=2):
        if not line and number == data.count(b"\n") + 1:
            break
        cells = _cells(line)
        if cells is None or len(cells) != len(columns):
            found = "can't be split into cells" if cells is None else f"has {len(cells)} cells"
            return Fault(Rule.WRONG_CELL_COUNT, f"the row {found}, the header has {len(columns)}", number)
        step = cells[at_step].strip()
        fault = _step_fault(step, previous) or _value_fault(cells, columns)
        if fault:
            return Fault(fault.rule, fault.message, number)
        previous = int(step)
    return Fault(Rule.UNREADABLE_CSV, "its rows can't be told apart: write plain lines that end in a newline")


def _cells(line: bytes) -> list[str] | None:
    try:
        return next(csv.reader([line.removesuffix(b"\r").decode("utf-8")], strict=True), [""])
    except (UnicodeDecodeError, csv.Error):
        return None


def _step_fault(step: str, previous: int | None) -> Fault | None:
    if natural_number(step) is None:
        if step.startswith("-") and natural_number(step[1:]):
            return Fault(Rule.NEGATIVE_STEP, f"the step is {_quote(step)}, less than 0")
        return Fault(Rule.BAD_STEP, f"the step is {_quote(step)}, not an integer from 0 to 2^63 - 1")
    if previous is not None and int(step) <= previous:
        kind = "repeats" if int(step) == previous else "follows the larger"
        return Fault(Rule.STEPS_NOT_ASCENDING, f"the step {step} {kind} step {previous}")
    return None


def _value_fault(cells: Sequence[str], columns: Sequence[str]) -> Fault | None:
    for name, cell in zip(columns, cells, strict=True):
        if name == "step" or not cell.strip():
            continue
        try:
            float(cell.replace("_", "?"))
        except ValueError:
            return Fault(Rule.NOT_A_NUMBER, f"{name} is {_quote(cell)}, not a number")
    return None


def _quote(text: str) -> str:
    shown = text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + "…"
    return repr(shown)

"""The key figures of a target: a number and a note each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from losslake.analysis.measured_levels import stated
from losslake.questions import target_sweep
from losslake_schema.package_files import read_toml
from losslake_schema.quantities import amount
from losslake_service.web.workload.request import WorkloadRequest

WORDS = read_toml("losslake_service.web", "workload/key_figures.toml")
# A row of an answer, by column.
AnswerRow = dict[str, Any]
# Name, label, number and note.
KeyFigure = tuple[str, str, str, str]


def row_of_target(request: WorkloadRequest) -> tuple[AnswerRow, AnswerRow]:
    """Return the row of the target in the target sweep, and the summary of the sweep.

    If all trials change their batch size, there is no sweep: the row has no result.
    """
    target = request.goal.target
    if not request.facts.fixed_sizes:
        return {"target": target, "fewest_steps": None, "critical_batch_size": None}, {}
    parameters = target_sweep.TargetSweepParameters(
        **request.of_metric, target_min=target, target_max=target, n_targets=1, spacing="linear"
    )
    answer = target_sweep.QUESTION.answer(request.page.view, parameters)
    row = answer.table().to_pylist()[0]
    return row, answer.facts["summaries"][0]


def key_figures(request: WorkloadRequest, row: AnswerRow, studies: Sequence[AnswerRow]) -> list[KeyFigure]:
    """Return name, label, number and note of each key figure, in the order of the page.

    row: of the target in the target sweep. studies: rows of the table.
    """
    n_batch_sizes = len(request.facts.fixed_sizes)
    numbers = {}
    if n_batch_sizes:
        reached = f"{n_reached(row, n_batch_sizes):,}"
        numbers["reached"] = WORDS["reached"].format(reached=reached, all=f"{n_batch_sizes:,}")
    notes = dict(WORDS["notes"])
    if not request.has_regimes:
        amounts = [(study["amount"], study["batch_size"] or 0) for study in studies if study["amount"] is not None]
        least, size = min(amounts, default=(None, 0))
        numbers["least"] = WORDS["none"] if least is None else amount(least)
        notes["least"] = f"at batch size {size:,}" if size else "with a batch size that changes" if amounts else ""
    else:
        numbers["steps"] = WORDS["none"] if row["fewest_steps"] is None else f"{row['fewest_steps']:,}"
    labels = WORDS["labels"] | {"least": f"Fewest {request.noun}"}
    return [(name, labels[name], number, notes.get(name, "")) for name, number in numbers.items()]


def rough(number: float, digits: int = 2) -> str:
    """Return an estimate to two significant digits: 13, 1,200, 0.0071."""
    return f"{float(f'{number:.{digits}g}'):,.12g}"


def estimate_words(value: float, lower: float | None, upper: float | None) -> tuple[str, str, str]:
    """Return an estimate and its interval, to three digits if two are not enough; empty for a missing end."""
    for digits in (2, 3):
        words = rough(value, digits)
        ends = ["" if end is None else rough(end, digits) for end in (lower, upper)]
        if words not in ends:
            break
    return words, ends[0], ends[1]


def n_reached(row: AnswerRow, n_batch_sizes: int) -> int:
    """Return the number of batch sizes that reach the target."""
    coverage: float = row["coverage"]
    return round(coverage * n_batch_sizes)


def end_words(row: AnswerRow, name: str) -> str:
    """Return the end of a regime: 512, 512 or more, or a dash."""
    size = row[name]
    text: str = WORDS["none"] if size is None else WORDS[row[f"{name}_censoring"] or "exact"].format(size=f"{size:,}")
    return text


def critical_words(row: AnswerRow) -> tuple[str, str]:
    """Return the critical batch size with its interval, or the reason why there is none, with bounds."""
    bounds = {end: row[f"critical_batch_size_{end}"] for end in ("lower", "upper")}
    if row["critical_batch_size"] is not None:
        value, lower, upper = estimate_words(row["critical_batch_size"], **bounds)
        level = stated("critical-batch-size interval")
        return value, WORDS["interval"].format(level=level, lower=lower, upper=upper) if lower and upper else ""
    ends = {name: rough(end) for name, end in bounds.items() if end is not None}
    form = {0: "{why}", 2: WORDS["between"]}.get(len(ends), WORDS["at_least" if "lower" in ends else "at_most"])
    level = stated("critical-batch-size bound")
    return WORDS["none"], form.format(why=WORDS["refusals"][row["not_identifiable"]], level=level, **ends)

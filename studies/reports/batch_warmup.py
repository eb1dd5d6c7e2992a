"""The report on a batch size that grows: two successive records of modded-nanogpt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from string import Template
from typing import Any

import numpy as np

from losslake.questions import records
from losslake.questions.records import RecordsParameters
from losslake.questions.release.view import ReleaseView
from losslake_schema.batch_schedule import stored_schedule
from losslake_schema.reached import Floats
from studies.reports.benchmarks import report_rows
from studies.reports.markdown import number, table

_FILES = resources.files("studies.reports")
_LEVEL = 0.9
Rows = Sequence[Mapping[str, Any]]


def batch_warmup(view: ReleaseView, constant: str, growing: str) -> str:
    """Return the section on two recipes: with a constant batch size, and with one that changes."""
    rows = report_rows(view, "last_validations", {"recipes": [constant, growing]})
    before = [row for row in rows if row["recipe"] == constant]
    after = [row for row in rows if row["recipe"] == growing and row["pieces"] is not None]
    history = records.QUESTION.answer(view, RecordsParameters(track="track_1_short")).table().to_pylist()
    growing_records = {row["number"] for row in history if row["batch_size"] is None and row["number"] is not None}
    return section(before, after, len(growing_records) - 1)


def section(before: Rows, after: Rows, n_later: int) -> str:
    """Return the section on the runs of two recipes, of which the latter's change their batch size.

    n_later: later records that do. Raises ValueError if runs of a recipe have different steps or pieces.
    """
    steps, tokens = (np.array([of(each) for each in (before, after)], np.float64) for of in (_steps, _tokens))
    low, high = _difference(_losses(before), _losses(after))
    headings = ["record", "batch size, tokens", "runs", "steps", "tokens", "mean loss", "seconds"]
    values = {
        "warmup_table": table(headings, [_cells(before), _cells(after)], n_texts=2),
        "steps_saved": f"{1 - steps[1] / steps[0]:.1%}",
        "tokens_saved": f"{1 - tokens[1] / tokens[0]:.1%}",
        "loss_difference": f"{low:.4f} to {high:.4f}",
        "mean_size": number(tokens[1] / steps[1]),
        "n_later": str(n_later),
    }
    return Template(_FILES.joinpath("batch_warmup.md").read_text("utf-8")).substitute(values).rstrip()


def _steps(rows: Rows) -> int:
    """Return the steps of runs, which all have equally many."""
    (steps,) = {row["step"] for row in rows}
    return int(steps)


def _tokens(rows: Rows) -> int:
    ((size, pieces),) = {(row["batch_size"], row["pieces"]) for row in rows}
    return int(_steps(rows) * size) if pieces is None else stored_schedule(pieces).examples(_steps(rows))


def _losses(rows: Rows) -> Floats:
    return np.array([row["loss"] for row in rows], np.float64)


def _difference(first: Floats, second: Floats) -> tuple[float, float]:
    """Return the interval of the difference of the means of two samples, by Welch's t."""
    import scipy  # here, since it takes 0.2 s to import

    interval = scipy.stats.ttest_ind(first, second, equal_var=False).confidence_interval(_LEVEL)
    return float(interval.low), float(interval.high)


def _cells(rows: Rows) -> list[str]:
    row, losses = rows[0], _losses(rows)
    pieces = stored_schedule(row["pieces"]) if row["pieces"] else None
    sizes = (
        f"{row['batch_size']:,}"
        if pieces is None
        else ", ".join(f"{size:,} from step {start:,}" for start, size in zip(pieces.starts, pieces.sizes, strict=True))
    )
    seconds = float(np.mean([each["seconds"] for each in rows]))
    return [
        row["recipe"],
        sizes,
        str(len(rows)),
        f"{_steps(rows):,}",
        number(_tokens(rows)),
        f"{losses.mean():.4f}",
        f"{seconds:.1f}",
    ]

"""The data of a panel: one row per study and series, or per trial, ordered by series and batch size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Annotated, Any

import pyarrow as pa

from losslake.analysis.tuned_study import effective_learning_rate
from losslake.figures.papers.curve_search import CurveSearch, NoData, search_curve
from losslake.figures.papers.paper import Curve, Figure, Panel
from losslake.output.columns import row_shape
from losslake.output.rows import Row, shown
from losslake.questions.declaration.shared_columns import SharedColumns
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.search import at
from losslake.questions.trials.selection import Goal
from losslake.questions.trials.study_results import results_of_hits, study_results
from losslake_schema.reached import NEVER
from losslake_schema.statuses import INFEASIBLE, STATUSES


class DrawnRow(Row):
    """A study in a series, or a trial."""

    figure: Annotated[str, shown("3")]
    """Number of the figure in the paper."""
    panel: Annotated[int, shown(2)]
    """Number of the panel in the figure, from 1, row by row."""
    panel_title: Annotated[str, shown("ResNet-50 vs VGG-11 on ImageNet")]
    """Title of the panel."""
    series: Annotated[str, shown("VGG-11")]
    """Name of the series in the legend; empty if the panel has only one."""
    workload: Annotated[str, shown("shallue2018/imagenet/vgg_11/nesterov_momentum")]
    """The workload: collection/dataset/model/optimizer."""
    metric: str
    direction: Annotated[str, shown("minimize")]
    """Direction of improvement: minimize or maximize."""
    goal: Annotated[float | None, shown(0.35, "unit of the metric")]
    """The goal, reached by strictly better values. Null if best values are drawn."""
    step_budget: Annotated[float | None, shown(25000.0, "steps")]
    """Only evaluations up to this step count; null without a budget."""
    example_budget: Annotated[float | None, shown(550000.0, "examples")]
    """Only evaluations with step times batch size up to this count; null without a budget."""
    batch_size: int
    trial_id: Annotated[int | None, shown(17)]
    """The trial with the fewest steps, with the best value, or of the row; null if there is none."""
    status: Annotated[str | None, shown("COMPLETE")]
    """Status of the row's trial: COMPLETE, MISSED, INCOMPLETE or INFEASIBLE; null if the row is about a study."""
    steps: Annotated[int | None, shown(16384, "steps")]
    """The first step at which the goal is reached, or at which the best value was measured; null if there is none."""
    previous_step: int | None
    value: Annotated[float | None, shown(0.3494, "unit of the metric")]
    """The metric of that trial at that step; null if there is none."""
    normalized_steps: Annotated[float | None, shown(0.25, "none: a ratio")]
    """Steps divided by those of the same series at the panel's reference batch size; null in panels without one."""
    perfect_scaling: Annotated[float | None, shown(0.0625, "steps, or none: a ratio")]
    """The dashed line of perfect scaling there, in steps or normalized like the panel; null if the series has none."""
    learning_rate: Annotated[float | None, shown(0.01)]
    """Learning rate of the trial; null if the figure is not about learning rates, or the trial has none."""
    momentum: Annotated[float | None, shown(0.9)]
    """Momentum of the trial, 0 without momentum; null if the figure has no learning rates or the trial none."""
    effective_learning_rate: Annotated[float | None, shown(0.1)]
    """learning_rate / (1 - momentum) of the trial; null if either is null."""
    linear_heuristic: Annotated[float | None, shown(0.2)]
    """The first effective learning rate, scaled in proportion to the batch size; null in other figures."""
    square_root_heuristic: Annotated[float | None, shown(0.1414)]
    """The first effective learning rate, scaled by the square root of the batch size; null in other figures."""
    outcome: Annotated[str | None, shown("reached")]
    """Outcome of the trial: reached, not reached or infeasible; null if the row is about a study."""
    is_best: Annotated[bool | None, shown(False)]
    """True if the trial reached the goal in the fewest steps, also if infeasible; null if the row is about a study."""
    n_trials: Annotated[int, shown(100, "trials")]
    """Number of trials of the study that the series uses."""
    n_reached: Annotated[int | None, shown(21, "trials")]
    """Number of these trials that reached the goal; null if best values are drawn."""


ROWS = row_shape(DrawnRow, SharedColumns)
REACHED, NOT_REACHED, DIVERGED = "reached", "not reached", "infeasible"
PaperRow = dict[str, Any]


@dataclass(frozen=True)
class CurveRows:
    """The rows of a curve; none without data.

    too_few: sentences about studies with fewer trials than requested. notes: other sentences.
    """

    curve: Curve
    rows: tuple[PaperRow, ...] = ()
    too_few: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    nothing: NoData | None = None

    @property
    def table(self) -> pa.Table:
        """The rows with all columns of the figure's table."""
        return pa.Table.from_pylist(list(self.rows), ROWS.schema)

    @property
    def is_missing(self) -> bool:
        """True if the release lacks its data."""
        return self.nothing is not None and self.nothing.is_missing

    @property
    def words(self) -> list[str]:
        """All sentences about the data of the curve."""
        return [*self.too_few, *self.notes, *([self.nothing.why] if self.nothing is not None else [])]


@dataclass(frozen=True)
class PanelRows:
    """The rows of a panel, curve by curve."""

    panel: Panel
    curves: tuple[CurveRows, ...]

    @property
    def is_missing(self) -> bool:
        """True if the release lacks the data of all its curves."""
        return all(curve.is_missing for curve in self.curves)


def figure_rows(view: ReleaseView, figure: Figure, trials: int | None = None) -> tuple[PanelRows, ...]:
    """Return the rows of each panel. trials: number of the first trials of each study, instead of the paper's."""
    return tuple(
        _panel_rows(view, figure.number, place, panel, trials) for place, panel in enumerate(figure.panels, start=1)
    )


def all_rows(panels: Sequence[PanelRows]) -> pa.Table:
    """Return the rows of a whole figure."""
    return pa.concat_tables([ROWS.schema.empty_table(), *(c.table for panel in panels for c in panel.curves)])


def _panel_rows(view: ReleaseView, number: str, place: int, panel: Panel, trials: int | None) -> PanelRows:
    curves = []
    for curve in panel.curves:
        searched = search_curve(view, curve, trials)
        if isinstance(searched, NoData):
            curves.append(CurveRows(curve, nothing=searched))
            continue
        rows, notes = _ROWS_BY_KIND[panel.kind](searched, panel)
        common = {"figure": number, "panel": place, "panel_title": panel.title, "series": curve.label}
        common |= {"workload": str(curve.workload), "direction": searched.result.direction}
        common |= {name: getattr(curve, name) for name in ("metric", "goal", "step_budget", "example_budget")}
        curves.append(CurveRows(curve, tuple(common | row for row in rows), searched.too_few, tuple(notes)))
    return PanelRows(panel, tuple(curves))


def _steps_rows(searched: CurveSearch, panel: Panel) -> tuple[list[PaperRow], list[str]]:
    """Return steps to result, normalized like the panel, and perfect scaling if its line starts at this curve."""
    rows, _ = _results(searched)
    reached = [row for row in rows if row["steps"]]
    unit = panel.choices.normalize_to
    first = next((row for row in reached if unit in (None, row["batch_size"])), None)
    if unit is not None:
        if first is None:
            name = searched.curve.label or searched.curve.workload
            return rows, [f"{name} didn't reach the goal at batch size {unit}, so its steps can't be normalized"]
        for row in reached:
            row["normalized_steps"] = row["steps"] / first["steps"]
    if first is not None and searched.curve.has_perfect_scaling:
        start = first["steps"] if unit is None else 1.0
        for row in rows:
            row["perfect_scaling"] = start * first["batch_size"] / row["batch_size"]
    return rows, []


def _best_rows(searched: CurveSearch, _: Panel) -> tuple[list[PaperRow], list[str]]:
    """Return the best value by batch size; studies without a measurement within the budget have none."""
    result = searched.result
    trials = result.best_trials()
    records = at(result.best_records, trials)
    rows = []
    for study in searched.studies:
        row: PaperRow = {"batch_size": result.facts.batch_sizes[study], "n_trials": int(result.n_admitted[study])}
        if trials[study] != NEVER:
            row |= {
                "trial_id": int(result.facts.trials.trial_id[trials[study]]),
                "steps": int(result.records.step[records[study]]),
                "value": float(result.records.value[records[study]]),
            }
        rows.append(row)
    return rows, []


def _learning_rate_rows(searched: CurveSearch, _: Panel) -> tuple[list[PaperRow], list[str]]:
    """Return the metaparameters with the fewest steps by batch size, and both heuristics from the first of them."""
    rows, trials = _results(searched)
    for row, trial in zip(rows, trials, strict=True):
        if trial != NEVER:
            row |= _learning_rates(searched, trial)
    tuned = [row for row in rows if row.get("effective_learning_rate")]
    for row in rows if tuned else ():
        first, growth = tuned[0]["effective_learning_rate"], row["batch_size"] / tuned[0]["batch_size"]
        row |= {"linear_heuristic": first * growth, "square_root_heuristic": first * sqrt(growth)}
    return rows, []


def _trial_rows(searched: CurveSearch, _: Panel) -> tuple[list[PaperRow], list[str]]:
    """Return every trial with its learning rate, momentum and outcome; the one with the fewest steps is best."""
    result, facts, records = searched.result, searched.result.facts, searched.result.records
    hits = result.first_hits(_goal(searched))
    best = results_of_hits(result, hits)
    rows: list[PaperRow] = []
    for study in searched.studies:
        study_rows = facts.rows_of(study)
        for trial in range(study_rows.start, study_rows.stop):
            if not result.admitted[trial]:
                continue
            status, hit = STATUSES[facts.trials.status[trial]], hits[trial]
            outcome = DIVERGED if status == INFEASIBLE else NOT_REACHED if hit == NEVER else REACHED
            row: PaperRow = {"batch_size": facts.batch_sizes[study], "trial_id": int(facts.trials.trial_id[trial])}
            row |= {"status": status, "outcome": outcome, "is_best": bool(trial == best.row[study])}
            row |= {"n_trials": int(result.n_admitted[study]), "n_reached": int(best.n_reached[study])}
            if hit != NEVER:
                row |= _crossing(records.step[hit], records.previous_step[hit], records.value[hit])
            rows.append(row | _learning_rates(searched, trial))
    without = sum(row["effective_learning_rate"] is None for row in rows)
    return rows, [f"{without} trials have no learning_rate or momentum and are not drawn"] if without else []


_ROWS_BY_KIND = {
    "steps-to-result": _steps_rows,
    "best-value": _best_rows,
    "effective-learning-rate": _learning_rate_rows,
    "learning-rate-momentum": _trial_rows,
}


def _goal(searched: CurveSearch) -> Goal:
    assert searched.curve.goal is not None
    return Goal(searched.curve.goal)


def _results(searched: CurveSearch) -> tuple[list[PaperRow], list[int]]:
    """Return rows with the steps to result by batch size, and the trial of each row; NEVER if none reached the goal."""
    result, results = searched.result, study_results(searched.result, _goal(searched))
    rows: list[PaperRow] = []
    for study in searched.studies:
        row = {
            "batch_size": result.facts.batch_sizes[study],
            "steps": None,
            "n_trials": int(result.n_admitted[study]),
            "n_reached": int(results.n_reached[study]),
        }
        if results.row[study] != NEVER:
            row["trial_id"] = int(result.facts.trials.trial_id[results.row[study]])
            row |= _crossing(results.steps[study], results.previous_step[study], results.value[study])
        rows.append(row)
    return rows, [int(results.row[study]) for study in searched.studies]


def _crossing(step: int, previous_step: int, value: float) -> PaperRow:
    """Return the columns of the evaluation that reaches a goal. previous_step: negative if there is none."""
    previous = int(previous_step) if previous_step >= 0 else None
    return {"steps": int(step), "previous_step": previous, "value": float(value)}


def _learning_rates(searched: CurveSearch, trial: int) -> PaperRow:
    parameters = searched.parameters[trial]
    learning_rate, momentum = parameters.get("learning_rate"), parameters.get("momentum", searched.plain_momentum)
    return {
        "learning_rate": learning_rate,
        "momentum": momentum,
        "effective_learning_rate": effective_learning_rate(learning_rate, momentum),
    }

"""The critical batch sizes of all workloads, each at its own goal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
from pydantic import Field

from losslake.analysis.best_setting import Seeds
from losslake.analysis.critical_batch_size import CurveFit, fit_other_forms, runs_test
from losslake.analysis.hyperbola import fit_hyperbola
from losslake.analysis.identifiability import identifiability
from losslake.output.answer import Answer
from losslake.output.rows import Row, shown
from losslake.questions.critical_batch_size import doubts_about_fit
from losslake.questions.declaration.parameters import MOST_PLACES, GoalParameters, ReleaseParameters, ResultParameters
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.summary import Finding, ReleaseSummary
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake.questions.trials.left_out import counts_left_out, n_stopped_earlier
from losslake.questions.trials.scaling_curve import scaling_curve, usable_curve
from losslake.questions.trials.search import Search, open_searches
from losslake.questions.trials.selection import ResultName
from losslake_schema.quantities import plural

FEWEST_BATCH_SIZES = 3
_FEW, _NO_GOAL = f"fewer than {FEWEST_BATCH_SIZES} batch sizes", "no goal"
_NO_DIRECTION = "a goal in a metric without a known direction"


class AtlasParameters(ResultParameters, ReleaseParameters):
    """The workloads of an atlas."""

    collection: Annotated[list[str], shown(["bundled"], max_length=MOST_PLACES)] = Field(default_factory=list)
    """Only workloads of this collection; may be repeated. Default: all."""
    dataset: Annotated[list[str], shown(["digits"], max_length=MOST_PLACES)] = Field(default_factory=list)
    """Only workloads of this data set; may be repeated. Default: all."""
    model: Annotated[list[str], shown(["mlp_64"], max_length=MOST_PLACES)] = Field(default_factory=list)
    """Only workloads of this model; may be repeated. Default: all."""
    optimizer: Annotated[list[str], shown(["momentum"], max_length=MOST_PLACES)] = Field(default_factory=list)
    """Only workloads of this optimizer; may be repeated. Default: all."""


class AtlasRow(Row):
    """A workload with at least 3 batch sizes and a goal."""

    workload: str
    dataset: str
    model: str
    optimizer: str
    metric: str
    target: float
    """The target of the workload's goal; of several goals, the first."""
    comparator: Annotated[str, shown("strict")]
    """strict: a value better than the target reaches it; inclusive: an equal value does, too."""
    direction: Annotated[str, shown("minimize")]
    """Direction of better values: minimize or maximize."""
    batch_unit: str | None
    result: Annotated[str, shown("best_trial")]
    """The result of a study: best_trial or best_setting."""
    critical_batch_size: Annotated[float | None, shown(83.7, "batch_unit of the study, mostly examples")]
    """B_c = E_min/S_min (McCandlish et al. 2018, eq. 2.11); null if the data can't support one."""
    lower: Annotated[float | None, shown(68.6, "batch_unit of the study, mostly examples")]
    """Lower end of its 90% interval; a one-sided 95% bound if critical_batch_size is null; null for no bound."""
    upper: Annotated[float | None, shown(103.1, "batch_unit of the study, mostly examples")]
    """Upper end of its 90% interval; a one-sided 95% bound if critical_batch_size is null; null for no bound."""
    n_batch_sizes: Annotated[int, shown(9, "batch sizes")]
    """Batch sizes that reached the target and aren't dominated, to which the curve was fitted."""
    smallest: Annotated[int, shown(1, "batch_unit of the study, mostly examples")]
    """The smallest batch size of the workload."""
    largest: Annotated[int, shown(1024, "batch_unit of the study, mostly examples")]
    """The largest batch size of the workload."""
    why: Annotated[str, shown("no bend: the largest batch size needs 1.17 times the fewest examples")]
    """Reasons for no estimate or no interval, and signs that the curve isn't a hyperbola; empty for none."""


class AtlasSummary(ReleaseSummary, Finding):
    """The definition, and the workloads that are left out."""

    result: Annotated[ResultName | None, shown("best_setting")]
    """The requested result; null for that of the trials of each workload."""
    seeds: Annotated[Seeds, shown("median")]
    """The steps of a setting, of its trials: median or mean."""


@dataclass(frozen=True)
class _Atlas:
    """All rows of a release.

    left_out: why a workload has no row, by workload. trials: how many trials of a row don't count, by why, by workload.
    """

    rows: Sequence[dict[str, object]]
    left_out: dict[WorkloadFacts, str]
    trials: dict[object, Counter[str]]


# The estimates of a release take seconds; which of them are asked for takes none.
_ATLASES: WeakKeyDictionary[ReleaseView, dict[tuple[ResultName | None, Seeds], _Atlas]] = WeakKeyDictionary()


def _answer(view: ReleaseView, parameters: AtlasParameters) -> Answer:
    """Return a row by workload, sorted by data set, model and critical batch size; raises BadParameter."""
    atlases = _ATLASES.setdefault(view, {})
    rule = (parameters.result, parameters.seeds)
    if rule not in atlases:
        atlases[rule] = _atlas(view, *rule)
    atlas = atlases[rule]
    parts = ("collection", "dataset", "model", "optimizer")
    filters = {name: values for name in parts if (values := getattr(parameters, name))}
    for name, values in filters.items():
        names = {getattr(workload, name) for workload in view.workloads}
        for value in values:
            if value not in names:
                raise BadParameter(name, f"no workload has the {name} {value}: /v1/workloads lists them")
    chosen = {
        str(workload)
        for workload in view.workloads
        if all(getattr(workload, name) in values for name, values in filters.items())
    }
    rows = [row for row in atlas.rows if row["workload"] in chosen]
    reasons = Counter(why for facts, why in atlas.left_out.items() if str(facts.workload) in chosen)
    trials = sum((atlas.trials[row["workload"]] for row in rows), Counter[str]())
    summary = {
        "release": view.number,
        "result": parameters.result,
        "seeds": parameters.seeds,
        "left_out": [
            *(f"{count} {plural('workload', count)} with {why}" for why, count in sorted(reasons.items())),
            *(f"{count} {plural('trial', count)} {why}" for why, count in sorted(trials.items())),
        ],
        "definition": QUESTION.definition,
        "n_used": sum(row["critical_batch_size"] is not None for row in rows),
        "warnings": list(_warnings(rows)),
    }
    return QUESTION.of_table(summary, pa.Table.from_pylist(rows, QUESTION.rows.schema))


QUESTION = Question(
    path="/v1/analysis/atlas",
    doc="The critical batch sizes of all workloads, each at its own goal, with intervals.",
    parameters=AtlasParameters,
    row=AtlasRow,
    summary=AtlasSummary,
    compute=_answer,
    rows_name="estimates",
)


def _atlas(view: ReleaseView, result: ResultName | None, seeds: Seeds) -> _Atlas:
    rows, left_out, trials = [], {}, {}
    for facts in view.workloads.values():
        if len(facts.batch_sizes) - facts.has_schedules < FEWEST_BATCH_SIZES:
            left_out[facts] = _FEW
            continue
        try:
            parameters = GoalParameters(workload=[str(facts.workload)]).with_goal(view)
        except BadParameter:
            left_out[facts] = _NO_GOAL
            continue
        if view.metrics[parameters.metric].direction is None:
            left_out[facts] = _NO_DIRECTION
            continue
        (search,) = open_searches(view, replace(parameters.selection(), result=result, seeds=seeds))
        rows.append(_row(view, search, parameters))
        counts = (*search.once(counts_left_out), *n_stopped_earlier(search, parameters.goal))
        trials[rows[-1]["workload"]] = +Counter({why.partition(":")[0]: count for count, why in counts})
    rows.sort(key=lambda row: (row["dataset"], row["model"], row["critical_batch_size"] or 0, row["workload"]))
    return _Atlas(rows, left_out, trials)


def _row(view: ReleaseView, search: Search, parameters: GoalParameters) -> dict[str, object]:
    goal, facts = parameters.goal, search.facts
    curve = usable_curve(search, scaling_curve(search, goal))
    sizes, steps = curve.batch_sizes, curve.tuned_steps
    fit = fit_hyperbola(sizes, steps, curve.censored_at)
    identified = identifiability(sizes, steps, curve.censored_at, curve.previous_steps, n_trials=curve.n_trials)
    why = [*identified.reasons]
    size = fit.critical_batch_size if fit is not None and identified.is_identifiable else None
    if fit is not None and size is not None:
        residuals = np.log(steps) - np.log(fit.steps(sizes))
        other_forms = fit_other_forms(sizes, steps)
        checked = CurveFit(fit, identified, other_forms=other_forms, runs_p_value=runs_test(residuals))
        why += doubts_about_fit(curve, checked)
    return {
        "workload": str(facts.workload),
        **{name: getattr(facts.workload, name) for name in ("dataset", "model", "optimizer")},
        "metric": parameters.metric,
        "target": goal.target,
        "comparator": goal.comparator,
        "direction": view.metrics[parameters.metric].direction,
        "batch_unit": view.batch_units(facts)[0],
        "result": search.rule.name,
        "critical_batch_size": size,
        "lower": identified.lower,
        "upper": identified.upper,
        "n_batch_sizes": curve.n_tuned,
        "smallest": min(facts.batch_sizes),
        "largest": max(facts.batch_sizes),
        "why": "; ".join(why),
    }


def _warnings(rows: Sequence[dict[str, object]]) -> Iterator[str]:
    if len({row["metric"] for row in rows}) > 1:
        yield "critical batch sizes depend on the goal: a harder target has a larger one"
    units = {row["batch_unit"] for row in rows} - {None}
    if len(units) > 1:
        yield f"batch sizes count different things: {', '.join(sorted(map(str, units)))}"

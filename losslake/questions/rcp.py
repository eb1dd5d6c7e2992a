"""Reference convergence points of MLPerf: the least steps in which a submission may converge."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from pydantic import Field

from losslake.analysis.rcp import ReferencePoint, Rules, Verdict, check, outlying_runs, pruned, reference_point
from losslake.output.answer import Answer
from losslake.output.rows import Row, shown
from losslake.questions.comparison.measured_trials import admitted_steps
from losslake.questions.declaration.cost import Cost
from losslake.questions.declaration.parameters import BATCH_UNIT, Finite, GoalParameters, Natural
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.summary import Finding, GoalSummary, Summary, entry
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.parsed_names import parse_workload
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.search import Search, open_search, open_searches
from losslake.questions.trials.selection import Goal
from losslake_schema.names import Workload
from losslake_schema.reached import Floats

LEAST_RUNS, MOST_RUNS = 3, 1000
_GIVEN_RULES = ("trimmed", "tolerated_failures", "significance", "allowance")


class RcpParameters(GoalParameters):
    """The parameters of reference convergence points."""

    submission: Annotated[str | None, shown("bundled/digits/mlp_64/sgd")] = None
    """The workload to check, at each of its batch sizes; the reference is then the single workload named."""
    samples: Annotated[
        list[Annotated[Finite, Field(gt=0, lt=1e100)]], shown([8192], BATCH_UNIT, max_length=MOST_RUNS)
    ] = Field(default_factory=list)
    """Instead of a submission: examples to the target of one run, with batch_size; may be repeated."""
    failed_runs: Annotated[Natural, shown(0, "runs", le=MOST_RUNS)] = 0
    """With samples: number of further runs that did not converge."""
    batch_size: Annotated[Natural | None, shown(64, BATCH_UNIT, ge=1)] = None
    """With samples: the batch size of these runs."""
    submission_runs: Annotated[Natural | None, shown(5, "runs", ge=LEAST_RUNS)] = None
    """Runs of a submission. Default: as many as the given one has, else half of the reference's."""
    trimmed: Annotated[Natural, shown(1, "runs", le=MOST_RUNS)] = 1
    """Runs that the olympic mean leaves out at either end; MLPerf: 1, for unet3d 4."""
    tolerated_failures: Annotated[Natural, shown(1, "runs", le=MOST_RUNS)] = 1
    """Runs of a submission that may fail to converge, no more than `trimmed`; MLPerf: 1, for unet3d 4."""
    significance: Annotated[Finite, shown(0.05, "none: a probability", gt=0, lt=0.5)] = 0.05
    """Significance level of the one-sided t-test."""
    allowance: Annotated[Finite, shown(0, BATCH_UNIT, ge=0, lt=1e100)] = 0.0
    """Examples by which the least mean is lowered; MLPerf: 0, for llama31_405b 46080."""
    pruned: Annotated[bool, shown(True)] = True
    """Compare a submission only with points that remain after pruning, as MLPerf does by default."""


class RcpRow(Row):
    """A batch size of a reference."""

    workload: str
    batch_size: int
    n_runs: Annotated[int, shown(20, "runs")]
    """Runs of this batch size: its admitted trials."""
    n_not_converged: Annotated[int, shown(0, "runs")]
    """Number of these that did not reach the target; they are not in the mean."""
    mean: Annotated[float | None, shown(161109.3, "batch_unit of the study, mostly examples")]
    """Olympic mean of examples to the target, without the least and the greatest; null if runs are too few."""
    stdev: Annotated[float | None, shown(4387.7, "batch_unit of the study, mostly examples")]
    """Standard deviation over all runs that converged, with n in the denominator; null where mean is."""
    least_mean: Annotated[float | None, shown(157920.0, "batch_unit of the study, mostly examples")]
    """Least mean that a submission may have; null where mean is, and where no mean would be refused."""
    max_speedup: Annotated[float | None, shown(1.0202, "none: a ratio")]
    """mean over least_mean; null where least_mean is."""
    is_pruned: Annotated[bool | None, shown(False)]
    """True if pruning drops this point: below the batch size of the least mean, or above its neighbours' line."""


class RulesSummary(Summary):
    """The rules of the check."""

    submission_runs: Annotated[int, shown(5)]
    trimmed: Annotated[int, shown(1)]
    tolerated_failures: Annotated[int, shown(1)]
    significance: Annotated[float, shown(0.05)]
    allowance: Annotated[float, shown(0)]
    pruned: Annotated[bool, shown(True)]


class VerdictSummary(Summary):
    """The verdict on a submission at one batch size."""

    batch_size: int
    n_runs: int
    n_not_converged: int
    passes: bool | None
    ground: str
    mean: float | None
    reference_mean: float | None
    reference_stdev: float | None
    least_mean: float | None
    max_speedup: float | None
    score_factor: float | None
    in_words: str


class RcpSummary(GoalSummary, Finding):
    """The submission, the rules and the verdicts."""

    submission: Annotated[str | None, shown("bundled/digits/mlp_64/sgd")]
    """The workload checked; null for none, or for samples."""
    rules: RulesSummary
    """The rules of the check, as applied."""
    verdicts: list[VerdictSummary]
    """Per batch size: passes (null: can't tell); ground: found, interpolated or smallest point, or why none (missing,
    no_reference, not_converged, unusable); both means, in examples; score_factor normalizes a score."""


@dataclass(frozen=True)
class Runs:
    """The runs of one batch size: examples to the target; inf for a run that didn't converge."""

    batch_size: int
    examples: Floats

    @property
    def converged(self) -> Floats:
        """The runs that converged."""
        return self.examples[np.isfinite(self.examples)]

    @property
    def n(self) -> int:
        """The number of runs."""
        return len(self.examples)

    @property
    def n_failed(self) -> int:
        """The number of runs that did not converge."""
        return self.n - len(self.converged)


@dataclass(frozen=True)
class Reference:
    """A workload's runs by batch size, and their points: all, and those that remain after pruning.

    left_out: batch sizes without a point, and why. warnings: what to know of the points. Both in words.
    """

    workload: str
    runs: tuple[Runs, ...]
    points: tuple[ReferencePoint, ...]
    kept: tuple[ReferencePoint, ...]
    left_out: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def n_used(self) -> int:
        """The number of runs behind the points."""
        sizes = {point.batch_size for point in self.points}
        return sum(len(each.converged) for each in self.runs if each.batch_size in sizes)


def _answer(view: ReleaseView, parameters: RcpParameters) -> Answer:
    """Return the points of the workloads, and the verdict on a submission; raises UnknownName and BadParameter.

    A submission is compared with the one workload that is then named.
    """
    selection, goal = parameters.selection(), parameters.goal
    submission = _submission(parameters)
    if submission is not None and len(selection.workloads) > 1:
        raise BadParameter("workload", "a submission is compared with one reference: give one workload")
    searches = open_searches(view, selection)
    runs = [_runs_of(search, goal) for search in searches]
    submitted: Sequence[Runs] = [submission] if isinstance(submission, Runs) else []
    if isinstance(submission, Workload):
        submitted = [each for each in _runs_of(open_search(view, selection, submission), goal) if len(each.examples)]
    rules = _rules(parameters, [of_size for each in runs for of_size in each], submitted)
    references = [
        _reference(str(search.facts.workload), each, rules) for search, each in zip(searches, runs, strict=True)
    ]
    points = references[0].kept if parameters.pruned else references[0].points
    return QUESTION.analysis(
        view,
        parameters,
        [_rows(each) for each in references],
        {
            "submission": str(submission) if isinstance(submission, Workload) else None,
            "rules": entry(RulesSummary, rules, pruned=parameters.pruned),
            "verdicts": [_verdict(points, each, rules) for each in submitted],
        },
        n_used=sum(each.n_used for each in references),
        left_out=(text for each in references for text in each.left_out),
        warnings=(
            *(text for each in references for text in each.warnings),
            *(
                _is_search(str(search.facts.workload), sizes)
                for search in searches
                if (sizes := _searched_batch_sizes(view, search, selection.statuses))
            ),
            *_other_numbers(submitted, rules),
        ),
    )


QUESTION = Question(
    path="/v1/analysis/rcp",
    doc="MLPerf's reference convergence points of a workload, and whether a submission converges too fast.",
    parameters=RcpParameters,
    row=RcpRow,
    summary=RcpSummary,
    compute=_answer,
    cost=lambda _: Cost(5000, 1000, 6),
)


def _submission(parameters: RcpParameters) -> Workload | Runs | None:
    """Return the workload to check at each batch size, or runs of one batch size; raises BadParameter."""
    has_runs = bool(parameters.samples) or parameters.failed_runs > 0
    if parameters.submission is not None:
        if has_runs:
            raise BadParameter("samples", "give either submission, or samples and failed_runs with batch_size")
        return parse_workload(parameters.submission, "submission")
    if has_runs != (parameters.batch_size is not None):
        raise BadParameter("batch_size", "give batch_size together with samples or failed_runs, and only then")
    if parameters.batch_size is None:
        return None
    examples = [*parameters.samples, *[math.inf] * parameters.failed_runs]
    return Runs(parameters.batch_size, np.array(examples, np.float64))


def _runs_of(search: Search, goal: Goal) -> tuple[Runs, ...]:
    """Return the runs of each study: its admitted trials."""
    sizes = search.facts.batch_sizes
    return tuple(
        Runs(size, np.multiply(steps, size, out=np.full(len(steps), np.inf), where=np.isfinite(steps)))
        for size, steps in zip(sizes, admitted_steps(search, goal), strict=True)
    )


def _reference(workload: str, runs: Sequence[Runs], rules: Rules) -> Reference:
    """Return the reference of these runs, which are by ascending batch size."""
    points, left_out, warnings = [], [], []
    for each in runs:
        try:
            point = reference_point(each.batch_size, each.converged, rules)
        except ValueError as error:
            failed = f"; {each.n_failed} did not converge" if each.n_failed else ""
            left_out.append(f"{workload}: {error}{failed}")
        else:
            points.append(point)
            warnings += [f"{workload}: {text}" for text in dict.fromkeys(_warnings(each, point))]
    failed_at = [f"{each.n_failed} of {each.n} at batch size {each.batch_size}" for each in runs if each.n_failed]
    if failed_at:
        warnings.append(f"{workload}: runs did not converge, {', '.join(failed_at)}; points use only those that did")
    return Reference(workload, tuple(runs), tuple(points), tuple(pruned(points)), tuple(left_out), tuple(warnings))


def _searched_batch_sizes(view: ReleaseView, search: Search, statuses: Sequence[str]) -> list[int]:
    """Return the batch sizes whose trials differ in metaparameters other than seeds: no repeated runs."""
    facts = search.facts
    rows = view.rows("settings_of_studies", {**facts.study_ids, "statuses": list(statuses)})
    return [facts.batch_sizes[study_id - facts.first_study] for study_id, n_settings in rows if n_settings > 1]


def _warnings(runs: Runs, point: ReferencePoint) -> Iterator[str]:
    yield from outlying_runs(runs.batch_size, runs.converged)
    if point.least_mean is None:
        yield (
            f"the runs at batch size {runs.batch_size} are so far apart that no mean would be refused: the check has "
            "no effect there"
        )


def _rules(parameters: RcpParameters, runs: Sequence[Runs], submitted: Sequence[Runs]) -> Rules:
    """Return the rules of the check; raises BadParameter."""
    submission_runs = parameters.submission_runs
    if submission_runs is None:
        numbers = [len(each.examples) for each in submitted]
        halves = [len(each.converged) // 2 for each in runs if len(each.converged)]
        submission_runs = max(min(numbers or halves, default=0), LEAST_RUNS, 2 * parameters.trimmed + 1)
    others = {name: getattr(parameters, name) for name in _GIVEN_RULES}
    try:
        return Rules(submission_runs, **others)
    except ValueError as error:
        raise BadParameter("submission_runs", str(error)) from None


def _verdict(points: Sequence[ReferencePoint], runs: Runs, rules: Rules) -> dict[str, Any]:
    try:
        verdict = check(points, runs.batch_size, runs.examples, rules)
    except ValueError as error:
        verdict = Verdict(None, "unusable", f"at batch size {runs.batch_size}: {error}")
    point = verdict.point
    return entry(
        VerdictSummary,
        verdict,
        batch_size=runs.batch_size,
        n_runs=len(runs.examples),
        n_not_converged=runs.n_failed,
        reference_mean=point and point.mean,
        reference_stdev=point and point.stdev,
        least_mean=point and point.least_mean,
        max_speedup=point and point.max_speedup,
        in_words=verdict.explanation,
    )


def _is_search(workload: str, batch_sizes: Sequence[int]) -> str:
    listed = ", ".join(map(str, batch_sizes))
    return (
        f"{workload}: at batch size {listed} the trials differ in metaparameters, so their spread is that of a search, "
        "not of repeated runs as the check means it"
    )


def _other_numbers(submitted: Sequence[Runs], rules: Rules) -> Iterator[str]:
    others = [f"{each.n} at batch size {each.batch_size}" for each in submitted if each.n != rules.submission_runs]
    if others:
        yield f"the test is for a submission of {rules.submission_runs} runs, and this one has {', '.join(others)}"


def _rows(reference: Reference) -> pa.RecordBatch:
    points = {
        point.batch_size: asdict(point) | {"is_pruned": point not in reference.kept} for point in reference.points
    }
    rows = [
        {"workload": reference.workload, "n_runs": runs.n, "n_not_converged": runs.n_failed, **vars(runs)}
        | points.get(runs.batch_size, {})
        for runs in reference.runs
    ]
    return pa.RecordBatch.from_pylist(rows, QUESTION.rows.schema)

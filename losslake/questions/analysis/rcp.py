"""Reference convergence points: how soon a submission may converge, given a workload's runs, as MLPerf checks it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from losslake.analysis.rcp import ReferencePoint, Rules, Verdict, check
from losslake.output.answer import Answer, row_shape
from losslake.questions.analysis.finding import Finding
from losslake.questions.errors import BadParameter
from losslake.questions.rcp_reference import Reference, Runs, reference, runs_of, searched_batch_sizes
from losslake.questions.release_view import ReleaseView
from losslake.questions.search import facts_of, search
from losslake.questions.selection import Goal, Selection
from losslake_schema.names import Workload

RCP = row_shape(
    "rcp", "workload", "batch_size", "n_runs", "n_not_converged", "mean", "stdev", "least_mean", "max_speedup",
    "is_pruned",
)  # fmt: skip
LEAST_RUNS = 3
_DEFINITION = (
    "MLPerf's reference convergence check (mlcommons/logging, rcp_checker): of the runs that converged, in examples to "
    "the target, the olympic mean and the standard deviation over all; the least mean that a submission may have is "
    "where a one-sided t-test with pooled variance would reject. A batch size between two points is interpolated, mean "
    "and deviation linear in the batch size. n_used counts runs of the reference that converged."
)


@dataclass(frozen=True)
class RcpQuestion:
    """What is checked, and by which rules.

    submission: a workload, whose every batch size is checked; or runs, of one batch size. None: only the points.
    submission_runs: how many runs a submission has. Default: as many as the submission has, else half of what the
    reference has at the batch size where it has fewest. is_pruned: whether it is compared with pruned points only.
    """

    submission: Workload | Runs | None = None
    submission_runs: int | None = None
    trimmed: int = 1
    tolerated_failures: int = 1
    significance: float = 0.05
    allowance: float = 0.0
    is_pruned: bool = True


def rcp(view: ReleaseView, selection: Selection, goal: Goal, question: RcpQuestion) -> Answer:
    """The points of the workloads, and the verdict on a submission; raises UnknownName and BadParameter.

    A submission is compared with the one workload that is then named.
    """
    if question.submission is not None and len(selection.workloads) > 1:
        raise BadParameter("workload", "a submission is compared with one reference: give one workload")
    searches = [search(view, selection, workload) for workload in selection.workloads]
    runs = [runs_of(found, goal) for found in searches]
    submitted = _submitted(view, selection, goal, question.submission)
    rules = _rules(question, [own for each in runs for own in each], submitted)
    references = [reference(str(found.facts.workload), own, rules) for found, own in zip(searches, runs, strict=True)]
    own = {
        "submission": str(question.submission) if isinstance(question.submission, Workload) else None,
        "rules": asdict(rules) | {"pruned": question.is_pruned},
        "verdicts": [
            _verdict(references[0].kept if question.is_pruned else references[0].points, each, rules)
            for each in submitted
        ],
    }
    finding = Finding(
        definition=_DEFINITION,
        n_used=sum(each.n_used for each in references),
        left_out=tuple(text for each in references for text in each.left_out),
        warnings=(
            *(text for each in references for text in each.warnings),
            *(
                _is_search(str(found.facts.workload), sizes)
                for found in searches
                if (sizes := searched_batch_sizes(view, found, selection.statuses))
            ),
            *_other_numbers(submitted, rules),
        ),
    )
    facts = facts_of(view, selection, searches[0].direction) | goal.facts() | own | finding.facts()
    return Answer(facts, RCP.schema, iter([_rows(each) for each in references]))


def _submitted(
    view: ReleaseView, selection: Selection, goal: Goal, submission: Workload | Runs | None
) -> Sequence[Runs]:
    if isinstance(submission, Workload):
        return [own for own in runs_of(search(view, selection, submission), goal) if len(own.examples)]
    return [] if submission is None else [submission]


def _rules(question: RcpQuestion, runs: Sequence[Runs], submitted: Sequence[Runs]) -> Rules:
    """Raises BadParameter."""
    given = question.submission_runs
    if given is None:
        numbers = [len(own.examples) for own in submitted]
        halves = [len(own.converged) // 2 for own in runs if len(own.converged)]
        given = max(min(numbers or halves, default=0), LEAST_RUNS, 2 * question.trimmed + 1)
    try:
        return Rules(given, question.trimmed, question.tolerated_failures, question.significance, question.allowance)
    except ValueError as error:
        raise BadParameter("submission_runs", str(error)) from None


def _verdict(points: Sequence[ReferencePoint], runs: Runs, rules: Rules) -> dict[str, Any]:
    try:
        found = check(points, runs.batch_size, runs.examples, rules)
    except ValueError as error:
        found = Verdict(None, "unusable", f"at batch size {runs.batch_size}: {error}")
    point = found.point
    return {
        "batch_size": runs.batch_size,
        "n_runs": len(runs.examples),
        "n_not_converged": runs.n_failed,
        "passes": found.passes,
        "ground": found.ground,
        "mean": found.mean,
        "reference_mean": point.mean if point else None,
        "reference_stdev": point.stdev if point else None,
        "least_mean": point.least_mean if point else None,
        "max_speedup": point.max_speedup if point else None,
        "score_factor": found.score_factor,
        "in_words": found.explanation,
    }


def _is_search(workload: str, batch_sizes: Sequence[int]) -> str:
    listed = ", ".join(map(str, batch_sizes))
    return (
        f"{workload}: at batch size {listed} the trials differ in metaparameters, so their spread is that of a search, "
        "not of repeated runs as the check means it"
    )


def _other_numbers(submitted: Sequence[Runs], rules: Rules) -> Iterator[str]:
    others = [
        f"{len(own.examples)} at batch size {own.batch_size}"
        for own in submitted
        if len(own.examples) != rules.submission_runs
    ]
    if others:
        yield f"the test is for a submission of {rules.submission_runs} runs, and this one has {', '.join(others)}"


def _rows(found: Reference) -> pa.RecordBatch:
    points = {point.batch_size: point for point in found.points}
    rows = []
    for own in found.runs:
        row = {
            "workload": found.workload,
            "batch_size": own.batch_size,
            "n_runs": len(own.examples),
            "n_not_converged": own.n_failed,
        }
        point = points.get(own.batch_size)
        if point is not None:
            row |= {
                "mean": point.mean,
                "stdev": point.stdev,
                "least_mean": point.least_mean,
                "max_speedup": point.max_speedup,
                "is_pruned": point not in found.kept,
            }
        rows.append(row)
    return pa.RecordBatch.from_pylist(rows, RCP.schema)

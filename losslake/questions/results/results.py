"""The results of MLPerf: each submission with its time by MLPerf's rules, its runs, and what is doubtful about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pyarrow as pa
from pydantic import Field

from losslake.output.answer import Answer
from losslake.output.rows import Row, shown
from losslake.questions.declaration.parameters import MOST_PLACES, Natural, PageParameters, ReleaseParameters
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.summary import Finding, ReleaseSummary, Summary
from losslake.questions.lists.paging import Cursor, altered_cursor, digest_of
from losslake.questions.release.errors import BadParameter, near_names
from losslake.questions.release.parsed_names import parse_workload
from losslake.questions.release.view import ReleaseView
from losslake.questions.results.submissions import FLAGS, Submissions, submissions_of
from losslake_schema.quantities import plural

MOST_LETTERS = 200
_SUBMISSION = "mlperf-training/5.1/closed/NVIDIA/Tyche_ngpu512_ngc25.09_nemo/llama31_8b"
_TRIAL = "mlperf-training/c4/llama31_8b/adamw/32/17"
_LOG = "https://github.com/mlcommons/training_results_v5.1/blob/441d65f4445c/NVIDIA/results/…/result_0.txt"
Several = list[Annotated[str, Field(max_length=MOST_LETTERS)]]
# What filters take for a value that logs don't state.
UNKNOWN = "unknown"
FACETS = ("suite", "round", "benchmark", "organisation", "accelerator", "division", "flag")


class ResultsParameters(ReleaseParameters, PageParameters):
    """The submissions to list, their order and page."""

    submission: Annotated[Several, shown([_SUBMISSION], max_length=MOST_PLACES)] = Field(default_factory=list)
    """Only this submission, as the column `submission` has it; may be repeated. Default: all."""
    suite: Annotated[Several, shown(["mlperf-training"], max_length=MOST_PLACES)] = Field(default_factory=list)
    """Only submissions of this suite, mlperf-training or mlperf-hpc; may be repeated. Default: all."""
    round: Annotated[Several, shown(["5.1"], max_length=MOST_PLACES)] = Field(default_factory=list)
    """Only submissions of this round; may be repeated. Default: all."""
    benchmark: Annotated[Several, shown(["llama31_8b"], max_length=MOST_PLACES)] = Field(default_factory=list)
    """Only submissions to this benchmark; may be repeated. Default: all."""
    organisation: Annotated[Several, shown(["NVIDIA"], max_length=MOST_PLACES)] = Field(default_factory=list)
    """Only submissions of this organisation; may be repeated. Default: all."""
    accelerator: Annotated[Several, shown(["NVIDIA H100"], max_length=MOST_PLACES)] = Field(default_factory=list)
    """Only submissions on this accelerator; may be repeated. Default: all."""
    division: Annotated[Several, shown(["closed"], max_length=MOST_PLACES)] = Field(default_factory=list)
    """Only submissions of this division, closed, open or unknown; may be repeated. Default: all."""
    flag: Annotated[Several, shown(["copy"], max_length=MOST_PLACES)] = Field(default_factory=list)
    """Only submissions with this flag, as the column `flags` has them; may be repeated. Default: all."""
    flagged: Annotated[Literal["include", "exclude", "only"], shown("exclude")] = "include"
    """exclude leaves out submissions with a flag, only lists just these."""
    workload: Annotated[Several, shown(["mlperf-training/imagenet/resnet/lars"], max_length=MOST_PLACES)] = Field(
        default_factory=list
    )
    """Only submissions whose runs are of this workload, or of those that a pattern matches; may be repeated."""
    q: Annotated[str, shown("nvidia h100 bert", max_length=MOST_LETTERS)] = ""
    """Words that a submission must all have, in its name, accelerator, data set, model or optimizer."""
    sort: Annotated[str, shown("time_s,-accelerators")] = ""
    """Columns to sort by, comma-separated; minus reverses one. Null is last. Default: the newest round first, then by
    benchmark, division and time_s."""
    limit: Annotated[Natural | None, shown(100, "rows", ge=1, le=100_000)] = None
    """Rows per page. Default: no limit, everything at once."""


class ResultRow(Row):
    """A submission: the runs of a benchmark by an organisation on a system in a round."""

    submission: Annotated[str, shown(_SUBMISSION)]
    """Its name: suite/round/division/organisation/system/benchmark, as the parameter `submission` takes it."""
    suite: Annotated[str, shown("mlperf-training")]
    """mlperf-training or mlperf-hpc: the first part of the collection."""
    round: Annotated[str, shown("5.1")]
    """The round of MLPerf."""
    division: Annotated[str | None, shown("closed")]
    """closed or open, which may change the model, the data and the hyperparameters; null where logs don't say."""
    organisation: Annotated[str, shown("NVIDIA")]
    """The submitter, by one name in all rounds."""
    system: Annotated[str, shown("Tyche_ngpu512_ngc25.09_nemo")]
    """The system, as the submitter calls it."""
    benchmark: Annotated[str, shown("llama31_8b")]
    """The benchmark, as the round calls it."""
    scaling: Annotated[str | None, shown("strong")]
    """For MLPerf HPC: strong (time to train one model) or weak (many models side by side); null where not stated."""
    workload: Annotated[str, shown("mlperf-training/c4/llama31_8b/adamw")]
    """The workload of its runs; of several, that of most."""
    dataset: str
    model: str
    optimizer: str
    batch_size: Annotated[int | None, shown(64, "batch_unit of the study, mostly examples")]
    """Batch size of its runs; null if they differ in it."""
    accelerator: Annotated[str | None, shown("NVIDIA H100")]
    """The accelerator; CPU for systems without; null where unknown."""
    accelerators: Annotated[int | None, shown(512, "accelerators")]
    """Number of accelerators; null where unknown, and for weak scaling, where logs state those of one model."""
    n_runs: Annotated[int, shown(10, "runs")]
    """Runs that are stored."""
    n_required: Annotated[int | None, shown(10, "runs")]
    """Runs that the rules of the benchmark and round require; null for a benchmark without known rules."""
    n_not_reached: Annotated[int, shown(0, "runs")]
    """Runs that did not reach the quality target, as their logs say."""
    time_s: Annotated[float | None, shown(283.6, "seconds")]
    """MLPerf's time to train: the mean from run_start to run_stop, without the fastest and slowest runs that its rules
    drop (one each; four each for unet3d), not scaled; null where it isn't known: time_reason says why."""
    time_reason: Annotated[str | None, shown("4 of the 10 runs that the rules require are stored")]
    """The reason for no time_s; null if there is one."""
    fastest_s: Annotated[float | None, shown(271.2, "seconds")]
    """Time of the fastest run that reached the target; null if none has a time."""
    slowest_s: Annotated[float | None, shown(299.9, "seconds")]
    """Time of the slowest run that reached the target; null if none has a time."""
    run_times_s: Annotated[list[float], shown([271.2, 283.6, 299.9], "seconds")]
    """Times of the runs that reached the target, ascending: the first entries of `trials`, in the same order."""
    accelerator_hours: Annotated[float | None, shown(40.3, "accelerator-hours")]
    """time_s times accelerators, in hours; null where either is."""
    examples: Annotated[float | None, shown(1532000.0, "batch_unit of the study, mostly examples")]
    """Examples to the target: the mean without the least and the most, as of time_s; null where unknown."""
    epochs: Annotated[float | None, shown(2.4, "epochs")]
    """examples in epochs; null unless logs state positions in epochs."""
    rcp: Annotated[str | None, shown("pass")]
    """The check of convergence by the reference points of the round, made here from the stored runs: pass; fail (sooner
    than they allow); null where they can't decide. What MLPerf decided isn't known."""
    rcp_ground: Annotated[str | None, shown("interpolated")]
    """The point it is compared with: found; interpolated; pruned (interpolated, as that of its batch size is pruned);
    smallest (its batch size is below all points). Or why none: missing (above all points), not_converged, unusable,
    no_reference."""
    rcp_by: Annotated[str | None, shown("training_5.1.0")]
    """The round of the reference points, as mlcommons/logging names it; null for none."""
    rcp_factor: Annotated[float | None, shown(1.013)]
    """Factor by which MLPerf multiplies the time of a submission that passes, but converges sooner than the reference;
    1 for others that pass; null without a verdict."""
    scored_s: Annotated[float | None, shown(286.6, "seconds")]
    """time_s times rcp_factor in the closed division of MLPerf Training since round 2.1, else time_s: what MLPerf's
    tables state, in minutes; null where either is."""
    rcp_in_words: Annotated[str, shown("at batch size 64 the submission's mean is 172032, compared with …")]
    """The check in words."""
    flags: Annotated[list[str], shown(["copy"])]
    """Doubts: too_few_examples and small_epoch (as FROM flags in SQL), sooner_than_references,
    impossible_time (a clock that goes back, or no run_stop), copy (runs that were submitted before), fewer_runs and
    more_runs than required, not_reached (by too many runs)."""
    flags_in_words: Annotated[list[str], shown(["10 runs are also those of mlperf-training/5.0/closed/NVIDIA/…"])]
    """A sentence for each of the flags, in the same order."""
    also_in: Annotated[list[str], shown([_SUBMISSION])]
    """Other submissions with some of the same runs: logs that were submitted again."""
    trials: Annotated[list[str], shown([_TRIAL])]
    """The trials of its runs: those in run_times_s, then those without a time or target, by number."""
    logs: Annotated[list[str], shown([_LOG])]
    """The log of each of `trials`, where it was published; empty where unknown."""


class FacetValue(Summary):
    """A value that submissions can be filtered by."""

    facet: Annotated[str, shown("benchmark")]
    value: Annotated[str | None, shown("bert")]
    n: Annotated[int, shown(335, "submissions")]


class ResultsSummary(ReleaseSummary, Finding):
    """The facets to filter by, and what to know of the times."""

    facets: list[FacetValue]
    """The values of suite, round, benchmark, organisation, accelerator, division and flag, with the submissions that
    have each and pass the filters of the other facets; null: not stated. Of each facet the most frequent first."""


@dataclass(frozen=True)
class _Results:
    """The submissions of a release, with the words by which each is found, and its values by facet."""

    submissions: Submissions
    table: pa.Table
    words: Sequence[str]
    values: Mapping[str, Sequence[Sequence[str | None]]]


def _answer(view: ReleaseView, parameters: ResultsParameters) -> Answer:
    """Return the submissions that pass the filters; raises UnknownName and BadParameter."""
    results = view.kept("results", lambda: _results(view))
    rows = results.submissions.rows
    passing = _passing(results, parameters)
    others = _passes_others(view, results, parameters)
    chosen = [row for row in range(len(rows)) if others[row] and all(flags[row] for flags in passing.values())]
    chosen = _sorted(rows, chosen, parameters.sort)
    page, next_cursor = _page(view, parameters, chosen)
    summary = {
        "release": view.number,
        "facets": _facets(results, passing, others),
        "definition": QUESTION.definition,
        "n_used": sum(rows[row]["n_runs"] for row in chosen),
        "left_out": list(_left_out(results, chosen)),
        "warnings": list(_warnings(rows, chosen)),
    }
    table = results.table.take(pa.array(page, pa.int64()))
    return QUESTION.of_table(summary, table, total=len(chosen), next_cursor=next_cursor)


QUESTION = Question(
    path="/v1/results",
    doc="The submissions of MLPerf, each with its time by MLPerf's rules, its runs, its convergence, and flags.",
    parameters=ResultsParameters,
    row=ResultRow,
    summary=ResultsSummary,
    compute=_answer,
)


def _results(view: ReleaseView) -> _Results:
    submissions = submissions_of(view)
    rows = submissions.rows
    table = pa.Table.from_pylist(list(rows), QUESTION.rows.schema)
    searched = ("submission", "organisation", "accelerator", "dataset", "model", "optimizer", "workload")
    words = [" ".join(str(row[name]) for name in searched if row[name] is not None).casefold() for row in rows]
    values = {
        facet: [row["flags"] if facet == "flag" else [row[facet]] for row in rows] for facet in FACETS
    }  # fmt: skip
    return _Results(submissions, table, words, values)


def _passing(results: _Results, parameters: ResultsParameters) -> dict[str, list[bool]]:
    """Return by facet which submissions pass its filter; raises BadParameter for a value that none has."""
    passing = {}
    for facet in FACETS:
        wanted: list[str] = getattr(parameters, facet)
        of_rows = results.values[facet]
        if not wanted:
            passing[facet] = [True] * len(of_rows)
            continue
        known = {UNKNOWN if value is None else value for values in of_rows for value in values}
        if facet == "flag":
            known.update(FLAGS)
        for value in wanted:
            if value not in known and of_rows:
                raise _unknown(facet, value, known)
        chosen = set(wanted)
        passing[facet] = [
            any((UNKNOWN if value is None else value) in chosen for value in values) for values in of_rows
        ]
    return passing


def _unknown(parameter: str, value: str, known: Collection[str]) -> BadParameter:
    near = near_names(value, sorted(known))
    advice = f": did you mean {' or '.join(near)}?" if near else ": /v1/results lists them"
    return BadParameter(parameter, f"no submission of this release has {parameter} '{value}'{advice}")


def _passes_others(view: ReleaseView, results: _Results, parameters: ResultsParameters) -> list[bool]:
    """Return which submissions pass the filters that aren't facets; raises UnknownName and BadParameter."""
    rows, named = results.submissions.rows, set(parameters.submission)
    known = {row["submission"] for row in rows}
    for name in sorted(named - known) if rows else ():
        raise _unknown("submission", name, ())
    patterns = [view.matching(parse_workload(text)) for text in parameters.workload]
    workloads = {str(facts.workload) for each in patterns for facts in each}
    words = parameters.q.casefold().split()
    wants_flags = {"include": None, "exclude": False, "only": True}[parameters.flagged]
    return [
        (not named or row["submission"] in named)
        and (not workloads or row["workload"] in workloads)
        and (wants_flags is None or bool(row["flags"]) == wants_flags)
        and all(word in text for word in words)
        for row, text in zip(rows, results.words, strict=True)
    ]


def _facets(results: _Results, passing: Mapping[str, Sequence[bool]], others: Sequence[bool]) -> list[dict[str, Any]]:
    """Return the values of each facet among the submissions that pass the filters of all other facets."""
    facets = []
    for facet in FACETS:
        elsewhere = [passing[other] for other in FACETS if other != facet]
        counts: Counter[str | None] = Counter()
        for row, values in enumerate(results.values[facet]):
            if others[row] and all(flags[row] for flags in elsewhere):
                counts.update(values)
        ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0] is None, item[0] or ""))
        facets += [{"facet": facet, "value": value, "n": n} for value, n in ordered]
    return facets


def _sorted(rows: Sequence[Mapping[str, Any]], chosen: list[int], text: str) -> list[int]:
    """Return the rows by these columns, the last one first, since sorting is stable; raises BadParameter."""
    sortable = [column.name for column in QUESTION.rows.columns if column.is_ordered]
    for name in reversed(text.split(",") if text else []):
        column = name.removeprefix("-")
        if column not in sortable:
            can = "can't be sorted by" if column in QUESTION.rows.by_name else "has no column"
            raise BadParameter("sort", f"results {can} '{column}': give one or more of {', '.join(sortable)}")
        known = [row for row in chosen if rows[row][column] is not None]
        known.sort(key=lambda row: rows[row][column], reverse=name.startswith("-"))
        chosen = known + [row for row in chosen if rows[row][column] is None]
    return chosen


def _page(view: ReleaseView, parameters: ResultsParameters, chosen: list[int]) -> tuple[list[int], str | None]:
    """Return the rows of the page, and the cursor of the next one; raises BadParameter."""
    filters = parameters.model_dump(exclude={"format", "fields", "limit", "cursor", "release"})
    digest = digest_of("results", view.number, sorted(filters.items()))
    start = 0
    if parameters.cursor is not None:
        values = Cursor.read(parameters.cursor).values_of(digest)
        if len(values) != 1 or type(values[0]) is not int or values[0] < 0:
            raise altered_cursor()
        start = values[0]
    end = len(chosen) if parameters.limit is None else start + parameters.limit
    following = Cursor(view.number, digest, (end,)).text() if end < len(chosen) else None
    return chosen[start:end], following


def _left_out(results: _Results, chosen: Sequence[int]) -> Iterator[str]:
    """Yield what the answer lacks, and why."""
    rows = results.submissions.rows
    if not rows:
        yield "no trial of this release states a round, an organisation, a system and a benchmark, as MLPerf's logs do"
        return
    untimed = sum(rows[row]["time_s"] is None for row in chosen)
    if untimed:
        yield f"{untimed} {plural('submission', untimed)} without time_s: time_reason says why"
    if n := results.submissions.n_left_out:
        yield f"{n} {plural('log', n)} whose round, organisation, system or benchmark is empty or too long"
    yield (
        "submissions whose logs weren't published, weren't at hand or can't be read, such as minigo: the README of "
        "each collection lists them"
    )


def _warnings(rows: Sequence[Mapping[str, Any]], chosen: Sequence[int]) -> Iterator[str]:
    hardware = {(rows[row]["accelerator"], rows[row]["accelerators"]) for row in chosen}
    if len(hardware) > 1:
        yield "times on other accelerators, or on another number of them, compare hardware, not algorithms"
    if len({rows[row]["benchmark"] for row in chosen}) > 1:
        yield "times of different benchmarks can't be compared"
    if len({rows[row]["round"] for row in chosen}) > 1:
        yield "rounds may differ in the target, the data and the rules of a benchmark: equal workloads are alike"

"""The results of MLPerf: each submission with its time by MLPerf's rules, its runs, and what is doubtful about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import pyarrow as pa
from pydantic import Field

from losslake.output.answer import Answer
from losslake.output.rows import Row, shown
from losslake.questions.declaration.parameters import MOST_PLACES, Natural, PageParameters, ReleaseParameters
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.summary import Finding, ReleaseSummary, Summary
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView

MOST_LETTERS = 200
_SUBMISSION = "mlperf-training/5.1/closed/NVIDIA/Tyche_ngpu512_ngc25.09_nemo/llama31_8b"
_TRIAL = "mlperf-training/c4/llama31_8b/adamw/32/17"
_LOG = "https://github.com/mlcommons/training_results_v5.1/blob/441d65f4445c/NVIDIA/results/…/result_0.txt"
Several = list[Annotated[str, Field(max_length=MOST_LETTERS)]]
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
    """Only submissions of this division, closed or open; may be repeated. Default: all."""
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
    """closed or open, which may change the model, the data and the hyperparameters; null where logs don't say (v0.5)."""
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
    drop (one each; four each for unet3d); null where it can't be known, see time_reason. Not scaled by MLPerf's review."""
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
    """Examples to the target: the mean over the runs without the least and the most, as of time_s; null where unknown."""
    epochs: Annotated[float | None, shown(2.4, "epochs")]
    """examples in epochs; null where the size of an epoch isn't known."""
    rcp: Annotated[str | None, shown("pass")]
    """The check of convergence by MLPerf's reference points of the round, computed here from the stored runs: pass; fail
    (sooner than they allow); null where they can't decide. It isn't MLPerf's own decision."""
    rcp_ground: Annotated[str | None, shown("interpolated")]
    """The point it is compared with: found, interpolated or smallest; or why none: missing (its batch size is above all
    points), not_converged, unusable, no_reference."""
    rcp_by: Annotated[str | None, shown("training_5.1.0")]
    """The round of the reference points, as mlcommons/logging names it; null for none."""
    rcp_in_words: Annotated[str, shown("at batch size 64 the submission's mean is 172032, compared with …")]
    """The check in words."""
    flags: Annotated[list[str], shown(["copy"])]
    """What is doubtful: too_few_examples and small_epoch (as FROM flags in SQL), sooner_than_references, impossible_time,
    copy (other submissions have the same runs), fewer_runs and more_runs than required, not_reached (too many runs)."""
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
    """What can be filtered, and what to know of the times."""

    facets: list[FacetValue]
    """The values of suite, round, benchmark, organisation, accelerator, division and flag, with the submissions that
    have each and pass the filters of the other facets; null: not stated. Of each facet the most frequent first."""


def _answer(view: ReleaseView, parameters: ResultsParameters) -> Answer:
    """Return the submissions that pass the filters; raises BadParameter."""
    rows: Sequence[Mapping[str, Any]] = []
    summary = {
        "release": view.number,
        "facets": [],
        "definition": QUESTION.definition,
        "n_used": 0,
        "left_out": [],
        "warnings": [],
    }
    table = pa.Table.from_pylist(list(rows), QUESTION.rows.schema)
    ordered = {name: summary[name] for name in QUESTION.summary_names}
    return Answer(ordered, QUESTION.rows.schema, iter(table.to_batches()), total=len(rows))


QUESTION = Question(
    path="/v1/results",
    doc="The submissions of MLPerf, each with its time by MLPerf's rules, its runs, its convergence, and flags.",
    parameters=ResultsParameters,
    row=ResultRow,
    summary=ResultsSummary,
    compute=_answer,
)

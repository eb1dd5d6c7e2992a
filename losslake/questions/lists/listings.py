"""The lists and their rows."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from losslake.output.rows import KnownGoal, Row, shown
from losslake.questions.declaration.listing import Listing

WORKLOAD_KEYS = ("collection", "dataset", "model", "optimizer")

_GOAL = {"metric": "val/classification_error", "target": 0.05, "source": "studies/README.md"}
_COPY = {
    "source": "training_results_v4.1/NVIDIA/results/eos_n1452/gpt3/result_0.txt",
    "source_sha256": "7f83b1657ff1fc53b92dc18148a1d65dfc2d4b1fa3d677284addd200126d9069",
    "status": "COMPLETE", "steps": 500, "parameters": {}, "attributes": {"round": "4.1"},
}  # fmt: skip
_RANGE = {"type": "DOUBLE", "min_value": 0.001, "max_value": 1.0, "scale_type": "LOG"}


class _WorkloadKeys(Row):
    workload: str
    collection: str
    dataset: str
    model: str
    optimizer: str


class _Study(Row):
    study: str


class _StudyKeys(_WorkloadKeys, _Study):
    batch_size: int | None


class CollectionRow(Row):
    """A collection."""

    collection: str
    title: Annotated[str, shown("Batch-size studies of small networks on handwritten digits")]
    """Title of the collection."""
    licence: Annotated[str, shown("Apache-2.0")]
    """Licence of the data, as its source states it."""
    citation: Annotated[str, shown("LossLake developers: bundled batch-size studies on digits, 2026.")]
    """The citation."""
    source_url: Annotated[str, shown("https://arxiv.org/abs/1811.03600")]
    """The place of publication; empty if unknown."""


class WorkloadRow(_WorkloadKeys):
    """A workload."""

    batch_unit: str | None
    batch_sizes: Annotated[list[int], shown([16, 32, 64], "batch_unit of the studies, mostly examples")]
    """Batch sizes of its studies, ascending; without the study of the trials that change theirs."""
    metrics: list[str]
    goals: Annotated[list[KnownGoal], shown([_GOAL], "target: unit of its metric")]
    """Known goals of the workload, those on validation data first."""
    n_studies: int
    n_trials: Annotated[int, shown(704, "trials")]
    """Trials stored."""
    n_complete: int
    n_missed: int
    n_incomplete: int
    n_infeasible: int
    n_evaluations: int


class StudyRow(_StudyKeys):
    """A study."""

    batch_unit: str | None
    train_steps: Annotated[int | None, shown(2000, "steps")]
    """Least steps for a trial to count as COMPLETE; 0 for a time budget; null where the source doesn't say."""
    early_stopping: Annotated[bool | None, shown(False)]
    """True if bad trials may have been stopped early; null where the source doesn't say."""
    parameter_configs: Annotated[Any | None, shown({"learning_rate": _RANGE}, "each its own")]
    """The search space by metaparameter: type, range and scale, as the source has it; null where it has none."""
    metrics: list[str]
    n_trials: Annotated[int, shown(64, "trials")]
    """Trials stored."""
    n_complete: int
    n_missed: int
    n_incomplete: int
    n_infeasible: int
    n_quarantined: int
    n_evaluations: int
    n_measurements: int
    n_nonfinite: int
    format: Annotated[str, shown("batch_science")]
    """Log format that the study was read from."""
    source: Annotated[str, shown("logs.zip@sha256:7f83b1657ff1fc53b92dc18148a1d65dfc2d4b1fa3d677284addd200126d9069")]
    """Name of what the study was read from: a folder, NAME@sha256:… of a file, or a URL followed by the same."""
    source_digest: Annotated[str, shown("7f83b1657ff1fc53b92dc18148a1d65dfc2d4b1fa3d677284addd200126d9069")]
    """sha256 over the sha256 of its source files, in hexadecimal."""
    content_digest: str
    schedule: Annotated[str | None, shown("131072-262144")]
    """The name of the schedule of batch sizes, if all trials of a study whose batch size changes share one; null
    otherwise."""


class TrialRow(Row):
    """A trial."""

    trial: str
    collection: str
    dataset: str
    model: str
    optimizer: str
    batch_size: int | None
    trial_id: int
    status: str
    steps: Annotated[int | None, shown(2000, "steps")]
    """Steps trained, as the log says; null where it doesn't."""
    last_step: Annotated[int | None, shown(2000, "steps")]
    """The last step at which the trial was evaluated in any metric; null if it never was."""
    n_evaluations: Annotated[int, shown(200, "evaluations")]
    """Steps at which the trial was evaluated."""
    n_nonfinite: int
    parameters: dict[str, float]
    attributes: dict[str, Any]
    source: Annotated[str, shown("losslake_bundled/digits/mlp_64/sgd/64/17/measurements.csv")]
    """File that its curve was read from, within the study's source."""
    source_sha256: Annotated[str | None, shown("7f83b1657ff1fc53b92dc18148a1d65dfc2d4b1fa3d677284addd200126d9069")]
    """sha256 of that file, in hexadecimal."""
    content_digest: str
    also_submitted: Annotated[Any | None, shown([_COPY], "each its own")]
    """Other logs of the same run: file, sha256, status, steps, and the metaparameters that differ; null for none."""


class MetricRow(Row):
    """A metric."""

    metric: str
    split: Annotated[str, shown("val")]
    """The data split that it is measured on: train, val or test."""
    quantity: Annotated[str, shown("classification_error")]
    """The quantity measured."""
    direction: str | None
    unit: Annotated[str, shown("fraction of examples")]
    """Unit of its values; empty if unknown."""
    description: Annotated[str, shown("Share of the examples that are put into the wrong class.")]
    """Meaning of the metric."""


class GoalRow(_WorkloadKeys):
    """A goal of a workload."""

    metric: str
    target: Annotated[float, shown(0.05, "unit of the metric")]
    """The target: a trial reaches the goal when it is better than this, or, if `comparator` says so, equal to it."""
    comparator: Annotated[str, shown("strict")]
    """strict: a value has to be better than the target; inclusive: an equal value reaches it, too."""
    source: Annotated[str, shown("studies/README.md")]
    """The source of the goal."""


class ContributorRow(_StudyKeys):
    """A contributor to a study, in one role."""

    name: Annotated[str, shown("Ann Lee")]
    """Name of who contributed: a person or an organisation."""
    orcid: Annotated[str, shown("0000-0002-1825-0097")]
    """ORCID iD; empty if none is stated."""
    role: Annotated[str, shown("data collection")]
    """Their role."""
    contribution: Annotated[str, shown("0199d1c5-7d1e-7a53-8f0c-5b6f0a9c2d11")]
    """Identifier of the submission that the trials came with; empty if there was none."""
    n_trials: Annotated[int, shown(64, "trials")]
    """Trials of the study that they contributed to."""


class ReleaseRow(Row):
    """A release."""

    release: Annotated[int, shown(1)]
    """Number of the release, for the parameter `release`."""
    created_at: Annotated[datetime, shown("2026-11-21T09:42:50Z", "UTC")]
    """Time of publication."""
    notes: Annotated[str, shown("first release")]
    """The publisher's notes."""
    content_digest: str
    n_studies: int
    n_trials: Annotated[int, shown(7744, "trials")]
    """Trials stored."""
    n_evaluations: int
    n_measurements: int


class WithdrawnRow(Row):
    """A trial that was withdrawn or erased."""

    trial: Annotated[str, shown("bundled/digits/mlp_64/nesterov_momentum/64/17")]
    """The trial; sha256:… of its name if that was erased, too; empty for a release from which trials were erased."""
    kind: Annotated[str, shown("withdrawn")]
    """withdrawn: earlier releases have it; erased: no release has it any more."""
    at: Annotated[datetime, shown("2026-11-21T09:42:50Z", "UTC")]
    """When it was withdrawn or erased."""
    reason: Annotated[str, shown("wrong data set")]
    """The reason, in the words of who did it."""
    release_without: Annotated[int | None, shown(4)]
    """The first release without the trial; of a release from which trials were erased, its own number."""
    by: Annotated[str, shown("the operator")]
    """The person who erased it; empty for withdrawn trials."""
    digest: Annotated[str, shown("7f83b1657ff1fc53b92dc18148a1d65dfc2d4b1fa3d677284addd200126d9069")]
    """The content digest of the erased trial, or of the release before the erasure; empty for withdrawn trials."""


STUDY_KEYS = (*WORKLOAD_KEYS, "batch_size")
GOAL_KEYS = (*WORKLOAD_KEYS, "metric", "target", "source")
CONTRIBUTOR_KEYS = (*STUDY_KEYS, "name", "orcid", "role", "contribution")
LISTINGS = (
    Listing("collections", CollectionRow, ("collection",), "The collections of a release, with licence and citation."),
    Listing("workloads", WorkloadRow, WORKLOAD_KEYS, "The workloads of a release, with batch sizes, metrics, goals."),
    Listing("studies", StudyRow, STUDY_KEYS, "The studies of a release, with their search spaces."),
    Listing("trials", TrialRow, (*STUDY_KEYS, "trial_id"), "The trials of a release, with their metaparameters."),
    Listing("metrics", MetricRow, ("metric",), "The metrics that a release knows, with direction and unit."),
    Listing("goals", GoalRow, GOAL_KEYS, "The goals of the workloads of a release, with their sources."),
    Listing(
        "contributors", ContributorRow, CONTRIBUTOR_KEYS, "Who contributed to the studies of a release, with ORCID iDs."
    ),
)
WITHDRAWN = Listing(
    "withdrawn",
    WithdrawnRow,
    ("at", "trial", "kind", "digest"),
    "The trials that were withdrawn after they were published, or erased. Those that release N still has have a "
    "`release_without` above N.",
)
RELEASES = Listing("releases", ReleaseRow, ("release",), "Every release of the lake, newest first.")

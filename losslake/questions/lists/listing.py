"""The seven lists: their rows, the order of these, and where they come from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from losslake.output.columns import Column, RowShape, row_shape
from losslake.output.rows import KnownGoal, Row, shown

WORKLOAD_KEYS = ("collection", "dataset", "model", "optimizer")


class CollectionRow(Row):
    """A collection."""

    collection: str
    title: Annotated[str, shown("Batch-size studies of small networks on handwritten digits")]
    """What it is, in a line."""
    licence: Annotated[str, shown("Apache-2.0")]
    """Licence of the data, as its source states it."""
    citation: Annotated[str, shown("LossLake developers: bundled batch-size studies on digits, 2026.")]
    """What to cite."""
    source_url: Annotated[str, shown("https://arxiv.org/abs/1811.03600")]
    """Where it was published; empty where nobody said."""


class WorkloadRow(Row):
    """A workload."""

    workload: str
    collection: str
    dataset: str
    model: str
    optimizer: str
    batch_unit: str | None
    batch_sizes: Annotated[list[int], shown([16, 32, 64], "batch_unit of the studies, mostly examples")]
    """Batch sizes of its studies, ascending."""
    metrics: list[str]
    goals: Annotated[
        list[KnownGoal],
        shown(
            [{"metric": "val/classification_error", "target": 0.05, "source": "studies/README.md"}],
            "target: unit of its metric",
        ),
    ]
    """Known goals of the workload, those on validation data first."""
    n_studies: int
    n_trials: Annotated[int, shown(704, "trials")]
    """Trials stored."""
    n_complete: int
    n_incomplete: int
    n_infeasible: int
    n_evaluations: int


class StudyRow(Row):
    """A study."""

    study: str
    workload: str
    collection: str
    dataset: str
    model: str
    optimizer: str
    batch_size: int
    batch_unit: str | None
    train_steps: Annotated[int | None, shown(2000, "steps")]
    """Least number of steps for a trial to count as COMPLETE; 0: a time budget; null where the source doesn't say."""
    early_stopping: Annotated[bool | None, shown(False)]
    """Whether bad trials may have been stopped early; null where the source doesn't say."""
    parameter_configs: Annotated[
        Any | None,
        shown(
            {"learning_rate": {"type": "DOUBLE", "min_value": 0.001, "max_value": 1.0, "scale_type": "LOG"}},
            "each its own",
        ),
    ]
    """The search space by metaparameter: type, range and scale, as the source has it; null where it has none."""
    metrics: list[str]
    n_trials: Annotated[int, shown(64, "trials")]
    """Trials stored."""
    n_complete: int
    n_incomplete: int
    n_infeasible: int
    n_quarantined: int
    n_evaluations: int
    n_measurements: int
    n_nonfinite: int
    format: Annotated[str, shown("batch_science")]
    """Log format that the study was read from."""
    source: Annotated[str, shown("bundled.tar.bz2")]
    """Archive or folder that the study was read from."""
    source_digest: Annotated[str, shown("7f83b1657ff1fc53b92dc18148a1d65dfc2d4b1fa3d677284addd200126d9069")]
    """sha256 over the sha256 of its source files, in hexadecimal."""
    content_digest: str


class TrialRow(Row):
    """A trial."""

    trial: str
    collection: str
    dataset: str
    model: str
    optimizer: str
    batch_size: int
    trial_id: int
    status: str
    steps: Annotated[int | None, shown(2000, "steps")]
    """Steps taken, as the log says; null where it doesn't."""
    last_step: Annotated[int | None, shown(2000, "steps")]
    """The last step at which the trial was evaluated; null if it never was."""
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


class MetricRow(Row):
    """A metric."""

    metric: str
    split: Annotated[str, shown("val")]
    """The split of the data that it is measured on: train, val or test."""
    quantity: Annotated[str, shown("classification_error")]
    """What is measured."""
    direction: str | None
    unit: Annotated[str, shown("fraction of examples")]
    """Unit of its values; empty where nobody said."""
    description: Annotated[str, shown("Share of the examples that are put into a wrong class.")]
    """What it means."""


class GoalRow(Row):
    """A goal of a workload."""

    workload: str
    collection: str
    dataset: str
    model: str
    optimizer: str
    metric: str
    target: Annotated[float, shown(0.05, "unit of the metric")]
    """The target: a trial reaches the goal when it is strictly better than this."""
    source: Annotated[str, shown("studies/README.md")]
    """Where the goal comes from."""


class ReleaseRow(Row):
    """A release."""

    release: Annotated[int, shown(1)]
    """Its number, as the parameter `release` takes it."""
    created_at: Annotated[datetime, shown("2026-11-21T09:42:50Z", "UTC")]
    """When it was published."""
    notes: Annotated[str, shown("first release")]
    """What its publisher says of it."""
    content_digest: str
    n_studies: int
    n_trials: Annotated[int, shown(7744, "trials")]
    """Trials stored."""
    n_evaluations: int
    n_measurements: int


@dataclass(frozen=True, eq=False)
class Listing:
    """A list. key: columns that no two rows share, by which rows are ordered unless asked otherwise."""

    name: str
    row: type[Row]
    key: tuple[str, ...]
    doc: str

    @property
    def shape(self) -> RowShape:
        """Its columns, in order."""
        return row_shape(self.row)

    @property
    def columns(self) -> dict[str, Column]:
        """Its columns by name."""
        return self.shape.by_name


STUDY_KEYS = (*WORKLOAD_KEYS, "batch_size")
LISTINGS = (
    Listing("collections", CollectionRow, ("collection",), "The collections of a release, with licence and citation."),
    Listing(
        "workloads",
        WorkloadRow,
        WORKLOAD_KEYS,
        "The workloads of a release, with their batch sizes, metrics and goals.",
    ),
    Listing("studies", StudyRow, STUDY_KEYS, "The studies of a release, with their search spaces."),
    Listing("trials", TrialRow, (*STUDY_KEYS, "trial_id"), "The trials of a release, with their metaparameters."),
    Listing("metrics", MetricRow, ("metric",), "The metrics that a release knows, with direction and unit."),
    Listing(
        "goals",
        GoalRow,
        (*WORKLOAD_KEYS, "metric", "target", "source"),
        "The goals of the workloads of a release, with their sources.",
    ),
)
RELEASES = Listing("releases", ReleaseRow, ("release",), "Every release of the lake, newest first.")

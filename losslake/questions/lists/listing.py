"""The seven lists: their columns, the order of their rows, and where they come from."""

from __future__ import annotations

from dataclasses import dataclass

from losslake.output.answer import Column, RowShape, row_shape

WORKLOAD_KEYS = ("collection", "dataset", "model", "optimizer")


@dataclass(frozen=True, eq=False)
class Listing:
    """A list. key: columns that no two rows share, by which rows are ordered unless asked otherwise."""

    name: str
    shape: RowShape
    key: tuple[str, ...]
    doc: str

    @property
    def columns(self) -> dict[str, Column]:
        """Its columns by name."""
        return {column.name: column for column in self.shape.columns}


def _listing(name: str, doc: str, key: tuple[str, ...], *columns: str) -> Listing:
    return Listing(name, row_shape(name, *columns), key, doc)


COLLECTIONS = _listing(
    "collections", "The collections of a release, with licence and citation.", ("collection",),
    "collection", "title", "licence", "citation", "source_url",
)  # fmt: skip
WORKLOADS = _listing(
    "workloads", "The workloads of a release, with their batch sizes, metrics and goals.", WORKLOAD_KEYS,
    "workload", *WORKLOAD_KEYS, "batch_unit", "batch_sizes", "metrics", "goals", "n_studies", "n_trials", "n_complete",
    "n_incomplete", "n_infeasible", "n_evaluations",
)  # fmt: skip
STUDIES = _listing(
    "studies", "The studies of a release, with their search spaces.", (*WORKLOAD_KEYS, "batch_size"),
    "study", "workload", *WORKLOAD_KEYS, "batch_size", "batch_unit", "train_steps", "early_stopping",
    "parameter_configs", "metrics", "n_trials", "n_complete", "n_incomplete", "n_infeasible", "n_quarantined",
    "n_evaluations", "n_measurements", "n_nonfinite", "format", "source", "source_digest", "content_digest",
)  # fmt: skip
TRIALS = _listing(
    "trials", "The trials of a release, with their metaparameters.", (*WORKLOAD_KEYS, "batch_size", "trial_id"),
    "trial", *WORKLOAD_KEYS, "batch_size", "trial_id", "status", "steps", "last_step", "n_evaluations", "n_nonfinite",
    "parameters", "attributes", "source", "source_sha256", "content_digest",
)  # fmt: skip
METRICS = _listing(
    "metrics", "The metrics that a release knows, with direction and unit.", ("metric",),
    "metric", "split", "quantity", "direction", "unit", "description",
)  # fmt: skip
GOALS = _listing(
    "goals", "The goals of the workloads of a release, with their sources.",
    (*WORKLOAD_KEYS, "metric", "target", "source"),
    "workload", *WORKLOAD_KEYS, "metric", "target", "source",
)  # fmt: skip
RELEASES = _listing(
    "releases", "Every release of the lake, newest first.", ("release",),
    "release", "created_at", "notes", "content_digest", "n_studies", "n_trials", "n_evaluations", "n_measurements",
)  # fmt: skip
LISTINGS = (COLLECTIONS, WORKLOADS, STUDIES, TRIALS, METRICS, GOALS)

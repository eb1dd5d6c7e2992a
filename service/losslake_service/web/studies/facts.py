"""What is known of a study and of a trial beside their curves: counts, settings, and where they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from losslake.lake.manifest import url_path
from losslake.questions.release_view import ReleaseView
from losslake.questions.workload_facts import WorkloadFacts
from losslake_schema.names import Study


@dataclass(frozen=True)
class StudyFacts:
    """The columns of `studies` by their names, with title, licence, citation and source_url of its collection."""

    batch_unit: str | None
    train_steps: int | None
    early_stopping: bool | None
    parameter_configs: str | None
    n_trials: int
    n_complete: int
    n_incomplete: int
    n_infeasible: int
    n_quarantined: int | None
    n_evaluations: int
    n_measurements: int
    n_nonfinite: int
    format: str | None
    source: str | None
    source_digest: str | None
    content_digest: str | None
    title: str | None
    licence: str | None
    citation: str | None
    source_url: str | None

    @property
    def unit(self) -> str:
        """What a batch size counts."""
        return self.batch_unit or "unit not said"

    @property
    def training(self) -> str:
        """For how long a trial was to be trained."""
        if self.train_steps is None:
            return "length not said"
        return f"{self.train_steps:,} steps" if self.train_steps else "for a time, not for steps"

    @property
    def stopping(self) -> str:
        """Whether trials that went badly may have been cut short."""
        if self.early_stopping is None:
            return "not said whether stopped early"
        return "may have been stopped early" if self.early_stopping else "never stopped early"

    @property
    def link(self) -> str | None:
        """Where its collection was published, if that is a place on the web."""
        return self.source_url if (self.source_url or "").startswith(("https://", "http://")) else None


@dataclass(frozen=True)
class TrialFacts:
    """Columns of `trials` by their names."""

    steps: int | None
    n_evaluations: int
    n_nonfinite: int
    source: str | None
    source_sha256: str | None
    content_digest: str | None
    parameters: Mapping[str, float] | None
    attributes: Mapping[str, str] | None


def study_facts(view: ReleaseView, study_id: int) -> StudyFacts:
    """The facts of the study of that number in the release."""
    return StudyFacts(*_row(view, "facts_of_study", study_id=study_id))


def trial_facts(view: ReleaseView, study_id: int, trial_id: int) -> TrialFacts:
    """The facts of a trial of the study of that number in the release."""
    return TrialFacts(*_row(view, "facts_of_trial", study_id=study_id, trial_id=trial_id))


def data_files(view: ReleaseView, facts: WorkloadFacts, study: int) -> Sequence[str]:
    """The paths, from the service's root, of the Parquet files with the measurements of a study."""
    folder = Study(facts.workload, facts.batch_sizes[study]).folder()
    n_files = len(view.measurement_files(facts, study))
    places = [f"measurements/{folder}/part-{number}.parquet" for number in range(n_files)]
    return [f"/data/{view.number}/{url_path(place)}" for place in places]


def _row(view: ReleaseView, query: str, **asked: int) -> tuple[Any, ...]:
    return view.rows(query, asked)[0]

"""Lists: what a release holds, by workload, study and trial, and which releases there are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from schema.database import Release
from schema.names import Study, Workload
from schema.tables import STATUSES
from service.answers.described import DESCRIBED
from service.release_view import ReleaseView, WorkloadFacts

LAST_STUDY_OF_ALL = 2**31 - 1


@dataclass(frozen=True, slots=True)
class GoalRow:
    """A metric and the target that a workload has to beat."""

    __pydantic_config__ = DESCRIBED

    metric: str
    """split/quantity."""
    target: float
    """Reached by being strictly better."""
    source: str
    """Where the goal comes from."""


@dataclass(frozen=True, slots=True)
class WorkloadRow:
    """One workload."""

    __pydantic_config__ = DESCRIBED

    workload: str
    """collection/dataset/model/optimizer: the value of the parameter `workload`."""
    collection: str
    """Where its studies come from; slashes separate sub-collections."""
    dataset: str
    """Data set trained on."""
    model: str
    """Model trained."""
    optimizer: str
    """Optimizer that trained it."""
    batch_unit: str | None
    """What a batch size counts: examples, tokens, sequences, seconds of audio."""
    batch_sizes: tuple[int, ...]
    """Batch sizes of its studies, ascending."""
    metrics: tuple[str, ...]
    """Metrics that any of its studies measures, by name."""
    goals: tuple[GoalRow, ...]
    """Known goals of the workload."""
    n_studies: int
    """Studies, one per batch size."""
    n_trials: int
    """Trials stored."""
    n_complete: int
    """Of these, COMPLETE."""
    n_incomplete: int
    """Of these, INCOMPLETE: stopped for an outside reason."""
    n_infeasible: int
    """Of these, INFEASIBLE: diverged."""
    n_evaluations: int
    """Steps at which trials were evaluated, summed over the trials."""


@dataclass(frozen=True, slots=True)
class Workloads:
    """Every workload of a release."""

    __pydantic_config__ = DESCRIBED

    release: int
    """The release that answered."""
    rows: tuple[WorkloadRow, ...]
    """One row per workload, by name."""


@dataclass(frozen=True, slots=True)
class StudyRow:
    """One study: a metaparameter search for one workload at one batch size."""

    __pydantic_config__ = DESCRIBED

    study: str
    """collection/dataset/model/optimizer/batch_size: the value of the parameter `study`."""
    workload: str
    """collection/dataset/model/optimizer."""
    batch_size: int
    """Batch size, in the study's batch_unit."""
    batch_unit: str | None
    """What batch_size counts: examples, tokens, sequences, seconds of audio."""
    train_steps: int | None
    """Least number of steps for a trial to count as COMPLETE; 0: a time budget."""
    early_stopping: bool | None
    """Whether bad trials may have been stopped early."""
    parameter_configs: Any
    """The search space: by metaparameter, its type, range and scale, as the source has it."""
    metrics: tuple[str, ...]
    """Metrics measured, by name."""
    n_trials: int
    """Trials stored."""
    n_complete: int
    """Of these, COMPLETE."""
    n_incomplete: int
    """Of these, INCOMPLETE: stopped for an outside reason."""
    n_infeasible: int
    """Of these, INFEASIBLE: diverged."""
    n_quarantined: int
    """Trials offered but not stored."""
    n_evaluations: int
    """Rows of (trial, step)."""
    n_measurements: int
    """Rows of (trial, step, metric)."""
    n_nonfinite: int
    """Measurements that are NaN or infinite."""
    format: str
    """Log format that the study was read from."""
    content_digest: str
    """sha256 over its trials and measurements, whatever file they are in."""


@dataclass(frozen=True, slots=True)
class Studies:
    """The studies of a release or of one workload."""

    __pydantic_config__ = DESCRIBED

    release: int
    """The release that answered."""
    rows: tuple[StudyRow, ...]
    """One row per study, by workload and batch size."""


@dataclass(frozen=True, slots=True)
class TrialRow:
    """One training run."""

    __pydantic_config__ = DESCRIBED

    trial: str
    """collection/dataset/model/optimizer/batch_size/trial_id: the value of the parameter `trial`."""
    batch_size: int
    """Batch size of its study."""
    trial_id: int
    """Number of the trial within its study."""
    status: str
    """COMPLETE, INCOMPLETE (stopped for an outside reason) or INFEASIBLE (diverged)."""
    steps: int | None
    """Steps taken, as the log says."""
    last_step: int | None
    """Last step at which it was evaluated; null if it never was."""
    n_evaluations: int
    """Steps at which it was evaluated."""
    n_nonfinite: int
    """Measurements that are NaN or infinite."""
    parameters: dict[str, float | str]
    """Numeric metaparameters; what is not finite is the string NaN, Infinity or -Infinity."""
    attributes: dict[str, Any]
    """Metaparameters that are not numbers."""
    content_digest: str
    """sha256 over status, steps, metaparameters and curve, whatever file they are in."""


@dataclass(frozen=True, slots=True)
class TrialList:
    """The trials of a workload or of one study."""

    __pydantic_config__ = DESCRIBED

    release: int
    """The release that answered."""
    rows: tuple[TrialRow, ...]
    """One row per trial, by batch size and trial_id."""


@dataclass(frozen=True, slots=True)
class ReleaseRow:
    """One immutable, citable version of the whole dataset."""

    __pydantic_config__ = DESCRIBED

    release: int
    """Its number: the value of the parameter `release`."""
    created_at: datetime
    """When it was published, UTC."""
    notes: str
    """What its publisher says of it."""
    content_digest: str
    """sha256 over its studies and measurements, whatever files they are in."""
    n_studies: int
    """Studies."""
    n_trials: int
    """Trials."""
    n_evaluations: int
    """Steps at which trials were evaluated, summed over the trials."""
    n_measurements: int
    """Values measured."""


@dataclass(frozen=True, slots=True)
class ReleaseList:
    """Every release of the lake."""

    __pydantic_config__ = DESCRIBED

    rows: tuple[ReleaseRow, ...]
    """One row per release, newest first."""


def workloads(view: ReleaseView) -> Workloads:
    """Every workload of the release, by name."""
    found = _records(view, "workloads", {})
    return Workloads(view.number, tuple(_workload_row(view, row) for row in found))


def studies(view: ReleaseView, workload: Workload | None = None) -> Studies:
    """The studies of a workload, by default all; raises UnknownName."""
    rows = _records(view, "studies", _studies_of(view.workload(workload) if workload else None))
    return Studies(view.number, tuple(_study_row(row) for row in rows))


def trials(view: ReleaseView, of: Workload | Study, statuses: Sequence[str] = STATUSES) -> TrialList:
    """The trials of a workload or of a study, of the given statuses; raises UnknownName."""
    if isinstance(of, Study):
        facts, study = view.study(of)
    else:
        facts, study = view.workload(of), None
    rows = _records(view, "trials", _studies_of(facts, study) | {"statuses": list(statuses)})
    return TrialList(view.number, tuple(_trial_row(facts.workload, row) for row in rows))


def releases(found: Sequence[Release]) -> ReleaseList:
    """The given releases, in the given order."""
    kept = [field.name for field in fields(ReleaseRow) if field.name != "release"]
    return ReleaseList(tuple(ReleaseRow(release=r.number, **{name: getattr(r, name) for name in kept}) for r in found))


def _records(view: ReleaseView, name: str, parameters: dict[str, Any]) -> list[dict[str, Any]]:
    result = view.query(name, parameters)
    names = [column[0] for column in result.description or ()]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def _studies_of(facts: WorkloadFacts | None, study: int | None = None) -> dict[str, Any]:
    """The range of study_id of one study, a workload or everything."""
    if facts is None:
        return {"first_study": 0, "last_study": LAST_STUDY_OF_ALL}
    if study is None:
        return {"first_study": facts.first_study, "last_study": facts.last_study}
    return {"first_study": facts.first_study + study, "last_study": facts.first_study + study}


def _workload_row(view: ReleaseView, row: dict[str, Any]) -> WorkloadRow:
    workload = Workload(row["collection"], row["dataset"], row["model"], row["optimizer"])
    goals = tuple(GoalRow(g.metric, g.target, g.source) for g in view.goals if g.workload == workload)
    return WorkloadRow(**row, metrics=view.workload(workload).measured, goals=goals)


def _study_row(row: dict[str, Any]) -> StudyRow:
    workload = Workload(*(row.pop(key) for key in ("collection", "dataset", "model", "optimizer")))
    study = Study(workload, row["batch_size"])
    row["parameter_configs"] = _from_json(row["parameter_configs"])
    return StudyRow(study=str(study), workload=str(workload), **row)


def _trial_row(workload: Workload, row: dict[str, Any]) -> TrialRow:
    row["parameters"] = {name: json_number(value) for name, value in (row["parameters"] or {}).items()}
    row["attributes"] = {name: _from_json(text) for name, text in (row["attributes"] or {}).items()}
    return TrialRow(trial=f"{workload}/{row['batch_size']}/{row['trial_id']}", **row)


def _from_json(text: str | None) -> Any:
    """What a JSON text of the source says, with numbers that JSON can't hold as strings."""
    return json.loads(text, parse_constant=str) if text else None


def json_number(value: float) -> float | str:
    """A number as JSON can hold it: NaN, Infinity and -Infinity become strings."""
    if value - value == 0:
        return value
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"

"""Dry run of an ingest: read everything, write nothing, and describe what would be stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from losslake.lake.lake import Lake
from losslake_ingest.bundles.reading import reading_of
from losslake_ingest.contracts.report import Quarantined, SourceReport, with_unused
from losslake_ingest.contracts.rules import MissingField, SourceBroken
from losslake_ingest.contracts.study import LoadedPart, StudyRejected
from losslake_ingest.pipeline.directions import measured_metrics, merged_directions, stated_directions
from losslake_ingest.pipeline.gather import Stored
from losslake_ingest.pipeline.goals import goal_rows, goals_not_in
from losslake_ingest.pipeline.reading import Request, open_sources
from losslake_ingest.releases.ledger import stored_in
from losslake_ingest.releases.withdrawal import reason_left_out
from losslake_ingest.sources.member import Source
from losslake_ingest.sources.open import Place
from losslake_schema.names import Study, Trial
from losslake_schema.registry import CollectionMetadata, Direction, Goal

FIRST_ROWS = 5
FIRST_METRICS = 4


@dataclass
class StudyPlan:
    """The planned content of a study. first_rows: (trial_id, step, values of the first metrics; None if missing)."""

    batch_unit: str
    metrics: set[str] = field(default_factory=set)
    trials: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    evaluations: int = 0
    first_rows: list[tuple[int, int, dict[str, float | None]]] = field(default_factory=list)


@dataclass
class IngestPlan:
    """The result of a dry run. missing: fields that the mapping has to add, with the number of runs."""

    studies: dict[Study, StudyPlan] = field(default_factory=dict)
    collections: dict[str, CollectionMetadata] = field(default_factory=dict)
    goals: dict[Goal, None] = field(default_factory=dict)
    directions: dict[tuple[str, Direction], None] = field(default_factory=dict)
    missing: Counter[MissingField] = field(default_factory=Counter)
    quarantined: list[Quarantined] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    sources: list[SourceReport] = field(default_factory=list)
    moved: dict[Trial, Trial] = field(default_factory=dict)


def plan_ingest(lake: Lake | None, paths: Sequence[Place], request: Request) -> IngestPlan:
    """Read everything at the paths as `ingest` does, without writing, and raise its errors.

    lake: supplies the numbers of stored trials; None stands for an empty lake.
    """
    plan, stored = IngestPlan(), stored_in(lake)
    for source in open_sources(paths, request):
        reading = reading_of(source, request, stored)
        try:
            for item in reading.items():
                if isinstance(item, Quarantined):
                    plan.quarantined.append(item)
                else:
                    _add_part(plan, item.load(), stored, source)
        except StudyRejected as rejection:
            plan.quarantined.append(rejection.reason)
            if source.is_streamed:
                source.sha256()
        except SourceBroken as error:
            plan.broken.append(f"{source.name}: {error}")
        plan.collections.update(reading.collections)
        plan.goals.update(reading.goals)
        plan.directions.update(reading.directions)
        plan.missing.update(reading.missing)
        plan.sources.append(reading.report())
    plan.sources = with_unused(plan.sources)
    _check_statements(plan, stored, request.stored_facts_stay)
    plan.moved = {trial: move.to for trial, move in stored.moved().items()}
    return plan


def _check_statements(plan: IngestPlan, stored: Stored, stored_facts_stay: bool) -> None:
    """Raise DirectionConflict or GoalConflict as publishing would."""
    n_stored, directions, goals = stored.studies("n_trials"), list(plan.directions), list(plan.goals)
    whole = {study for study, planned in plan.studies.items() if planned.trials >= int(n_stored.get(study, 0))}
    stored_goals = stored.table("goals")
    if stored_facts_stay:
        measured = measured_metrics(stored.table("studies"))
        directions = [(name, direction) for name, direction in directions if name not in measured]
        goals, whole = goals_not_in(stored_goals, goals), set()
    merged_directions(stated_directions(stored.table("metrics")), directions)
    goal_rows(stored_goals, n_stored.keys() | plan.studies.keys(), goals, whole)


def _add_part(plan: IngestPlan, part: LoadedPart, stored: Stored, source: Source) -> None:
    curves, study = part.curves, part.facts.study
    kept = np.ones(len(part.trials), np.bool_)
    for row, trial in enumerate(part.trials if study in stored.withdrawn else ()):
        reason = reason_left_out(stored, source, study, trial.source, trial.source_sha256, trial.trial_id)
        if reason is not None:
            plan.quarantined.append(reason)
            kept[row] = False
    plan.quarantined.extend(part.quarantined)
    if len(kept) and not kept.any():
        return
    study_plan = plan.studies.setdefault(study, StudyPlan(part.facts.batch_unit))
    study_plan.metrics.update(curves.values)
    study_plan.trials += int(kept.sum())
    study_plan.statuses.update(trial.status for trial, is_kept in zip(part.trials, kept, strict=True) if is_kept)
    study_plan.evaluations += int(np.diff(curves.offsets)[kept].sum())
    if not study_plan.first_rows and kept.any():
        shown, first = sorted(curves.values)[:FIRST_METRICS], int(kept.argmax())
        start, end = int(curves.offsets[first]), int(curves.offsets[first + 1])
        for row in range(start, min(start + FIRST_ROWS, end)):
            values = {metric: _cell(part, metric, row) for metric in shown}
            study_plan.first_rows.append((part.trials[first].trial_id, int(curves.steps[row]), values))


def _cell(part: LoadedPart, metric: str, row: int) -> float | None:
    missing = part.curves.missing.get(metric)
    return None if missing is not None and missing[row] else float(part.curves.values[metric][row])

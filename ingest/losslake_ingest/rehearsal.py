"""A dry run: everything that an ingest does before it writes, and what it would have written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from losslake.lake.lake import Lake
from losslake.lake.store.folder import FolderStore
from losslake_ingest.gather import Stored
from losslake_ingest.reading import Request, SourceReading
from losslake_ingest.report import Quarantined, SourceReport
from losslake_ingest.rules import MissingField, SourceBroken
from losslake_ingest.sources.open import Place, open_source
from losslake_ingest.study import LoadedPart, StudyRejected
from losslake_schema.names import Study
from losslake_schema.registry import CollectionFacts, Goal

FIRST_ROWS = 5
FIRST_METRICS = 4


@dataclass
class StudyPlan:
    """What would be stored of a study. first_rows: (trial_id, step, values of the first metrics; None if missing)."""

    batch_unit: str
    metrics: set[str] = field(default_factory=set)
    trials: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    evaluations: int = 0
    first_rows: list[tuple[int, int, dict[str, float | None]]] = field(default_factory=list)


@dataclass
class Rehearsal:
    """What an ingest would do, and what the mapping doesn't say yet, for how many runs."""

    studies: dict[Study, StudyPlan] = field(default_factory=dict)
    collections: dict[str, CollectionFacts] = field(default_factory=dict)
    goals: dict[Goal, None] = field(default_factory=dict)
    missing: Counter[MissingField] = field(default_factory=Counter)
    quarantined: list[Quarantined] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    sources: list[SourceReport] = field(default_factory=list)


def rehearse(lake: Lake | None, paths: Sequence[Place], request: Request) -> Rehearsal:
    """Read everything at the paths as `ingest` does and write nothing; raises what `ingest` raises before it reads.

    lake: gives stored trials their numbers again; None numbers them as in an empty lake.
    """
    base = lake.newest_release() if lake is not None else None
    files = lake.files(base) if lake is not None and base is not None else []
    store = lake.store if lake is not None else FolderStore(Path())
    stored = Stored(store, files)
    rehearsal = Rehearsal()
    for source in [open_source(path) for path in paths]:
        reading = SourceReading(source, request, stored)
        try:
            for item in reading.items():
                if isinstance(item, Quarantined):
                    rehearsal.quarantined.append(item)
                else:
                    _plan(rehearsal, item.load())
        except StudyRejected as rejection:
            rehearsal.quarantined.append(rejection.reason)
            if source.is_streamed:
                source.sha256()
        except SourceBroken as error:
            rehearsal.broken.append(f"{source.name}: {error}")
        rehearsal.collections.update(reading.collections)
        rehearsal.goals.update(reading.goals)
        rehearsal.missing.update(reading.missing)
        rehearsal.sources.append(reading.report())
    return rehearsal


def _plan(rehearsal: Rehearsal, part: LoadedPart) -> None:
    curves = part.curves
    plan = rehearsal.studies.setdefault(part.facts.study, StudyPlan(part.facts.batch_unit))
    plan.metrics.update(curves.values)
    plan.trials += len(part.trials)
    plan.statuses.update(trial.status for trial in part.trials)
    plan.evaluations += len(curves.steps)
    rehearsal.quarantined.extend(part.quarantined)
    if not plan.first_rows and part.trials:
        shown = sorted(curves.values)[:FIRST_METRICS]
        for row in range(min(FIRST_ROWS, int(curves.offsets[1]))):
            values = {metric: _cell(part, metric, row) for metric in shown}
            plan.first_rows.append((part.trials[0].trial_id, int(curves.steps[row]), values))


def _cell(part: LoadedPart, metric: str, row: int) -> float | None:
    missing = part.curves.missing.get(metric)
    return None if missing is not None and missing[row] else float(part.curves.values[metric][row])

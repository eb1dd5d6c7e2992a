"""What `losslake ingest --dry-run` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from losslake.cli.console import complain, counted, say, show_table

if TYPE_CHECKING:
    from losslake_ingest.rehearsal import Rehearsal
    from losslake_ingest.request import Request
    from losslake_ingest.sources.source_file import SourceFile

MOST_STUDIES = 50
MOST_LACKS = 40


def show_dry_run(lake: str | None, places: Sequence[str | SourceFile], request: Request) -> None:
    """Print the studies that an ingest would store, the first rows, and what is missing with the line that adds it."""
    from losslake.cli.ingest import say_quarantined, say_remarks, say_source
    from losslake.lake.lake import Lake
    from losslake_ingest.rehearsal import rehearse
    from losslake_schema.errors import LakeNotFound

    try:
        opened = Lake.open(lake)
    except LakeNotFound:
        opened = None
    found = rehearse(opened, places, request)
    for source in found.sources:
        say_source(source)
    _show_studies(found)
    _show_first_rows(found)
    _show_collections_and_goals(found)
    say_remarks(found.sources)
    say(f"quarantined  {len(found.quarantined):,}")
    say_quarantined(found.quarantined)
    _show_lacks(found)
    for broken in found.broken:
        complain(f"{broken}; what was whole before would be stored")
    trials = sum(plan.trials for plan in found.studies.values())
    say(f"nothing was stored: would ingest {counted(trials, 'trial')} in {counted(len(found.studies), 'study')}")


def _show_studies(found: Rehearsal) -> None:
    columns = ("study", "unit", "trials", "complete", "evaluations", "metrics")
    plans = sorted(found.studies.items())
    rows = [
        (str(study), p.batch_unit, p.trials, p.statuses["COMPLETE"], p.evaluations, ", ".join(sorted(p.metrics)))
        for study, p in plans[:MOST_STUDIES]
    ]
    if rows:
        show_table(columns, rows)
    if len(plans) > MOST_STUDIES:
        say(f"… and {counted(len(plans) - MOST_STUDIES, 'more study')}")


def _show_first_rows(found: Rehearsal) -> None:
    for study, plan in sorted(found.studies.items())[:1]:
        if plan.first_rows:
            metrics = list(plan.first_rows[0][2])
            say(f"first rows of {study}")
            show_table(
                ("trial_id", "step", *metrics), [(t, s, *(v[m] for m in metrics)) for t, s, v in plan.first_rows]
            )


def _show_collections_and_goals(found: Rehearsal) -> None:
    for facts in found.collections.values():
        licence = facts.licence or 'not stated: add licence = "…" under [collection]'
        say(f"collection   {facts.collection}: licence {licence}")
    goals = list(found.goals)
    for goal in goals[:MOST_STUDIES]:
        say(f"goal         {goal.workload}: {goal.metric} {goal.target:g} ({goal.source})")


def _show_lacks(found: Rehearsal) -> None:
    lacks = found.lacks.most_common()
    if lacks:
        say("missing in the mapping (losslake.toml beside the logs, or --map FILE)")
    for lack, runs in lacks[:MOST_LACKS]:
        say(f"  {counted(runs, 'run')}: {lack.what}")
        say(f"      {lack.add}")
    if len(lacks) > MOST_LACKS:
        say(f"  … and {len(lacks) - MOST_LACKS:,} more")

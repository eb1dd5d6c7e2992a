"""Rules about whole runs: finished, nothing missing or altered, and nothing that the ingest refuses."""

from __future__ import annotations

from collections.abc import Iterator

from losslake.record.layout import END
from losslake_contributions.review.checks.evidence import Evidence
from losslake_contributions.review.checks.rules import Finding, finding
from losslake_ingest.contracts.rules import Rule as Quarantine
from losslake_schema.quantities import counted
from losslake_schema.statuses import COMPLETE


def check(evidence: Evidence) -> Iterator[Finding]:
    """Yield the findings about whole runs."""
    trials, refused = evidence.draft.trials, set[str]()
    for item in evidence.draft.quarantined:
        run, _, file = item.path.partition("/")
        refused.add(run)
        rule = "damaged" if item.rule == Quarantine.DAMAGED_LOG and run in trials else "quarantined"
        where = file + (f":{item.line}" if item.line is not None else "")
        yield finding(rule, run, where, f"{item.rule}: {item.message}")
    for name, spool in evidence.spools.items():
        if name not in trials and name not in refused:
            message = "no trial was read from it: record measurements before it is sent"
            yield finding("quarantined", name, "", message)
        if spool.end is None:
            message = "there is none: call run.finish(), or wait until the training has ended"
            yield finding("unfinished", name, END, message)
        for difference in spool.differences():
            yield finding("altered", name, "", f"{difference}: copy the folder of the run again")
        end = spool.end or {}
        n_lost, status = end.get("n_dropped"), end.get("status")
        if isinstance(n_lost, int) and n_lost > 0:
            advice = "log less often, or say in the note why the rest counts"
            yield finding("dropped", name, END, f"{n_lost:,} measurements were dropped: {advice}")
        n_assumed = end.get("assumed_rewinds")
        if isinstance(n_assumed, int) and n_assumed > 0:
            how_often = counted(n_assumed, "time")
            message = f"its step went back {how_often} without run.rewind(), so values may have been replaced"
            advice = "record it again, with the number of updates so far as step, and run.rewind(step) after a restart"
            yield finding("rewinds", name, END, f"{message}: {advice}")
        if status in ("INCOMPLETE", "INFEASIBLE"):
            message = f"its status is {status}: it counts only where {COMPLETE} isn't required"
            yield finding("not_complete", name, END, message)

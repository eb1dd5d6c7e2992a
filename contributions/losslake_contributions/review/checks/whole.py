"""Rules about whole runs: finished, nothing missing or altered, and nothing that the ingest refuses."""

from __future__ import annotations

from collections.abc import Iterator

from losslake.record.layout import END
from losslake_contributions.review.checks.evidence import Evidence
from losslake_contributions.review.checks.rules import ERROR, NOTE, WARNING, Finding, Rule
from losslake_ingest.contracts.rules import Rule as Quarantine
from losslake_schema.statuses import COMPLETE

QUARANTINED = Rule("quarantined", ERROR, "the ingest stores the run, by the rules of the quarantine")
DAMAGED = Rule("damaged", WARNING, "no part of the run is damaged: what is left of it is stored as INCOMPLETE")
UNFINISHED = Rule("unfinished", ERROR, "the run has ended, so that nothing more is written to it")
ALTERED = Rule("altered", ERROR, "the segments are those that the run named when it ended")
DROPPED = Rule("dropped", WARNING, "no measurement was lost while the run was recorded")
NOT_COMPLETE = Rule("not_complete", NOTE, "the run is COMPLETE: questions leave out others unless asked for them")
RULES = (QUARANTINED, DAMAGED, UNFINISHED, ALTERED, DROPPED, NOT_COMPLETE)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Yield the findings about whole runs."""
    refused: set[str] = set()
    for item in evidence.draft.quarantined:
        run = item.path.partition("/")[0]
        rule = DAMAGED if item.rule == Quarantine.DAMAGED_LOG and run in evidence.draft.trials else QUARANTINED
        refused.add(run)
        where = item.path.partition("/")[2] + (f":{item.line}" if item.line is not None else "")
        yield rule.finding(run, where, f"{item.rule}: {item.message}")
    for name, spool in evidence.spools.items():
        if name not in evidence.draft.trials and name not in refused:
            yield QUARANTINED.finding(name, "", "no trial was read from it: record measurements before it is sent")
        if spool.end is None:
            yield UNFINISHED.finding(
                name, END, "there is none: call run.finish(), or wait until the training has ended"
            )
        for difference in spool.differences():
            yield ALTERED.finding(name, "", f"{difference}: copy the folder of the run again")
        yield from _of_end(name, evidence)


def _of_end(name: str, evidence: Evidence) -> Iterator[Finding]:
    end = evidence.spools[name].end or {}
    lost = end.get("n_dropped")
    if isinstance(lost, int) and lost > 0:
        yield DROPPED.finding(
            name, END, f"{lost:,} measurements were dropped: log less often, or say in the note why the rest counts"
        )
    status = end.get("status")
    if status in ("INCOMPLETE", "INFEASIBLE"):
        yield NOT_COMPLETE.finding(name, END, f"its status is {status}: it counts only where {COMPLETE} isn't required")

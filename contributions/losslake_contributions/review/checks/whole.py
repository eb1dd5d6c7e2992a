"""Rules about whole runs: finished, nothing missing or altered, and nothing that the ingest refuses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from losslake.record.gaps import BAD_STEP, FULL_QUEUE
from losslake.record.layout import END, RUN, document_bytes
from losslake_contributions.protocol.contributions import RunFacts
from losslake_contributions.protocol.texts import reason_of
from losslake_contributions.review.checks.evidence import Evidence
from losslake_contributions.review.checks.rules import Finding, finding
from losslake_ingest.contracts.rules import Rule as Quarantine
from losslake_ingest.readers.recorded.folder import Spool
from losslake_schema.quantities import counted
from losslake_schema.statuses import COMPLETE

_STEPS = "log the number of updates so far as step, a whole number from 0"
# What to do about a recorded run, beside what the message says of a mapping.
_ADVICE: Mapping[str, str] = {
    Quarantine.NOT_A_NUMBER: "log numbers only: a text is a parameter, or left out",
    Quarantine.NO_MEASUREMENTS: "log at least one number",
    Quarantine.OUT_OF_RANGE: "log fractions, as 0.95 for 95%, if these are percentages",
    Quarantine.MISSING_FACT: "log metrics under names as val/accuracy and train/loss: split/quantity",
    Quarantine.BAD_STEP: _STEPS,
    Quarantine.NEGATIVE_STEP: _STEPS,
    Quarantine.STEP_UNKNOWN: _STEPS,
}
_ADVICE_ON_GAPS: Mapping[str, str] = {"": "log less often", FULL_QUEUE: "log less often", BAD_STEP: _STEPS}


def check(evidence: Evidence) -> Iterator[Finding]:
    """Yield the findings about whole runs."""
    trials, refused = evidence.draft.trials, set[str]()
    problems = {name: _problem_of_facts(spool) for name, spool in evidence.spools.items()}
    for item in evidence.draft.quarantined:
        run, _, file = item.path.partition("/")
        refused.add(run)
        rule = "damaged" if item.rule == Quarantine.DAMAGED_LOG and run in trials else "quarantined"
        where = ", ".join(filter(None, (file, f"line {item.line}" if item.line is not None else "")))
        # Of facts that are all there, only a name of a metric can be missing.
        has_advice = item.rule in _ADVICE and (item.rule != Quarantine.MISSING_FACT or problems.get(run) is None)
        advice = f"; or {_ADVICE[item.rule]}" if has_advice else ""
        yield finding(rule, run, where, f"{item.rule}: {item.message}{advice}")
    for name, spool in evidence.spools.items():
        if name not in trials and name not in refused:
            message = "no trial was read from it: record measurements before it is sent"
            yield finding("quarantined", name, "", message)
        if problems[name] is not None:
            yield finding("unsendable", name, RUN, f"{problems[name]}: correct it there, or record the run again")
        if spool.end is None:
            message = "there is none: call run.finish(), or wait until the training has ended"
            yield finding("unfinished", name, END, message)
        for difference in spool.differences():
            yield finding("altered", name, "", f"{difference}: copy the folder of the run again")
        end = spool.end or {}
        n_lost, status = end.get("n_dropped"), end.get("status")
        if isinstance(n_lost, int) and n_lost > 0:
            why = "; ".join(sorted({str(gap["reason"]) for gap in _gaps(end) if "reason" in gap}))
            advice = f"{_ADVICE_ON_GAPS.get(why, 'mend that')}, or say in the note why the rest counts"
            about = f" ({why})" if why else ""
            yield finding("dropped", name, END, f"{n_lost:,} measurements were dropped{about}: {advice}")
        n_assumed = end.get("assumed_rewinds")
        if isinstance(n_assumed, int) and n_assumed > 0:
            how_often = counted(n_assumed, "time")
            message = f"its step went back {how_often} without run.rewind(), so values may have been replaced"
            advice = "record it again, with the number of updates so far as step, and run.rewind(step) after a restart"
            yield finding("rewinds", name, END, f"{message}: {advice}")
        if status in ("INCOMPLETE", "INFEASIBLE"):
            message = f"its status is {status}: it counts only where {COMPLETE} isn't required"
            yield finding("not_complete", name, END, message)


def _gaps(end: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    rows = end.get("gaps")
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _problem_of_facts(spool: Spool) -> str | None:
    """Return why the service wouldn't take the facts of a run, None if it would."""
    try:
        RunFacts.model_validate_json(document_bytes(spool.facts))
    except ValidationError as error:
        return reason_of(error)
    except ValueError as error:  # a number or a letter that JSON lacks
        return str(error)
    return None

"""Rules about copies by SHA-256: of logs that are stored, and of other runs of the submission."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from losslake_contributions.review.checks.evidence import Evidence
from losslake_contributions.review.checks.rules import ERROR, Finding, Rule
from losslake_ingest.readers.recorded.folder import Spool
from losslake_schema.names import Trial
from losslake_schema.tables import STUDY_KEYS

STORED = Rule("copy_of_stored", ERROR, "the bytes of its log aren't those of a stored trial", needs_base=True)
REPEATED = Rule(
    "repeated", ERROR, "no other run of the submission has the same facts and the same measurements, byte for byte"
)
RULES = (STORED, REPEATED)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Yield the findings about copies."""
    yield from _repeated(evidence)
    if evidence.stored_trials is None:
        return
    digests = {name: own_digests(spool) | evidence.digests.get(name, set()) for name, spool in evidence.spools.items()}
    wanted = pa.array(sorted(set().union(*digests.values())), pa.string())
    rows = evidence.stored_trials.filter(pc.is_in(evidence.stored_trials["source_sha256"], wanted))
    stored: dict[str, Trial] = {}
    for row in rows.select([*STUDY_KEYS, "trial_id", "source_sha256"]).to_pylist():
        stored.setdefault(row["source_sha256"], Trial.of(row))
    for name, of_run in digests.items():
        trial = next((stored[digest] for digest in sorted(of_run) if digest in stored), None)
        if trial is not None:
            yield STORED.finding(name, "", f"its log is stored already, as trial {trial}: leave the run out")


def own_digests(spool: Spool) -> set[str]:
    """Return the SHA-256 of the logs that a run is or was converted from, each, and of all as the ingest has it."""
    origin = [*spool.origin_files.values()]
    combined = hashlib.sha256("".join(origin).encode()).hexdigest()
    return {*(segment.sha256() for segment in spool.segments), *origin, *([combined] if len(origin) > 1 else [])}


def _repeated(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each run with the measurements and the facts of one before it."""
    first: dict[tuple[str, ...], str] = {}
    for name, spool in evidence.spools.items():
        segments = tuple(segment.sha256() for segment in spool.segments)
        facts = {key: spool.facts.get(key) for key in (*STUDY_KEYS, "parameters", "attributes")}
        key = (json.dumps(facts, sort_keys=True, default=str), *segments)
        if segments and first.setdefault(key, name) != name:
            yield REPEATED.finding(name, "", f"it is the same run as {first[key]}: leave one of them out")

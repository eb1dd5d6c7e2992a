"""The checks of folders and logs before they are sent: prepared as they would be sent, in a draft of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from losslake.lake.lake import Lake
from losslake_contributions.client.conversion import Conversion, prepare
from losslake_contributions.review.checks.evidence import Claim, Evidence
from losslake_contributions.review.checks.report import Report
from losslake_contributions.review.checks.run import check
from losslake_contributions.review.draft import LAKE, RUNS, Draft, make_draft
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.readers.recorded.folder import Spool, read_spool
from losslake_schema.errors import LossLakeError


@dataclass(frozen=True)
class Checked:
    """Runs as they would be sent, and what the checks found. spools: by name, in a folder of their own."""

    conversion: Conversion
    spools: dict[str, Spool]
    draft: Draft
    report: Report


def check_paths(
    paths: Sequence[Path],
    request: Request,
    scratch: Path,
    base: Lake | None = None,
    licence: str = "",
    claims: Sequence[Claim] = (),
    release: int | None = None,
) -> Checked:
    """Check recorded runs and logs.

    scratch: an empty folder, which gets the runs as they would be sent, and the draft. base: the lake to compare with.
    licence: of all runs; empty: each says its own. A claim without a run is of the only one. release: of the base;
    default: its newest. Raises LossLakeError.
    """
    conversion = prepare(paths, request, scratch / RUNS)
    if not conversion.runs:
        reasons = [*conversion.broken, *map(str, conversion.quarantined), *conversion.left_out]
        reason = f" ({reasons[0]})" if reasons else ""
        raise LossLakeError(f"there is no run in {', '.join(map(str, paths))} that could be sent{reason}")
    spools = {name: read_spool(run.write(scratch / RUNS)) for name, run in conversion.runs.items()}
    draft = make_draft(scratch / LAKE, [*spools.values()], base, release)
    named = [_named(claim, spools) for claim in claims]
    return Checked(conversion, spools, draft, check(Evidence(draft, spools, licence, named, base)))


def _named(claim: Claim, spools: dict[str, Spool]) -> Claim:
    if claim.run:
        return claim
    if len(spools) > 1:
        raise LossLakeError(
            f"--claim {claim.metric}={claim.target:g}@{claim.steps}: there are {len(spools):,} runs, so name one as "
            f"RUN:METRIC=TARGET@STEPS, such as {next(iter(spools))}:{claim.metric}={claim.target:g}@{claim.steps}"
        )
    return replace(claim, run=next(iter(spools)))

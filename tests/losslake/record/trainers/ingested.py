"""What an ingest of recorded runs makes of them."""

from __future__ import annotations

from pathlib import Path

from losslake_ingest.pipeline.reading import Request
from losslake_ingest.plan import plan_ingest


def ingested(folder: Path) -> dict[str, dict[str, int]]:
    """The statuses of the trials of each study, of runs of which nothing is quarantined and no mapping is needed."""
    planned = plan_ingest(None, [folder / "runs"], Request())
    assert not planned.quarantined, planned.quarantined
    return {str(study): dict(facts.statuses) for study, facts in planned.studies.items()}

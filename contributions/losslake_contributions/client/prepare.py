"""What is sent of some folders and logs: spools of recorded runs and converted logs, without private data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from losslake_contributions.client.conversion import Conversion, convert
from losslake_contributions.client.privacy import clean_spool
from losslake_contributions.client.recorded import local_words, write_recorded
from losslake_contributions.client.spool import BadSpool, read_spool, spools_in
from losslake_ingest.pipeline.reading import Request
from losslake_schema.errors import LossLakeError


def prepare(paths: Sequence[Path], request: Request, into: Path) -> Conversion:
    """Write what would be sent of some paths below a folder, a spool for each run.

    Recorded runs keep their names. A path without any is read as logs are by `losslake ingest`. Raises LossLakeError.
    """
    words = local_words()
    result = Conversion()
    logs: list[str] = []
    for path in paths:
        if not path.exists():
            raise LossLakeError(f"{path} doesn't exist: give a folder of runs, or logs")
        spools = spools_in(path)
        for folder in spools:
            try:
                spool = read_spool(folder)
            except BadSpool as error:
                result.left_out.append(str(error))
                continue
            if spool.name in result.removals:
                raise LossLakeError(f"the run {spool.name} is given twice, the second time by {folder}: give it once")
            clean = clean_spool(spool, words)
            result.spools.append(write_recorded(spool, clean, into))
            result.places[spool.name] = folder
            result.removals[spool.name] = clean.removals
        if not spools:
            logs.append(str(path))
    if logs:
        converted = convert(logs, request, into, words)
        result.removals |= converted.removals
        for name in ("spools", "quarantined", "broken", "left_out", "sources"):
            getattr(result, name).extend(getattr(converted, name))
    return result

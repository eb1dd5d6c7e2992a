"""What is sent of some folders and logs: spools of recorded runs and converted logs, without private data."""

from __future__ import annotations

import getpass
import socket
from collections.abc import Sequence
from pathlib import Path

from losslake_contributions.spools.convert import Conversion, convert
from losslake_contributions.spools.privacy import CleanSpool, clean_spool
from losslake_contributions.spools.spool import BadSpool, Spool, digest_entry, documents, read_spool, spools_in
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.readers import private
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
            result.spools.append(_write(spool, clean, into))
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


def local_words() -> dict[str, str]:
    """Return the names of this user and this machine, by kind."""
    words = {socket.gethostname(): private.HOST, socket.gethostname().partition(".")[0]: private.HOST}
    try:
        words[getpass.getuser()] = private.USER
    except (KeyError, OSError):
        return words
    return words


def _write(spool: Spool, clean: CleanSpool, into: Path) -> Path:
    """Write a recorded run as it is sent: with its name, and the digests of changed segments in end.json."""
    folder = into / spool.name
    files = dict(clean.segments)
    end = dict(spool.end) if spool.end is not None else None
    if end is not None:
        named = end.get("segments")
        changed = {each.name for each in spool.segments if clean.segments[each.name] != each.data()}
        if isinstance(named, dict):
            end["segments"] = {
                name: digest_entry(clean.segments[name]) if name in changed else entry for name, entry in named.items()
            }
    for name, data in {**files, **documents(clean.facts, end)}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder

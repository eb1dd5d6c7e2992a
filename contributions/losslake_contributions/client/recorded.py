"""A recorded run as it is sent: without private data, with its name.

Apart from the conversion of logs, whose readers take 100 MB: a process beside a training sends its run with this.
"""

from __future__ import annotations

import getpass
import socket
from pathlib import Path

from losslake_contributions.client.privacy import CleanSpool
from losslake_contributions.client.spool import Spool, digest_entry, documents
from losslake_ingest.readers import private


def local_words() -> dict[str, str]:
    """Return the names of this user and this machine, by kind."""
    words = {socket.gethostname(): private.HOST, socket.gethostname().partition(".")[0]: private.HOST}
    try:
        words[getpass.getuser()] = private.USER
    except (KeyError, OSError):
        return words
    return words


def write_recorded(spool: Spool, clean: CleanSpool, into: Path) -> Path:
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

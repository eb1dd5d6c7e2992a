"""The key that signs links to drafts, made when it is first needed."""

from __future__ import annotations

import secrets
from contextlib import suppress

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from losslake.lake.connecting import SECONDS_TO_WRITE, with_retries
from losslake_contributions.store.database import Database
from losslake_contributions.store.tables import Secret

_NAME = "draft links"
_KEY_BYTES = 32


def signing_key(database: Database) -> bytes:
    """Return the key of a lake's contribution service, the same for all of its processes."""
    held = database.read(lambda session: session.get(Secret, _NAME))
    if held is not None:
        return held.key

    def work() -> None:
        with Session(database.lake.engine) as session:
            session.add(Secret(name=_NAME, key=secrets.token_bytes(_KEY_BYTES)))
            session.commit()

    # If another process has just made it, its key counts.
    with suppress(IntegrityError):
        with_retries(work, SECONDS_TO_WRITE)
    return signing_key(database)

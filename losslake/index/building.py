"""Making files that others may be making as well, or reading."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def only_one_at_a_time(folder: Path) -> Iterator[None]:
    """Wait until nobody else, in this process or another, is in here for this folder; it is made if there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".building").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield

"""The withdrawn trials of a study, recognized by the bytes of their logs or by the places that these were read from."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from losslake_ingest.mapping.place import within_file
from losslake_schema.names import Trial


@dataclass(frozen=True)
class WithdrawnTrial:
    """A trial that was withdrawn. digest: see `log_digest`. places: of its logs, as `place_digest` has them."""

    trial: Trial
    digest: str
    reason: str
    places: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Withdrawn:
    """The withdrawn trials of a study; none if all were restored."""

    trials: Sequence[WithdrawnTrial] = field(default_factory=list)

    def find(self, sha256: str, run: str, place: str) -> WithdrawnTrial | None:
        """Return the trial that a run would bring back; None if there is none. place: its `place_digest`.

        Earlier versions recorded a run of a file with several by the file alone: all runs of that file are left out.
        """
        by_bytes = self.by_digest.get(log_digest(sha256, run)) or self.by_digest.get(sha256)
        return by_bytes or self._by_place.get(place)

    @cached_property
    def by_digest(self) -> dict[str, WithdrawnTrial]:
        """The trials by `log_digest`."""
        return {each.digest: each for each in self.trials}

    @cached_property
    def _by_place(self) -> dict[str, WithdrawnTrial]:
        return {place: each for each in self.trials for place in each.places}


def log_digest(sha256: str, run: str) -> str:
    """Return the SHA-256 of a run's log, or of a file with several runs, a digest of that and the run's name in it."""
    name = within_file(run)
    return hashlib.sha256(f"{sha256}#{name}".encode("utf-8", "surrogateescape")).hexdigest() if name else sha256

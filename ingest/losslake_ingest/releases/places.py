"""The places of trials: where their logs were read from, as the ledger has it.

A run is recognized by its place when it is offered again, though its log may have grown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cached_property

from sqlalchemy import select

from losslake.lake.lake import Lake
from losslake_schema.database import LedgerEntry
from losslake_schema.names import Study, Trial

MOVED, PLACED, WITHDRAWN, RESTORED = "moved", "placed", "withdrawn", "restored"


class Places:
    """The places of all trials of a lake, read when the first is asked for: studies are no index of the ledger."""

    def __init__(self, lake: Lake) -> None:
        """Name the lake; nothing is read yet."""
        self._lake = lake

    def of(self, study: Study) -> Mapping[str, int]:
        """Return the trial_ids of a study by the digests of the places that their runs were read from.

        The places of a trial that moved don't count: its number may be another one's. Those of withdrawn trials do.
        """
        return self._by_study.get(str(study), {})

    @cached_property
    def _by_study(self) -> Mapping[str, Mapping[str, int]]:
        query = select(LedgerEntry.outcome, LedgerEntry.path, LedgerEntry.sha256)
        query = query.where(LedgerEntry.outcome.in_([PLACED, MOVED])).order_by(LedgerEntry.id)
        by_study: dict[str, dict[str, int]] = defaultdict(dict)
        for outcome, path, digest in self._lake.read(lambda session: session.execute(query).all()):
            study, _, number = path.rpartition("/")
            if outcome == PLACED:
                by_study[study][str(digest)] = int(number)
            else:
                left = {place: each for place, each in by_study[study].items() if each != int(number)}
                by_study[study] = left
        return by_study


def placed_entries(placed: Mapping[tuple[Trial, str], tuple[str, str]], at: datetime) -> Iterator[LedgerEntry]:
    """Yield the entries of the ledger for the places of trials; see `Stored`."""
    for (trial, digest), (source, run) in placed.items():
        yield LedgerEntry(
            offered_at=at, source=source, path=str(trial), sha256=digest, format="", study=str(trial.study),
            outcome=PLACED, reason=run,
        )  # fmt: skip

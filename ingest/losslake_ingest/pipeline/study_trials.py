"""The trials of one study, stored, withdrawn and offered, and the number of each run among them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from posixpath import normpath
from typing import NamedTuple

from losslake_ingest.mapping.place import PlacedRun, within_file
from losslake_ingest.pipeline.copies import BUNDLE, is_same_path, place_digest
from losslake_schema.names import Trial

_LEADING = re.compile(r"^(/+|(\.\./)+)")


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


class Log(NamedTuple):
    """The bytes of a trial's log, the path of its run within the source, and how many evaluations it has up to where.

    last_step: None for a trial without evaluations.
    """

    trial_id: int
    sha256: str
    run: str
    n_evaluations: int
    last_step: int | None


@dataclass
class StudyTrials:
    """The trials of one study: the stored ones and those of the current ingest.

    sources: see `Copies`. by_run: the numbers of the trials with that path within their sources. places: numbers by
    `place_digest`; a place keeps its number while its trial is withdrawn. logs: of each stored trial. by_name: the logs
    by their bytes and the last part of their path. others: the numbers of other runs with the bytes of one.
    """

    sources: Collection[str] = ()
    by_run: dict[str, list[int]] = field(default_factory=dict)
    places: Mapping[str, int] = field(default_factory=dict)
    logs: dict[int, Log] = field(default_factory=dict)
    by_name: dict[tuple[str, str], list[Log]] = field(default_factory=dict)
    withdrawn: Withdrawn = field(default_factory=Withdrawn)
    others: Callable[[PlacedRun], set[int]] = lambda _: set()
    content: dict[int, str] = field(default_factory=dict)
    offered: set[int] = field(default_factory=set)
    highest: int = 0

    def offer(self, number: int) -> None:
        """Record that this ingest has the trial of that number."""
        self.offered.add(number)
        self.highest = max(self.highest, number)

    def number_of(self, run: PlacedRun, source: str, place: str) -> int | None:
        """Return the number that a run has by its mapping or as a stored trial; None if it has none.

        A bundle numbers its trials, but never takes the number of another stored run.
        """
        if source == BUNDLE:
            number = next(iter(self.by_run.get(run.run, ())), None)
            return run.trial_id if number is None and run.trial_id not in self.content else number
        return run.trial_id if run.trial_id is not None else self.stored_as(run, source, place)

    def stored_as(self, run: PlacedRun, source: str, place: str) -> int | None:
        """Return the number of the stored trial that was read from the place of a run; None if there is none.

        A trial whose place isn't known, since a bundle or an earlier version stored it, is recognized by its path in a
        source of that name. Its log may have been reduced for the bundle: there the end of the path decides.
        """
        number = self.places.get(place_digest(place, run.run))
        if number is not None:
            return number
        offered = {_full(place, run.run), _full(source, run.run)}
        parts = _full(place, run.run).split("/")
        for end in ("/".join(parts[start:]) for start in range(len(parts))):
            numbers = [number for number in self.by_run.get(end, ()) if number not in self.offered]
            names = {_full(name, end) for name in self.sources if name != BUNDLE or "/" in end} if numbers else ()
            is_at = any(is_same_path(name, path) for name in names for path in offered)
            for number in numbers:
                if (end == run.run and self.is_same(number, run)) or (is_at and number not in self._placed):
                    return number
        return None

    @cached_property
    def _placed(self) -> set[int]:
        return set(self.places.values())

    def next_for(self, run: PlacedRun) -> int:
        """Return the number of a run that has none yet: that of its stored trial, by its bytes, or a new one."""
        for log in self.by_name.get((run.sha256, last_part(run.run)), ()):
            number = log.trial_id
            if number not in self.offered and is_same_path(log.run, run.run) and not self._is_other(number, run):
                return number
        withdrawn = self.withdrawn.by_digest.get(log_digest(run.sha256, run.run))
        if withdrawn is not None and withdrawn.trial.trial_id not in self.offered | self.content.keys():
            return withdrawn.trial.trial_id
        return self.highest + 1

    def is_withdrawn(self, run: PlacedRun, source: str, place: str) -> bool:
        """Return True if a run is a withdrawn trial, which is left out, and not a stored one with its bytes."""
        if self.withdrawn.find(run.sha256, run.run, place_digest(place, run.run)) is None:
            return False
        return not self.has_bytes(self.stored_as(run, source, place), run.sha256)

    def has_bytes(self, number: int | None, sha256: str) -> bool:
        """Return True if a stored trial has these bytes."""
        return number in self.logs and self.logs[number].sha256 == sha256

    def is_same(self, number: int, run: PlacedRun) -> bool:
        """Return True if a stored trial has the bytes of a run, and its facts or no known place."""
        return self.has_bytes(number, run.sha256) and not self._is_other(number, run)

    def _is_other(self, number: int, run: PlacedRun) -> bool:
        return number in self._placed and number in self.others(run)

    def path_of(self, number: int) -> str:
        """Return the path of a trial's run within its source, if it is stored."""
        return self.logs[number].run if number in self.logs else "another run"


def _full(source: str, run: str) -> str:
    """Return the path of a run in a source, without what leads to it from elsewhere."""
    return _LEADING.sub("", normpath(f"{source}/{run}"), count=1)


def last_part(path: str) -> str:
    """Return what the equal paths of `is_same_path` always share, so that few are compared."""
    return path.rpartition("/")[2]

"""Copies of logs: runs of equal bytes and equal facts are one run, which counts once.

The facts are data set, model, optimizer, batch size and metaparameters; the collection, and what only the path says,
such as round or submitter, aren't. A run given again from the same place with other facts moves: its mapping changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from losslake_ingest.mapping.place import PlacedRun
from losslake_schema.names import Study, Trial

BUNDLE = ""  # the name of a source that is a bundle: the paths in it are relative to what was published
_Bytes = tuple[str, str]


class Known(NamedTuple):
    """A trial that is stored or offered, and what decides which runs are copies of it."""

    trial: Trial
    run: str
    facts: bytes


@dataclass(frozen=True)
class Move:
    """The trial that takes the place of a stored one, the source that says so, and the SHA-256 of the log."""

    to: Trial
    source: str
    sha256: str


class _Stored(NamedTuple):
    trial: Trial
    run: str
    parameters: Mapping[str, float]
    attributes: Mapping[str, str]

    def as_known(self, run: PlacedRun) -> Known:
        """Return the trial with those of its facts that `run` has, too: it may have had other fields in its path."""
        texts = {name: text for name, text in self.attributes.items() if name in run.attributes}
        return Known(self.trial, self.run, _facts(self.trial.study, self.parameters, texts, run.labels))


class Copies:
    """The runs of one ingest and the stored trials, by their bytes. moved: the stored trials that move."""

    def __init__(
        self, sources_of: Callable[[Study], Collection[str]], places_of: Callable[[Study], Mapping[str, int]]
    ) -> None:
        """Begin an ingest. sources_of: returns the names of the sources, BUNDLE among them, of a stored study.

        places_of: returns the trial_ids of a stored study by `place_digest`.
        """
        self._sources_of = sources_of
        self._places_of = places_of
        self._source, self._place = "", ""
        self._offered: dict[_Bytes, list[Known]] = {}
        self._stored: dict[_Bytes, list[_Stored]] = {}
        self.moved: dict[Trial, Move] = {}
        self._moved_bytes: dict[Trial, _Bytes] = {}

    def look_up(self, runs: Iterable[PlacedRun], trials: pl.DataFrame, source: str, place: str) -> None:
        """Find the stored trials with the bytes of these runs, which are next.

        trials: all stored ones. source, place: of the runs, see `Stored.number`.
        """
        self._source, self._place = source, place
        self._stored = {}
        digests = pl.Series("source_sha256", list({run.sha256 for run in runs}), pl.String)
        for row in trials.filter(pl.col("source_sha256").is_in(digests.implode())).iter_rows(named=True):
            key = row["source_sha256"], within_file(row["source"])
            stored = _Stored(Trial.of(row), row["source"], row["parameters"] or {}, row["attributes"] or {})
            self._stored.setdefault(key, []).append(stored)

    def first(self, run: PlacedRun, trial: Trial, is_replaced: Callable[[Trial], bool]) -> Known | None:
        """Return the trial that a run, which would be `trial`, is a copy of: of this ingest, or else a stored one.

        is_replaced: returns True for a stored trial that this ingest offers.
        """
        key = _bytes_of(run)
        stored = self._stored.get(key, ())
        known = list(self._offered.get(key, ()))
        if all(each.trial != trial for each in stored):
            leaving = self.at(run)
            known += (each.as_known(run) for each in stored if not (is_replaced(each.trial) or each.trial in leaving))
        if not known:
            return None
        facts = _facts_of(run)
        return next((each for each in known if each.facts == facts), None)

    def add(self, run: PlacedRun, trial: Trial, is_replaced: Callable[[Trial], bool]) -> bool:
        """Record the trial of a run that isn't a copy; return True if others have its bytes but different facts.

        is_replaced: see `first`; a stored trial with other bytes now doesn't count.
        """
        self.move(run, trial)
        key = _bytes_of(run)
        stored = [each.trial for each in self._stored.get(key, ()) if not is_replaced(each.trial)]
        others = {*stored, *(each.trial for each in self._offered.get(key, ()))} - {trial} - self.moved.keys()
        self._offered.setdefault(key, []).append(Known(trial, run.run, _facts_of(run)))
        return bool(others)

    def stays(self, trial: Trial) -> bool:
        """Return True if a stored trial is offered with the bytes that it had, so that none of its runs moved."""
        known = self._offered.get(self._moved_bytes[trial], ()) if trial in self.moved else None
        return known is None or any(each.trial == trial for each in known)

    def move(self, run: PlacedRun, to: Trial) -> None:
        """Let the stored trials of a run, if they are others, give way to the trial that it is now."""
        for trial in self.at(run):
            if trial != to:
                self.moved[trial] = Move(to, self._source, run.sha256)
                self._moved_bytes[trial] = _bytes_of(run)

    def other_runs(self, run: PlacedRun) -> set[int]:
        """Return the stored trials of a run's study that have its bytes, but other facts."""
        facts, stored = _facts_of(run), self._stored.get(_bytes_of(run), ())
        of_study = [each for each in stored if each.trial.study == run.study]
        return {each.trial.trial_id for each in of_study if each.as_known(run).facts != facts}

    def at(self, run: PlacedRun) -> list[Trial]:
        """Return the stored trials with the bytes of a run from its place; for none, from a path that ends like it."""
        trials = [(each.trial, each.run) for each in self._stored.get(_bytes_of(run), ())]
        digest = place_digest(self._place, run.run) if trials else ""
        exact = [trial for trial, _ in trials if self._places_of(trial.study).get(digest) == trial.trial_id]
        return exact or [trial for trial, path in trials if self._is_at(trial, path, run)]

    def _is_at(self, trial: Trial, path: str, run: PlacedRun) -> bool:
        """Return True if a stored trial was read from the path of a run, in a source of that name."""
        offered = f"{self._source}/{run.run}".lstrip("/")
        return any(is_same_path(f"{name}/{path}".lstrip("/"), offered) for name in self._sources_of(trial.study))

    def has_log(self, run: PlacedRun) -> bool:
        """Return True if a run of a bundle is stored from its log."""
        known = self._stored.get(_bytes_of(run), ())
        return any(
            set(self._sources_of(each.trial.study)) != {BUNDLE} and self._is_at(each.trial, each.run, run)
            for each in known
        )


def place_digest(place: str, run: str) -> str:
    """Return the digest of where a run lies: of the folder or archive, by its full path, and of the path within."""
    return hashlib.sha256(f"{place}/{run}".encode("utf-8", "surrogateescape")).hexdigest()


def is_same_path(one: str, other: str) -> bool:
    """Return True if the paths are equal from a common folder on, or one is the end of the other."""
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")


def _bytes_of(run: PlacedRun) -> _Bytes:
    """Return what identifies the bytes of a run: several runs of one file also have a name within it."""
    is_whole = run.run == "." or "#" in run.run or all(f"{path}/".startswith(f"{run.run}/") for path in run.files)
    return run.sha256, within_file(run.run) if is_whole else run.run


def within_file(run: str) -> str:
    """Return the name of a run within its file, which is empty where a file is one run."""
    return run.partition("#")[2]


def _facts_of(run: PlacedRun) -> bytes:
    return _facts(run.study, run.parameters, run.attributes, run.labels)


def _facts(
    study: Study, parameters: Mapping[str, float], attributes: Mapping[str, str], labels: Collection[str]
) -> bytes:
    texts = {name: text for name, text in attributes.items() if name not in labels}
    names = [value for key, value in study.key().items() if key != "collection"]
    return hashlib.sha256(json.dumps([names, dict(parameters), texts], sort_keys=True).encode()).digest()

"""Copies of logs: several logs of one run are one trial, which counts once and lists the others.

Two logs are of one run if their bytes and their facts are equal, or by their curves: see `same_runs`. The facts are
data set, model, optimizer, batch size and metaparameters; the collection, and what only the path says, such as round or
submitter, aren't. A run given again from the same place with other facts moves: its mapping changed.

Of several logs of a new trial, the one of the earliest round counts, then the first path. The log of a stored trial
gives way to one of an earlier round, under the same number.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from losslake_ingest.contracts.study import TrialFacts
from losslake_ingest.mapping.place import PlacedRun, within_file
from losslake_ingest.pipeline.trial_rows import TRIAL_KEYS, key_of, trial_names
from losslake_schema.names import Study, Trial
from losslake_schema.tables import COPIES

BUNDLE = ""  # the name of a source that is a bundle: the paths in it are relative to what was published
_DIGITS = re.compile(r"([0-9]{1,1000})")
_Bytes = tuple[str, str]
Order = tuple[int | str, ...]


class Candidate(NamedTuple):
    """A trial that is stored or offered, and what decides which runs are copies of it.

    run: the path of its log. listed: that of its copy, if the trial lists the run already. equal: what the run and its
    log have in common.
    """

    trial: Trial
    run: str
    facts: bytes
    round: Order
    listed: str = ""
    equal: Literal["bytes", "times", "curve"] = "bytes"


@dataclass(frozen=True)
class Move:
    """The trial that takes the place of a stored one, the source that says so, and the SHA-256 of the log."""

    to: Trial
    source: str
    sha256: str


class _Stored(NamedTuple):
    """A log of a stored trial. first, first_sha256: the log that the trial's row has, if this one is a copy of it."""

    trial: Trial
    run: str
    sha256: str
    parameters: Mapping[str, float]
    attributes: Mapping[str, str]
    first: str = ""
    first_sha256: str = ""

    def as_candidate(self, run: PlacedRun) -> Candidate:
        """Return the trial with its facts as far as `run` states them, too."""
        facts = facts_beside(run, self.parameters, self.attributes, self.trial.study)
        if not self.first:
            return Candidate(self.trial, self.run, facts, round_of(self.attributes))
        listed = self.run if is_same_path(self.run, run.run) else ""
        return Candidate(
            self.trial, self.first, facts, (), listed, "bytes" if self.sha256 == self.first_sha256 else "curve"
        )


class Copies:
    """The runs of one ingest and the stored trials, by their bytes and by their measurements.

    moved: the stored trials that move. offered: the copies of trials in this ingest. gone: the trial, path and SHA-256
    of listed copies that now are trials of their own, or have other facts.
    """

    def __init__(
        self, sources_of: Callable[[Study], Collection[str]], places_of: Callable[[Study], Mapping[str, int]]
    ) -> None:
        """Begin an ingest. sources_of: returns the names of the sources, BUNDLE among them, of a stored study.

        places_of: returns the trial_ids of a stored study by `place_digest`.
        """
        self._sources_of = sources_of
        self._places_of = places_of
        self._source, self._place = "", ""
        self._trials: dict[_Bytes, list[Candidate]] = {}
        self._stored: dict[_Bytes, list[_Stored]] = {}
        self._listed: dict[_Bytes, list[_Stored]] = {}
        self._listed_at: dict[str, list[_Stored]] = {}
        self.offered: dict[Trial, list[TrialFacts]] = {}
        self.gone: set[tuple[Trial, str, str]] = set()
        self.moved: dict[Trial, Move] = {}
        self._moved_bytes: dict[Trial, _Bytes] = {}

    def look_up(
        self, runs: Iterable[PlacedRun], trials: pl.DataFrame, copies: pl.DataFrame, source: str, place: str
    ) -> None:
        """Find the stored logs with the bytes of these runs, which are next.

        trials, copies: all stored ones. source, place: of the runs, see `Stored.number`.
        """
        self._source, self._place = source, place
        self._stored, self._listed, self._listed_at = {}, {}, {}
        sha256s = {run.sha256 for run in runs} | {copy.source_sha256 for run in runs for copy in run.copies}
        digests = pl.Series("source_sha256", list(sha256s), pl.String).implode()
        for stored in _logs(trials.filter(pl.col("source_sha256").is_in(digests))):
            self._stored.setdefault((stored.sha256, within_file(stored.run)), []).append(stored)
        paths = pl.Series("source", list({run.run for run in runs}), pl.String).implode()
        first_logs = trials.select(
            *TRIAL_KEYS, pl.col("source").alias("first"), pl.col("source_sha256").alias("first_sha256")
        )
        listed = copies.filter(pl.col("source_sha256").is_in(digests) | pl.col("source").is_in(paths))
        for copy in _logs(listed.join(first_logs, on=TRIAL_KEYS)):
            self._listed.setdefault((copy.sha256, within_file(copy.run)), []).append(copy)
            self._listed_at.setdefault(copy.run, []).append(copy)

    def first(self, run: PlacedRun, trial: Trial, is_replaced: Callable[[Trial], bool]) -> Candidate | None:
        """Return the trial that has the bytes and facts of a run, which would be `trial`: an offered or stored one.

        is_replaced: returns True for a stored trial that this ingest offers.
        """
        key = run.log
        stored, listed = self._stored.get(key, ()), self._listed.get(key, ())
        candidates = list(self._trials.get(key, ()))
        if (stored or listed) and all(each.trial != trial for each in stored):
            gone = {*self.at(run), *self.moved}
            candidates += (
                each.as_candidate(run)
                for each in (*stored, *listed)
                if not (is_replaced(each.trial) or each.trial in gone)
            )
            # A listed copy that isn't of the same bytes may be what its mapping now calls a repeat.
            candidates = [each for each in candidates if each.equal == "bytes" or not run.keeps_repeats]
        if not candidates:
            return None
        facts = facts_of(run)
        return next((each for each in candidates if each.facts == facts), None)

    def add(self, run: PlacedRun, trial: Trial, is_replaced: Callable[[Trial], bool]) -> bool:
        """Record the trial of a run that isn't a copy; return True if others have its bytes but different facts.

        is_replaced: see `first`; a stored trial with other bytes now doesn't count.
        """
        self.move(run, trial)
        key = run.log
        stored = [each.trial for each in self._stored.get(key, ()) if not is_replaced(each.trial)]
        offered = self._trials.setdefault(key, [])
        others = any(each != trial and each not in self.moved for each in (*stored, *(each.trial for each in offered)))
        offered.append(Candidate(trial, run.run, facts_of(run), round_of(run.attributes)))
        for each in self._listed_at.get(run.run, ()):
            if each.attributes == run.attributes:
                self.gone.add((each.trial, each.run, each.sha256))
        self.add_listed(run, trial)
        return others

    def add_copy(self, run: PlacedRun, first: Candidate) -> None:
        """Record a run as a copy of a trial, which may list it already."""
        self.move(run, first.trial)
        facts = run.as_trial(first.trial.trial_id)
        if first.listed:
            self.gone.add((first.trial, first.listed, facts.source_sha256))
            facts = replace(facts, source=first.listed)
        self.gone.update(
            (each.trial, each.run, each.sha256)
            for each in self._listed_at.get(run.run, ())
            if (each.trial, each.sha256) == (first.trial, facts.source_sha256)
        )
        collection = run.study.workload.collection
        if collection != first.trial.study.workload.collection:
            facts = replace(facts, attributes={**facts.attributes, "collection": json.dumps(collection)})
        self.offered.setdefault(first.trial, []).append(facts)
        self.add_listed(run, first.trial)

    def add_listed(self, run: PlacedRun, to: Trial) -> None:
        """Record the copies that a run of a bundle lists, unless the trial does; trials that are these logs move.

        Copies of trials that only bundles have get the facts that this bundle states of them.
        """
        is_of_bundles = set(self._sources_of(to.study)) == {BUNDLE}
        for copy in run.copies:
            key = copy.source_sha256, within_file(copy.source)
            stored_copies = [
                each for each in self._listed.get(key, ()) if each.trial == to and is_same_path(each.run, copy.source)
            ]
            facts = copy.parameters, copy.attributes
            if stored_copies and not (
                is_of_bundles and any((each.parameters, each.attributes) != facts for each in stored_copies)
            ):
                continue
            self.gone.update((to, each.run, each.sha256) for each in stored_copies)
            self.offered.setdefault(to, []).append(copy)
            for stored in self._stored.get(key, ()):
                if stored.run == copy.source and stored.trial != to and stored.trial.study == to.study:
                    self.move_trial(stored.trial, to, (stored.sha256, within_file(stored.run)))

    def __bool__(self) -> bool:
        """Return True if the copies that trials list change."""
        return bool(self.gone or any(self.offered.values()))

    def stays(self, trial: Trial) -> bool:
        """Return True if a stored trial is offered with the bytes that it had, so that none of its runs moved."""
        offered = self._trials.get(self._moved_bytes[trial], ()) if trial in self.moved else None
        return offered is None or any(each.trial == trial for each in offered)

    def move(self, run: PlacedRun, to: Trial) -> None:
        """Let the stored trials of a run, if they are others, give way to the trial that it is now."""
        for trial in self.at(run):
            if trial != to:
                self.move_trial(trial, to, run.log)

    def move_trial(self, trial: Trial, to: Trial, log: tuple[str, str]) -> None:
        """Let a stored trial give way to the one that its run is now. log: of the run."""
        self.moved[trial] = Move(to, self._source, log[0])
        self._moved_bytes[trial] = log

    def other_runs(self, run: PlacedRun) -> set[int]:
        """Return the stored trials of a run's study that have its bytes, but other facts."""
        facts, stored = facts_of(run), self._stored.get(run.log, ())
        of_study = [each for each in stored if each.trial.study == run.study]
        return {each.trial.trial_id for each in of_study if each.as_candidate(run).facts != facts}

    def at(self, run: PlacedRun) -> list[Trial]:
        """Return the stored trials with the bytes of a run from its place; for none, from a path that ends like it."""
        trials = [(each.trial, each.run) for each in self._stored.get(run.log, ())]
        digest = place_digest(self._place, run.run) if trials else ""
        exact = [trial for trial, _ in trials if self._places_of(trial.study).get(digest) == trial.trial_id]
        return exact or [trial for trial, path in trials if self._is_at(trial, path, run)]

    def _is_at(self, trial: Trial, path: str, run: PlacedRun) -> bool:
        """Return True if a stored trial was read from the path of a run, in a source of that name."""
        offered = f"{self._source}/{run.run}".lstrip("/")
        return any(is_same_path(f"{name}/{path}".lstrip("/"), offered) for name in self._sources_of(trial.study))

    def has_log(self, run: PlacedRun) -> bool:
        """Return True if a run of a bundle is stored from its log."""
        stored = self._stored.get(run.log, ())
        return any(
            set(self._sources_of(each.trial.study)) != {BUNDLE} and self._is_at(each.trial, each.run, run)
            for each in stored
        )


def copy_rows(stored: pa.Table, trials: pa.Table, copies: Copies | None) -> pa.Table:
    """Return the table `copies` of a release, in order.

    stored: that of the release before. trials: those of the release. copies: found by the ingest, if it is one.
    """
    names = trial_names(trials)
    rows = stored.filter(pc.is_in(trial_names(stored), names))
    if not copies:
        return rows.combine_chunks()
    new_copies = {str(trial): (trial, each) for trial, each in copies.offered.items() if each}
    gone = {(str(trial), source, sha256) for trial, source, sha256 in copies.gone}
    kept = [row for row in rows.to_pylist() if (str(Trial.of(row)), row["source"], row["source_sha256"]) not in gone]
    with_copies = trials.filter(pc.is_in(names, pa.array(new_copies, pa.string()))).select(COPIES.names).to_pylist()
    logs_of_trials = {_identity(row) for row in with_copies}
    new = [
        {**vars(each), **key_of(trial)}
        | {name: sorted(getattr(each, name).items()) for name in ("parameters", "attributes")}
        for trial, logs in (new_copies[str(Trial.of(row))] for row in with_copies)
        for each in logs
    ]
    unique = {_identity(row): row for row in (*kept, *new)}
    return pa.Table.from_pylist([unique[key] for key in sorted(unique.keys() - logs_of_trials)], COPIES)


def _identity(row: Mapping[str, Any]) -> tuple[object, ...]:
    """Return all of a row of `copies`, in the order of the table: by trial, round and path."""
    texts = {name: tuple(sorted(dict(row[name]).items())) for name in ("parameters", "attributes")}
    names = [row[key] for key in TRIAL_KEYS]
    return (*names, round_of(dict(texts["attributes"])), row["source"], row["source_sha256"], row["status"],
            row["steps"], *texts.values())  # fmt: skip


def _logs(rows: pl.DataFrame) -> Iterator[_Stored]:
    """Yield the logs in rows of `trials` or `copies`."""
    for row in rows.iter_rows(named=True):
        facts = dict(row["parameters"] or {}), dict(row["attributes"] or {})
        first = row.get("first", ""), row.get("first_sha256", "")
        yield _Stored(Trial.of(row), row["source"], row["source_sha256"], *facts, *first)


def round_of(attributes: Mapping[str, str]) -> Order:
    """Return the round that a run states, in the order of rounds; empty for none."""
    return _order_of_round(attributes["round"]) if "round" in attributes else ()


def natural_order(text: str) -> Order:
    """Return a sort key that puts `result_2` before `result_10`: texts and numbers in turn."""
    return tuple(int(part) if at % 2 else part for at, part in enumerate(_DIGITS.split(text)))


@lru_cache(maxsize=1000)
def _order_of_round(text: str) -> Order:
    return natural_order(text)


def place_digest(place: str, run: str) -> str:
    """Return the digest of where a run lies: of the folder or archive, by its full path, and of the path within."""
    return hashlib.sha256(f"{place}/{run}".encode("utf-8", "surrogateescape")).hexdigest()


def is_same_path(one: str, other: str) -> bool:
    """Return True if the paths are equal from a common folder on, or one is the end of the other."""
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")


def facts_of(run: PlacedRun) -> bytes:
    """Return the digest of a run's facts."""
    return _facts(run.study, run.parameters, run.attributes, run.labels)


def facts_beside(
    run: PlacedRun, parameters: Mapping[str, float], attributes: Mapping[str, str], study: Study | None = None
) -> bytes:
    """Return the digest of a trial's facts, to compare with those of a run.

    Texts that the run doesn't state are left out: they may be fields of another path. study: None for that of the run.
    """
    texts = {name: text for name, text in attributes.items() if name in run.attributes}
    return _facts(study or run.study, parameters, texts, run.labels)


def _facts(
    study: Study, parameters: Mapping[str, float], attributes: Mapping[str, str], labels: Collection[str]
) -> bytes:
    texts = {name: text for name, text in attributes.items() if name not in labels}
    names = [value for key, value in study.key().items() if key != "collection"]
    return hashlib.sha256(json.dumps([names, dict(parameters), texts], sort_keys=True).encode()).digest()

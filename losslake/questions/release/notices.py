"""The notices on what a release shows: trials that were withdrawn later, read from time to time beside requests."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from cachetools import LRUCache, cachedmethod

from losslake.lake.data_files import damaged_file
from losslake.lake.lake import Lake
from losslake.lake.notices import ERASED, WITHDRAWN, Notice, read_notices
from losslake_schema.names import SCHEDULED, Study, Trial
from losslake_schema.release import Release
from losslake_schema.tables import STUDY_KEYS

SECONDS_BETWEEN_READS = 30.0
_MOST_RELEASES = 16
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TrialNotices:
    """Trials that were withdrawn together. release: the first one without them."""

    trials: Sequence[Trial]
    at: datetime
    reason: str
    release: int


@dataclass(frozen=True)
class ReleaseNotices:
    """The notices on one release. withdrawn: by study. erased: of each erasure from it, with its digest before."""

    withdrawn: Mapping[Study, Sequence[TrialNotices]]
    erased: Sequence[Notice]

    @property
    def all(self) -> Sequence[TrialNotices]:
        """The withdrawn trials of the whole release."""
        return together(each for of_study in self.withdrawn.values() for each in of_study)


def together(notices: Iterable[TrialNotices]) -> Sequence[TrialNotices]:
    """Return the notices with those of one withdrawal as one, the latest first."""
    by_withdrawal: dict[tuple[datetime, str, int], list[Trial]] = defaultdict(list)
    for each in notices:
        by_withdrawal[each.at, each.reason, each.release] += each.trials
    latest_first = sorted(by_withdrawal.items(), key=lambda item: item[0], reverse=True)
    return [TrialNotices(sorted(trials), *withdrawal) for withdrawal, trials in latest_first]


class Notices:
    """The notices of a lake, shared by threads. A request never reads them: `refresh` does, in a thread of its own."""

    def __init__(self, lake: Lake, seconds_between_reads: float = SECONDS_BETWEEN_READS) -> None:
        self._lake = lake
        self._seconds = seconds_between_reads
        self._read_at: float | None = None
        self._newest: int | None = None
        self._state: tuple[str, Sequence[Notice]] = ("", ())
        self._of_releases: LRUCache[tuple[str, str], ReleaseNotices] = LRUCache(_MOST_RELEASES)
        self._changing = threading.Lock()

    @property
    def version(self) -> str:
        """A text that differs where the notices do; empty for none."""
        return self._state[0]

    def refresh(self, newest: int | None) -> None:
        """Read the notices if there is a new release, or it is some time ago; an error leaves them as they were."""
        now = time.monotonic()
        if newest == self._newest and self._read_at is not None and now < self._read_at + self._seconds:
            return
        try:
            notices = read_notices(self._lake)
        except Exception as error:  # noqa: BLE001 whatever it is, releases still answer
            _log.error("can't read which trials were withdrawn: %s", error)
            self._read_at = now
            return
        version = hashlib.sha256(repr(notices).encode()).hexdigest()[:16] if notices else ""
        self._state = version, notices
        self._read_at, self._newest = now, newest

    def of(self, release: Release) -> ReleaseNotices:
        """Return the notices on a release; raises LakeBroken if its trials can't be read."""
        return self._of_release(release, *self._state)

    @cachedmethod(
        attrgetter("_of_releases"),
        key=lambda _, release, version, __: (release.manifest_sha256, version),
        lock=attrgetter("_changing"),
    )
    def _of_release(self, release: Release, _: str, notices: Sequence[Notice]) -> ReleaseNotices:
        later = [each for each in notices if each.kind == WITHDRAWN and (each.release or 0) > release.number]
        shown = self._trials(release, [each.trial for each in later]) if later else frozenset()
        by_study: dict[Study, list[TrialNotices]] = defaultdict(list)
        for each in later:
            if each.trial in shown:
                trial = Trial.parse(each.trial)
                by_study[trial.study].append(TrialNotices([trial], each.at, each.reason, each.release or 0))
        erased = [each for each in notices if each.kind == ERASED and not each.trial and each.release == release.number]
        return ReleaseNotices({study: together(each) for study, each in by_study.items()}, erased)

    def _trials(self, release: Release, names: Sequence[str]) -> frozenset[str]:
        """Return those of the trials that a release has."""
        file = next(file for file in self._lake.files(release, partitioned=False) if file.table == "trials")
        try:
            rows = pq.read_table(self._lake.store.local(file.path, file.bytes), columns=[*STUDY_KEYS, "trial_id"])
        except (OSError, pa.ArrowInvalid):
            raise damaged_file(self._lake.store, file.path, "can't be read") from None
        keys = (rows[name].cast(pa.string()).fill_null(SCHEDULED) for name in (*STUDY_KEYS, "trial_id"))
        stored = pc.binary_join_element_wise(*keys, "/")
        return frozenset(stored.filter(pc.is_in(stored, pa.array(names, pa.string()))).to_pylist())

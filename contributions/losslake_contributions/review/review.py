"""The review of a submission: its draft, the report of the checks, and the changes that its runs make.

A review is made in the background when it is first asked for, and kept in a folder on this machine until the
submission, the newest release or the checks change. It can be deleted at any time.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import shutil
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Literal

from losslake.lake.machine import atomic_write, locked
from losslake_contributions.protocol.errors import ContributionError, no_space, public_reason
from losslake_contributions.protocol.submissions import Claim as SubmittedClaim
from losslake_contributions.protocol.submissions import SubmissionRequest
from losslake_contributions.review.archive import spool_files, stored_run
from losslake_contributions.review.changes import changes
from losslake_contributions.review.checks.evidence import Claim, Evidence
from losslake_contributions.review.checks.rules import CHECKS_VERSION
from losslake_contributions.review.checks.run import check
from losslake_contributions.review.draft import LAKE, RUNS, make_draft
from losslake_contributions.review.review_document import PendingReview, Review
from losslake_contributions.review.submissions import find_any, row_of, submissions_of
from losslake_contributions.store.database import Database
from losslake_contributions.store.private_files import DRAFTS, make_private_folder
from losslake_ingest.readers.recorded.folder import Spool, read_spool
from losslake_schema.errors import LossLakeError
from losslake_service.shares.allowances import Allowance
from losslake_service.shares.places import FairThreads, NoPlace, UsedUp

CURVES = "curves"  # of stored trials, indexed
_REVIEW = "review.json"
_CHECK = "check-"
_SECONDS_OF_CHECK = 3600  # that a check before a submission is kept
# Reviews that wait in this process; half of them of one contributor.
_MOST_WAITING = 100
# Until it is worth to ask again for a review, and for one for which there was no place.
_SECONDS_TO_MAKE, SECONDS_TO_WAIT = 2, 10
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Subject:
    """The subject of a review. name: of the submission, or of the check before it. contributor: its sender, by id."""

    name: str
    contributor: str
    runs: Sequence[str]
    licence: str
    claims: Sequence[SubmittedClaim]
    is_check: bool = False


class Reviews:
    """The reviews of the submissions to a lake, below a folder of this machine."""

    def __init__(self, database: Database, seconds: Allowance | None = None) -> None:
        """Take the submissions. seconds: that reviews may take, by contributor; None: any."""
        self._database = database
        self._folder = database.lake.folder / DRAFTS
        # Of this process; a file's lock keeps other processes out.
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        # One after the other: a large one takes a core and up to 1 GB of memory.
        self._threads = FairThreads("reviews", 1, _MOST_WAITING, seconds)
        self._beginning = threading.Lock()
        self._begun: dict[Path, Future[Path]] = {}

    def progress(self, name: str) -> Review | PendingReview:
        """Return the review of a submission, or how far it is; begin to make it if needed.

        Raises ContributionError if the submission doesn't wait for one, or if it can't be made. That error is cleared
        when read: the next request tries again, as a full disk may be empty by then.
        """
        return self._progress(name, partial(self.begin, name))

    def check(self, contributor: str, request: SubmissionRequest) -> Review | PendingReview:
        """Return the review that runs would get if they were submitted so, or how far it is; begin it if needed.

        A contributor has one check at a time, without a draft. Raises ContributionError if it can't be made.
        """
        name = f"{_CHECK}{contributor}"
        subject = Subject(name, contributor, request.contributions, request.licence, request.claims, is_check=True)
        return self._progress(name, partial(self._begin, subject, self._newest(), self._ensure))

    def _progress(self, name: str, begin: Callable[[], Future[Path]]) -> Review | PendingReview:
        try:
            making = begin()
        except (NoPlace, UsedUp) as refusal:
            seconds = math.ceil(refusal.seconds) if isinstance(refusal, UsedUp) else SECONDS_TO_WAIT
            return PendingReview(submission=name, state="waiting", seconds=seconds)
        if making.done():
            return _read(self._result(name, making))
        state: Literal["waiting", "being_made"] = "being_made" if making.running() else "waiting"
        return PendingReview(submission=name, state=state, seconds=_SECONDS_TO_MAKE)

    def begin(self, name: str) -> Future[Path]:
        """Return the future folder of a review. Raises ContributionError, NoPlace and UsedUp."""
        return self._begin(*self._waiting(name), lambda *_: self._ensure_review(name))

    def _begin(self, subject: Subject, base: int | None, ensure: Callable[[Subject, int | None], Path]) -> Future[Path]:
        """Return the future folder of a review. ensure: makes it unless it is there."""
        folder = self._place(subject, base)
        with self._beginning:
            making = self._begun.get(folder)
            if making is not None and making.done() and (making.cancelled() or making.exception() is None):
                making = None
            if making is None and (folder / _REVIEW).is_file():
                making = Future()
                making.set_result(folder)
            if making is None:
                work = partial(ensure, subject, base)
                making = self._begun[folder] = self._threads.submit(subject.contributor, work)
        return making

    def close(self) -> None:
        """Begin no more reviews, and wait for the one that is being made."""
        self._threads.shutdown()

    def review(self, name: str) -> Review:
        """Return the review of a submission that waits for one, and make it if needed. Raises ContributionError."""
        return _read(self._ensure_review(name))

    def draft(self, name: str, making: Future[Path]) -> Path:
        """Return the folder of the draft lake of a submission whose review was made. Raises ContributionError."""
        folder = self._result(name, making)
        if _read(folder).changes.after is None:
            raise ContributionError("not-storable", f"no run of {name} can be stored: its review says why")
        return folder / LAKE

    def _result(self, name: str, making: Future[Path]) -> Path:
        """Return the folder of a review that was made; raise ContributionError if that failed."""
        with self._beginning:
            self._begun = {folder: each for folder, each in self._begun.items() if each is not making}
        if making.cancelled():
            raise ContributionError("review-failed", "the service is ending: try again", retry_after=SECONDS_TO_WAIT)
        error = making.exception()
        if error is None:
            return making.result()
        if isinstance(error, ContributionError):
            raise error
        if (full := no_space(error)) is not None:
            raise full
        is_expected = isinstance(error, LossLakeError)
        _log.warning("the review of %s can't be made: %s", name, error, exc_info=None if is_expected else error)
        raise ContributionError("review-failed", f"The review can't be made: {public_reason(error)}")

    def forget(self, name: str) -> None:
        """Delete the draft and the review of a submission."""
        shutil.rmtree(self._folder / name, ignore_errors=True)

    def forget_decided(self) -> None:
        """Delete the drafts of submissions that don't wait for a review any more."""
        for folder in self._folder.iterdir() if self._folder.is_dir() else ():
            if folder.name == CURVES:
                continue
            try:
                self._forget_if_decided(folder.stem)
            except Exception:  # noqa: BLE001 - whatever it is, the other drafts are deleted
                _log.exception("the draft of %s can't be deleted", folder.stem)

    def stored_report(self, name: str) -> str | None:
        """Return the report on a submission that waits, as JSON; None if its review wasn't made."""
        try:
            folder = self._place(*self._waiting(name))
        except ContributionError:
            return None
        return _read(folder).report.to_json() if (folder / _REVIEW).is_file() else None

    def _forget_if_decided(self, name: str) -> None:
        folder = self._folder / name
        if name.startswith(_CHECK) and folder.is_dir() and time.time() - folder.stat().st_mtime < _SECONDS_OF_CHECK:
            return
        try:
            waits = find_any(self._database, name, with_runs=False).state == "submitted"
        except ContributionError:
            waits = False
        if not waits:
            self.forget(name)
            (self._folder / f"{name}.lock").unlink(missing_ok=True)

    def _waiting(self, name: str) -> tuple[Subject, int | None]:
        """Return a submission that waits for a review, and the newest release. Raises ContributionError."""
        status = find_any(self._database, name, with_runs=False)
        if status.state != "submitted":
            ended = f"accepted into release {status.release}" if status.state == "accepted" else status.state
            raise ContributionError("conflict", f"{name} was {ended}: only submissions that wait have drafts")
        owner = row_of(self._database, name).contributor
        return Subject(name, owner, status.contributions, status.licence, status.claims), self._newest()

    def _newest(self) -> int | None:
        base = self._database.lake.newest_release()
        return base.number if base is not None else None

    def _place(self, subject: Subject, base: int | None) -> Path:
        """Return the folder of a review, which no other runs, facts, releases or checks have."""
        facts = [*subject.runs, subject.licence, *map(repr, subject.claims)]
        key = hashlib.sha256(json.dumps([CHECKS_VERSION, base, facts]).encode()).hexdigest()[:16]
        return self._folder / subject.name / key

    def _ensure_review(self, name: str) -> Path:
        """Return the folder of the review of a submission, if that still waits, and make it if needed."""
        return self._ensure(*self._waiting(name))

    def _ensure(self, subject: Subject, base: int | None) -> Path:
        """Return the folder of a review, and make it if needed."""
        folder, name = self._place(subject, base), subject.name
        if (folder / _REVIEW).is_file():
            return folder
        make_private_folder(self._folder)
        with self._locks[name], locked(self._folder / f"{name}.lock"):
            if not (folder / _REVIEW).is_file():
                self.forget(name)
                self._make(subject, folder, base)
        return folder

    def _make(self, subject: Subject, folder: Path, base: int | None) -> None:
        """Make the draft, and at last the file with the review, which says that the folder is whole."""
        with ExitStack() as undoing:
            undoing.callback(shutil.rmtree, folder, ignore_errors=True)  # the disk may be full
            spools = self._spools(subject, folder / RUNS)
            draft = make_draft(folder / LAKE, [*spools.values()], self._database.lake, base)
            evidence = Evidence(
                draft,
                spools,
                subject.licence,
                [Claim(each.contribution, each.metric, float(each.target), each.steps) for each in subject.claims],
                self._database.lake,
                self._folder / CURVES,
                submissions_of(self._database, subject.contributor),
            )
            review = Review(submission=subject.name, base=draft.base, report=check(evidence), changes=changes(draft))
            with atomic_write(folder / _REVIEW) as unfinished:
                unfinished.write_text(review.model_dump_json(), "utf-8")
            undoing.pop_all()
        if subject.is_check:
            for draft_part in (LAKE, RUNS):
                shutil.rmtree(folder / draft_part, ignore_errors=True)

    def _spools(self, subject: Subject, folder: Path) -> dict[str, Spool]:
        spools = {}
        for run in (stored_run(self._database, each, subject.licence) for each in subject.runs):
            for file in spool_files(self._database, run):
                path = folder / run.id / file.path
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(file.read())
            spools[run.id] = read_spool(folder / run.id)
        return spools


@lru_cache(maxsize=4)
def _read(folder: Path) -> Review:
    """Return the review in a folder. Each request to a draft asks for it, and a folder's review never changes."""
    return Review.model_validate_json((folder / _REVIEW).read_bytes())
